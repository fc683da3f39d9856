"""Answers that repeat the recorded outcomes, or return their inputs, earn nothing: the recordings are public."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from anatomy.judge import judging

from autograder import exercises
from autograder.authoring import by_heart
from autograder.judge.examples import is_drawn
from autograder.judge.spec import Case, call
from autograder.judge.trusted import no_points_for_examples

from .drawn import outcomes


def score(drawn, student, answer):
    """Points for the outcomes ``answer(fresh case, public case)``."""
    public, fresh = drawn.public, drawn.fresh(student)
    verdict = judging.judge(fresh, [answer(f, p) for f, p in zip(fresh.cases, public.cases, strict=True)])
    if not verdict.passed:
        no_points_for_examples(verdict, fresh, public)
    return verdict.score


def test_the_recorded_answers_earn_nothing_on_fresh_inputs(drawn):
    by_heart = lambda fresh, public: public.outcomes["expected"]
    scores = [score(drawn, student, by_heart) for student in range(3)]
    assert not any(scores), scores


def test_an_input_given_back_earns_nothing_where_the_answer_is_not_known_by_heart(drawn):
    def given_back(fresh, public, number):
        results, tensors = public.outcomes["expected"]
        if is_drawn(fresh, public):
            inputs = [*fresh.tensors.values()][number : number + 1]
            tensors = {
                n: next((i for i in inputs if i.shape == t.shape and i.dtype == t.dtype), torch.zeros_like(t))
                for n, t in fresh.outcomes["expected"][1].items()
            }
        return results, tensors

    for number in range(4):
        scores = [score(drawn, student, partial(given_back, number=number)) for student in range(3)]
        assert not any(scores), (number, scores)


def _without_an_idea(number):
    """Yields (name, answer): answers that return one of ``number`` arguments or its zeros, or refuse everything."""

    def refuse(*args, **kwargs):
        raise ValueError("no")

    yield "refuses", refuse
    for k in range(number):
        yield f"argument {k}", lambda *args, k=k, **kwargs: [*args, *kwargs.values()][k]
        yield f"zeros like {k}", lambda *args, k=k, **kwargs: torch.zeros_like([*args, *kwargs.values()][k])


def test_an_answer_without_an_idea_earns_little(exercise, drawn):
    if any(target[0].isupper() for target in exercise.targets):
        pytest.skip("a class cannot be without an idea")
    fresh, public = drawn.fresh(0), drawn.public
    for name, answer in _without_an_idea(exercise.signature.count(",") + 1):
        verdict = judging.judge(fresh, outcomes(fresh, dict.fromkeys(exercise.targets, answer)))
        no_points_for_examples(verdict, fresh, public)
        assert verdict.score <= 0.34 * verdict.max_score, f"{name}: {verdict.score:g} of {verdict.max_score:g}"


def test_a_drawn_answer_is_another_one_for_everybody(drawn):
    assert not list(by_heart.problems(drawn.public, drawn.students))


def test_what_can_be_known_is_said_in_words():
    """Checks the messages that the author of an exercise reads."""
    whole = exercises.get("attention.softmax")
    fixed = [c for c in whole.cases if c.name in ("two rows", "shifted")]
    said = [says for _, says in by_heart.problems(*by_heart.drawn(replace(whole, cases=fixed)))]
    assert len(said) == 1 and "draw a case from g" in said[0]
    guessed = Case("coin", "one of two", lambda g: call(torch.tensor([0.0, float(g.integer(0, 2))])))
    (name, says), *_ = by_heart.problems(*by_heart.drawn(replace(whole, cases=[*whole.cases, guessed])))
    assert name == "coin" and "can be guessed" in says
