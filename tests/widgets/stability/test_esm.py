"""Tier 2 of SoftmaxStabilityExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import math

import pytest
import torch
from anatomy.widgets import SoftmaxStabilityExplorer
from anatomy.widgets.stability import DTYPES, scores

from ..page import find, said, settle, trait, words
from ..stages import set_state
from .case import RUN
from .learners import RIGHT, WRONG

pytestmark = pytest.mark.browser


def readout(page):
    """Text of the readout, even while its aria-live is off."""
    return page.locator(".ta-readout").text_content()


def point(page, target, x=0.5, y=0.5):
    """Moves the pointer there; returns the readout."""
    target.scroll_into_view_if_needed()
    box = target.bounding_box()
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    settle(page)
    return readout(page)


def bars(page, caption):
    return page.get_by_role("slider", name=f"{caption}, bars", exact=True)


def curves(page):
    return page.get_by_role("slider", name="Curves: growth of the scores", exact=True)


def grip(page):
    return page.get_by_role("slider", name="the eight scores", exact=True)


def lit(page):
    """Index of the marked bar in each panel, -1 if none is marked."""
    return page.locator(".ta-remedies svg:visible").evaluate_all("""(all) => all.map((s) => (
      [...s.querySelectorAll('rect[fill-opacity]')].findIndex((r) => r.classList.contains('ta-lit'))))""")


def test_only_the_slider_that_counts_is_shown(stage):
    page = stage(SoftmaxStabilityExplorer(RIGHT, more=True))
    assert find(page, "slider", "factor").is_visible() and not find(page, "slider", "step of the run").count()
    find(page, "group", "scores grow").press("ArrowRight")
    settle(page)
    assert find(page, "slider", "step of the run").is_visible() and not find(page, "slider", "factor").count()


@pytest.mark.parametrize("growth, moved", [({}, "factor"), (RUN, "run_step")])
def test_the_scores_are_dragged(stage, growth, moved):
    """8 px per step in both directions; Escape undoes a drag; arrow keys do the same as the mouse."""
    page = stage(SoftmaxStabilityExplorer(RIGHT, **{**growth, "more": True}))
    start, heard = trait(page, moved), readout(page)
    box = grip(page).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 24, y)
    settle(page)
    assert trait(page, moved) == start + 3
    by_hand = readout(page)
    assert by_hand != heard and page.locator(".ta-readout").get_attribute("aria-live") == "off"
    page.mouse.move(x - 16, y)
    assert trait(page, moved) == start - 2
    page.mouse.move(x - 2000, y)
    assert trait(page, moved) == 0
    page.keyboard.press("Escape")
    settle(page)
    assert trait(page, moved) == start and readout(page) == heard
    page.mouse.move(x + 80, y)
    page.mouse.up()
    assert trait(page, moved) == start  # Escape ended the drag
    for _ in range(3):
        grip(page).press("ArrowRight")
    settle(page)
    assert trait(page, moved) == start + 3 and readout(page) == by_hand
    assert grip(page).get_attribute("aria-valuenow") == str(start + 3)
    grip(page).press("End")
    settle(page)
    assert grip(page).get_attribute("aria-valuenow") == grip(page).get_attribute("aria-valuemax")


def test_a_key_is_marked_in_all_panels_and_its_weight_explained(stage):
    """At factor 11.3: score 17, 9.35 with the cap, 1.52 with QK-norm."""
    page = stage(SoftmaxStabilityExplorer(RIGHT, more=True, factor=13))
    quiet = readout(page)
    assert lit(page) == [-1] * 4
    heard = point(page, bars(page, "soft cap"), 0.6, 1.5 / 8)
    assert lit(page) == [1] * 4
    assert "y[1] = c tanh(x ÷ c) = 10 tanh(17 ÷ 10) = 9.35; p[1] = exp(9.35 − 9.79) ÷ Σ = " in heard
    assert heard.endswith("= 0.351")
    assert "x[1] = bound · cos(q, k) = 4 · 0.38 = 1.52; p[1] = " in point(page, bars(page, "QK-norm"), 0.6, 1.5 / 8)
    assert "∂ z-loss ÷ ∂x[0] = 2 λ log Z · p[0] = 2 · 0.0001 · 22.6 · 0.997 = 0.0045" in point(
        page, bars(page, "z-loss"), 0.6, 0.5 / 8
    )
    page.mouse.move(2, 2)
    settle(page)
    assert readout(page) == quiet and lit(page) == [-1] * 4


def test_a_function_that_differs_gets_no_formula_of_the_right_one(stage):
    page = stage(SoftmaxStabilityExplorer(WRONG, more=True, factor=13))
    assert "y[1] = soft_cap(x, c) = 10;" in point(page, bars(page, "soft cap"), 0.6, 1.5 / 8)
    assert "cos" not in point(page, bars(page, "QK-norm"), 0.6, 1.5 / 8)
    assert "z_loss_gradient(x, λ)" in point(page, bars(page, "z-loss"), 0.6, 0.5 / 8)


def test_pointing_along_the_curves_moves_the_bars_and_a_click_keeps(stage):
    page = stage(SoftmaxStabilityExplorer(RIGHT, more=True, factor=13, quantity="slope"))
    label = "() => document.querySelector('.ta-remedies text').textContent"
    heard = point(page, curves(page), 6.5 / 37, 0.3)
    assert "factor 1, scores up to 2:" in heard and "0.24 (no remedy)" in heard and "0.23 (QK-norm)" in heard
    assert page.evaluate(label) == "2" and trait(page, "factor") == 13
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(2, 2)
    settle(page)
    assert trait(page, "factor") == 6 and page.evaluate(label) == "2"
    curves(page).press("ArrowRight")
    settle(page)
    assert trait(page, "factor") == 7 and curves(page).get_attribute("aria-valuetext") == "factor 1.41"


def test_three_curves_are_seen(stage):
    """Each has points, and is not clipped away."""
    page = stage(SoftmaxStabilityExplorer(RIGHT, more=True, quantity="largest score"))
    found = page.evaluate("""() => [...document.querySelectorAll('g[clip-path] path[class]')].map(
      (p) => [p.getAttribute('d').split('L').length, p.getBoundingClientRect().width > 200])""")
    assert found == [[37, True]] * 3
    assert page.locator("clipPath rect").count() == 1


def test_a_dtype_shades_where_it_breaks(stage):
    page = stage(SoftmaxStabilityExplorer(RIGHT, more=True, factor=13))
    shaded = "() => document.querySelector('g[clip-path] path').getAttribute('d').split('M').length - 1"
    lanes = page.get_by_role("slider", name="dtypes", exact=True)
    assert page.evaluate(shaded) == 0
    heard = point(page, lanes, 0.5, 0.5 / 4)
    assert "beyond x = 11.1 (shaded)" in heard and "∞ ÷ ∞, which is NaN" in heard and page.evaluate(shaded) == 37 - 11
    assert "= 0.997" in point(page, lanes, 0.5, 3.5 / 4) and page.evaluate(shaded) == 37 - 23
    page.mouse.move(2, 2)
    for _ in range(3):
        lanes.press("ArrowDown")
    settle(page)
    assert lanes.get_attribute("aria-valuetext") == "float64"
    assert "float64 beyond x = 709.8" in readout(page)
    page.keyboard.press("Escape")
    settle(page)
    assert page.evaluate(shaded) == 0


@pytest.mark.parametrize("width", [390, 820])
@pytest.mark.parametrize("broken", [{}, {"soft_cap": lambda x, cap: 1 / 0}])
def test_bars_beside_each_other_begin_at_one_height(stage, width, broken):
    page = stage(
        SoftmaxStabilityExplorer(more=True, functions={**RIGHT, **broken}), viewport={"width": width, "height": 900}
    )
    tops = page.locator(".ta-remedies svg:visible").evaluate_all(
        "(all) => all.map((s) => Math.round(s.getBoundingClientRect().top))"
    )
    assert len(tops) == 4 and len(set(tops)) == (1 if width == 820 else 2)


@pytest.mark.parametrize("state", [{}, RUN, {"factor": 36, "cap": 1.0}, {"factor": 0, "gain": 8.0}])
def test_page_and_python_say_the_same(stage, state):
    widget = SoftmaxStabilityExplorer(RIGHT, **{"more": True, **state})
    page = stage(widget)
    heard, n = said(page), widget.readings()
    for shown, name in (("no remedy", "none"), ("soft cap", "soft cap"), ("QK-norm", "QK-norm")):
        assert float(heard.split(f" with {shown}")[0][-5:]) == pytest.approx(n["weight"][name], abs=6e-4)
    largest = heard.split("scores up to ")[1].split(":")[0]
    assert float(largest.replace(",", "")) == pytest.approx(n["largest"]["none"], rel=6e-3)
    assert ", ".join(n["nan"]) + "." in heard if n["nan"] else "works in every dtype" in heard


LANES = """() => [...document.querySelectorAll('svg[aria-label^="Number line"] [data-readout]')].map(
  (p) => [p.textContent, p.nextElementSibling.textContent])"""
MARKS = """() => [...document.querySelectorAll('svg[aria-label^="Number line"] path[data-kind]')].map((p) => [
  p.dataset.kind, Number((p.getAttribute('transform') ?? '').match(/[-0-9.]+/)), p.style.visibility])"""


def lane_marks(page, kind=None):
    """Kinds, or places of the marks of a kind, by dtype."""
    found = page.evaluate(MARKS)
    rows = [found[i : i + 8] for i in range(0, 32, 8)]
    return [[m[0] if kind is None else m[1] for m in row if kind in (None, m[0])] for row in rows]


def test_the_number_line_says_nan_where_torch_does(stage):
    page = stage(SoftmaxStabilityExplorer(RIGHT, more=True, factor=16))  # scores up to 64
    assert page.evaluate(LANES) == [["NaN", "64"], *[["1.000", "64"]] * 3]
    for end in ("65,504", "3.4·10³⁸", "1.8·10³⁰⁸"):
        assert page.get_by_label("Number line").get_by_text(end, exact=True).first.is_visible()
    set_state(page, {"exp_of": "x − max"})
    assert [p for p, _ in page.evaluate(LANES)] == ["1.000"] * 4
    page = stage(SoftmaxStabilityExplorer(more=True, functions={**RIGHT, "logsumexp": WRONG["logsumexp"]}, factor=16))
    assert page.evaluate(LANES)[0][1] == "∞ ✗"


@pytest.mark.parametrize("exp_of", ["x", "x − max"])
@pytest.mark.parametrize("part", ["all", "dtypes"])
def test_marks_are_in_a_bar_or_beyond_it_as_torch_says(stage, part, exp_of):
    """At every third factor; the bar of each dtype ends between what fits and what doesn't, and at 1 with the shift."""
    widget = SoftmaxStabilityExplorer(RIGHT, more=True, part=part, exp_of=exp_of)
    page = stage(widget)
    bars = page.locator("svg[aria-label^='Number line'] rect[height='9']")
    spans = [(float(b.get_attribute("x")), float(b.get_attribute("width"))) for b in bars.all()]
    one = float(page.locator("svg[aria-label^='Number line'] .ta-diagonal").get_attribute("x1"))
    for factor in range(0, 37, 3):
        set_state(page, {"factor": factor})
        widget.factor = factor
        x = scores(widget._inputs)[factor]
        for i, (dtype, kinds) in enumerate(zip(DTYPES, lane_marks(page), strict=True)):
            cast = x.to(getattr(torch, dtype))
            e = (cast if exp_of == "x" else cast - cast.max()).exp().double().tolist()
            told = ["none" if v != v else "out" if v == math.inf else "zero" if v == 0 else "held" for v in e]
            assert kinds == told, (factor, dtype)
            assert widget.readings()["beyond"][dtype] == told.count("out")
            start, end = spans[i][0], sum(spans[i])
            assert all(at > end for at in lane_marks(page, "out")[i])
            assert all(start - 0.1 <= at <= end + 0.1 for at in lane_marks(page, "held")[i])
            assert all(at < start for at in lane_marks(page, "zero")[i])
            if exp_of != "x" and "none" not in told:
                assert max(lane_marks(page, "held")[i]) == pytest.approx(one, abs=0.1)


