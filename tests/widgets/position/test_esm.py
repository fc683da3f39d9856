"""Tier 2 of PositionExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import re

import numpy as np
import pytest
import torch
from anatomy.widgets import PositionExplorer
from anatomy.widgets.position import NAMES, SCHEMES, TOLERANCE, WIDTH, T

from ..page import find, said, settle, trait, words
from ..stages import set_state
from .case import CASE
from .learners import POSITIONS, cosine_only

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", NAMES)
def test_every_scheme_is_drawn_and_read_out(stage, scheme):
    page = stage(CASE.make(scheme=scheme))
    heard = said(page)
    assert heard.startswith(scheme) and "NaN" not in heard
    assert words(page)[-1] == "same"
    line = page.get_by_role("group", name="Score against relative position").locator("path.ta-mine")
    assert line.evaluate("(e) => e.style.visibility") == "visible" and len(line.get_attribute("d")) > 300


def test_words_follow_the_variant(stage):
    page = stage(CASE.make(scheme="sinusoidal"))
    assert words(page) == ["distance only", "no direction", "same"]
    find(page, "slider", "projections W").press("ArrowRight")
    settle(page)
    assert words(page) == ["position counts", "direction", "same"]
    find(page, "slider", "projections W").press("ArrowRight")
    settle(page)
    assert words(page) == ["distance only", "direction", "same"]
    assert "scores key 17 highest" in said(page)


def test_a_variant_that_the_next_scheme_lacks_is_drawn_back(stage):
    page = stage(CASE.make(scheme="ALiBi", variant=7))
    find(page, "combobox", "scheme").select_option(label="Shaw")
    settle(page)
    assert trait(page, "variant") == len(SCHEMES[NAMES.index("Shaw")][3]) - 1
    assert "Shaw, K = 16" in said(page)


def test_a_wrong_function_differs_and_the_others_do_not(stage):
    page = stage(PositionExplorer({**POSITIONS, "sinusoid": cosine_only}, scheme="sinusoidal"))
    assert words(page)[-1] == "differs"
    find(page, "combobox", "scheme").select_option(label="ALiBi")
    settle(page)
    assert words(page)[-1] == "same"


def test_the_reference_is_not_called_the_learners(stage):
    assert words(stage(CASE.stubs(scheme="ALiBi")))[-1] == "not yours yet"


def readout(page):
    """Text of the readout, even while its aria-live is off."""
    return page.locator(".ta-readout").text_content()


def strip(page):
    """The row of words."""
    return page.locator(".ta-svg[aria-label^='The words']")


def on_map(page, query, key):
    """Screen position of the center of that cell."""
    box = page.get_by_role("application", name="Scores").bounding_box()
    return box["x"] + (key + 0.5) * box["width"] / 32, box["y"] + (query + 0.5) * box["height"] / 32


def lit(page):
    """Positions of the cell's frame and of the ring on the curve, if visible."""
    return page.evaluate("""() => [...document.querySelectorAll('.ta-mark')].slice(1).map(
      (e) => e.style.visibility === 'visible' && ['x', 'y', 'cx', 'cy'].map((name) => e.getAttribute(name)))""")


def test_a_cell_pointed_at_shows_its_formula_and_lights_up_in_both_panels(stage):
    page = stage(CASE.make(scheme="ALiBi", variant=1))
    quiet = readout(page)
    assert lit(page) == [False, False]
    page.mouse.move(*on_map(page, 20, 12))
    settle(page)
    assert "S[20, 12] = −1/4 · |−8| = −2.00" in readout(page) and all(lit(page))
    assert page.locator(".ta").get_attribute("data-peek") == '{"query":20,"key":12}'
    page.mouse.move(2, 2)
    settle(page)
    assert readout(page) == quiet and lit(page) == [False, False]


def test_a_click_keeps_the_cell_and_escape_lets_go(stage):
    page = stage(CASE.make())
    quiet = readout(page)
    page.mouse.move(*on_map(page, 9, 14))
    settle(page)
    assert trait(page, "query") == 20 and "S[9, 14]" in readout(page)  # a hover moves no trait
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(2, 2)
    settle(page)
    assert trait(page, "query") == 9 and "S[9, 14]" in readout(page)
    page.keyboard.press("Escape")
    settle(page)
    assert "S[9, 14]" not in readout(page) and readout(page) != quiet and trait(page, "query") == 9


def test_the_keyboard_gives_what_the_mouse_gives(stage):
    page = stage(CASE.make(query=10))
    page.mouse.click(*on_map(page, 11, 12))
    page.mouse.move(2, 2)
    settle(page)
    by_hand, marks = readout(page), lit(page)
    page.keyboard.press("Escape")
    page.evaluate("() => model.set('query', 10)")
    area = page.get_by_role("application", name="Scores")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):  # from query 10, key 10
        area.press(key)
    settle(page)
    assert "S[11, 12]" in by_hand and (readout(page), lit(page)) == (by_hand, marks)
    area.press("Shift+ArrowRight")
    settle(page)
    assert "S[12, 13]" in readout(page)


