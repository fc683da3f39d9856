"""Tier 2 of RopeExplorer: dials, tokens, map and curve in Chromium; test_promises.py tests what all widgets share."""

import math
import re

import numpy as np
import pytest
from anatomy.widgets import RopeExplorer
from anatomy.widgets.rope import POSITIONS, faults

from autograder import ROOT

from ..frames import frame
from ..page import find, said, settle, trait, words
from ..stages import set_state
from .case import CASE
from .learners import right_rope, sign_rope

pytestmark = pytest.mark.browser
DOTTED = "Dotted: q at position n; the wedge leads to q."


def readout(page):
    """Text of the readout, even while its aria-live is off."""
    return page.locator(".ta-readout").text_content().replace("\u2212", "-")


def score_of(page):
    return float(readout(page).split("score q·k = ")[1].split()[0])


def positions(page):
    """m and n as drawn, real numbers."""
    return tuple(map(float, page.locator(".ta").get_attribute("data-key").split(",")[:2]))


def arrow(page, name, plane):
    """The tip of that arrow, in units of the query's length; y points up."""
    kind, radius = (
        {"q": "ta-one", "k": "ta-two"}[name],
        float(page.locator(".ro-dials circle").first.get_attribute("r")),
    )
    path = page.locator(f".ro-dials path.ta-head.{kind}").nth(plane).get_attribute("d")
    x, y = map(float, path[1:].split("L")[0].split())
    return np.array([x, -y]) / radius * 1.06


