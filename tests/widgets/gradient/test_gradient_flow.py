"""Tier 2 of GradientFlowExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import numpy as np
import pytest
from anatomy.experiments.gradient_flow import DEPTHS, SEEDS
from anatomy.widgets import GradientFlowExplorer
from anatomy.widgets.gradient import NAMES, times, word
from anatomy.widgets.gradient.story import STORY

from ..frames import WHOLE, frame
from ..page import find, settle, trait, words
from ..page import said as heard
from ..stages import set_state
from .case import CASE, LATER
from .learners import WIRED

browser_test = pytest.mark.browser


@pytest.fixture(scope="module")
def right():
    return GradientFlowExplorer(WIRED)


@browser_test
def test_page_and_python_show_the_same_numbers(stage):
    widget = GradientFlowExplorer(WIRED, wiring="norm inside", other="DeepNorm", depth=96, width=64, seed=2)
    numbers = stage(widget).locator(".ta-number").all_text_contents()
    one = widget.facts(widget.wiring)
    assert float(numbers[0].replace(",", "")) == pytest.approx(one["first_to_last"], rel=5e-3)
    assert float(numbers[1]) == pytest.approx(one["last"], rel=5e-3)
    assert numbers[2] == times(one["deeper"]) and f"({numbers[2]} from 6 to 96 layers)" in widget.alt


@browser_test
def test_a_wrong_wiring_is_called_so_and_broken_curves_are_not_drawn(stage):
    page = stage(GradientFlowExplorer({**WIRED, "post_ln": WIRED["pre_ln"]}))
    assert words(page)[3::4] == ["differs", "same"]
    page = stage(GradientFlowExplorer({**WIRED, "post_ln": lambda x, f, n: n(x + f(x)) * float("nan")}))
    assert page.locator(".ta-number").all_text_contents()[3] == "NaN"
    assert "NaN" not in "".join(page.locator("path").evaluate_all("(all) => all.map((p) => p.getAttribute('d') || '')"))


@browser_test
def test_depths_beyond_the_live_ones_are_called_recorded(stage):
    page = stage(CASE.make(**LATER))
    find(page, "slider", "number of layers").press("End")
    settle(page)
    assert page.locator(".ta-caption small").first.text_content().startswith("solid: Post-LN, recorded")


def area(page, name):
    return page.locator(f".ta-area[aria-label^='{name}']")


def show_all(page, what="All 7 wirings"):
    page.get_by_role("button", name=what, exact=True).click()
    settle(page)


def point(page, where, column, columns, move="move"):
    box = area(page, where).bounding_box()
    getattr(page.mouse, move)(box["x"] + (column + 0.5) * box["width"] / columns, box["y"] + box["height"] / 2)
    settle(page)


def formula(page):
    return page.locator(".ta-formula").text_content()


@browser_test
@pytest.mark.parametrize("where, layer", [("Layers", 4), ("Flow", 10)])
def test_a_layer_that_is_pointed_at_says_its_norm_in_both_wirings(stage, right, where, layer):
    page = stage(CASE.make(**LATER))
    show_all(page, "Curves")
    point(page, where, layer, 12)
    one, two = right.curve(0)[layer], right.curve(1)[layer]
    assert f"over the weights W of layer {layer + 1} = {one:.3g} (Post-LN), {two:.3g} (Pre-LN)." in formula(page)
    dots = page.locator("circle:not(.ta-sum, .ta-loss)").evaluate_all("(all) => all.map((c) => c.style.visibility)")
    assert dots == ["visible"] * 4
    page.mouse.move(1, 1)
    settle(page)
    assert formula(page) == ""


@browser_test
def test_running_along_the_depths_sets_the_depth_as_the_keys_do(stage):
    by_hand, by_key = stage(CASE.make(**LATER)), stage(CASE.make(**LATER))
    for page in (by_hand, by_key):
        show_all(page, "Curves")
    point(by_hand, "Depths", 3, 5)
    assert trait(by_hand, "depth") == 12 and "48 layers of width" in by_hand.locator(".ta-readout").text_content()
    point(by_hand, "Depths", 3, 5, "click")
    by_hand.mouse.move(1, 1)
    area(by_key, "Depths").focus()
    by_key.keyboard.press("ArrowRight")
    by_key.keyboard.press("ArrowRight")
    for page in (by_hand, by_key):
        settle(page)
        assert trait(page, "depth") == 48 and "g[48] of 48 layers = " in formula(page)
    assert heard(by_hand) == heard(by_key)
    by_key.keyboard.press("Escape")
    settle(by_key)
    assert formula(by_key) == "" and trait(by_key, "depth") == 48


@browser_test
def test_small_pictures_show_and_choose_a_wiring(stage):
    page = stage(CASE.make(**LATER))
    curve = page.locator(".ta-svg[aria-label^='Gradient norm of each'] path.ta-mine")
    before = curve.get_attribute("d")
    show_all(page)
    point(page, "Wirings", 5, 7)
    assert curve.get_attribute("d") != before and trait(page, "wiring") == 0
    point(page, "Wirings", 5, 7, "click")
    assert NAMES[trait(page, "wiring")] == "DeepNorm"
    page.keyboard.press("ArrowLeft")
    assert NAMES[trait(page, "wiring")] == "norm inside"


@browser_test
def test_dashes_show_only_where_a_curve_leaves_the_recorded_one(stage):
    dashes = ".ta-svg[aria-label^='Gradient norm of each'] path.ta-reference"
    assert stage(CASE.make(**LATER)).locator(dashes).count() == 0
    wrong = stage(GradientFlowExplorer({**WIRED, "post_ln": WIRED["pre_ln"]}))
    assert wrong.locator(dashes).count() == 1
    assert "gray dashes" in wrong.locator(".ta-caption small").first.text_content()


STRIPS = ".ta-svg[aria-label^='The gradient of each layer'] path:is(.ta-fill-one, .ta-open-two)"


def bars(page):
    """Heights of the bars of both wirings, in px, from layer 1 on."""
    found = page.locator(STRIPS).evaluate_all("(all) => all.map((p) => p.getAttribute('d'))")
    return [
        np.array([float(bar.split("v-")[1].split("h")[0]) if "v-" in bar else 0 for bar in d.split("z")[:-1]])
        for d in found
    ]


def highest(wirings=(0, 1), depths=DEPTHS, seeds=range(SEEDS)):
    """The highest of all bars that those sliders reach, of width 32."""
    return max(GradientFlowExplorer(depth=d, seed=s).curve(k).max() for k in wirings for d in depths for s in seeds)


@browser_test
@pytest.mark.parametrize(
    "step, reached, said",
    [
        (0, {"depths": [12], "seeds": [0]}, ""),
        (1, {"seeds": [0]}, ", at every depth"),
        (3, {"depths": [96], "seeds": [0]}, ""),
        (4, {"depths": [96]}, ", with every seed"),
    ],
)
def test_the_scale_of_the_bars_stays_while_the_sliders_in_sight_move(stage, step, reached, said):
    page, top = stage(CASE.usual), highest(**reached)
    set_state(page, {"alone": True, "step": step, **STORY[step].state, "back": 96})
    for depth in reached.get("depths", DEPTHS):
        for seed in reached.get("seeds", range(SEEDS)):
            set_state(page, {"depth": depth, "seed": seed})
            for seen, k in zip(bars(page), (0, 1), strict=True):
                curve = GradientFlowExplorer(depth=depth, seed=seed).curve(k)
                assert seen == pytest.approx(0.53 * 124 * curve / top, abs=0.02)
    number, *rest = page.locator(".ta-bar .ta-note").text_content().removeprefix("bars: linear from 0 to ").split(",")
    assert float(number) == pytest.approx(top, rel=5e-3) and "".join(rest) == said.removeprefix(",")


@browser_test
@pytest.mark.parametrize("depth", [12, 96])
def test_bars_are_the_norms_on_one_linear_scale(stage, depth):
    """Learner's at 12 layers, recorded at 96; only of those layers that the gradient has come to."""
    tall = 0.53 * 124
    widget = GradientFlowExplorer(WIRED, depth=depth, back=96)
    page, curves, top = stage(widget), [widget.curve(0), widget.curve(1)], highest()
    for seen, curve in zip(bars(page), curves, strict=True):
        assert seen == pytest.approx(tall * curve / top, abs=0.02)
    assert f"linear from 0 to {top:.3g}, at every depth and seed" in page.locator(".ta-bar .ta-note").text_content()
    set_state(page, {"back": 5})
    for seen, curve in zip(bars(page), curves, strict=True):
        assert (seen[:-5] == 0).all() and seen[-5:] == pytest.approx(tall * curve[-5:] / top, abs=0.02)
    last = depth - 4
    assert f"come to layer {last}: {curves[0][last - 1]:.3g} (Post-LN), {curves[1][last - 1]:.3g} (Pre-LN)" in formula(
        page
    )
    widget.back = 5
    assert f"run back through 5 of {depth} layers." in widget.alt


