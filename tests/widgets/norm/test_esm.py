"""Tier 2 of NormExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import numpy as np
import pytest
from anatomy.widgets import NormExplorer

from ..frames import WHOLE, frame
from ..page import find, settle, trait, words
from ..stages import set_state
from .case import CASE
from .learners import NORMS, sum_rms_norm

pytestmark = pytest.mark.browser
CHARTS = ("Input", "LayerNorm", "RMSNorm")


def test_norm_words_beside_the_numbers(stage):
    page = stage(CASE.make())
    assert words(page) == ["equal", "", "", "same"]
    page = stage(NormExplorer({**NORMS, "rms_norm": sum_rms_norm}))
    assert words(page) == ["broken", "", "", "differs"]


@pytest.mark.parametrize(
    "state, told",
    [
        ({"shift": 0.0}, ["", ""]),
        ({"shift": 2.0}, ["notices nothing", "notices it"]),
        ({"shift": 0.0, "scale": 3.0}, ["notices nothing", "notices nothing"]),
        ({"shift": 0.0, "scale": -1.0}, ["notices it", "notices it"]),
    ],
)
def test_each_picture_says_whether_its_norm_notices(stage, state, told):
    """As Python's facts say; x₀ itself is what both are compared with."""
    widget = CASE.make(**state)
    page = stage(widget)
    found = [
        page.get_by_label(f"after {name}").locator("> text[style*='font-weight: 700']").text_content()
        for name in CHARTS[1:]
    ]
    assert found == told
    if any(told):
        assert [widget.facts()[name] > 1e-3 for name in widget.names] == ["it" in word.split() for word in told]


def test_the_step_at_mean_0_compares_the_norms_with_each_other(stage):
    """Not with what they gave at shift 0, wherever μ is dragged."""
    step = NormExplorer.story[3]
    page, before = stage(CASE.make(**step.state, step=3)), "svg[aria-label$='after LayerNorm'] .ta-mark"
    set_state(page, {"alone": True})
    assert step.state["scale"] == 1 and "before" in step.without
    for shift, gap in ((2.0, None), (0.0, None), (-0.5, "0")):
        set_state(page, {"shift": shift})
        told = np.abs(np.subtract(*CASE.make(shift=shift).outputs().values())).max()
        assert f"LayerNorm and RMSNorm differ by {told:.3f} at most" in readout(page)
        assert (told < 1e-3) == (gap == "0") and "notices" not in page.locator(".ta-row").first.text_content()
        assert not any(line.is_visible() for line in page.locator(before).all())
    set_state(page, {"step": 4})
    assert "differ by" not in readout(page)


def test_norm_that_gives_nan_is_not_drawn(stage):
    page = stage(NormExplorer({**NORMS, "layer_norm": lambda x, weight, bias, eps: x * float("nan")}))
    bars = page.get_by_label("Bars: the eight entries after LayerNorm").locator("rect.ta-fill-one")
    assert bars.evaluate_all("(all) => all.map((e) => e.style.visibility)") == ["hidden"] * 8
    assert page.locator(".ta-word").last.text_content() == "differs"


def readout(page):
    """Text of the readout, even while its aria-live is off."""
    return page.locator(".ta-readout").text_content()


def on_entry(page, chart, entry):
    """Screen position in that column of a chart."""
    box = page.get_by_role("slider", name=f"Entries of {chart}", exact=True).bounding_box()
    return box["x"] + (entry + 0.5) * box["width"] / 8, box["y"] + 0.5 * box["height"]


def lit(page):
    """Number of bars with an outline in each of the three charts."""
    return page.evaluate(
        "() => [...document.querySelectorAll('.ta-row .ta-svg')].filter((c) => c.checkVisibility())"
        ".map((c) => c.querySelectorAll('rect.ta-lit').length)"
    )