def test_the_curve_is_walked_by_mouse_and_keys(stage):
    page = stage(CASE.make(query=20))
    box = page.get_by_role("slider", name="Curve: distance r").bounding_box()
    at = lambda r: (box["x"] + (r + 31.5) * box["width"] / 63, box["y"] + 60)
    page.mouse.move(*at(-3))
    settle(page)
    by_mouse = readout(page)
    assert "S[20, 17]" in by_mouse and all(lit(page))
    page.mouse.move(*at(25))  # no key is 25 after query 20: the query moves instead
    settle(page)
    assert "S[6, 31]" in readout(page)
    page.mouse.move(2, 2)
    for _ in range(3):
        page.get_by_role("slider", name="Curve: distance r").press("ArrowLeft")
    settle(page)
    assert readout(page) == by_mouse


@pytest.mark.parametrize("scheme", NAMES)
def test_every_variant_has_a_formula(stage, scheme):
    page = stage(CASE.make(scheme=scheme))
    page.mouse.click(*on_map(page, 3, 30))
    formulas = set()
    for variant in range(len(SCHEMES[NAMES.index(scheme)][3])):
        page.evaluate("(v) => model.set('variant', v)", variant)
        settle(page)
        formulas.add(readout(page).split("S[3, 30] = ")[1])
    assert len(formulas) == len(SCHEMES[NAMES.index(scheme)][3])
    assert not any("undefined" in text or "NaN" in text for text in formulas)


def test_a_wrong_number_names_the_references(stage):
    page = stage(PositionExplorer({**POSITIONS, "sinusoid": cosine_only}, scheme="sinusoidal"))
    page.mouse.move(*on_map(page, 5, 9))
    settle(page)
    assert "(reference " in readout(page)


def painted(page, which):
    """Rows of colors of a canvas, as numbers (rows, columns, 3)."""
    read = """(e) => [e.width, ...e.getContext('2d').getImageData(0, 0, e.width, e.height).data]"""
    width, *data = page.locator(f"canvas >> nth={which}").evaluate(read)
    return np.array(data).reshape(-1, width, 4)[..., :3]


def colors(values):
    """Colors of values on a light page, the largest in full."""
    share = (np.abs(values) / max(np.abs(values).max(), 1e-9))[..., None]
    full = np.where((values < 0)[..., None], [213, 94, 0], [0, 114, 178])
    return np.round(255 + share * (full - 255))


VECTORS, MAP = 0, 1  # canvases


@pytest.mark.parametrize("mine", [POSITIONS, {**POSITIONS, "sinusoid": cosine_only}], ids=["right", "cosine only"])
def test_the_vectors_are_the_functions_with_sines_before_cosines(stage, mine):
    widget = PositionExplorer(mine, scheme="sinusoidal")
    pe = mine["sinusoid"](torch.arange(32), 32).numpy()
    apart = np.concatenate([pe[:, ::2], pe[:, 1::2]], 1)
    assert np.abs(painted(stage(widget), VECTORS) - colors(apart)).max() <= 1


def test_schemes_without_vectors_say_so(stage):
    page = stage(CASE.make(scheme="ALiBi"))
    none, vectors = page.get_by_text("a position has no vector here"), page.locator(f"canvas >> nth={VECTORS}")
    assert none.is_visible() and not vectors.is_visible()
    find(page, "combobox", "scheme").select_option(label="learned absolute")
    settle(page)
    assert vectors.is_visible() and not none.is_visible()
    assert "a table with one vector for each position" in page.locator(".ta").text_content()


def test_the_vectors_of_query_and_key_are_framed(stage):
    page = stage(CASE.make(scheme="sinusoidal"))
    frames = lambda: page.evaluate("""() => [...document.querySelectorAll('.ta-frame')].map(
      (e) => getComputedStyle(e).visibility === 'visible' && Number(e.getAttribute('y')))""")
    assert frames()[1] is False
    page.mouse.move(*on_map(page, 20, 12))
    settle(page)
    assert frames() == [6 + 20 * 6, 6 + 12 * 6]


def test_each_picture_comes_with_the_step_that_needs_it(stage):
    """Vectors with the steps that speak of them, the other schemes with the last one, which compares them."""
    page = stage(CASE.make())
    captions = ("Vectors", "The eight schemes, small", "Scores S[query, key]", "Score against distance")
    last = len(PositionExplorer.story) - 1
    for i, step in enumerate(PositionExplorer.story):
        set_state(page, {**step.state, "alone": True, "step": i})
        shown = [page.locator(".ta-caption", has_text=name).is_visible() for name in captions]
        assert shown == [2 <= i < last, i == last, True, True], i
        words, waves = strip(page).is_visible(), page.locator(".ta-caption", has_text="Waves in the score").is_visible()
        assert (words, waves) == (i not in (2, last), i == 2), i
    assert "has a vector" in PositionExplorer.story[2].says and "r = key − query" in PositionExplorer.story[2].says


