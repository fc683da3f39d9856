"""What changes step by step travels to its new place; what follows a hand does not. Frames are counted by the test."""

from contextlib import ExitStack

import pytest
from anatomy.widgets.tools import base

from .cases import CASES
from .frames import HALF, between, frame, frozen, places, rest
from .page import find, trait

pytestmark = pytest.mark.browser

ANEW = ("ObjectiveLab",)  # each step of its story builds another table
# A dot on a line whose place has a closed form: its position is a real number while Play runs.
DOT = """function dotWidget(ui) {
  const canvas = picture(ui.row(), 300, 40, "dot");
  const dot = svg("circle", { r: 5, cy: 20 });
  canvas.append(dot);
  window.stopDot = clock(ui, ui.row(), {
    step: () => ui.set("n", ui.get("n") + 1), at: () => ui.get("n"), range: () => [0, 10], speed: 5,
    show: (n) => ({ n }), keep: (n) => ui.set("n", Math.round(n)),
  });
  ui.watch("n");
  return { draw() { fill(dot, { cx: 10 * ui.seen("n") }); } };
}
export default { render: mount(dotWidget) };"""


@pytest.fixture
def dot(draw):
    """dot(**options) → page with that dot, where frames wait for the test."""
    esm = "".join(map(base._source, base.SCRIPTS)) + DOT
    state = {"spec": {"title": "dot"}, "notice": "", "mistake": "", "tables": {}, "n": 8}
    with ExitStack() as pages:
        yield lambda **options: pages.enter_context(frozen(draw(esm, "", state, **options)))


@pytest.mark.parametrize("name", CASES)
def test_each_step_of_a_story_travels_and_arrives_where_it_would_have_jumped(moving, name):
    """The first frame differs already; the last one is that of a page with reduced motion; then nothing runs."""
    case, way = CASES[name], ["Next step"] * (len(CASES[name].widget.story) - 1)
    calm, still = moving(case.usual, reduced_motion="reduce"), []
    for press in way:
        find(calm, "button", press).press("Enter")
        still.append(places(calm))
        rest(calm)
        assert places(calm) == still[-1], "something moves though motion is reduced"
    page, travelled = moving(case.usual), 0
    for press, end in zip(way, still, strict=True):
        start = places(page)
        find(page, "button", press).press("Enter")
        first = between(start, places(page), end)
        frame(page, HALF)
        travelled += len(between(start, places(page), end)) > 0
        assert bool(first) == (len(between(start, places(page), end)) > 0)
        assert rest(page) == [] and page.locator("[data-moving]").count() == 0
        assert places(page) == end
    if not travelled and name not in ANEW:
        page.wait_for_function("() => transitions > 0", polling=20)


@pytest.mark.parametrize("name", ["MixExplorer", "RopeExplorer", "NormExplorer"])
def test_a_move_that_is_interrupted_goes_on_from_where_it_is(moving, name):
    page, (role, label, *_) = moving(CASES[name].usual), CASES[name].controls[0]
    find(page, role, label).press("End")
    frame(page, HALF)
    frame(page, 0)
    midway = numbers(places(page))
    find(page, role, label).press("Home")
    turned = numbers(places(page))
    rest(page)
    end = numbers(places(page))
    far = [key for key in midway if key in end and abs(end[key] - midway[key]) > 8]
    assert far
    for key in far:
        assert abs(turned[key] - midway[key]) < 0.3 * abs(end[key] - midway[key]), key
        assert turned[key] != midway[key], "it stops before it turns"


def numbers(found):
    """The attributes that are single numbers."""
    return {key: float(value) for key, value in found.items() if value.replace(".", "").replace("-", "").isdigit()}


@pytest.mark.parametrize("name", ["MixExplorer", "RopeExplorer", "NormExplorer"])
def test_a_key_that_repeats_is_followed_at_once(moving, name):
    page, (role, label, _, key, *_) = moving(CASES[name].usual), CASES[name].controls[0]
    find(page, role, label).focus()
    before = places(page)
    page.keyboard.down(key)
    assert page.locator("[data-moving]").count() == 1 and rest(page) == []
    for _ in range(3):
        page.keyboard.down(key)
        frame(page, 0)
        at_once = places(page)
        assert rest(page) == [] and places(page) == at_once
    assert at_once != before
    page.keyboard.up(key)