def center(page, locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def frames(page, n, ms=100):
    """n frames, that long after each other."""
    for _ in range(n):
        frame(page, ms)


def test_play_is_continuous_and_the_score_stands_still(moving):
    page = moving(CASE.make(m=50, n=45))
    score, drawn = score_of(page), []
    page.get_by_role("button", name="Play both").press("Enter")
    for _ in range(13):
        frame(page, 100)
        drawn.append(positions(page))
        assert score_of(page) == score
    m, n = np.array(drawn).T
    steps = np.diff(m)
    assert np.allclose(m - n, 5, atol=2e-3) and np.allclose(steps[4:], 0.1, atol=2e-3), "one position per second"
    assert (np.diff(steps[:5]) > 0).all(), "it sets out gently"
    assert page.locator(".ta-readout").get_attribute("aria-live") == "off"
    assert page.evaluate("() => model.saves") == 0  # Python hears nothing while it plays
    page.get_by_role("button", name="Pause").press("Space")
    frames(page, 12)
    stopped = positions(page)
    assert stopped == (trait(page, "m"), trait(page, "n"))
    page.wait_for_function("() => model.saves === 1", polling=20)
    frames(page, 4)
    assert positions(page) == stopped
    page.get_by_role("button", name="Play both").press("Enter")
    page.evaluate("() => cleanup()")
    frames(page, 13)
    assert trait(page, "m") == stopped[0]


def test_what_the_unit_names_is_there_and_in_that_order(stage):
    """Buttons in bold; panels, which are unfolded first, in italics."""
    text = (ROOT / "solutions" / "06-rope.py").read_text(encoding="utf-8")
    text = text[text.index("The picture has one dial per pair") : text.index("the query is left with the distance")]
    page = stage(CASE.usual)
    named = [(bold, panel) for bold, panel in re.findall(r"\*\*(.+?)\*\*|\*([A-Z].+?)\*", text)]
    assert ("more panels", "") in named and ("", "Map") in named and len(named) >= 6
    for bold, panel in named:
        button = find(page, "button", bold or panel)
        assert button.is_visible(), bold or panel
        if "true" not in (button.get_attribute("aria-expanded"), button.get_attribute("aria-pressed")):
            button.press("Enter")
            settle(page)


def test_the_large_number_is_the_score(stage):
    page = stage(CASE.make(m=20, n=15))
    large = page.locator(".ro-score strong")
    first = large.text_content()
    assert float(first.replace("\u2212", "-")) == score_of(page)
    set_state(page, {"m": 33, "n": 28})
    assert large.text_content() == first
    set_state(page, {"n": 27})
    assert large.text_content() != first and float(large.text_content().replace("\u2212", "-")) == score_of(page)


def test_rounding_is_left_out_where_nothing_of_the_learners_is_checked(stage):
    page = stage(CASE.make(step=2))
    rounding = page.locator(".ta-signs .ta-number", has_text="e\u2212")
    assert rounding.count() >= 2 and all(e.is_visible() for e in rounding.all())
    page.evaluate("() => { document.getElementById('place').dataset.alone = ''; }")
    assert not any(e.is_visible() for e in rounding.all()) and page.locator(".ta-signs .ta-word").first.is_visible()
    set_state(page, {"panels": ["training"]})
    assert page.locator(".ro-training .ta-number").first.is_visible(), "a count is no rounding"


def test_play_turns_round_at_an_end(moving):
    page = moving(CASE.make(m=POSITIONS - 1, n=60))
    page.get_by_role("button", name="Play both").press("Enter")
    frames(page, 15)
    m, n = positions(page)
    assert POSITIONS - 3 < m < POSITIONS - 1 and abs(m - n - 3) < 2e-3


def test_with_reduced_motion_it_steps_but_does_not_play(stage):
    page = stage(CASE.make(), reduced_motion="reduce")
    assert page.get_by_role("button", name="Play both").count() == 0
    page.get_by_role("button", name="Step both +1").press("Enter")
    assert (trait(page, "m"), trait(page, "n")) == (10, 5)


def test_a_step_from_the_last_position_goes_back_with_the_distance_kept(stage):
    page = stage(CASE.make(m=POSITIONS - 2, n=POSITIONS - 6), reduced_motion="reduce")
    step = page.get_by_role("button", name="Step both +1")
    step.press("Enter")
    assert (trait(page, "m"), trait(page, "n")) == (POSITIONS - 1, POSITIONS - 5)
    step.press("Enter")
    assert (trait(page, "m"), trait(page, "n")) == (4, 0)


def test_three_tokens_in_front_change_no_score(stage):
    page = stage(CASE.make(m=50, n=45), reduced_motion="reduce")
    score = score_of(page)
    front = page.get_by_role("button", name="Three tokens in front")
    for i in range(1, 5):
        front.press("Enter")
        settle(page)
        assert (trait(page, "m"), trait(page, "front")) == (50 + 3 * i, 3 * i) and score_of(page) == score
        assert page.locator(".ro-new").count() == 3 * i
    front.press("Enter")  # there is no more room
    settle(page)
    assert (trait(page, "m"), trait(page, "n"), trait(page, "front")) == (5, 0, 0) and score_of(page) == score


def test_first_change_of_a_frame_is_drawn_at_once_and_later_ones_with_it(stage):
    drawn = stage(CASE.make(m=9, n=4)).evaluate("""async () => {
      const key = () => document.querySelector('.ta').dataset.key.split(',')[0];
      const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      const seen = [];
      await frame();
      await frame();
      model.set('m', 10); model.set('m', 11); seen.push(key());
      await null; seen.push(key());
      model.set('m', 12); await null; seen.push(key());
      model.set('m', 13); await frame(); seen.push(key());
      return seen;
    }""")
    assert drawn == ["9", "11", "11", "13"]


def test_rope_words_beside_the_numbers(stage):
    assert words(stage(CASE.make())) == ["ok", "ok", "same"]
    assert words(stage(RopeExplorer(sign_rope))) == ["broken", "broken", "differs"]


def test_rope_that_gives_nan_is_said_and_not_drawn(stage):
    page = stage(RopeExplorer(lambda x, position_ids, base=1e4: x * float("nan"), panels=["dials", "score"]))
    assert "NaN" in said(page)
    assert words(page) == ["broken", "broken", "differs"]
    assert page.locator("circle.ta-here").evaluate("(e) => e.style.visibility") == "hidden"


@pytest.mark.parametrize("name, letter, position", [("query position m", "q", "m"), ("key position n", "k", "n")])
def test_a_token_is_dragged_and_turns_its_arrows_in_between(stage, name, letter, position):
    """Between two positions each plane is turned by the closed form; let go, the nearest position is kept."""
    page = stage(CASE.make(m=9, n=4), reduced_motion="reduce")
    widget = CASE.make()
    x, y = center(page, page.get_by_role("slider", name=name))
    start = trait(page, position)
    slot = page.evaluate("() => { const t = document.querySelectorAll('.ro-line rect'); "
                         "return t[1].getBoundingClientRect().x - t[0].getBoundingClientRect().x; }")  # fmt: skip
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 7.4 * slot, y, steps=3)
    settle(page)
    drawn = dict(zip("mn", positions(page), strict=True))[position]
    assert abs(drawn - start - 7.4) < 0.11 and trait(page, position) == start + 7
    for plane in range(4):
        vector = widget.content(letter)[2 * plane : 2 * plane + 2]
        angle = drawn * widget.base ** (-2 * plane / 8)
        c, s = math.cos(angle), math.sin(angle)
        expected = [vector[0] * c - vector[1] * s, vector[0] * s + vector[1] * c]
        assert np.allclose(arrow(page, letter, plane), expected, atol=0.002)
    page.mouse.up()
    settle(page)
    assert trait(page, position) == start + 7 and positions(page)["mn".index(position)] == start + 7