def test_the_waves_add_up_to_the_score(stage):
    """Eight fast ones with a number each, the slow ones as their sum; only where the score is made of them."""
    widget = CASE.make(scheme="sinusoidal")
    page = stage(widget)
    set_state(page, {"alone": True, "step": 2})  # the schemes are away, so there is room
    told = page.locator(".ta-caption", has_text="Waves in the score")
    pe = np.frombuffer(widget.tables["pe_sinusoid"], "<f4").reshape(T, WIDTH).astype(float)
    for query, key in ((20, 25), (20, 12), (3, 3)):
        set_state(page, {"query": query})
        box = page.locator(".ta-area[aria-label^='Scores']").bounding_box()
        page.mouse.move(box["x"] + (key + 0.5) * box["width"] / T, box["y"] + (query + 0.5) * box["height"] / T)
        settle(page)
        parts = (pe[query] * pe[key]).reshape(-1, 2).sum(1)
        assert abs(parts.sum() - widget.scores()[query, key]) < TOLERANCE
        said = [float(n.replace("−", "-")) for n in re.findall(r"−?\d+\.\d+", told.text_content())]
        assert said == pytest.approx([parts[:8].sum(), parts[8:].sum()], abs=0.006)
        waves = page.locator(".ta-svg[aria-label^='What each wave'] text").all_text_contents()
        assert [float(n.replace("−", "-")) for n in waves] == pytest.approx(parts[:8], abs=0.006)
    set_state(page, {"variant": 1})
    assert not told.is_visible()
    set_state(page, {"variant": 0, "scheme": NAMES.index("ALiBi")})
    assert not told.is_visible()


def small(page, n):
    """Of the n-th small scheme: its curve, which of its distances are drawn with a height in 0…1, and its words."""
    d = page.locator(".ta-svg[aria-label^='The scores of every scheme'] path.ta-mine").nth(n).get_attribute("d")
    spots = np.array([[float(v) for v in spot] for spot in re.findall(r"[ML]\s*(-?[\d.]+)[ ,](-?[\d.]+)", d)])
    y = spots[:, 1].max() - spots[:, 1]
    words = page.locator("[data-readout=can]").all_text_contents()[2 * n : 2 * n + 2]
    return len(spots), y / max(y.max(), 1e-9), [word for word in words if word]


@pytest.mark.parametrize("trained", [16, 32])
def test_small_curves_are_the_means_and_say_what_each_scheme_can(stage, trained):
    widget = CASE.make(scheme="sinusoidal", trained=trained)
    page = stage(widget)
    for widget.scheme in range(len(NAMES)):
        S = np.where(widget.untrained(), np.nan, widget.scores())
        known = [d[~np.isnan(d)] for d in (np.diagonal(S, r) for r in range(1 - T, T))]
        means = np.array([d.mean() for d in known if len(d)])
        count, heights, words = small(page, widget.scheme)
        assert count == len(means)
        assert heights == pytest.approx((means - means.min()) / np.ptp(means), abs=0.02)
        assert ("every r" in words) == (not widget.untrained().any())
        assert ("direction" in words) == (widget.facts()["direction"] > TOLERANCE)


def test_the_map_is_cells_in_the_colors_of_its_scores(stage):
    """Its “−” stand on cells below 0 alone."""
    widget = CASE.make(scheme="sinusoidal", variant=1)
    page, S = stage(widget), widget.scores()
    assert np.abs(painted(page, MAP) - colors(S)).max() <= 1
    signs = page.locator("path[d*='h5']").first.get_attribute("d")
    spots = re.findall(r"M([\d.]+) ([\d.]+)h5", signs)
    marked = [(int((float(y) - 6) // 6), int((float(x) + 2.5 - 40) // 6)) for x, y in spots]
    assert len(marked) > 20 and all(S[q, k] < 0 for q, k in marked)


def test_small_schemes_choose_theirs(stage):
    page = stage(CASE.make(scheme="sinusoidal"))
    box = page.locator("svg text", has_text="ALiBi").bounding_box()
    spot = box["x"] + 5, box["y"] + 5
    page.mouse.move(*spot)
    settle(page)
    assert readout(page).startswith("ALiBi, slope 1/2") and trait(page, "scheme") == 0
    page.mouse.click(*spot)
    assert NAMES[trait(page, "scheme")] == "ALiBi"
    page.keyboard.press("ArrowLeft")
    assert NAMES[trait(page, "scheme")] == "DeBERTa"


@pytest.mark.parametrize("scheme, name, told", [("ALiBi", "slope", "1/2"), ("Shaw", "largest distance K", "2"),
                                                ("T5, causal", "head", "1"), ("DeBERTa", "terms", "both terms"),
                                                ("sinusoidal", "projections W", "no projections")])  # fmt: skip
def test_the_slider_of_the_variants_says_what_they_are(stage, scheme, name, told):
    page = stage(CASE.make(scheme="Transformer-XL"))
    find(page, "combobox", "scheme").select_option(label=scheme)
    settle(page)
    assert find(page, "slider", name).get_attribute("aria-valuetext") == told


def test_the_axis_of_the_curve_names_the_pair_pointed_at(stage):
    page = stage(CASE.make())
    axis = page.locator("svg text", has_text="r = key")
    assert axis.text_content() == "r = key − query"
    page.mouse.move(*on_map(page, 20, 12))
    settle(page)
    assert axis.text_content() == "r = key − query = 12 − 20 = −8"
