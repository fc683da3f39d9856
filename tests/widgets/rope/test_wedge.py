"""The wedge in RopeExplorer's dials, from a dotted q to q, in Chromium."""

import math

import numpy as np
import pytest
from anatomy.widgets.rope import faults

from ..stages import set_state
from .case import CASE
from .test_esm import DOTTED, arrow

pytestmark = pytest.mark.browser


def at(paths, i):
    """The points of a path of straight lines."""
    return paths.nth(i).get_attribute("d").removeprefix("M").removesuffix("Z").split("L")


@pytest.mark.parametrize("stand", [False, True])
@pytest.mark.parametrize("m, n", [(9, 4), (20, 15), (3, 40)])
def test_the_wedge_starts_at_a_dotted_q_at_the_place_of_k(stage, m, n, stand):
    """The line has the direction of the right q at position n, and the wedge's first edge lies on it."""
    page = stage(CASE.make(m=m, n=n, stand=stand, step=1))
    wanted = CASE.make().vectors("q")[n].reshape(-1, 2) @ [1, 1j]
    back = n * faults.thetas(8, 1e4) if stand else 0
    lines, wedges = page.locator(".ro-start.ta-arrow"), page.locator(".ro-wedge")
    for i, angle in enumerate(np.angle(wanted) - back):
        tips = [[float(x) for x in at(lines, i)[-1].split()], [float(x) for x in at(wedges, i)[1].split()]]
        for x, y in tips:
            assert abs(np.angle(np.exp(1j * (math.atan2(-y, x) - angle)))) < 0.01
    assert lines.first.evaluate("(e) => getComputedStyle(e).strokeDasharray") != "none"
    assert page.locator(".ro-dials .ta-note").text_content() == DOTTED


@pytest.mark.parametrize("m, n, turns", [(9, 4, ""), (16, 9, "= 1 turn + 0.72"), (40, 8, "= 5 turns + 0.58"),
                                         (8, 40, "= −5 turns − 0.58")])  # fmt: skip
def test_whole_turns_are_said_and_the_wedge_shows_the_rest(stage, m, n, turns):
    """So the wedge leads from the dotted q to q, without winding."""
    page = stage(CASE.make(m=m, n=n, step=1))
    dial = page.locator(".ro-dials svg > g", has=page.locator(".ro-wedge")).first
    assert turns in dial.text_content() and ("turn" in dial.text_content()) == bool(turns)
    points = [[float(x) for x in point.split()] for point in at(page.locator(".ro-wedge"), 0)[1:]]
    angles = np.unwrap([math.atan2(-y, x) for x, y in points])
    assert angles[-1] - angles[0] == pytest.approx(math.fmod(m - n, 2 * math.pi), abs=0.01)
    x, y = arrow(page, "q", 0)
    assert np.abs(np.angle(np.exp(1j * (math.atan2(y, x) - angles[-1])))) < 0.01


def test_without_a_distance_there_is_neither_wedge_nor_dotted_line(stage):
    page = stage(CASE.make(m=9, n=9, step=1))
    assert page.locator(".ro-start.ta-arrow").first.get_attribute("d") == ""
    assert page.locator(".ro-wedge").first.get_attribute("d") == ""


def test_where_q_is_turned_wrongly_the_wedge_leads_elsewhere(stage):
    page = stage(CASE.make(fault=1, m=9, n=4))
    note = page.locator(".ro-dials .ta-note")
    gray = " Gray: the right arrow."
    assert note.text_content() == DOTTED.replace("to q.", "to where q should be.") + gray
    set_state(page, {"fault": 2})  # the key is not turned, q is right
    assert note.text_content() == DOTTED + gray
    set_state(page, {"fault": 3})  # with one θ for all, the wedge has that θ, too
    assert note.text_content() == DOTTED + gray
    wedge, q = at(page.locator(".ro-wedge"), 1)[-1], arrow(page, "q", 1)
    x, y = map(float, wedge.split())
    assert np.abs(np.angle(np.exp(1j * (math.atan2(-y, x) - math.atan2(q[1], q[0]))))) < 0.01
