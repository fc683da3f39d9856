"""Tier 2 of ActivationExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import math
import re

import pytest
from anatomy.widgets import ActivationExplorer
from anatomy.widgets import activation as act

from ..page import find, settle, trait, words
from ..stages import set_state
from .case import CASE
from .learners import ACTIVATIONS, wrong_constant_gelu

pytestmark = pytest.mark.browser


def slope_by_hand(page):
    return page.locator(".ta-signs li", has_text="slope by hand")


def test_activation_words_and_the_slope_by_hand(stage):
    page = stage(CASE.make(activation="swish"))
    assert words(page) == ["same", "ok", "", "", ""] and slope_by_hand(page).is_visible()
    find(page, "slider", "β of swish").press("ArrowRight")
    settle(page)
    assert not slope_by_hand(page).is_visible()
    assert not slope_by_hand(stage(CASE.make(activation="relu"))).is_visible()
    page = stage(ActivationExplorer({**ACTIVATIONS, "gelu": wrong_constant_gelu}, activation="gelu"))
    assert words(page) == ["differs", "broken", "", "", ""]


def test_dead_units_are_crossed_out(stage):
    page = stage(CASE.make(activation="relu", shift=-4))
    marks = page.get_by_label("Forty units").locator("text").all_text_contents()
    assert f"{marks.count('×')} of 40" in page.locator(".ta-number").all_text_contents() and marks.count("×") > 10


def readout(page):
    """Text of the readout, even while its aria-live is off."""
    return page.locator(".ta-readout").text_content()


def on_place(page, panel, place):
    """Screen position of a point in that column of a panel."""
    box = page.get_by_role("slider", name=f"{panel}: input x", exact=True).bounding_box()
    return box["x"] + (place + 0.5) * box["width"] / act.POINTS, box["y"] + 0.5 * box["height"]


def on_unit(page, unit):
    box = page.get_by_role("application", name="Units").bounding_box()
    return box["x"] + (unit % 8 + 0.5) * box["width"] / 8, box["y"] + (unit // 8 + 0.5) * box["height"] / 5


def views(page):
    """The dots of both pictures, the tangent, and the ticks under the curve."""
    return page.evaluate("""() => {
      const seen = (kind) => [...document.querySelectorAll(kind)].filter((e) => e.checkVisibility());
      return [...seen('.ta-svg circle').map((c) => `${c.getAttribute('cx')},${c.getAttribute('cy')}`),
        ...seen('path.ta-mark').map((p) => p.getAttribute('d'))]; }""")


@pytest.mark.parametrize("panel", ["Curve", "Gate"])
def test_a_point_shows_its_formula_and_lights_up_everywhere(stage, panel):
    page = stage(CASE.make(activation="gelu"))
    quiet, before = readout(page), views(page)
    page.mouse.move(*on_place(page, panel, 40))
    settle(page)
    heard = readout(page)
    assert "gelu at x = −2.00: gate −0.046 · value (−3.00) = 0.137" in heard
    assert "f(x) = x · Φ(x) = −2.00 · 0.023 = −0.046" in heard
    assert "f′(x) = Φ(x) + x · φ(x) = 0.023 + (−2.00) · 0.054 = −0.085" in heard
    now = views(page)
    assert all(a != b for a, b in zip(before[:4], now[:4], strict=True))  # slope, curve, gate, tangent
    assert trait(page, "place") == 90
    page.mouse.move(2, 2)
    settle(page)
    assert (readout(page), views(page)) == (quiet, before)


def test_dragging_along_the_curve_and_keys_give_the_same_place(stage):
    page = stage(CASE.make(activation="gelu"))
    page.mouse.move(*on_place(page, "Curve", 60))
    page.mouse.down()
    page.mouse.move(*on_place(page, "Curve", 127), steps=5)
    page.mouse.up()
    page.mouse.move(2, 2)
    settle(page)
    assert trait(page, "place") == 127
    by_hand = readout(page), views(page)
    page.evaluate("() => model.set('place', 126)")
    page.get_by_role("slider", name="Curve: input x", exact=True).press("ArrowRight")
    settle(page)
    assert trait(page, "place") == 127 and (readout(page), views(page)) == by_hand


def test_the_tangent_has_the_slope_of_the_table(stage):
    """Rise over run of the tangent on the screen, in units of the axes."""
    widget = CASE.make(activation="gelu")
    slope = float(widget.shown("d_gelu")[0, widget.place])
    page = stage(widget)
    a, b, c, d = (float(v) for v in re.findall(r"-?[\d.]+", views(page)[3]))
    x, y = (
        page.evaluate("(v) => document.querySelector('.ta-svg .ta-axis[width]').getAttribute(v)", v)
        for v in ("width", "height")
    )
    assert math.isclose(-(d - b) / float(y) * 5.7 / ((c - a) / float(x) * 8), slope, rel_tol=0.02)


def test_a_unit_shows_its_64_inputs_under_the_curve(stage):
    widget = CASE.make(activation="relu")
    page = stage(widget)
    inputs = widget._inputs["pre"].numpy() - 2
    unit = int((inputs > 0).any(0).argmin())  # the first dead one
    page.mouse.move(*on_unit(page, unit))
    settle(page)
    low, high = (f"{v:.2f}".replace("-", "−") for v in (inputs[:, unit].min(), inputs[:, unit].max()))
    assert f"unit {unit}: 64 inputs from {low} to {high}." in readout(page)
    assert "0 ÷ 64 = 0 % still learn. f = 0 for all 64: the unit is dead." in readout(page)
    assert views(page)[4].count("M") == (inputs[:, unit] >= -4).sum() > 30  # the others are outside the frame
    page.mouse.click(*on_unit(page, unit))
    page.mouse.move(2, 2)
    page.get_by_role("application", name="Units").press("ArrowDown")
    settle(page)
    assert f"unit {unit + 8}:" in readout(page)
    assert views(page)[4].count("M") == (abs(inputs[:, unit + 8]) <= 4).sum()
    page.keyboard.press("Escape")
    settle(page)
    assert views(page)[4] == ""


def pulled(page, handle, dx, dy):
    """Drags a handle by (dx, dy) pixels."""
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()
    page.mouse.move(2, 2)
    settle(page)


@pytest.mark.parametrize(
    "handle, name, by, keys",
    [
        ("heap of inputs: shift of all units", "shift", (1, 0), ["ArrowRight"] * 2),
        ("grip v: the value", "value", (0, -1), ["ArrowUp"] * 3),
    ],
)
def test_the_heap_and_the_value_are_dragged(stage, handle, name, by, keys):
    page = stage(CASE.make(activation="gelu", value=0.5))
    before = trait(page, name)
    node = page.get_by_role("slider", name=handle, exact=True)
    wide, high = (
        page.evaluate(f"([v]) => Number([...document.querySelectorAll('rect.ta-axis')][{i}].getAttribute(v))", [v])
        for i, v in ((0, "width"), (2, "height"))
    )
    step = wide / 8 if name == "shift" else high / 8.4 * 0.25 * 2  # the grip stands at x = 2
    pulled(page, node, by[0] * step * len(keys), by[1] * step * len(keys))
    moved = trait(page, name)
    by_hand = readout(page), views(page), page.locator(".ta-svg text").all_text_contents()
    page.evaluate("([name, value]) => model.set(name, value)", [name, before])
    for key in keys:
        node.press(key)
    settle(page)
    assert trait(page, name) == moved == before + {"shift": 2, "value": 0.75}[name]
    assert (readout(page), views(page), page.locator(".ta-svg text").all_text_contents()) == by_hand


def computed(text):
    """The value of a formula made of numbers; None if it contains words."""
    if not re.fullmatch(r"[\d.e()+·÷−² ]*\d[\d.e()+·÷−² ]*", text):
        return None
    plain = re.sub(r"[−·÷²]", lambda sign: {"−": "-", "·": "*", "÷": "/", "²": "**2"}[sign[0]], text)
    return eval(plain)


@pytest.mark.parametrize("name", act.ACTIVATIONS)
def test_numbers_in_the_formulas_give_what_stands_behind_them(stage, name):
    page = stage(CASE.make(activation=name))
    checked = 0
    for place in (0, 33, 60, 80, 110, 160):
        page.evaluate("(place) => model.set('place', place)", place)
        settle(page)
        heard = readout(page)
        assert "NaN" not in heard and "yours gives" not in heard
        for part in heard.split(" f(x) ")[1].split("; f′"):
            *_, formula, result = ["", *part.split(", s = ")[0].split(" = ")]
            if (value := computed(formula)) is not None and computed(result) is not None:
                assert math.isclose(value, computed(result), abs_tol=3e-3, rel_tol=0.02), part
                checked += 1
    assert checked >= (4 if name in ("squared_relu", "gelu", "gelu_tanh", "swish", "sigmoid", "tanh") else 0)


def sum_line(page):
    """Points of the thick line of the two layers, in pixels."""
    d = page.get_by_label("The sum of three weighted units").locator("path.ta-mine").get_attribute("d")
    return [tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+)[ ,](-?[\d.]+)", d)]


@pytest.mark.parametrize("state, told", [({"beta": 0.0}, "a straight line"), ({}, "it bends")])
def test_two_layers_draw_what_python_computes(stage, state, told):
    """From x = −3 to 3, and whether the line bends is said in the picture and in the alt text."""
    widget = ActivationExplorer(ACTIVATIONS, **state)
    page, sums = stage(widget), widget.sums()
    (x0, y0), *_, (x1, y1) = points = sum_line(page)
    box = page.get_by_label("The sum of three weighted units").locator("rect.ta-axis").first
    wide, high = (float(box.get_attribute(name)) for name in ("width", "height"))
    assert len(points) == len(sums) == 121 and x1 - x0 == pytest.approx(wide, rel=0.01)
    drawn = [(y0 - y) * 8.4 / high for _, y in points]
    assert drawn == pytest.approx((sums - sums[0]).tolist(), abs=0.02)
    assert told in page.get_by_label("The sum of three weighted units").text_content()
    assert ("straight line" if told.startswith("a straight") else "a line that bends") in widget.words
    box = page.get_by_role("slider", name="Two layers: input x", exact=True).bounding_box()
    page.mouse.move(box["x"] + (80 + 0.5) * box["width"] / 121, box["y"] + 0.5 * box["height"])  # −3 + 80 · 0.05 = 1
    settle(page)
    assert "Sum = 2 · f(2.00) − 4 · f(1.00) + 3 · f(0.00) = 0" in readout(page)


@pytest.mark.parametrize("n, by", [(1, -3), (2, 3), (3, 1)])
def test_a_grip_on_a_unit_drags_its_weight(stage, n, by):
    """The grip follows the hand, keys do the same, and formula, line and alt text have the new weight."""
    widget = ActivationExplorer(ACTIVATIONS, activation="relu", look="two layers")
    page = stage(widget)
    node = page.get_by_role("slider", name=f"grip: weight of unit {n}", exact=True)
    box = page.get_by_label("The sum of three weighted units").locator("rect.ta-axis").first
    pulled(page, node, 0, -by * float(box.get_attribute("height")) / 8.4)
    setattr(widget, f"w{n}", getattr(widget, f"w{n}") + by)
    weight = widget.weights[n - 1]
    assert trait(page, f"w{n}") == weight
    by_hand, points = readout(page), sum_line(page)
    caption = page.locator(".ta-row .ta-row .ta-caption").nth(n - 1).text_content()
    text = str(weight).replace("-", "−")
    assert caption.startswith(f"{text} f(x") and node.text_content() == text and f"{text} f(x" in widget.words
    page.evaluate("([name, value]) => model.set(name, value)", [f"w{n}", weight - (1 if by > 0 else -1)])
    node.press("ArrowUp" if by > 0 else "ArrowDown")
    settle(page)
    assert (readout(page), sum_line(page)) == (by_hand, points)


def test_who_finds_the_hill_is_told(stage):
    page = stage(ActivationExplorer(ACTIVATIONS, activation="relu", look="two layers", w3=2))
    verdict = page.locator("[data-readout=verdict]")
    assert verdict.text_content() == "the hill"
    for state in ({"w3": 3}, {"w3": 2, "activation": 4}):
        set_state(page, state)
        assert verdict.text_content() == "it bends"


@pytest.mark.parametrize("place", [60, 90, 110])
def test_the_heights_of_three_units_add_up_to_the_height_of_the_sum(stage, place):
    """In numbers under the captions, and as sticks in the pictures."""
    page = stage(ActivationExplorer(ACTIVATIONS, place=place, beta=1.0))
    captions = page.locator(".ta-row .ta-row .ta-caption small").all_text_contents()
    heights = [float(text.replace("−", "-")) for text in captions]
    sticks = page.evaluate("""() => [...document.querySelectorAll('.ta-row .ta-row path[style*="--ta-two"]')]
        .map((p) => p.getAttribute('d').match(/-?[\\d.]+/g).map(Number)).map(([, from, , to]) => from - to)""")
    assert len(heights) == len(sticks) == 4
    assert sum(heights[:3]) == pytest.approx(heights[3], abs=0.02) and sum(map(abs, heights[:3])) > 1
    assert sum(sticks[:3]) == pytest.approx(sticks[3], abs=0.5)


def test_the_layers_or_the_curve_with_its_gate_are_in_sight(stage):
    """Each with their own sliders; β only for swish."""
    page = stage(CASE.make())
    sliders = lambda: {n for n in ("β of swish", "value v", "shift of all units") if find(page, "slider", n).count()}
    gate = page.get_by_label("Product of the activated gate")
    assert sliders() == {"β of swish"} and not gate.is_visible() and not page.get_by_label("Forty units").is_visible()
    page.get_by_role("radio", name="gate and units").check()
    settle(page)
    assert sliders() == {"β of swish", "value v", "shift of all units"} and gate.is_visible()
    assert not page.get_by_label("The sum of three weighted units").is_visible()
    find(page, "combobox", "activation").select_option("relu")
    settle(page)
    assert sliders() == {"value v", "shift of all units"}


def test_what_is_0_up_to_rounding_is_told_as_0(stage):
    page = stage(ActivationExplorer({**ACTIVATIONS, "relu": lambda x: x.relu() - 1.1e-16}, activation="relu", place=30))
    assert "gate 0.000 · value (−3.75) = 0.000" in readout(page)
    for place in range(70, 90):
        page.evaluate("(place) => model.set('place', place)", place)
        settle(page)
        assert "e−" not in readout(page)


STEPS = [*[(False,) * 3] * 2, (True, False, False), *[(True, False, True)] * 2, *[(True, True, False)] * 2]


def test_each_step_shows_the_panels_that_it_needs(stage):
    """The units come with the fourth step and the gate with the sixth, in the picture, the line and the controls."""
    page = stage(CASE.make())
    set_state(page, {"alone": True})
    panels = [
        page.get_by_label(name) for name in ("Curve of the activation", "Product of the activated", "Forty units")
    ]
    for i, (step, seen) in enumerate(zip(ActivationExplorer.story, STEPS, strict=True)):
        set_state(page, {**step.state, "step": i})
        assert tuple(panel.is_visible() for panel in panels) == seen, step.says
        assert ("gate " in readout(page), "units dead" in readout(page)) == seen[1:], step.says
        assert [find(page, "slider", name).count() for name in ("value v", "shift of all units")] == list(seen[1:])
        dead = page.locator(".ta-signs li", has_text="dead units")
        assert dead.evaluate("(e) => !e.hidden") == seen[2]
    set_state(page, {"shift": -1})
    assert panels[2].is_visible(), "who moves it sees it"


def test_swish_has_relu_beside_it(stage):
    page = stage(CASE.make(activation="swish"))
    note = page.locator(".ta-caption small", has_text="blue")
    assert note.text_content().endswith("; thin: relu")
    set_state(page, {"activation": 0})
    assert "relu" not in note.text_content()