@pytest.mark.parametrize("chart", CHARTS)
def test_an_entry_pointed_at_shows_its_formula_and_lights_up_everywhere(stage, chart):
    page = stage(CASE.make(shift=2.0))
    quiet = readout(page)
    page.mouse.move(*on_entry(page, chart, 3))
    settle(page)
    formula = {
        "Input": "LayerNorm: (4.291 − 2.500) ÷ 1.196 = 1.497; RMSNorm: 4.291 ÷ 2.771 = 1.548",
        "LayerNorm": "y[3] = γ (x[3] − μ) ÷ √(σ² + ε) + β = 1 · (4.291 − 2.500) ÷ √(1.431 + 1e−5) + 0 = 1.497",
        "RMSNorm": "y[3] = γ x[3] ÷ √(mean of x² + ε) = 1 · 4.291 ÷ √(7.681 + 1e−5) = 1.548",
    }[chart]
    assert formula in readout(page) and "x[3] = scale · x₀[3] + shift = 1 · 2.291 + 2 = 4.291" in readout(page)
    assert lit(page) == [1, 1, 1]
    page.mouse.move(2, 2)
    settle(page)
    assert readout(page) == quiet and lit(page) == [0, 0, 0]


def test_a_wrong_function_is_told_beside_its_formula(stage):
    page = stage(NormExplorer({**NORMS, "rms_norm": sum_rms_norm}, shift=2.0))
    page.mouse.move(*on_entry(page, "RMSNorm", 3))
    settle(page)
    assert "= 1.548; yours gives 0.547" in readout(page)
    page.mouse.move(*on_entry(page, "LayerNorm", 3))
    settle(page)
    assert "yours gives" not in readout(page)


def test_numbers_put_in_keep_their_digits_beside_a_large_shift(stage):
    page = stage(CASE.make(scale=0.01, shift=10.0))
    page.mouse.move(*on_entry(page, "LayerNorm", 0))
    settle(page)
    assert "(10.01581 − 10.00500) ÷ √(1.43e−4 + 1e−5)" in readout(page)


def middle(node):
    box = node.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def pulled(page, spot, up):
    """Drags from that spot upwards by ``up`` pixels."""
    page.mouse.move(*spot)
    page.mouse.down()
    page.mouse.move(spot[0], spot[1] - up, steps=4)
    page.mouse.up()
    page.mouse.move(2, 2)
    settle(page)


def shown(page):
    """The drawing and the readout, after releasing what is held."""
    page.keyboard.press("Escape")
    settle(page)
    numbers = page.locator(".ta-svg text").all_text_contents()
    return readout(page), numbers, page.locator(".ta").get_attribute("data-key")


@pytest.mark.parametrize("grip, name, to", [("grip μ: shift", "shift", 5.0), ("grip σ: scale", "scale", 3.0)])
def test_a_grip_is_dragged_and_moved_by_keys(stage, grip, name, to):
    """Mouse, the grip's own keys and the slider give the same state; Escape undoes a drag."""
    page = stage(CASE.make(shift=3.0))
    before = trait(page, name)
    handle = page.get_by_role("slider", name=grip, exact=True)
    pulled(page, middle(handle), 12)
    assert trait(page, name) == to
    by_hand = shown(page)
    page.evaluate("([name, value]) => model.set(name, value)", [name, before])
    handle.press("ArrowUp")
    settle(page)
    assert trait(page, name) == to and shown(page) == by_hand
    find(page, "slider", name).press("ArrowLeft")
    find(page, "slider", name).press("ArrowRight")
    settle(page)
    assert shown(page) == by_hand and handle.get_attribute("aria-valuetext") == f"{to:g}"
    x, y = middle(handle)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 60)
    assert trait(page, name) != to
    page.keyboard.press("Escape")
    assert trait(page, name) == to
    page.mouse.up()


def test_a_bar_is_lifted_and_takes_all_others_along(stage):
    page = stage(CASE.make(shift=3.0))
    pulled(page, on_entry(page, "Input", 2), 24)
    assert trait(page, "shift") == 10.0 and trait(page, "scale") == 1.0
    assert '"entry":2' in page.locator(".ta").get_attribute("data-peek")  # the bar stays held
    by_hand = shown(page)
    page.evaluate("() => model.set('shift', 3)")
    for _ in range(2):
        page.get_by_role("slider", name="grip μ: shift", exact=True).press("ArrowRight")
    settle(page)
    assert trait(page, "shift") == 10.0 and shown(page) == by_hand
    page.mouse.click(*on_entry(page, "Input", 5))  # a click without dragging changes nothing
    settle(page)
    assert trait(page, "shift") == 10.0 and '"entry":5' in page.locator(".ta").get_attribute("data-peek")


