"""Whoever knows the recorded answers by heart, or gives the inputs back, earns nothing: the recordings are public."""

import pytest
import torch
from anatomy import judging

from autograder.judge.drawing import draw_record, student_key
from autograder.judge.trusted import is_drawn, no_points_for_examples

KEYS = [bytes([i]) * 32 for i in range(8)]


def test_the_recorded_answers_earn_nothing_on_fresh_inputs(exercise):
    by_heart = lambda fresh, public: public.outcomes["expected"]
    scores = [score(exercise, f"student {i}", by_heart) for i in range(3)]
    assert not any(scores), scores


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
    assert not any(scores), scores


def test_a_drawn_answer_is_another_one_for_everybody(exercise):
    """A guess that is right for one in a hundred would bring all fixed cases with it: of eight submissions no two may
    have the same answer, nor the public one."""
    public = draw_record(exercise, with_mutants=False)
    drawn = [draw_record(exercise, key, with_mutants=False) for key in KEYS]
    number = 0
    for shown, *fresh in zip(public.cases, *(record.cases for record in drawn), strict=True):
        if not shown.weight or not any(is_drawn(f, shown) for f in fresh):
            continue  # the same for all, which earns nothing alone
        number += 1
        every = [shown, *fresh]
        same = [(i, j) for j in range(len(every)) for i in range(j) if not is_drawn(every[j], every[i])]
        assert not same, f"{shown.name}: equal answers {same}; draw more of it, or ask several times"
    assert number, "nothing that this exercise asks for is drawn"


def score(exercise, student, answer):
    """Points for the outcomes ``answer(fresh case, public case)``."""
    public = draw_record(exercise, with_mutants=False)
    fresh = draw_record(exercise, student_key("secret", student, exercise.unit), with_mutants=False)
    verdict = judging.judge(fresh, [answer(f, p) for f, p in zip(fresh.cases, public.cases, strict=True)])
    if not verdict.passed:
        no_points_for_examples(verdict, fresh, public)
    return verdict.score
