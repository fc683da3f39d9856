"""Whoever knows the recorded answers by heart, or gives the inputs back, earns nothing: the recordings are public."""

import pytest
import torch
from anatomy import judging

from autograder.judge.drawing import draw_record, student_key
from autograder.judge.trusted import is_drawn, no_points_for_examples

# One step of a proof has one right answer, for everybody.
ONE_ANSWER = {"rope.relative_rotation", "rope.squared_lengths", "rope.expanded_score"}


def test_the_recorded_answers_earn_nothing_on_fresh_inputs(exercise):
    # Of a few students one may get an example for a fresh input where few are possible; not all of them do.
    by_heart = lambda fresh, public: public.outcomes["expected"]
    scores = [score(exercise, f"student {i}", by_heart) for i in range(3)]
    assert bool(min(scores)) is (exercise.id in ONE_ANSWER), scores


@pytest.mark.parametrize("number", range(4))
def test_an_input_given_back_earns_nothing_where_the_answer_is_not_known_by_heart(exercise, number):
    def given_back(fresh, public):
        results, tensors = public.outcomes["expected"]
        if is_drawn(fresh, public):
            inputs = [*fresh.tensors.values()][number : number + 1]
            tensors = {
                n: next((i for i in inputs if i.shape == t.shape and i.dtype == t.dtype), torch.zeros_like(t))
                for n, t in fresh.outcomes["expected"][1].items()
            }
        return results, tensors

    scores = [score(exercise, f"student {i}", given_back) for i in range(3)]
    assert bool(min(scores)) is (exercise.id in ONE_ANSWER), scores


def score(exercise, student, answer):
    """Points for the outcomes ``answer(fresh case, public case)``."""
    public = draw_record(exercise, with_mutants=False)
    fresh = draw_record(exercise, student_key("secret", student, exercise.unit), with_mutants=False)
    verdict = judging.judge(fresh, [answer(f, p) for f, p in zip(fresh.cases, public.cases, strict=True)])
    if not verdict.passed:
        no_points_for_examples(verdict, fresh, public)
    return verdict.score
