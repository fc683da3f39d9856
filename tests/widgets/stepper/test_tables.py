"""Tier 1 of CacheStepper: what each step computes, reads and keeps; positions and scores; mistakes and notices."""

import itertools
import math

import numpy as np
import pytest
import traitlets
from anatomy.widgets import CacheStepper, WrongOutput
from anatomy.widgets.stepper import LENGTH, PLANS, TOLERANCE, node_of
from anatomy.widgets.tools.base import NOTHING_GIVEN
from hypothesis import given, settings
from hypothesis import strategies as st

from ..learners import unfinished
from .learners import restarting, right_step, right_turning, top_left, turning

behind_by_one = turning(lambda start, t: start + t + 1)
EVERY_PLAN = [
    tuple(np.diff([0, *cuts, LENGTH])) for n in range(LENGTH) for cuts in itertools.combinations(range(1, LENGTH), n)
]


def ints(plan):
    return [int(size) for size in plan]


def test_plans_cover_the_text():
    assert {sum(plan) for plan in PLANS} == {LENGTH}
    assert (1,) * LENGTH in PLANS and (2, 3, 1) == PLANS[3][:3]
    assert len(EVERY_PLAN) == len(set(map(node_of, EVERY_PLAN))) == 2 ** (LENGTH - 1)


def test_every_step_of_every_plan_equals_the_full_forward():
    widget = CacheStepper(right_step, right_turning)
    for plan, view in itertools.product(EVERY_PLAN, (0, 1)):
        widget.plan, widget.view = ints(plan), view
        for widget.chunk in range(len(plan)):
            n = widget.readings()
            assert n["gap"] < 1e-6
            if view:
                assert n["change"] < 1e-5 and n["positions"] == list(range(n["stop"]))


def test_what_a_step_does():
    one = CacheStepper(right_step, chunk=3).readings()  # a prompt of 4, then the third single token
    assert (one["start"], one["stop"], one["read"], one["stored"]) == (6, 7, 7, 7)
    rolling = CacheStepper(right_step, chunk=3, store=1).readings()
    assert (rolling["first"], rolling["read"], rolling["stored"]) == (4, 3, 3)
    assert rolling["slots"] == [6, 4, 5], "token p lies in slot p mod 3"
    chunk = CacheStepper(right_step, plan=[4, 4], chunk=1, store=1).readings()  # tokens 4 to 7, after 2 and 3
    assert (chunk["first"], chunk["read"]) == (2, 6)
    pages = CacheStepper(right_step, chunk=3, store=2).readings()  # tokens 0 to 2 in block 2, then block 0, then 1
    assert pages["slots"] == [3, 4, 5, 6, None, None, 0, 1, 2]


def by_hand(inputs, at_q, at_k, t, s):
    """One score, computed with plain trigonometry."""
    q, k = inputs["rotary_q"][0, 0, t].tolist(), inputs["rotary_k"][0, 0, s].tolist()
    angle = at_k - at_q
    turned = (k[0] * math.cos(angle) - k[1] * math.sin(angle), k[0] * math.sin(angle) + k[1] * math.cos(angle))
    return (q[0] * turned[0] + q[1] * turned[1]) / math.sqrt(2)


@pytest.fixture(scope="module")
def restarted():
    return CacheStepper(right_step, restarting, view=1)


@given(st.sampled_from(EVERY_PLAN), st.data())
@settings(max_examples=40, deadline=None)
def test_scores_and_positions_are_those_of_plain_trigonometry(restarted, plan, data):
    widget = restarted
    widget.chunk, widget.origin = 0, 0
    widget.plan = ints(plan)
    widget.chunk = data.draw(st.integers(0, len(plan) - 1))
    n = widget.readings()
    inside = [i for size in plan for i in range(size)]
    assert n["positions"] == inside[: n["stop"]], "the learner's own mistake is read off the stored keys"
    pairs = [(t, s) for t in range(n["start"], n["stop"]) for s in range(t + 1)]
    change = max(
        abs(by_hand(widget._inputs, inside[t], inside[s], t, s) - by_hand(widget._inputs, t, s, t, s)) for t, s in pairs
    )
    assert n["change"] == pytest.approx(change, abs=1e-4)
    widget.origin = 1  # the picture's own wrong offset, whatever the function does
    assert widget.readings()["change"] == pytest.approx(change, abs=1e-4)
    assert widget.readings()["positions"] == n["positions"]
    assert widget.readings()["gap"] == pytest.approx(n["gap"], abs=1e-5)


def test_wrong_offsets_are_seen():
    straight = CacheStepper(right_step, right_turning, view=1, chunk=2)
    wrong = CacheStepper(right_step, right_turning, view=1, chunk=2, origin=1)
    assert straight.readings()["change"] < 1e-5 and wrong.readings()["change"] > 0.1 and wrong.readings()["gap"] > 0.02
    assert straight.readings()["positions"] == [0, 1, 2, 3, 4, 5]
    assert wrong.readings()["positions"] == [0, 1, 2, 3, 0, 0]
    late = CacheStepper(right_step, behind_by_one, view=1, chunk=2).readings()
    assert late["positions"] == [1, 2, 3, 4, 5, 6] and late["change"] < 1e-5, "only differences count"
    raw = CacheStepper(right_step, right_step, view=1, chunk=2).readings()
    assert raw["positions"] == [0] * 6 and raw["change"] > 0.1
    backward = CacheStepper(right_step, turning(lambda start, t: -(start + t)), view=1, chunk=2).readings()
    assert backward["positions"] == [0] + [None] * 5
    assert "at positions 0 unknown unknown" in CacheStepper(right_step, turning(lambda s, t: -(s + t)), view=1).alt
    assert "differs from" in wrong.alt and "every chunk counted from 0" in wrong.alt and "0 1 2 3 0 0" in wrong.alt


def test_a_mistake_shows_where_it_is_made():
    assert CacheStepper(top_left, plan=[LENGTH], chunk=0).readings()["gap"] <= TOLERANCE, "right without a past"
    wrong = CacheStepper(top_left, chunk=3)
    assert wrong.readings()["gap"] > 0.1 and "differs from" in wrong.alt
    assert "equals" in CacheStepper(right_step, chunk=3).alt


def test_a_plan_must_add_up():
    for plan in ([4, 3], [4, 0, 4], [9, -1], []):
        with pytest.raises(traitlets.TraitError, match="add up to 8"):
            CacheStepper(right_step, plan=plan)


def test_notices_and_errors():
    assert CacheStepper(unfinished).notice == "Showing the reference for cached_attention: not written yet"
    assert CacheStepper(right_step, unfinished).notice == "Showing the reference for rotary_step: not written yet"
    assert CacheStepper().notice == NOTHING_GIVEN
    assert "the reference's rotary_step" in CacheStepper(right_step, view=1).alt
    assert "your rotary_step" in CacheStepper(right_step, right_turning, view=1).alt
    with pytest.raises(WrongOutput, match="the pair"):
        CacheStepper(lambda q, k, v, past=None: v)
    with pytest.raises(WrongOutput, match="the pair"):
        CacheStepper(lambda q, k, v, past=None: (v, k))
    with pytest.raises(WrongOutput, match="shape"):
        CacheStepper(lambda q, k, v, past=None: (v[:, :, :, :1], (k, v)))
    with pytest.raises(ZeroDivisionError):
        CacheStepper(lambda *args: 1 / 0)