def test_a_function_that_is_no_rotation_steps_through_whole_positions_and_says_so(stage):
    page = stage(RopeExplorer(sign_rope, m=9, n=4), reduced_motion="no-preference")
    assert "steps through whole positions" in page.locator(".ro-dials .ta-note").text_content()
    page.get_by_role("button", name="Play both").press("Enter")
    for _ in range(6):
        page.wait_for_timeout(200)
        assert all(p == round(p) for p in positions(page))
    assert stage(CASE.make(step=1)).locator(".ro-dials .ta-note").text_content() == DOTTED


@pytest.mark.parametrize("trait_name, grip", [("m", 0), ("n", 1)])
def test_an_arrow_follows_the_hand_for_more_than_a_turn(stage, trait_name, grip):
    """In the first dial a position is one radian: 20 steps of 0.4 rad are more than a turn."""
    page = stage(CASE.make(m=9, n=9))
    cx, cy = center(page, page.locator(".ro-dials circle").first)
    x, y = center(page, page.locator(".ta-grip").nth(grip))
    start = math.atan2(cy - y, x - cx)
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 21):
        angle = start + step * 0.4
        page.mouse.move(cx + 40 * math.cos(angle), cy - 40 * math.sin(angle))
    assert trait(page, trait_name) == 17  # 20 · 0.4 rad = 8 positions
    page.keyboard.press("Escape")
    assert trait(page, trait_name) == 9
    page.mouse.up()


def test_an_arrow_is_a_slider_for_the_keyboard(stage):
    page = stage(CASE.make(m=9, n=4))
    grip = page.get_by_role("slider", name="arrow q: its position m")
    grip.press("ArrowUp")
    grip.press("PageUp")
    settle(page)
    assert trait(page, "m") == 18 and grip.get_attribute("aria-valuetext") == "18"


def test_grips_are_seen_only_while_they_are_pointed_at(stage):
    page = stage(CASE.make())
    shown = lambda: [
        float(e.evaluate("(e) => getComputedStyle(e).strokeOpacity")) for e in page.locator(".ro-grip").all()
    ]
    assert set(shown()) == {0}
    page.mouse.move(*center(page, page.locator(".ro-grip").nth(2)))
    assert sorted(shown())[-1] == 1 and shown().count(1) == 1


def test_content_is_dragged_without_position(stage):
    """q turns in its plane, m stays; the score is NumPy's for that content."""
    page = stage(CASE.make(hand="content", m=9, n=4), reduced_motion="reduce")
    grip = page.get_by_role("slider", name="content of q in plane 2, in degrees")
    (x, y), (cx, cy) = (
        center(page, grip),
        center(page, page.locator(".ro-dials circle.ta-axis, .ro-dials circle.ta-mark").nth(2)),
    )
    start = math.atan2(cy - y, x - cx)
    page.mouse.move(x, y)
    page.mouse.down()
    for share in range(1, 11):
        angle = start + math.radians(30 * share)  # 300° in all: through −π
        page.mouse.move(cx + 40 * math.cos(angle), cy - 40 * math.sin(angle))
    page.mouse.up()
    settle(page)
    degrees = trait(page, "turned")
    assert abs(degrees[2] - 300) <= 2 and sum(degrees) == degrees[2] and trait(page, "m") == 9
    widget = CASE.make(turned=degrees)
    x = widget._inputs["q8"].double().numpy()
    z = x[0::2] + 1j * x[1::2]
    z = z * np.exp(1j * np.radians(degrees[:4])) * np.exp(9j * faults.thetas(8, 1e4))
    k = widget._inputs["k8"].double().numpy()
    w = (k[0::2] + 1j * k[1::2]) * np.exp(4j * faults.thetas(8, 1e4))
    assert score_of(page) == pytest.approx((z * w.conj()).sum().real, abs=6e-4)
    assert widget.scores()[9, 4] == pytest.approx(score_of(page), abs=6e-4)
    assert words(page) == ["ok", "ok", "same"]  # any content will do


MAP = {"panels": ["dials", "map"]}


def point_at(page, name, x, y):
    """Moves the pointer to (x, y), as shares of the area's size."""
    box = page.locator(f".ro-{name} .ta-area").bounding_box()
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    settle(page)


def peeked(page):
    return page.locator(".ta").get_attribute("data-peek")


