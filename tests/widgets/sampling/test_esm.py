"""Tier 2 of SamplingExplorer: its draws in Chromium; test_promises.py tests what all widgets share."""

import numpy as np
import pytest
from anatomy.widgets import SamplingExplorer

from ..page import find, settle, trait
from ..stages import set_state
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
    assert sentence(hot) == "I am very (another token)" and "drawn: another token" in shown(hot)


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


CUT = """() => {
  const line = document.querySelector('.ta-svg .ta-diagonal');
  return line.getAttribute('visibility') === 'hidden' ? null : Number(line.getAttribute('y1')) / 19;
}"""


@pytest.mark.parametrize("prompt, share", [(0, 0.7), (0, 0.3), (1, 0.9), (2, 0.9)])
def test_a_line_stands_where_the_sum_reaches_top_p(stage, prompt, share):
    """Below a token, or as far into all others as it takes; beside each token stands the sum so far."""
    page = stage(CASE.make(prompt=prompt, top_p=share))
    so_far = CASE.make(prompt=prompt).probabilities().cumsum()
    row = int((so_far < share).argmin())
    into = (share - so_far[9]) / (so_far[10] - so_far[9]) if row == 10 else 1
    assert page.evaluate(CUT) == pytest.approx(row + into, abs=0.05)
    told = page.locator("text.ta-small", has_text="sum ").all_text_contents()
    assert told == [f"sum {value:.3f}" for value in so_far]
    if row < 10:
        assert CASE.make(prompt=prompt, top_p=share).possible() == row + 1
    assert stage(CASE.make(prompt=prompt)).evaluate(CUT) is None


def test_columns_of_numbers_stand_still(stage):
    page = stage(CASE.make(prompt=1))
    where = "() => [...document.querySelector('.ta-svg').querySelectorAll('text')].map((e) => e.getAttribute('x'))"
    before = page.evaluate(where)
    press(page, "Draw 100", 10)
    assert page.evaluate(where) == before


def test_top_p_stands_beside_what_top_k_left(stage):
    page = stage(CASE.make(top_p=0.9))
    assert page.locator("text", has_text="with top-k 5: 5").count() == 3
    page = stage(CASE.make())
    assert page.locator("text", has_text="with top-k").count() == 0


@pytest.mark.parametrize("state, over", [({}, "sum over all 1,280"), ({"top_k": 5}, "sum over the 5 left")])
def test_a_formula_says_what_it_sums_over(stage, state, over):
    page = stage(CASE.make(**state))
    find(page, "slider", "Tokens").press("Home")
    settle(page)
    assert over in shown(page)


def small(page):
    """What the small charts say, and how high their columns are, chart by chart, as shares."""
    canvas = page.locator(".ta-svg").nth(1)
    said = [text for text in canvas.locator("text").all_text_contents() if text.endswith("can come")]
    high = [float(bar.get_attribute("height")) / 48 for bar in canvas.locator("rect.ta-fill-one").all()]
    return said, np.array(high).reshape(len(said), -1)


@pytest.mark.parametrize("state", [{}, {"top_k": 5}, {"top_p": 0.9, "prompt": 2}])
def test_the_small_charts_show_every_text_at_these_dials(stage, state):
    said, high = small(stage(CASE.make(**state)))
    for i in range(3):
        widget = CASE.make(**state | {"prompt": i})
        assert said[i] == f"{widget.possible():,} can come"
        assert np.abs(high[i] - widget.probabilities()).max() < 1e-5


def test_a_glance_at_another_text_leaves_the_draws_alone(stage):
    page = stage(CASE.make())
    press(page, "Draw 100")
    before, area = counts(page), find(page, "slider", "Texts")
    box = area.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])  # the second of three
    settle(page)
    assert sentence(page) == "She was …" and trait(page, "prompt") == 0 and counts(page) is None
    page.mouse.move(1, 1)
    settle(page)
    assert counts(page) == before
    area.press("ArrowDown")
    settle(page)
    assert trait(page, "prompt") == 1 and counts(page) is None


@pytest.mark.parametrize("step", [0, 1, 2, 3, 4, 5])
def test_what_draws_comes_with_the_step_that_speaks_of_it(stage, step):
    page = stage(CASE.make())
    set_state(page, {**CASE.widget.story[step].state, "alone": True, "step": step})
    strip = page.get_by_text("A draw: a random number falls on this strip")
    assert strip.is_visible() == page.get_by_role("button", name="Draw 100").is_visible() == (step >= 4)


def test_a_formula_names_what_it_is_made_of(stage):
    page = stage(CASE.make(temperature=0.5))
    find(page, "slider", "Tokens").press("Home")
    settle(page)
    assert "probability of ·gl = exp(score" in shown(page) and "÷ temperature 0.5)" in shown(page)
    set_state(page, {"top_k": 5})
    find(page, "slider", "Tokens").press("End")
    find(page, "slider", "Tokens").press("ArrowUp")
    settle(page)
    assert "·good is cut: its probability is 0" in shown(page)