def test_the_units_of_both_norms_are_drawn_at_their_size(stage):
    """On the input's axis, the arrow of RMS is 2.771 long, that of σ 1.196."""
    page = stage(CASE.make(shift=2.0))
    tips = (
        page.locator(".ta-row .ta-svg")
        .first.locator(".ta-head")
        .evaluate_all(
            "(all) => all.slice(0, 2).map((head) => Number(head.getAttribute('d').match(/^M0.00 (-?[0-9.]+)L/)[1]))"
        )
    )
    unit = 204 / 2 / 8  # pixels for 1 on an axis of ±8
    assert tips == pytest.approx([-1.196 * unit, -2.771 * unit], abs=0.1)


def test_the_picture_stands_still_under_a_hand_that_drags(stage):
    """Even if the drag leaves the scene of a step."""
    page = stage(CASE.make(**NormExplorer.story[1].state, step=1))
    scene, grip = page.get_by_role("button", name="Set the scene"), page.get_by_label("grip μ: shift")
    chart = page.locator(".ta-row .ta-svg").first
    for x, y in (middle(grip), on_entry(page, "Input", 2)):
        before = chart.bounding_box()
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x, y - 12)
        settle(page)
        assert trait(page, "shift") == 0.5 and chart.bounding_box() == before
        page.mouse.up()
        settle(page)
        assert scene.get_attribute("aria-disabled") == "false" and chart.bounding_box() == before
        scene.click()
        settle(page)
        assert trait(page, "shift") == 0


UNIT = 33  # pixels of √8


def marks(page, norm):
    """Places of the three marks of a norm's picture that are seen, in units of √8."""
    return (
        page.get_by_label(f"{norm} as the way of one point")
        .locator("g > path[transform]")
        .evaluate_all(
            f"""(all) => all.filter((e) => e.style.visibility === 'visible' && !e.style.strokeDasharray).map((e) => {{
          const [x, y] = e.getAttribute('transform').match(/-?[0-9.]+/g).map(Number);
          return [(x - e.ownerSVGElement.viewBox.baseVal.width / 2) / {UNIT}, (108 - y) / {UNIT}]; }})"""
        )
    )


@pytest.mark.parametrize("setting", [{}, {"scale": -1.0, "shift": -0.5}, {"shift": 10.0, "eps": 0.1}])
def test_points_stand_where_python_says(stage, setting):
    widget = CASE.make(show="points", **setting)
    page, places = stage(widget), widget.points()
    assert marks(page, "LayerNorm") == [pytest.approx(p, abs=0.01) for p in places["layer_norm"].tolist()]
    assert marks(page, "RMSNorm") == [pytest.approx(p, abs=0.01) for p in places["rms_norm"][[0, 2]].tolist()]


def test_a_wrong_norm_shows_where_it_should_have_ended(stage):
    page = stage(NormExplorer({**NORMS, "rms_norm": sum_rms_norm}, show="points", shift=2.0))
    hollow = "g > path[style*='dasharray']:not([style*='hidden'])"
    pictures = [page.get_by_label(f"{n} as the way of one point") for n in CHARTS[1:]]
    assert [picture.locator(hollow).count() for picture in pictures] == [0, 1]
    assert "length 7.84 → 1" in pictures[1].text_content() and "length 7.84 → 3.38 → 2.83" in pictures[0].text_content()


def test_x_falls_straight_onto_the_plane_and_stops_there(moving):  # noqa: F811
    page = moving(CASE.make(show="points", stage=0))
    (across, high), *_ = marks(page, "LayerNorm")
    page.get_by_role("radio", name="mean subtracted").check()
    frame(page, 0)
    frame(page, 60)
    x, between = marks(page, "LayerNorm")[2]
    assert x == pytest.approx(across, abs=1e-3) and 0.1 < between < high - 0.1
    frame(page, WHOLE)
    assert marks(page, "LayerNorm")[2] == pytest.approx([across, 0], abs=1e-3)
    assert marks(page, "RMSNorm")[-1] == pytest.approx([across, high], abs=1e-3)


def test_an_entry_alone_has_its_number_and_arrows_stay_within_the_axes(stage):
    page = stage(CASE.make(scale=3.0, shift=-10.0))
    under = lambda: page.locator(".ta-row .ta-svg > text.ta-strong:not(:empty)").all_text_contents()
    assert under() == ["RMS"]
    page.mouse.move(*on_entry(page, "Input", 3))
    settle(page)
    assert under() == ["−3.13", "RMS", "1.50", "−0.34"]
    out = """() => { const svg = document.querySelector('.ta-row .ta-svg');
      const a = svg.querySelector('rect.ta-axis').getBoundingClientRect();
      return [...svg.querySelectorAll('.ta-arrow, .ta-head')].map((e) => e.getBoundingClientRect())
        .filter((b) => b.left < a.left || b.right > a.right || b.top < a.top - 1 || b.bottom > a.bottom + 1)
        .length; }"""
    for scale in (-1.0, 1.0, 100.0):
        for shift in (-10.0, 2.0, 10.0):
            set_state(page, {"scale": scale, "shift": shift})
            assert page.evaluate(out) == 0, (scale, shift)


