"""SamplingExplorer's strip: a random number falls on it, and the token that it hits is drawn."""

import re

import numpy as np
import pytest
from anatomy.widgets import SamplingExplorer

from ..page import find, settle
from ..stages import set_state
from .case import CASE
from .drawing import counts, press
from .learners import not_again

pytestmark = pytest.mark.browser

FLIGHT = """(share) => document.querySelector('.ta').getAnimations({subtree: true})
  .filter((a) => a.effect.target.tagName === 'STRONG').map((a) => {
    a.pause();
    a.currentTime = share * a.effect.getTiming().duration;
    const {x, y, width} = a.effect.target.getBoundingClientRect();
    return [x + width / 2, y];
  })"""


def strip(page):
    """Where the segments end, where the numbers lie and where the pin is, as shares of the strip; None: no pin."""
    found = page.evaluate(
        """() => {
          const bars = document.querySelector('.ta-svg');
          const number = (node, name) => Number(node.getAttribute(name));
          const segments = [...bars.querySelectorAll('rect[height="18"]')].slice(0, 11);
          const pin = bars.querySelector('path.ta-here');
          return {
            segments: segments.map((e) => [number(e, 'x'), number(e, 'width')]),
            numbers: bars.querySelector('path[style*="--ta-two"]').getAttribute('d') ?? '',
            pin: pin.style.visibility === 'hidden' ? null : pin.getAttribute('transform'),
            marked: segments.map((e) => e.style.stroke !== ''),
          };
        }"""
    )
    places, widths = np.array(found["segments"]).T
    share = lambda x: (float(x) - places[0]) / widths.sum()
    pin = found["pin"] and share(re.search(r"[\d.]+", found["pin"])[0])
    numbers = [share(x) for x in re.findall(r"M([\d.]+)", found["numbers"])]
    return widths / widths.sum(), np.array(numbers), pin, found["marked"]


@pytest.mark.parametrize("state", [{}, {"temperature": 2.0, "prompt": 1}, {"top_p": 0.7}, {"temperature": 0.0}])
def test_each_token_is_as_wide_as_its_probability(stage, state):
    widths, numbers, pin, _ = strip(stage(CASE.make(**state)))
    assert widths == pytest.approx(CASE.make(**state).probabilities(), abs=1e-4)
    assert pin is None and len(numbers) == 0


def test_a_wrong_functions_sum_is_the_whole_strip(stage):
    widget = SamplingExplorer(not_again, top_k=3)
    p = widget.probabilities()
    assert strip(stage(widget))[0] == pytest.approx(p / p.sum(), abs=1e-4) and p.sum() < 0.7


@pytest.mark.parametrize("state", [{}, {"prompt": 1, "temperature": 2.0}, {"top_k": 3}])
def test_what_a_number_hits_is_drawn(stage, state):
    page = stage(CASE.make(**state))
    for n in (1, 2, 3):
        before = counts(page) or [0] * 11
        press(page, "Draw")
        widths, numbers, pin, _ = strip(page)
        token = int(np.searchsorted(widths.cumsum(), pin))
        assert [a - b for a, b in zip(counts(page), before, strict=True)] == [i == token for i in range(11)]
        assert len(numbers) == n and numbers[-1] == pytest.approx(pin, abs=1e-3)
        told = re.search(r"hit by the random number ([\d.]+)", page.locator(".ta-readout").text_content())
        assert float(told[1]) == pytest.approx(pin, abs=1e-3)
    press(page, "Draw 100")
    widths, numbers, _, _ = strip(page)
    inside = np.histogram(numbers, np.concatenate([[0], widths.cumsum()[:-1], [1.001]]))[0]
    assert np.abs(inside - counts(page)).sum() <= 2, "numbers are drawn to a tenth of a pixel"


def test_only_the_last_200_numbers_are_kept(stage):
    page = stage(CASE.make())
    press(page, "Draw 100", 3)
    assert len(strip(page)[1]) == 200 and sum(counts(page)) == 300


def test_the_strip_is_swept_when_a_dial_moves_and_empty_if_nothing_can_come(stage):
    page = stage(CASE.make())
    press(page, "Draw 100")
    set_state(page, {"temperature": 2.0})
    _, numbers, pin, _ = strip(page)
    assert pin is None and len(numbers) == 0
    page = stage(SamplingExplorer(lambda logits, **_: 0 * logits))
    press(page, "Draw")
    assert page.locator(".ta-svg").first.locator("path.ta-here").is_hidden()


def test_the_token_that_is_pointed_at_is_marked_on_the_strip(stage):
    page = stage(CASE.make())
    assert not any(strip(page)[3])
    find(page, "slider", "Tokens").press("ArrowDown")
    settle(page)
    assert [i for i, marked in enumerate(strip(page)[3]) if marked] == [1]


def test_a_drawn_token_comes_from_its_segment_to_the_end_of_the_text(moving):
    page = moving(CASE.make(temperature=0.0))
    page.get_by_role("button", name="Draw", exact=True).press("Enter")
    segment = page.locator(".ta-svg").first.locator("rect[height='18']").first.bounding_box()
    word = page.locator(".ta-panel p strong")
    ((x, y),), ((end, last),) = page.evaluate(FLIGHT, 0), page.evaluate(FLIGHT, 0.999)
    assert (x, y) == pytest.approx((segment["x"] + segment["width"] / 2, segment["y"]), abs=2)
    assert last < y - 100 and word.text_content() == " gl" and end < x
    calm = moving(CASE.make(temperature=0.0), reduced_motion="reduce")
    calm.get_by_role("button", name="Draw", exact=True).press("Enter")
    assert calm.evaluate(FLIGHT, 0) == []
    many = moving(CASE.make(temperature=0.0))
    many.get_by_role("button", name="Draw 100").press("Enter")
    assert many.evaluate(FLIGHT, 0) == [], "only one word can be followed"