TALLER = "svg[aria-label^='The gradient of each layer'] text.ta-strong"


@browser_test
@pytest.mark.parametrize("one, times", [("DeepNorm", [20, 1]), ("norm inside", [1, 2000]), ("Post-LN", [1, 1])])
def test_bars_that_would_be_hairlines_are_drawn_larger_and_say_so(stage, one, times):
    widget = GradientFlowExplorer(WIRED, wiring=one, depth=96, back=96)
    page, curves = stage(widget), [widget.curve(widget.wiring), widget.curve(widget.other)]
    shown, top = max(c.max() for c in curves), highest((widget.wiring, widget.other))
    top = top if top <= 20 * shown else shown  # norm inside has a bar of 940,000
    for seen, curve, n in zip(bars(page), curves, times, strict=True):
        assert seen == pytest.approx(0.53 * 124 * n * curve / top, abs=0.02) and seen.max() > 0.1 * 0.53 * 124
    said = page.locator(TALLER).all_text_contents()
    assert said == [f"magnified: bars {n:,} times as tall" if n > 1 else "" for n in times]
    set_state(page, {"back": 0})
    assert page.locator(TALLER).all_text_contents() == ["", ""]  # of bars that are not there


def bands(page):
    """Heights of both streams, in px, at 97 places from the input to the end of the last layer; None if not drawn."""
    found = []
    for node in page.locator(".ta-stream").all():
        if not node.is_visible():
            found.append(None)
            continue
        y = [float(spot.split(" ")[1]) for spot in node.get_attribute("d")[1:-1].split("L")]
        found.append(np.array(y[::-1][:97]) - np.array(y[:97]))
    return found