def test_words_tell_whose_function_is_on_show(stage):
    assert words(stage(SoftmaxStabilityExplorer(RIGHT, more=True))) == ["yours, same"] * 6
    assert words(stage(SoftmaxStabilityExplorer(WRONG, more=True))) == ["yours, differs"] * 6
    page = stage(SoftmaxStabilityExplorer(more=True, functions={**RIGHT, "soft_cap": lambda x, cap: 1 / 0}))
    assert words(page) == ["yours, same"] * 5 + ["reference shown"]
    assert "soft_cap, which raised ZeroDivisionError" in page.locator(".ta-notice").text_content()
    assert "reference, own slope" in page.locator(".ta-caption").nth(1).text_content()


def test_functions_that_give_nan_are_said_not_drawn(stage):
    widget = SoftmaxStabilityExplorer(more=True, functions={**RIGHT, "soft_cap": lambda x, cap: x * float("nan")})
    page = stage(widget)
    assert "NaN" in said(page)
    assert words(page)[-1] == "yours, differs"
    assert "nan" in widget.alt and widget.png()


SHOWN = {
    "soft cap": (2, 2, False),
    "QK-norm": (3, 3, False),
    "z-loss": (2, 0, False),
    "dtypes": (1, 0, True),
    "loss": (3, 0, False),
    "slope": (1, 1, False),
}
BEGINS = {"dtypes": "A dtype", "loss": "Each bar is the loss", "slope": "The slope says", "soft cap": "A soft cap"}


