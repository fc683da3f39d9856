"""Tier 2 of MaskExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import pytest
import torch
from anatomy.widgets import MaskExplorer
from anatomy.widgets.mask import GUESS, KIND_NAMES, LAYERS
from anatomy.widgets.mask.scenes import SCENES

from autograder.recording.widgets.mask import MASKS

from ..page import find, said, settle, trait, words
from .case import CASE

pytestmark = pytest.mark.browser

GRID, WAYS = "Grid: one row for each query", "Layers of tokens"


def area(page, name):
    """The part of that picture that reacts to the pointer."""
    return page.get_by_role("group", name=name).locator(".ta-area")


def at(page, name, column, row, size):
    """Page position of that cell; size: columns, rows."""
    box = area(page, name).bounding_box()
    return box["x"] + (column + 0.5) * box["width"] / size[0], box["y"] + (row + 0.5) * box["height"] / size[1]


def point(page, name, column, row, size=(8, 8)):
    page.mouse.move(*at(page, name, column, row, size))
    settle(page)


def click(page, name, column, row, size=(8, 8)):
    page.mouse.click(*at(page, name, column, row, size))
    page.mouse.move(1, 1)
    settle(page)


def shown(page):
    return page.locator(".ta-readout").text_content()


def numbers(page):
    return page.locator(".ta-number").all_text_contents()


def test_every_mask_says_what_python_says(stage):
    """The page does its own counting, painted or not; it must agree with Python."""
    widget = CASE.make()
    page = stage(widget)
    for index, scene in enumerate(SCENES):
        first = next(i for i, s in enumerate(SCENES) if s.kind == scene.kind)
        state = {"mask": scene.kind, "size": index - first, "query": index % len(scene.rows)}
        state |= {"layers": 1 + index % LAYERS, "painted": ["", "0,3 3,1 11,11", "1,1 2,0"][index % 3]}
        for name, value in state.items():
            setattr(widget, name, value)
        page.evaluate("(state) => Object.entries(state).forEach(([k, v]) => model.set(k, v))", state)
        settle(page)
        found, seen = widget.facts(), widget.may()[widget.query].sum()
        pairs = f"{found['pairs']} of {widget.may().size}"
        loss = widget.loss()
        copied = "" if loss is None else f"{sum(widget.copied())} of {len(widget.copied())}"
        assert numbers(page) == [pairs, str(found["leak"]), str(found["empty"]), "0", copied], state
        why = widget.spec["scenes"][widget.scene()]["instead"]
        none = f"none: {why}" if why else "not counted: not a square mask"
        assert words(page)[4] == (none if loss is None else f"so its loss is {loss:.2f}"), state
        assert f"may look at {seen} of {len(scene.columns)}:" in shown(page), state
        reached = widget.reached()
        deep = "" if reached is None else f"it depends on {reached[widget.layers - 1].sum()} of {len(scene.columns)}"
        assert deep in shown(page) and (reached is None) == ("depends" not in shown(page)), state


def test_a_click_on_the_token_of_a_row_chooses_the_query(stage):
    page = stage(CASE.make(mask="causal", query=0))
    x, y = at(page, GRID, 0, 7, (8, 8))
    page.mouse.click(x - 50, y)
    page.mouse.move(1, 1)
    settle(page)
    assert trait(page, "query") == 7 and "may look at 8 of 8" in shown(page) and trait(page, "painted") == ""


def test_pointing_at_a_cell_shows_its_formula_and_lights_its_ways_and_moves_no_trait(stage):
    page = stage(CASE.make(mask="causal", query=0))
    lit = page.get_by_role("group", name=WAYS).locator("circle.ta-lit")
    assert lit.count() == 0
    point(page, GRID, 1, 3)
    assert "mask[3, 1] = True (rule: j ≤ i): at equal scores its weight is 1 ÷ 4 = 0.25" in shown(page)
    assert lit.count() == 5  # dog below; dog, saw and two in layer 1; two on top
    point(page, GRID, 6, 3)
    assert "mask[3, 6] = False (rule: j ≤ i): its score becomes −∞, its weight exp(−∞) = 0" in shown(page)
    page.mouse.move(1, 1)
    settle(page)
    assert trait(page, "query") == 0 and "mask[" not in shown(page) and "row 0" in shown(page)


def test_a_size_is_offered_only_where_there_is_more_than_one(stage):
    for mask, sizes in (("causal", 0), ("prefix LM", 1), ("UniLM: bidirectional", 0)):
        assert stage(CASE.make(mask=mask)).get_by_role("slider", name="size").count() == sizes, mask


def test_queries_that_are_no_keys_have_one_layer_with_a_line_for_each_pair(stage):
    """Then layers are not offered: they would change nothing."""
    page = stage(CASE.make(mask="cross-attention, input padded", size=2, query=1))  # three real tokens, five queries
    panel = page.locator(".ta-svg[aria-label^='Keys below, queries above']")
    drawn = "(all) => all.map((path) => path.getAttribute('d'))"
    pieces = lambda: [d.count("M") for d in panel.locator("path").evaluate_all(drawn)]
    assert panel.is_visible() and pieces() == [15, 3] and page.get_by_role("slider", name="layers").count() == 0
    tokens = [*"ein Hund sah zwei . one dog saw".split(), *["[pad]"] * 5]
    assert panel.locator("text").all_text_contents()[:-2] == tokens
    point(page, GRID, 2, 1, (8, 5))
    assert pieces() == [15, 1]
    click(page, GRID, 2, 1, (8, 5))
    assert pieces() == [14, 0]
    page.evaluate("() => { model.set('mask', 1); model.set('painted', ''); }")  # cache: three new tokens of eight
    settle(page)
    assert pieces()[0] == 6 + 7 + 8
    page.evaluate("() => model.set('mask', 0)")
    settle(page)
    assert not panel.is_visible() and page.get_by_role("slider", name="layers").count() == 1


def test_a_row_without_true_is_said(stage):
    page = stage(CASE.make(mask="causal, padded on the left", size=4))
    point(page, GRID, 0, 1)
    assert "the whole row is False: 0 ÷ 0" in shown(page)


def test_a_click_paints_and_the_keyboard_paints_the_same(stage):
    page = stage(CASE.make(mask="causal", query=3))
    click(page, GRID, 5, 4)
    assert (trait(page, "painted"), trait(page, "query")) == ("4,5", 4)
    assert "mask[4, 5] = True (painted; rule: j ≤ i)" in shown(page)
    assert words(page)[1] == "leak" and numbers(page)[:2] == ["37 of 64", "1"]
    clicked = page.locator(".ta").get_attribute("data-key")
    page.keyboard.press("Escape")
    settle(page)
    assert "mask[" not in shown(page) and trait(page, "painted") == "4,5"

    page = stage(CASE.make(mask="causal", query=3))
    area(page, GRID).focus()
    for key in ("ArrowDown", *["ArrowRight"] * 5, "Enter"):
        page.keyboard.press(key)
    settle(page)
    assert page.locator(".ta").get_attribute("data-key") == clicked
    page.keyboard.press("Enter")
    settle(page)
    assert trait(page, "painted") == "" and words(page)[1] == "no leak"


def test_paint_changes_what_a_copier_loses(stage):
    """“two” attends to “cats”, its next token: one token of seven costs nothing. After “Back …”, each costs ln 8."""
    page = stage(CASE.make(mask="causal", query=3))
    assert (numbers(page)[4], words(page)[4]) == ("0 of 7", "so its loss is 2.08")
    assert "Next token “cats”: guessed among 8 words, loss ln 8 = 2.08" in shown(page)
    click(page, GRID, 4, 3)
    assert (numbers(page)[4], words(page)[4]) == ("1 of 7", "so its loss is 1.78")
    page.keyboard.press("Escape")
    settle(page)
    assert "Next token “cats”: copied, loss 0" in shown(page)
    find(page, "button", "Back to the mask").press("Enter")
    settle(page)
    assert numbers(page)[4] == "0 of 7"
    page.evaluate("() => { model.set('mask', 10); model.set('size', 0); }")
    settle(page)
    assert (numbers(page)[4], words(page)[4]) == ("0 of 3", "so its loss is 2.08")
    page.evaluate("() => model.set('mask', 5)")
    settle(page)
    assert (numbers(page)[4], words(page)[4]) == ("", "none: it predicts masked tokens")


def test_a_stroke_gives_all_its_cells_the_value_of_the_first(stage):
    """From a False cell over True ones and back: all become True, and none is toggled twice."""
    page = stage(CASE.make(mask="causal"))
    page.mouse.move(*at(page, GRID, 6, 4, (8, 8)))
    page.mouse.down()
    for column in (5, 4, 3, 4, 5):
        page.mouse.move(*at(page, GRID, column, 4, (8, 8)))
    page.mouse.up()
    settle(page)
    assert trait(page, "painted") == "4,6 4,5"


def test_paint_goes_by_the_button_and_with_another_mask(stage):
    page = stage(CASE.make(mask="causal", painted="0,3 4,5"))
    assert numbers(page)[1] == "2"
    find(page, "button", "Back to the mask").press("Enter")
    settle(page)
    assert trait(page, "painted") == "" and numbers(page)[1] == "0"
    page.evaluate("() => model.set('painted', '0,3')")
    find(page, "combobox", "mask").press("ArrowDown")
    assert trait(page, "painted") == ""


def test_pointing_at_a_token_counts_its_ways_and_lights_its_column(stage):
    page = stage(CASE.make(mask="causal", query=3, layers=2))
    column = page.get_by_role("group", name=GRID).locator("rect.ta-mark").first
    assert column.evaluate("(e) => e.style.visibility") == "hidden"
    point(page, WAYS, 1, 2, (8, 3))
    assert "ways₂[3, 1] = Σₖ ways₁[k, 1] = 1 + 1 + 1 = 3, over each k that row 3 reads" in shown(page)
    assert CASE.make(mask="causal").ways()[1, 3, 1] == 3
    assert column.evaluate("(e) => e.style.visibility") == "visible"
    point(page, WAYS, 1, 1, (8, 3))
    assert "ways₁[3, 1] = 1" in shown(page)
    click(page, WAYS, 6, 0, (8, 3))  # at the top, the row of the query
    assert trait(page, "query") == 6


def test_the_tokens_of_the_ways_are_walked_by_keys(stage):
    page = stage(CASE.make(mask="causal", query=3, layers=2))
    area(page, WAYS).focus()
    page.keyboard.press("ArrowRight")
    assert trait(page, "query") == 4
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    settle(page)
    assert "ways₂[4, 4] = Σₖ ways₁[k, 4] = 1" in shown(page) and trait(page, "query") == 4


def test_a_leak_is_called_one_and_crossed_out(stage):
    assert words(stage(CASE.make(mask="causal"))) == ["", "no leak", "", "same", "so its loss is 2.08"]
    wrong = {**MASKS, "causal_mask": lambda T, S=None: torch.ones(T, S or T).tril((S or T) - T + 1) > 0}
    page = stage(MaskExplorer(wrong, mask="causal"))
    assert words(page) == ["", "leak", "", "differs", "so its loss is 0.00"]
    crosses = page.get_by_role("group", name=GRID).locator("path.ta-mark")
    assert crosses.count() == 7


def test_layers_extend_the_reach_of_a_narrow_mask(stage):
    narrow = {**MASKS, "causal_mask": lambda T, S=8: torch.ones(T, S).tril(S - T).triu(S - T - 1) > 0}
    page = stage(MaskExplorer(narrow, mask="causal", query=6, layers=1))
    assert "after 1 layer it depends on 2 of 8" in said(page)
    find(page, "slider", "layers").press("End")
    settle(page)
    assert "after 7 layers it depends on 7 of 8" in said(page)
    point(page, WAYS, 0, 7)
    assert "ways₇[6, 0] = " in shown(page)


def test_a_bar_from_zero_shows_the_loss(stage):
    """Its whole line is the loss of guessing; where nothing predicts the next token, there is none."""
    widget = CASE.make(mask="causal", query=3)
    page = stage(widget)
    said_above = page.locator(".ta-panel p", has_text="loss of")
    for mask, size, many in (("prefix LM", 7, "1 word"), ("prefix LM", 3, "5 words"), ("causal", 4, "7 words")):
        page.evaluate(
            "([mask, size]) => { model.set('mask', mask); model.set('size', size); }", [KIND_NAMES.index(mask), size]
        )
        settle(page)
        assert f"loss of {many}, if" in said_above.text_content()
    chart = page.locator(".ta-svg[aria-label^='The loss']")
    width = lambda name: float(chart.locator(f"rect.ta-{name}").get_attribute("width"))
    for painted, layers in (("", 2), ("3,4", 2), ("0,3", 1), ("0,3", 2)):
        widget.painted, widget.layers = painted, layers
        page.evaluate(
            "(s) => Object.entries(s).forEach(([k, v]) => model.set(k, v))", {"painted": painted, "layers": layers}
        )
        settle(page)
        assert width("fill-two") / width("axis") == pytest.approx(widget.loss() / GUESS, abs=1e-3)
        assert chart.locator("text").last.text_content() == f"{widget.loss():.2f}"
    for mask in ("UniLM: right-to-left", "cross-attention, input padded", "UniLM: bidirectional"):
        page.evaluate("(n) => { model.set('painted', ''); model.set('mask', n); }", KIND_NAMES.index(mask))
        settle(page)
        assert not chart.is_visible(), mask