@browser_test
@pytest.mark.parametrize("depth", [12, 96])
def test_a_streams_band_is_as_high_as_its_numbers_are_large(stage, depth):
    """Linear from 0; one scale for both stacks and all depths."""
    widget = GradientFlowExplorer(WIRED, depth=depth, seed=1)
    page = stage(widget)
    most = max(GradientFlowExplorer(WIRED, depth=d, seed=1).stream(k).max() for d in (48, 96) for k in (0, 1))
    for seen, k in zip(bands(page), (0, 1), strict=True):
        assert seen[:: 96 // depth] == pytest.approx(0.42 * 124 * widget.stream(k) / most, abs=0.03)
    divided = page.locator("[data-readout=size]").all_text_contents()
    assert divided == ["", f"÷ {widget.stream(1)[-1]:.3g}"]  # Post-LN has no norm at its end
    assert (
        f"Pre-LN’s stream has RMS {widget.stream(1)[0]:.3g} before layer 1 and {widget.stream(1)[-1]:.3g} after"
        in widget.alt
    )


@browser_test
def test_no_recorded_stream_is_drawn_for_another_wiring(stage):
    widget = GradientFlowExplorer({**WIRED, "pre_ln": WIRED["post_ln"]})
    one, two = bands(stage(widget))
    assert one is not None and two is None
    assert "Post-LN’s stream has" in widget.alt and "Pre-LN’s stream has" not in widget.alt


@browser_test
def test_the_gradient_runs_back_from_the_last_layer_and_stops_at_the_first(moving):  # noqa: F811
    page = moving(GradientFlowExplorer(WIRED, back=0, step=2))
    assert not any(seen.any() for seen in bars(page))
    page.get_by_role("button", name="Let the gradient run back").click()
    frame(page, 600)
    half = bars(page)
    assert all((seen[9:] > 0).all() and not seen[:8].any() for seen in half)  # a quarter of the time: 3 of 12 layers
    frame(page, 2000)
    frame(page, WHOLE)
    assert trait(page, "back") == 96 and all((seen > 0).all() for seen in bars(page)) and frame(page, WHOLE) == 0
    page.get_by_role("button", name="Let the gradient run back").click()
    frame(page, 600)
    page.get_by_role("button", name="Next step").click()
    frame(page, WHOLE)
    assert trait(page, "back") == 0 and not any(
        seen.any() for seen in bars(page)
    )  # the step's scene, not the run's end


@browser_test
def test_an_answer_lets_the_gradient_run_where_the_step_is_about_it(moving):  # noqa: F811
    page = moving(GradientFlowExplorer(WIRED, **STORY[3].state, step=3))
    answer = lambda name: page.locator(".ta-asks").get_by_role("button", name=name, exact=True).click()
    answer("the last norm")
    frame(page, 600)
    assert all((seen[72:] > 0).all() and not seen[:70].any() for seen in bars(page))  # a quarter of 96 layers
    frame(page, 2000)
    frame(page, WHOLE)
    assert trait(page, "back") == 96 and all((seen > 0).all() for seen in bars(page))
    answer("each layer adds a part")  # the bars are there already
    frame(page, WHOLE)
    assert frame(page, WHOLE) == 0 and page.locator(".ta-reply").text_content() == f"✓ {STORY[3].because}"


@browser_test
def test_with_reduced_motion_the_end_is_there_at_once(stage):
    page = stage(GradientFlowExplorer(WIRED, back=0))
    page.get_by_role("button", name="Let the gradient run back").press("Enter")
    settle(page)
    assert trait(page, "back") == 96 and all((seen > 0).all() for seen in bars(page))


def drawn(page, i):
    """The i-th wiring's drawing: its name, and the boxes of its norms and of its sum in the page."""
    picture = page.locator(".ta-panel svg:has(.ta-sum)").nth(i)
    boxes = lambda kind: [node.bounding_box() for node in picture.locator(kind).all()]
    return picture.get_attribute("aria-label"), boxes(".ta-norm"), boxes(".ta-sum")[0]


@browser_test
def test_the_two_wirings_are_drawn_with_the_norm_where_their_function_has_it(stage):
    """Norms on the stream are at the sum's height and after it; those on the branch are above it and before it."""
    page = stage(CASE.make(**LATER))
    norms = {"Post-LN": 1, "Pre-LN": 1, "sandwich": 2, "pre+post": 2, "norm inside": 1, "DeepNorm": 1, "parallel": 1}
    for i, name in enumerate(NAMES):
        set_state(page, {"wiring": i, "other": i})
        for side in (0, 1):
            said, found, total = drawn(page, side)
            assert said.startswith(f"{name}: ") and len(found) == norms[name]
            on_stream = [abs(n["y"] + n["height"] / 2 - total["y"] - total["height"] / 2) < 2 for n in found]
            assert on_stream == [name in ("Post-LN", "DeepNorm")] * len(found), name
            after = [n["x"] > total["x"] for n in found]
            assert after == on_stream, name


@browser_test
def test_a_wiring_that_is_pointed_at_is_drawn(stage):
    page = stage(CASE.make(**LATER))
    assert [drawn(page, i)[0].split(":")[0] for i in (0, 1)] == ["Post-LN", "Pre-LN"]
    show_all(page)
    point(page, "Wirings", 5, 7)
    assert [drawn(page, i)[0].split(":")[0] for i in (0, 1)] == ["DeepNorm", "Pre-LN"]
    page.mouse.move(1, 1)
    settle(page)
    assert drawn(page, 0)[0].startswith("Post-LN")


@browser_test
@pytest.mark.parametrize("depth", [12, 96])
def test_small_pictures_are_the_gradient_per_layer_on_one_scale(stage, depth):
    """Of the learner's functions where they are live: 62 px for a factor of 5 ÷ 0.006."""
    widget = GradientFlowExplorer(WIRED, depth=depth)
    page = stage(widget)
    paths = page.locator(".ta-svg[aria-label^='Gradient norm per layer, small'] g path").evaluate_all(
        "(all) => all.map((p) => p.getAttribute('d'))"
    )
    assert len(paths) == len(NAMES)
    for i, d in enumerate(paths):
        high = np.array([float(spot.split(" ")[1]) for spot in d[1:].replace("M", "L").split("L")])
        expected = 84 - 7 - 62 * np.log10(widget.curve(i) / 0.006) / np.log10(5 / 0.006)
        assert high == pytest.approx(expected, abs=0.06), NAMES[i]
        level = high.max() - high.min() < 4
        assert depth == 12 or level == (NAMES[i] == "DeepNorm"), NAMES[i]


@browser_test
def test_it_says_what_follows_from_a_large_last_gradient_beside_the_last_layer(stage):
    page = stage(CASE.make(**LATER))
    row = page.locator(".ta-row", has_text="Last layer against depth")
    warm = "Post-LN’s stays large, so it needs warm-up (arXiv:2002.04745)."
    assert f"Last layer with depth: Post-LN’s stays flat, Pre-LN’s falls. {warm}" in row.text_content()
    for one, two in (("DeepNorm", "sandwich"), ("norm inside", "Post-LN"), ("Pre-LN", "Pre-LN")):
        widget = CASE.make(wiring=one, other=two)
        set_state(page, {"wiring": widget.wiring, "other": widget.other})
        told = row.text_content()
        for name, place in ((one, widget.wiring), (two, widget.other)):
            assert f"{name}’s {word(widget.facts(place)['slope'])}" in told
        assert told.count(f"{one}’s ") == 1 and (warm in told) == ("Post-LN" in (one, two))


@browser_test
def test_a_wiring_beside_itself_has_one_row_of_numbers(stage):
    page = stage(CASE.make(**LATER))
    rows = page.locator(".ta-signs")
    assert [row.is_visible() for row in rows.all()] == [True, True]
    show_all(page)
    point(page, "Wirings", 1, 7)  # it is the one compared with
    assert [row.is_visible() for row in rows.all()] == [True, False]
    assert page.get_by_text("compared with itself").is_visible()
    assert page.locator(".ta-line").text_content().count("Pre-LN") == 1
    page.mouse.move(1, 1)
    settle(page)
    assert [row.is_visible() for row in rows.all()] == [True, True]


@browser_test
def test_curves_or_all_wirings_unfold_when_asked_and_the_story_stays_on_one_picture(stage):
    page = stage(CASE.make(**LATER))
    shown = lambda: [area(page, name).is_visible() for name in ("Wirings", "Layers", "Depths", "Flow")]
    tall = lambda: area(page, "Flow").bounding_box()["height"] > 200
    assert shown() == [False, False, False, True] and tall()
    show_all(page)
    assert shown() == [True, False, False, True] and not tall()
    show_all(page, "Curves")
    assert shown() == [False, True, True, True]
    show_all(page, "Curves")
    assert shown() == [False, False, False, True] and tall()
    show_all(page)
    for i, step in enumerate(STORY):
        set_state(page, {**step.state, "step": i})
        assert shown() == [False, False, False, True] and tall(), step.says


@browser_test
def test_the_first_step_is_a_button_and_what_it_does(stage):
    page = stage(CASE.usual)
    set_state(page, {"alone": True, "step": 0})
    offered = lambda: [
        find(page, role, name).is_visible() for role, name, *_ in [*CASE.controls, ("button", "All 7 wirings")]
    ]
    assert offered() == [True] + [False] * len(CASE.controls[1:]) + [False]
    assert not any(seen.any() for seen in bars(page))
    find(page, "button", "◂ Let the gradient run back").press("Enter")
    settle(page)
    assert (
        all((seen > 0).all() for seen in bars(page)) and offered().count(True) == 1
    )  # nothing comes in under the hand
    assert bands(page) == [None, None]
    set_state(page, {"seed": 1})  # from Python: its control shows it
    assert offered().count(True) == 2 and find(page, "slider", "seed").is_visible()
    set_state(page, {**STORY[6].state, "step": 6})
    assert all(offered())


@browser_test
def test_a_norm_of_one_is_printed_as_1(stage):
    page = stage(CASE.make(**LATER))
    show_all(page, "Curves")
    numbers = page.locator(".ta-svg[aria-label^='Gradient norm of each'] text.ta-small").all_text_contents()
    assert "1" in numbers and "0.1" in numbers and not any("e" in n for n in numbers if n != "layer")