@pytest.mark.parametrize("part", SHOWN)
def test_one_remedy_stands_alone_with_a_line_that_says_what_it_does(stage, part):
    """Panels of bars, curves, and the number line; with all of them there is no such line."""
    page = stage(SoftmaxStabilityExplorer(RIGHT, more=True, part=part, factor=13))
    panels = page.locator(".ta-remedies svg:visible").count()
    seen = "(all) => all.filter((e) => e.checkVisibility()).length"  # a line across has no height
    lines = page.locator("g[clip-path] path[class]").evaluate_all(seen)
    assert (panels, lines, page.get_by_label("Number line").is_visible()) == SHOWN[part]
    note = page.locator(".ta-row > .ta-note")
    assert note.text_content().startswith(BEGINS.get(part, part)) or (
        part == "z-loss" and "z-loss = " in note.text_content()
    )
    heard = readout(page)
    assert all(f"with {name}" not in heard for name in ("soft cap", "QK-norm")[SHOWN[part][1] - 1 if lines else 0 :])
    if lines:
        heard = point(page, curves(page), 6.5 / 37, 0.3)
        assert (
            "(no remedy)" in heard and ("(soft cap)" in heard) == (lines > 1) and ("(QK-norm)" in heard) == (lines > 2)
        )
    set_state(page, {"part": "all"})
    assert note.text_content() == "" and page.locator(".ta-remedies svg:visible").count() == 4
    assert page.locator("g[clip-path] path[class]").evaluate_all(seen) == 3