def test_pointing_at_the_map_shows_that_score_in_every_panel_and_moves_no_trait(stage):
    page = stage(CASE.make(m=9, n=4, **MAP))
    dials = page.locator(".ta-arrow.ta-one").first.get_attribute("d")
    point_at(page, "map", 10.5 / POSITIONS, 40.5 / POSITIONS)
    assert (trait(page, "m"), trait(page, "n")) == (9, 4)
    S = CASE.make().scores()
    heard = readout(page)
    assert f"m = 40, n = 10, m - n = 30:  score q·k = {S[40, 10]:.3f}" in heard
    terms = heard.split("S[40, 10] = ")[1].split(" = ")[0]
    assert abs(sum(float(t) for t in terms.replace("- ", "-").replace("+ ", "+").split()) - S[40, 10]) < 0.03
    assert page.locator(".ta-arrow.ta-one").first.get_attribute("d") != dials
    page.mouse.move(1, 1)
    settle(page)
    assert page.locator(".ta-arrow.ta-one").first.get_attribute("d") == dials and peeked(page) == ""


def test_a_click_on_the_map_keeps_what_arrow_keys_reach_too(stage):
    page = stage(CASE.make(m=9, n=4, **MAP))
    point_at(page, "map", 6.5 / POSITIONS, 8.5 / POSITIONS)
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(1, 1)
    settle(page)
    clicked = page.locator(".ta").get_attribute("data-key")
    assert (trait(page, "m"), trait(page, "n")) == (8, 6)
    page = stage(CASE.make(m=9, n=4, **MAP))
    page.locator(".ro-map .ta-area").focus()
    for key in ("ArrowUp", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    settle(page)
    assert page.locator(".ta").get_attribute("data-key") == clicked
    page.keyboard.press("Shift+ArrowDown")
    assert (trait(page, "m"), trait(page, "n")) == (9, 7)


def test_the_curve_is_scrubbed_and_walked(stage):
    page = stage(CASE.make(m=9, n=4, panels=["score"]))
    point_at(page, "score", (20.5 + POSITIONS - 1) / (2 * POSITIONS - 1), 0.5)
    page.mouse.down()
    page.mouse.up()
    assert trait(page, "m") - trait(page, "n") == 20
    page.keyboard.press("ArrowRight")
    assert trait(page, "m") - trait(page, "n") == 21


def test_panels_fold_and_a_step_opens_those_it_needs(stage):
    page = stage(CASE.make(more=True))
    seen = lambda: [e.get_attribute("aria-label") for e in page.locator(".ro-panel").all()]
    assert seen() == ["Tokens", "Planes"]
    find(page, "button", "Map").press("Enter")
    find(page, "button", "Tokens").press("Enter")
    settle(page)
    assert seen() == ["Planes", "Map"] and find(page, "button", "Map").get_attribute("aria-pressed") == "true"
    held = "() => Object.values(model.listeners).map((l) => l.length).join()"
    before = page.evaluate(held)
    for _ in range(2):
        find(page, "button", "Map").press("Enter")
        settle(page)
    assert page.evaluate(held) == before  # no listeners pile up
    page.get_by_role("button", name="Next step").press("Enter")
    settle(page)
    assert seen() == ["Tokens", "Planes"]


def test_numbers_stand_with_a_right_function_at_every_size(stage):
    for dim in (4, 16):
        page = stage(RopeExplorer(right_rope, dim=dim, m=33, n=7))
        assert score_of(page) == pytest.approx(RopeExplorer(right_rope, dim=dim).scores()[33, 7], abs=6e-4)


def test_the_line_has_whole_positions_while_it_plays(moving):
    page = moving(CASE.make(m=9, n=4))
    page.get_by_role("button", name="Play both").press("Enter")
    drawn = set()
    for _ in range(13):
        frame(page, 100)
        drawn.add(positions(page)[0])
        assert re.search(r"S\[\d+, \d+\] = ", readout(page)) and re.match(r"m = \d+, n = \d+, ", readout(page))
    assert any(m != round(m) for m in drawn)


def test_the_head_of_the_dials_can_be_chosen_only_where_they_are(stage):
    """The hands of "Longer than trained" have a head of their own, and only they need no D."""
    page = stage(CASE.make(panels=["training"], more=True))
    dim = page.get_by_label("head dim D", exact=True)
    assert dim.is_hidden() and page.get_by_label("base of the angles").is_visible()
    assert page.get_by_label("for a head dim of").is_visible()
    find(page, "button", "Planes").press("Enter")
    settle(page)
    assert dim.is_visible()
