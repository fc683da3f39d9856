"""The grade matrix: for every exercise, the reference and its alternatives pass, the stub and every mistake fail, and
each failure names its mistake. Each wrong answer runs once on the examples and once on fresh inputs; both the check's
verdict and grading's come from these runs. In ``test_trusted.py`` answers come from another process."""

import torch
from anatomy import evaluate
from anatomy.judge import judging
from anatomy.notebook.checks import verdict_on

from autograder import exercises
from autograder.judge import trusted

from .drawn import outcomes, read, right_answers


def as_tuple(implementation):
    return implementation if isinstance(implementation, tuple) else (implementation,)


def test_right_answers_get_full_marks(exercise, drawn):
    """Tests the check and one student's inputs; ``test_trusted.py`` uses another student's."""
    assert exercise.alternatives, "needs at least one correct solution written differently"
    for text, right in right_answers(exercise).items():
        verdict = evaluate(exercise.id, *as_tuple(right))
        assert verdict.passed and verdict.score == exercise.points, f"{text}: {verdict.text()}"
        fresh = drawn.with_mistakes
        verdict = judging.judge(fresh, outcomes(fresh, exercise.functions(right)))
        assert verdict.passed, f"{text}, fresh inputs: {verdict.text()}"


def stub(*args, **kwargs):
    raise NotImplementedError("write it")


def test_an_answer_that_nobody_wrote_gets_nothing(exercise):
    """Tests the check; ``test_trusted.py`` tries more of these in grading."""
    verdict = evaluate(exercise.id, *(stub,) * len(exercise.targets))
    assert not verdict.passed and verdict.score == 0
    assert verdict.mistakes[0].name == "generic.not_written"
    given_back = lambda *args, **kwargs: args[0] if args else None
    verdict = evaluate(exercise.id, *(given_back,) * len(exercise.targets))
    assert not verdict.passed and verdict.score == 0, [c.name for c in verdict.cases if c.points]


def test_every_mistake_fails_and_is_named(exercise, drawn):
    """Runs on the examples with the check's wording and on fresh inputs with grading's: a mistake that only the public
    numbers expose would slip through."""
    assert len(exercise.mutants) >= 3, "needs at least three mistakes that learners really make"
    wrong = []
    for mistake in exercise.mutants:
        functions = exercise.functions(mistake.fn)
        on_examples = outcomes(drawn.recorded, functions)
        shown = verdict_on(drawn.recorded, functions, on_examples)
        fresh = drawn.with_mistakes
        answered = [c.outcomes[mistake.name] for c in fresh.cases]
        alone = judging.judge(fresh, answered)
        scored = judging.scored(fresh, answered)
        trusted.no_points_for_examples(scored, fresh, drawn.public)
        graded = trusted.worded(exercise, fresh, scored, answered, shown, on_examples)
        said = {"check": shown, "fresh inputs": alone, "graded": graded}
        for where, verdict in said.items():
            names = [m.name for m in verdict.mistakes]
            if verdict.passed or verdict.score >= exercise.points or names[:1] != [mistake.name]:
                wrong.append(f"{mistake.name}, {where}: passed={verdict.passed}, {verdict.score:g}, named {names}")
        if mistake.message not in shown.text() or mistake.message not in read(graded.html()):
            wrong.append(f"{mistake.name}: its message is not shown")
    assert not wrong, "\n".join(wrong)


def test_recording_equals_a_live_run(drawn):
    recorded, live = drawn.recorded, drawn.public
    assert [c.name for c in recorded.cases] == [c.name for c in live.cases], "run `make record`"
    for a, b in zip(recorded.cases, live.cases, strict=True):
        assert a.program == b.program and a.shows == b.shows and set(a.tensors) == set(b.tensors), "run `make record`"
        for name, tensor in b.tensors.items():  # last bits depend on the processor: of a sigmoid, of a sum's terms
            last = 2 * torch.finfo(tensor.dtype).eps if tensor.is_floating_point() else 0.0
            largest = float(tensor.nan_to_num(0, 0, 0).abs().max()) if tensor.numel() and last else 0.0
            torch.testing.assert_close(a.tensors[name], tensor, rtol=last, atol=last * largest, equal_nan=True)
        (oa, ta), (ob, tb) = a.outcomes["expected"], b.outcomes["expected"]
        assert [set(r) for r in oa["results"]] == [set(r) for r in ob["results"]]
        for name, tensor in tb.items():
            allowed = b.atol.get(name, 0.0)
            if tensor.is_floating_point():
                torch.testing.assert_close(ta[name], tensor, atol=max(allowed, 1e-12), rtol=1e-5, equal_nan=True)
            else:
                assert torch.equal(ta[name], tensor)


def test_any_outcome_is_judged_without_an_exception(drawn):
    record = drawn.recorded
    for odd in (
        {},
        {"results": []},
        {"results": [None]},
        {"results": [{"value": {"tensor": "nowhere"}}]},
        None,
        3,
        {"results": [{"raises": ["ValueError"]}]},
        {"results": [{"raises": 3}] * 9, "used": [[], None]},
        {"missing": 3},
        {"signature": 3},
    ):
        verdict = judging.judge(record, [(odd, {})] * len(record.cases))
        assert not verdict.passed and verdict.score == 0 and verdict.mistakes and verdict.text()


def test_words_are_fit_to_read():
    for exercise in exercises.all_exercises():
        for case in exercise.cases:
            assert 10 <= len(case.shows) <= 160 and not case.shows.endswith("."), case.shows
        for mistake in exercise.mutants:
            assert 20 <= len(mistake.message) <= 260 and mistake.message.endswith((".", "?")), mistake.message
        messages = [m.message for m in exercise.mutants]
        assert len(set(messages)) == len(messages), f"{exercise.id}: two mistakes say the same"


def test_ids_are_unique_and_semantic():
    ids = [e.id for e in exercises.all_exercises()]
    assert len(set(ids)) == len(ids)
    assert all("." in i and i == i.lower() and not any(ch.isdigit() for ch in i.split(".")[0]) for i in ids)
