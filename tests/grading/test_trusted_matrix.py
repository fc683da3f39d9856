"""The grade matrix through the trusted path: fresh inputs, answers from another process, words from the examples."""

import html

import pytest

from autograder.judge.drawing import draw_record, student_key
from autograder.judge.trusted import judge_exercise

from .conftest import InThisProcess


def verdict_of(exercise, session, student="ada"):
    return judge_exercise(exercise, session, student_key("secret", student, exercise.unit))


def asks_for_more_in_grading(exercise):
    key = student_key("secret", "ada", exercise.unit)
    shown, graded = (draw_record(exercise, key, with_mutants=False, graded=g) for g in (False, True))
    return any(a.program != b.program or sizes(a) != sizes(b) for a, b in zip(shown.cases, graded.cases, strict=True))


def sizes(case):
    return {n: t.shape for n, t in case.tensors.items()}


def same_for_all(exercise, function):
    return f"({function},) * {len(exercise.targets)}" if len(exercise.targets) > 1 else function


def test_right_answers_get_full_marks(exercise, define):
    right = ["E.reference"] + [f"E.alternatives[{i}]" for i in range(len(exercise.alternatives))]
    for expression in right:
        verdict = verdict_of(exercise, define(exercise, expression))
        assert verdict.passed and verdict.score == exercise.points, f"{expression}: {verdict.text()}"


@pytest.mark.some(3)
def test_every_mutant_fails_and_is_named(exercise, define, share):
    """The first through another process, and all of an exercise that asks for more than this one could bear.

    A run of all tests takes a third: tests/test_grade_matrix.py judges every one on inputs as fresh as these.
    """
    wrong, far = [], asks_for_more_in_grading(exercise)
    for i, mutant in [*enumerate(exercise.mutants)][::share]:
        by_process = far or not i
        session = define(exercise, f"E.mutants[{i}].fn") if by_process else InThisProcess(exercise.functions(mutant.fn))
        verdict = verdict_of(exercise, session)
        named = verdict.mistakes[0].name if verdict.mistakes else "nothing"
        if verdict.passed or verdict.score >= exercise.points or named != mutant.name:
            wrong.append(f"{mutant.name}: score {verdict.score:g}, named {named}")
        elif mutant.message not in html.unescape(verdict.html()):
            wrong.append(f"{mutant.name}: its message is not shown")
    assert not wrong, "\n".join(wrong)


LAZY = {
    "stub": "lambda *a, **k: (_ for _ in ()).throw(NotImplementedError('write it'))",
    "returns its input": "lambda *a, **k: a[0] if a else None",
    "returns None": "lambda *a, **k: None",
    "always raises": "lambda *a, **k: (_ for _ in ()).throw(ValueError('no'))",
    "returns zeros": "lambda *a, **k: a[0] * 0 if a else 0",
}


@pytest.mark.some(4)
@pytest.mark.parametrize("lazy", LAZY)
def test_lazy_answers_get_nothing(exercise, lazy, define):
    verdict = verdict_of(exercise, define(exercise, same_for_all(exercise, LAZY[lazy])))
    assert not verdict.passed and verdict.score == 0, [c.name for c in verdict.cases if c.points]
    if lazy == "stub":
        assert verdict.mistakes[0].name == "generic.not_written"