@pytest.mark.parametrize(
    "name, state, grip",
    [("MixExplorer", {}, ".ta-grip"), ("RopeExplorer", {"more": True}, ".ta-handle >> nth=0")],
)
@pytest.mark.parametrize("where", ["grip", "slider"])
def test_what_is_dragged_follows_the_hand_at_once(moving, name, state, grip, where):
    page = moving(CASES[name].make(**state))
    box = page.locator(grip if where == "grip" else ".ta input[type=range]").first.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] - 3, middle[1] - 3)
    rest(page)
    before = places(page)
    for by in (12, 24, 36):
        page.mouse.move(middle[0] - by, middle[1] - by)
        frame(page, 0)
        at_once = places(page)
        assert rest(page) == [] and places(page) == at_once
    assert at_once != before
    page.mouse.up()


def test_colors_travel_too_but_not_under_a_hand(moving):
    page = moving(CASES["PermutationExplorer"].usual)
    find(page, "group", "positions").focus()
    page.keyboard.down("ArrowRight")
    page.wait_for_function("() => transitions > 0", polling=20)
    before = page.evaluate("() => transitions")
    page.keyboard.down("ArrowRight")
    frame(page, 0)
    page.wait_for_timeout(50)
    assert page.evaluate("() => transitions") == before
    page.keyboard.up("ArrowRight")


def test_a_heatmap_fades_into_the_next(moving):
    page = moving(CASES["PositionExplorer"].usual)
    pixels = """() => { const map = document.querySelector('.ta-stack:has([aria-label^="Heatmap of"]) canvas');
      return [...map.getContext('2d').getImageData(0, 0, map.width, map.height).data]; }"""
    start = page.evaluate(pixels)
    find(page, "combobox", "scheme").press("ArrowUp")
    frame(page, HALF)
    half = page.evaluate(pixels)
    assert rest(page) == []
    end = page.evaluate(pixels)
    assert start != end and any(min(a, c) < b < max(a, c) for a, b, c in zip(start, half, end, strict=True))


def test_a_new_room_builds_nothing_that_moves(moving):
    page = moving(CASES["RopeExplorer"].usual)
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function("() => document.querySelector('.ta').clientWidth < 400")
    assert page.locator("[data-moving]").count() == 0 and rest(page) == []


def test_play_runs_through_real_numbers_and_stops_at_a_whole_one(dot):
    page = dot(reduced_motion="no-preference")
    place = lambda: float(page.locator("circle").get_attribute("cx"))
    find(page, "button", "Play").press("Enter")
    seen = []
    for _ in range(30):  # half a second, at 5 a second
        frame(page, 1000 / 60)
        seen.append(place())
    assert len(set(seen)) > 25 and any(x % 10 for x in seen) and seen[0] < 82
    assert max(seen) < 100 and 4 < seen[-1] < 6.5, "beyond its end it goes on from its start"
    assert trait(page, "n") == 8
    find(page, "button", "Pause").press("Enter")
    whole = round(seen[-1] / 10)
    assert rest(page) == [] and trait(page, "n") == whole and place() == 10 * whole


def test_play_waits_while_nobody_sees_it(dot):
    page = dot(reduced_motion="no-preference")
    find(page, "button", "Play").press("Enter")
    page.evaluate("() => { document.querySelector('#place').style.marginTop = '4000px'; }")
    page.wait_for_function("() => !waiting.size", polling=20)
    page.evaluate("() => { document.querySelector('#place').style.marginTop = ''; }")
    page.wait_for_function("() => waiting.size", polling=20)
    page.evaluate("() => cleanup()")
    assert rest(page) == []


def test_without_motion_there_are_only_steps(dot):
    page = dot(reduced_motion="reduce")
    assert page.get_by_role("button", name="Play").count() == 0
    find(page, "button", "Step").press("Enter")
    assert page.locator("circle").get_attribute("cx") == "90"