def test_it_begins_with_float16_and_unfolds_the_rest(stage):
    """Folded, only the scores, their weights and float16; the button says whether it is open, by key too."""
    page = stage(SoftmaxStabilityExplorer(RIGHT))
    fold = page.get_by_role("button", name="remedies, curves and dtypes")
    weights = bars(page, "no remedy").locator("..")
    assert fold.get_attribute("aria-expanded") == "false" and page.get_by_role("slider").count() == 3
    line = page.get_by_role("slider", name="dtypes", exact=True)
    lanes = page.locator("svg[aria-label^='Number line'] rect[height='9']:visible")
    assert line.count() == 0 and lanes.count() == 1 and "in float16, the largest weight is 0.40." in readout(page)
    signs = page.locator(".ta-signs")
    assert not any(signs.nth(i).is_visible() for i in range(signs.count())) and signs.count() > 0
    long = weights.locator("rect[fill-opacity]").first.bounding_box()["width"]
    fold.press("Enter")
    settle(page)
    assert (
        fold.get_attribute("aria-expanded") == "true"
        and trait(page, "more")
        and line.count() == 1
        and lanes.count() == 4
    )
    assert weights.locator("rect[fill-opacity]").first.bounding_box()["width"] < long / 2
    page.get_by_role("button", name="Previous step").focus()
    fold.click()
    settle(page)
    assert not trait(page, "more") and curves(page).count() == 0
    for _ in range(5):
        page.get_by_role("button", name="Next step").click()
        settle(page)
    assert curves(page).is_visible()  # a step opens what it needs


@pytest.mark.parametrize("width", [820, 390])
def test_what_stands_beside_a_heading_is_not_torn(stage, width):
    page = stage(SoftmaxStabilityExplorer(more=True), viewport={"width": width, "height": 900})
    lines = page.locator(".ta-remedies .ta-caption small:visible").evaluate_all(
        "(all) => all.map((e) => e.getClientRects().length)"
    )
    high = page.locator(".ta-remedies .ta-caption small:visible").evaluate_all(
        "(all) => all.map((e) => e.offsetHeight)"
    )
    assert lines == [1] * 4 and max(high) < 22


