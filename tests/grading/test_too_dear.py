"""Answers whose numbers are right but which cost too much: a process can forge its report, but not memory."""

import pytest
import torch

from autograder import exercises
from autograder.judge.asked import answer
from autograder.judge.drawing import student_key
from autograder.judge.trusted import judge_exercise, judge_exercises
from autograder.sandbox import AskTimeout
from tests.course import local_ways

UNIT = "09-sparse-attention"
EXERCISES = {e.id: e for e in exercises.of_unit(UNIT)}
LOCAL = EXERCISES["sparse.local_attention"]
KEY = student_key("secret", "ada", UNIT)
FORGED = """
from anatomy.program import cost
honest, cost.Meter._count = cost.Meter._count, lambda self, *rest: None
"""

# Dense, but NaNs spread only to the positions that see them.
DENSE_FOR_NAN = """
def local_attention(q, k, v, w):
    T = q.shape[2]
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~torch.ones(T, T).tril().triu(1 - w).bool(), float("-inf"))
    weights, bad = scores.softmax(-1), v.isnan()
    spoiled = ((weights > 0).float() @ bad.float()) > 0
    return (weights @ v.nan_to_num()).masked_fill(spoiled, float("nan"))
"""


def failed(verdict):
    return {c.name for c in verdict.cases if not c.passed}


def answered_densely(define, exercise=LOCAL):
    session = define(exercise, "E.mutants[0].fn")
    assert exercise.mutants[0].name == "dense"
    return session


def test_a_dear_way_loses_the_two_cases_and_is_named(define):
    verdict = judge_exercise(LOCAL, answered_densely(define), KEY)
    assert verdict.mistakes[0].name == "dense"
    assert failed(verdict) == {"less work", "cost", "long text"} and 0 < verdict.score < LOCAL.points
    long = next(c for c in verdict.cases if c.name == "long text")
    assert long.sentence == "your code passes this example of the check, but runs out of memory on a larger one"


def test_whoever_forges_the_count_still_finds_no_memory(define):
    session = define(LOCAL, "E.reference")
    assert session.execute("import torch\n" + FORGED + DENSE_FOR_NAN).ok
    try:
        verdict = judge_exercise(LOCAL, session, KEY)
    finally:
        assert session.execute("cost.Meter._count = honest").ok  # other tests use the same process
    assert "long text" in failed(verdict) and "cost" not in failed(verdict) and verdict.score < LOCAL.points
    assert verdict.mistakes[0].name == "generic.runs_out_of_memory"


def test_other_exercises_do_not_suffer_when_one_runs_out_of_memory(define):
    for exercise in EXERCISES.values():
        session = define(exercise, "E.reference")
    answered_densely(define)
    asked = []
    ask = session.ask
    session.ask = lambda *args, **kwargs: asked.append(0) or ask(*args, **kwargs)
    try:
        verdicts = judge_exercises(list(EXERCISES.values()), session, KEY, timeout=60.0)
    finally:
        del session.ask
    assert [v.exercise for v in verdicts if not v.passed] == [LOCAL.id]
    assert next(v for v in verdicts if not v.passed).mistakes[0].name == "dense"
    assert len(asked) == 2, "one question for all, one for the examples of the one that failed"


class Slow:
    """A process that never answers a question that contains a large case."""

    def __init__(self, function):
        self.function = function

    def ask(self, code, payload=b"", timeout=10.0, max_bytes=16 << 20):
        if len(payload) > 200_000:
            raise AskTimeout("too slow")
        return answer(payload, {LOCAL.targets[0]: self.function}, [None])


@pytest.mark.parametrize(
    "function, name", [(local_ways.whole_prefix, "whole_prefix"), (LOCAL.reference, "generic.takes_too_long")]
)
def test_too_slow_for_a_large_case_costs_that_case_alone(function, name):
    verdict = judge_exercise(LOCAL, Slow(function), KEY)
    assert "long text" in failed(verdict) and verdict.mistakes[0].name == name
    assert verdict.score >= LOCAL.points / 2
    assert failed(verdict) <= {"long text", "cost"}


def test_an_exercise_without_large_cases_is_still_too_slow_as_a_whole():
    class Never:
        def ask(self, *args, **kwargs):
            raise AskTimeout("too slow")

    verdict = judge_exercise(EXERCISES["sparse.block"], Never(), KEY)
    assert verdict.score == 0 and verdict.mistakes[0].name == "generic.timeout"
    assert judge_exercise(LOCAL, Never(), KEY).mistakes[0].name == "generic.timeout"


@pytest.mark.parametrize("way", local_ways.RIGHT)
def test_right_ways_have_time_to_spare_at_the_size_of_grading(way):
    """All exercises of a unit share 6 seconds, a single one has 10; these take up to 1 on an idle processor."""
    import time

    q, k, v = (torch.randn(1, 8, 8_192, 4) for _ in range(3))
    began = time.process_time()
    with torch.no_grad():
        way(q, k, v, 32)
    assert time.process_time() - began < 3.0
