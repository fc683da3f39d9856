"""The grade matrix: for every exercise, the reference and its alternatives pass, the stub and every mutant fail, and
each failure names its mistake. Here through the instant check; tests/grading does the same through the trusted path."""

import torch
from anatomy import evaluate, records, runner
from anatomy.judging import judge

from autograder import exercises
from autograder.judge.drawing import draw_record, student_key


def as_tuple(implementation):
    return implementation if isinstance(implementation, tuple) else (implementation,)


def stub_for(exercise):
    def stub(*args, **kwargs):
        raise NotImplementedError(f"{exercise.id}: write it")

    return (stub,) * len(exercise.targets)


def test_reference_gets_full_marks(exercise):
    verdict = evaluate(exercise.id, *as_tuple(exercise.reference))
    assert verdict.passed and verdict.score == exercise.points, verdict.text()


def test_every_alternative_gets_full_marks(exercise):
    assert exercise.alternatives, "needs at least one correct solution written differently"
    for alternative in exercise.alternatives:
        verdict = evaluate(exercise.id, *as_tuple(alternative))
        assert verdict.passed and verdict.score == exercise.points, verdict.text()


def test_stub_gets_nothing(exercise):
    verdict = evaluate(exercise.id, *stub_for(exercise))
    assert not verdict.passed and verdict.score == 0
    assert verdict.mistakes[0].name == "generic.not_written"


def test_returning_the_input_gets_nothing(exercise):
    first = lambda *args, **kwargs: args[0] if args else None
    verdict = evaluate(exercise.id, *(first,) * len(exercise.targets))
    assert not verdict.passed and verdict.score == 0, [c.name for c in verdict.cases if c.points]


def test_every_mutant_fails_and_is_named(exercise):
    assert len(exercise.mutants) >= 3, "needs at least three mistakes that learners really make"
    wrong = []
    for mutant in exercise.mutants:
        verdict = evaluate(exercise.id, *as_tuple(mutant.fn))
        names = [m.name for m in verdict.mistakes]
        if verdict.passed or verdict.score >= exercise.points or names[:1] != [mutant.name]:
            wrong.append(f"{mutant.name}: passed={verdict.passed}, score={verdict.score}, named {names}")
        elif mutant.message not in verdict.text():
            wrong.append(f"{mutant.name}: its message is not shown")
    assert not wrong, "\n".join(wrong)


def test_fresh_inputs_judge_the_same(exercise):
    """The grader's inputs differ for every student: a mutant that only the public numbers expose would slip through."""
    for student in ("ada", "grace"):
        record = draw_record(exercise, student_key("secret", student, exercise.unit), with_mutants=student == "grace")
        for right in (exercise.reference, *exercise.alternatives):
            named = exercise.functions(right)
            outcomes = [runner.run_program(c.program, c.tensors, named, record.forbidden) for c in record.cases]
            verdict = judge(record, outcomes)
            assert verdict.passed, verdict.text()
    # Ada's of the mutants are judged in tests/grading/test_trusted_matrix.py.
    for mutant in exercise.mutants:
        verdict = judge(record, [c.outcomes[mutant.name] for c in record.cases])
        assert not verdict.passed and verdict.mistakes[0].name == mutant.name, (mutant.name, verdict.text())


def test_recording_equals_a_live_run(exercise):
    recorded, live = records.load(exercise.id), draw_record(exercise, with_mutants=False)
    assert [c.name for c in recorded.cases] == [c.name for c in live.cases], "run `make record`"
    for a, b in zip(recorded.cases, live.cases, strict=True):
        assert a.program == b.program and a.shows == b.shows and set(a.tensors) == set(b.tensors), "run `make record`"
        for name, tensor in b.tensors.items():  # a sigmoid's last bit depends on the processor
            last = 2 * torch.finfo(tensor.dtype).eps if tensor.is_floating_point() else 0.0
            torch.testing.assert_close(a.tensors[name], tensor, rtol=last, atol=0.0, equal_nan=True)
        (oa, ta), (ob, tb) = a.outcomes["expected"], b.outcomes["expected"]
        assert [set(r) for r in oa["results"]] == [set(r) for r in ob["results"]]
        for name, tensor in tb.items():
            allowed = b.atol.get(name, 0.0)
            if tensor.is_floating_point():
                torch.testing.assert_close(ta[name], tensor, atol=max(allowed, 1e-12), rtol=1e-5, equal_nan=True)
            else:
                assert torch.equal(ta[name], tensor)


def test_words_are_fit_to_read(exercise):
    for case in exercise.cases:
        assert 10 <= len(case.shows) <= 160 and not case.shows.endswith("."), case.shows
    for mutant in exercise.mutants:
        assert 20 <= len(mutant.message) <= 260 and mutant.message.endswith((".", "?")), mutant.message
    messages = [m.message for m in exercise.mutants]
    assert len(set(messages)) == len(messages), "two mutants say the same"


def test_ids_are_unique_and_semantic():
    ids = [e.id for e in exercises.all_exercises()]
    assert len(set(ids)) == len(ids)
    assert all("." in i and i == i.lower() and not any(ch.isdigit() for ch in i.split(".")[0]) for i in ids)