def test_a_number_at_a_bar_that_tells_nothing_is_not_written_out(stage):
    """At factor 11.3 the gradient of z-loss runs from 4.5e−3 down to 3e−22; at 0 it is 0."""
    page = stage(SoftmaxStabilityExplorer(RIGHT, more=True, factor=13))
    ends = lambda: [t for t in bars(page, "z-loss").locator("..").locator("text").all_text_contents()][1::2]
    assert ends() == ["0.0045", "1.6e−5", "< 1e−6", "< 1e−6", "< 1e−6", "< 1e−6", "< 1e−6", "< 1e−6"]
    set_state(page, {"factor": 36})
    assert ends()[-1] == "0"


@pytest.mark.parametrize("more", [False, True])
def test_the_grip_of_the_scores_has_an_arrow_at_both_sides_of_them(stage, more):
    page = stage(SoftmaxStabilityExplorer(RIGHT, more=more, factor=30))
    box = grip(page).bounding_box()
    arrows = grip(page).locator("xpath=preceding-sibling::*[name()='path'][1]").bounding_box()
    words = page.locator(".ta-remedies svg").first.locator("text[text-anchor=end]").all()[:-1:2]
    spots = [w.bounding_box() for w in words if w.text_content()]
    assert len(spots) == 8 and all(arrows["x"] + 6 <= b["x"] for b in spots)
    assert all(b["x"] + b["width"] <= arrows["x"] + arrows["width"] - 6 for b in spots)
    assert box["x"] < arrows["x"] and arrows["x"] + arrows["width"] < box["x"] + box["width"]
    assert box["y"] <= spots[0]["y"] + 2 and spots[-1]["y"] + spots[-1]["height"] <= box["y"] + box["height"] + 2


HALF = """() => [...document.querySelector('.ta-remedies svg').querySelectorAll('text')].filter((_, i) => i % 2).map(
  (e) => e.textContent)"""


@pytest.mark.parametrize("exp_of", ["x", "x − max"])
@pytest.mark.parametrize("state", [{}, {"more": True, "part": "dtypes"}])
def test_the_first_bars_are_what_torch_computes_in_float16(stage, state, exp_of):
    """With its NaN, in the picture and in the words; alone, the lane of float16 is the same."""
    widget = SoftmaxStabilityExplorer(RIGHT, exp_of=exp_of, **state)
    page = stage(widget)
    for factor in (0, 6, 10, 11, 14, 36):
        set_state(page, {"factor": factor})
        widget.factor = factor
        x = scores(widget._inputs)[factor].half()
        p = x.exp() / x.exp().sum() if exp_of == "x" else torch.softmax(x, -1)
        told = ["NaN" if v != v else f"{v:.2f}" for v in p.tolist()]
        assert page.evaluate(HALF) == told, factor
        assert f"exp({exp_of}) gives {', '.join(told[:-1])}" in widget.words
        red = bars(page, "no remedy").locator("..").locator("rect[style*='--ta-bad']").count()
        assert red == told.count("NaN")
        e = (x if exp_of == "x" else x - x.max()).exp().tolist()
        kinds = ["none" if v != v else "out" if v == math.inf else "zero" if v == 0 else "held" for v in e]
        assert lane_marks(page)[0] == kinds
    assert "softmax in float16" in page.locator(".ta-remedies .ta-caption").first.text_content()


def test_the_log_of_a_weight_that_became_0_is_infinite_and_logsumexp_is_not(stage):
    widget = SoftmaxStabilityExplorer(RIGHT, more=True, part="loss", factor=13)
    page = stage(widget)
    ends = lambda name: [
        float(t.replace("∞", "inf").replace("−", "-"))
        for t in bars(page, name).locator("..").locator("text").all_text_contents()[1::2]
    ]
    x = scores(widget._inputs)[13]
    assert ends("−log p") == pytest.approx((-torch.softmax(x.half(), -1).log()).tolist(), abs=0.1)
    assert ends("log Z − x") == pytest.approx((torch.logsumexp(x, -1) - x).tolist(), abs=0.1)
    assert ends("−log p").count(math.inf) == 4
    assert point(page, bars(page, "−log p"), 0.6, 7.5 / 8).endswith("−log p[7] = −log 0 = ∞")
    assert "log Z − x[7] = 22.6 − −22.6 = 45.3" in point(page, bars(page, "log Z − x"), 0.6, 7.5 / 8)
