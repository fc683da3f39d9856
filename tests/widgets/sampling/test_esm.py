"""Tier 2 of SamplingExplorer: its draws in Chromium; test_promises.py tests what all widgets share."""

import numpy as np
import pytest
from anatomy.widgets import SamplingExplorer

from ..page import find, settle
from .case import CASE
from .drawing import counts, farthest, press
from .learners import not_again, right

pytestmark = pytest.mark.browser


def shown(page):
    """Text of the readout, even while its aria-live is off."""
    return page.locator(".ta-readout").text_content()


def sentence(page):
    return page.locator(".ta-panel p").nth(1).text_content()


def test_what_is_drawn_follows_the_probabilities_on_show(stage):
    """2,000 draws: no share is farther from its probability than four standard deviations."""
    for state in ({}, {"temperature": 2.0, "prompt": 1}, {"top_k": 5}, {"top_p": 0.7, "prompt": 1}):
        widget = CASE.make(**state)
        page, p = stage(widget), widget.probabilities()
        press(page, "Draw 100", 20)
        drawn = np.array(counts(page))
        assert drawn.sum() == 2000
        assert (np.abs(drawn - 2000 * p) <= 4 * np.sqrt(2000 * p * (1 - p)) + 1e-9).all()


@pytest.mark.parametrize("state", [{"top_k": 3}, {"top_p": 0.7}, {"temperature": 0.0}, {"top_k": 1}])
def test_a_probability_of_0_is_never_drawn(stage, state):
    widget = CASE.make(**state)
    p = widget.probabilities()
    page = stage(widget)
    press(page, "Draw 100", 20)
    drawn = np.array(counts(page))
    assert (p == 0).any() and not drawn[p == 0].any() and drawn.sum() == 2000


def test_a_learners_own_probabilities_are_drawn_from_as_they_are_shown(stage):
    """Those of a function that forgets to divide again have another sum than 1: their shares of it count."""
    widget = SamplingExplorer(not_again, top_k=3)
    p = widget.probabilities()
    assert p.sum() < 0.7
    page = stage(widget)
    press(page, "Draw 100", 20)
    assert farthest(page, p / p.sum()) < 0.04
    nothing = stage(SamplingExplorer(lambda logits, **_: 0 * logits))
    press(nothing, "Draw 100")
    assert counts(nothing) is None and sentence(nothing) == "I am very …"


def test_a_draw_is_said_and_stands_behind_the_text(stage):
    page = stage(CASE.make(temperature=0.0))
    assert sentence(page) == "I am very …" and counts(page) is None and "draw" not in shown(page)
    press(page, "Draw")
    assert sentence(page) == "I am very gl" and counts(page) == [1] + [0] * 10
    assert "drawn: ·gl" in shown(page)
    press(page, "Draw")
    assert "2 draws, the last one: ·gl" in shown(page)
    find(page, "slider", "Tokens").press("Home")
    settle(page)
    assert "at temperature 0: ·gl = 1; drawn 2 times of 2" in shown(page)
    hot = stage(CASE.make(temperature=4.0))
    press(hot, "Draw")
    assert sentence(hot) == "I am very (one of the others)" and "drawn: one of the others" in shown(hot)


@pytest.mark.parametrize("role, dial, key", [(r, d, k) for r, d, _, k in CASE.controls])
def test_draws_begin_anew_when_a_dial_moves(stage, role, dial, key):
    page = stage(CASE.make())
    press(page, "Draw 100")
    assert sum(counts(page)) == 100
    find(page, role, dial).press(key)
    settle(page)
    assert counts(page) is None and "draw" not in shown(page)


def test_draws_begin_anew_with_another_function(stage):
    from ..stages import tables_of

    page = stage(CASE.make())
    press(page, "Draw 100")
    page.evaluate("(tables) => replaceTables(tables, '')", tables_of(SamplingExplorer(right)))
    settle(page)
    assert counts(page) is None


def test_every_page_draws_the_same(stage):
    """So that a picture or a lesson can be repeated."""
    seen = []
    for _ in range(2):
        page = stage(CASE.make(prompt=1))
        press(page, "Draw", 3)
        press(page, "Draw 100")
        seen.append((counts(page), sentence(page)))
    assert seen[0] == seen[1]