BARS = """() => [...document.querySelectorAll('svg[aria-label$="of the input"] rect[style*="--ta-rule"]')]
  .map((bar) => [Number(bar.getAttribute('height')), bar.nextElementSibling.getAttribute('d')])"""


@pytest.mark.parametrize("scale, shift", [(0.1, 0.0), (3.0, 0.0), (10.0, 0.0), (100.0, 0.0), (-1.0, 3.0), (1.0, -10.0)])
def test_the_inputs_axis_stays_and_what_outgrows_it_says_so(stage, scale, shift):
    """±8 on 204 pixels at every setting; at its end each longer bar has an arrow, and the note says how far it goes."""
    widget = CASE.make(scale=scale, shift=shift)
    page = stage(CASE.make(scale=1.0, shift=0.0))
    chart, note = page.locator(".ta-row .ta-svg").first, page.locator(".ta-row .ta-caption small").first
    named = chart.locator("text[text-anchor=end]").all_text_contents()
    assert named == ["8", "4", "0", "−4", "−8"] and note.text_content() == "short lines: x₀, at shift 0 and scale 1"
    set_state(page, {"scale": scale, "shift": shift})
    assert chart.locator("text[text-anchor=end]").all_text_contents() == named
    x = widget.vector()
    bars = page.evaluate(BARS)
    assert [h for h, _ in bars] == pytest.approx([min(abs(v), 8) * 102 / 8 for v in x], abs=0.11)
    assert [bool(d) for _, d in bars] == [abs(v) > 8 for v in x]
    most = max(x, key=abs)
    assert ("arrows" in note.text_content()) == (abs(most) > 8)
    if abs(most) > 8:
        mean, spread = np.mean(x), np.std(x)
        past = [("μ", mean, mean), ("σ", spread, mean + spread)]
        sizes = "".join(f", {letter} {size:.3g}" for letter, size, place in past if abs(place) > 8)
        assert note.text_content() == f"arrows: bars go on to {most:.3g}{sizes}".replace("-", "−")


def test_the_norms_stay_where_the_input_outgrows_its_axis(stage):
    page = stage(CASE.make(scale=1.0, shift=0.0, eps=1e-8))
    heights = "(all) => all.map((e) => Number(e.getAttribute('height')))"
    found = lambda: [page.locator(f"rect.ta-fill-{k}").evaluate_all(heights) for k in ("one", "two")]
    before, grown = found(), page.evaluate(BARS)
    set_state(page, {"scale": 100.0})
    assert [pytest.approx(row, abs=0.11) for row in before] == found() and page.evaluate(BARS) != grown


@pytest.mark.parametrize("show", ["bars", "points"])
def test_captions_name_no_color_and_compare_with_nothing_where_no_function_is_given(stage, show):
    """Lines that are black on a light page are white on a dark one."""
    for widget in (NormExplorer(show=show), CASE.make(show=show)):
        told = " ".join(stage(widget).locator(".ta-row .ta-caption").all_text_contents())
        assert "black" not in told and "reference" not in told and ("yours" in told) == (not widget.notice)
    assert not [step for step in NormExplorer.story if "black" in f"{step.says} {step.look} {step.because}"]


def test_what_goes_past_the_edge_is_told_and_moves_nothing(stage):
    """The grips stop at the edge, and what they stand for does not."""
    page = stage(CASE.make())
    note = page.locator(".ta-caption", has_text="Input").locator("small")
    room = note.bounding_box()["height"]
    for state, told in [
        ({"scale": 3.0}, "short lines: x₀, at shift 0 and scale 1"),
        ({"scale": 10.0}, "arrows: bars go on to 22.9, σ 12"),
        ({"scale": 100.0, "shift": 10.0}, "arrows: bars go on to 239, μ 60, σ 120"),
    ]:
        set_state(page, {"shift": 0.0, **state})
        assert note.text_content() == told and note.bounding_box()["height"] == room
