"""The grade matrix on the trusted path: fresh inputs, answers from another process, wording from the examples."""

from autograder.judge.trusted import judge_drawn

from ..grading.conftest import InThisProcess
from ..waiting import PATIENCE
from .drawn import read, right_answers


def test_right_answers_get_full_marks(exercise, drawn, define):
    for expression in right_answers(exercise):
        verdict = judge_drawn(exercise, drawn.graded, define(exercise, expression), PATIENCE)
        assert verdict.passed and verdict.score == exercise.points, f"{expression}: {verdict.text()}"


def test_mistakes_of_another_process_fail_and_are_named(exercise, drawn, define):
    """Tests the first mistake, or all mistakes of an exercise that is too large in grading for this process."""
    wrong = []
    for i, mistake in [*enumerate(exercise.mutants)][: None if drawn.asks_for_more_in_grading else 1]:
        verdict = judge_drawn(exercise, drawn.graded, define(exercise, f"E.mutants[{i}].fn"))
        named = verdict.mistakes[0].name if verdict.mistakes else "nothing"
        if verdict.passed or verdict.score >= exercise.points or named != mistake.name:
            wrong.append(f"{mistake.name}: score {verdict.score:g}, named {named}")
        elif mistake.message not in read(verdict.html()):
            wrong.append(f"{mistake.name}: its message is not shown")
    assert not wrong, "\n".join(wrong)


def not_written(*args, **kwargs):
    raise NotImplementedError("write it")


def always_raising(*args, **kwargs):
    raise ValueError("no")


LAZY = {
    "stub": not_written,
    "returns its input": lambda *a, **k: a[0] if a else None,
    "returns None": lambda *a, **k: None,
    "always raises": always_raising,
    "returns zeros": lambda *a, **k: a[0] * 0 if a else 0,
}


def test_lazy_answers_get_nothing(exercise, drawn):
    for name, lazy in LAZY.items():
        session = InThisProcess(dict.fromkeys(exercise.targets, lazy))
        verdict = judge_drawn(exercise, drawn.graded, session)
        assert not verdict.passed and verdict.score == 0, (name, [c.name for c in verdict.cases if c.points])
        if name == "stub":
            assert verdict.mistakes[0].name == "generic.not_written"
