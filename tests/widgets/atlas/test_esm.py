"""Tier 2 of ModelAtlas: its script in Chromium; test_promises.py tests what all widgets share."""

import numpy as np
import pytest
from anatomy import atlas
from anatomy.atlas.words import families
from anatomy.widgets import ModelAtlas
from anatomy.widgets.atlas import CHOICES, INDEX, ROWS

from ..page import said, settle, trait
from ..stages import set_state
from .learners import right_decoder

pytestmark = pytest.mark.browser

PAIRS = [
    ("gpt-2", "llama-2-7b"),
    ("gpt-4", "palm-540b"),
    ("gemma-3-27b", "deepseek-v3"),
    ("t5-11b", "mt5-xxl"),
    ("deepseek-v4-flash", "kimi-linear-48b-a3b"),
]


@pytest.mark.parametrize("a, b", PAIRS)
def test_page_and_python_tell_the_same_difference(stage, a, b):
    page = stage(ModelAtlas(view=1, first=INDEX[a], second=INDEX[b]))
    assert page.locator(".ta ul li").all_text_contents() == atlas.difference(a, b)
    drawn = page.locator("figure .ta-caption").all_text_contents()
    assert [text.startswith(atlas.find(n).title) for text, n in zip(drawn, (a, b), strict=True)] == [True, True]


@pytest.mark.parametrize("name", ["llama-2-7b", "bert-base", "gemma-2-9b", "palm-540b", "gpt-4"])
def test_page_and_python_count_the_same(stage, name):
    widget = ModelAtlas(right_decoder, view=2, first=INDEX[name])
    page = stage(widget)
    assert said(page) == f"{atlas.find(name).title}: {widget.counted()}"
    assert page.locator("pre").text_content() == widget.spec["models"][INDEX[name]]["code"]


def test_page_and_python_filter_the_same(stage):
    page = stage(ModelAtlas())
    for state in ({"norm": 2}, {"attention": 3}, {"text": "qwen"}, {"since": 2020, "until": 2022, "position": 1}):
        widget = ModelAtlas(**state)
        page.evaluate("(state) => Object.entries(state).forEach(([k, v]) => model.set(k, v))", state)
        settle(page)
        assert said(page).startswith(f"{len(widget.shown())} of {len(ROWS)} models")
        page.evaluate(
            "(state) => Object.keys(state).forEach((k) => model.set(k, {text: '', since: 2017, until: 2026}[k] ?? 0))",
            state,
        )


def test_the_timeline_is_moved_by_mouse_and_keys(stage):
    page = stage(ModelAtlas())
    line = page.get_by_role("listbox")
    page.get_by_role("option", name="PaLM 540B, 2022").click()
    assert trait(page, "first") == INDEX["palm-540b"]
    page.get_by_role("option", name="GPT-4, 2023").click(modifiers=["Shift"])
    assert trait(page, "second") == INDEX["gpt-4"] and trait(page, "first") == INDEX["palm-540b"]
    line.focus()
    line.press("ArrowRight")
    assert trait(page, "first") == INDEX["palm-540b"] + 1
    line.press("ArrowDown")
    assert ROWS[trait(page, "first")].year == 2023
    line.press("ArrowUp")
    assert ROWS[trait(page, "first")].year == 2022
    line.press("Shift+End")
    assert trait(page, "second") == len(ROWS) - 1
    line.press("Home")
    settle(page)
    assert trait(page, "first") == 0 and ROWS[0].title in said(page)
    page.evaluate("() => { model.set('text', 'falcon'); }")
    settle(page)
    line.press("ArrowRight")
    assert ROWS[trait(page, "first")].name == "falcon-7b", "keys step through what the filter leaves"


@pytest.mark.parametrize("width", [840, 390])
def test_targets_are_large_enough_and_nothing_overflows(stage, width):
    page = stage(ModelAtlas(), viewport={"width": width, "height": 800})
    sizes = page.evaluate(
        "() => [...document.querySelectorAll('[role=option]')].map((e) => e.getBoundingClientRect())"
        ".map((r) => [r.width, r.height])"
    )
    assert len(sizes) == len(ROWS) and min(map(min, sizes)) >= 24
    for view in range(3):
        page.evaluate("(view) => model.set('view', view)", view)
        settle(page)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_filters_wait_behind_their_button_and_those_in_effect_do_not(stage):
    page = stage(ModelAtlas())
    norm, fold = page.get_by_label("norm", exact=True), page.get_by_role("button", name="Filter")
    assert not norm.is_visible() and fold.get_attribute("aria-expanded") == "false"
    fold.press("Enter")
    settle(page)
    assert norm.is_visible() and fold.get_attribute("aria-expanded") == "true"
    fold.press("Enter")
    settle(page)
    assert not norm.is_visible()
    page.evaluate("() => model.set('norm', 1)")
    settle(page)
    assert norm.is_visible() and not page.get_by_label("position", exact=True).is_visible()
    norm.select_option("any")
    settle(page)
    assert norm.is_visible() and trait(page, "norm") == 0, "it does not vanish under the hand"
    page.get_by_role("button", name="Next step").press("Enter")
    page.get_by_role("button", name="Previous step").press("Enter")
    settle(page)
    assert not norm.is_visible() and fold.is_visible()
    fold.press("Enter")
    norm.select_option("LayerNorm")
    settle(page)
    fold.press("Enter")
    settle(page)
    assert norm.is_visible() and not page.get_by_label("position", exact=True).is_visible()


def test_the_gallery_shows_no_code(stage):
    page = stage(ModelAtlas(view=2, first=INDEX["llama-2-7b"]))
    assert page.locator("pre").is_visible()
    page.evaluate("() => { document.querySelector('.ta').parentNode.dataset.alone = ''; model.set('first', 0); }")
    settle(page)
    page.evaluate("(i) => model.set('first', i)", INDEX["llama-2-7b"])
    settle(page)
    assert not page.locator("pre").is_visible() and page.get_by_role("button", name="Copy the code").count() == 0


def test_code_is_copied_or_selected(stage):
    page = stage(ModelAtlas(view=2, first=INDEX["llama-2-7b"]))
    page.get_by_role("button", name="Copy the code").click()
    page.wait_for_function("() => /Copied|Selected/.test(document.querySelector('.ta-bar [role=status]').textContent)")


def test_every_model_is_drawn_and_said(stage):
    page = stage(ModelAtlas(view=2))
    for i in range(len(ROWS)):
        page.evaluate("(i) => model.set('first', i)", i)
        settle(page)
        heard = said(page)
        drawn = " ".join(page.locator(".ta-svg text").all_text_contents())
        assert heard and not any(word in heard + drawn for word in ("undefined", "NaN", "null", "{")), ROWS[i].name


def test_a_part_that_is_pointed_at_lights_up_in_both_blocks(stage):
    page = stage(ModelAtlas(view=1))
    lit = (
        "() => [...document.querySelectorAll('.ta [data-aspect]')].filter((e) => e.style.strokeWidth === '3.5').length"
    )
    page.locator("[data-aspect=attention]").first.hover()
    settle(page)
    heard = page.locator(".ta-readout").text_content()
    assert "Attention → GPT-2: 12 heads (MHA) | LLaMA 2 7B: 32 heads (MHA)" in heard and page.evaluate(lit) == 2
    page.mouse.move(1, 1)
    settle(page)
    assert page.evaluate(lit) == 0
    block = page.locator("figure svg").first
    block.focus()
    aspects = set()
    for _ in range(8):
        page.keyboard.press("ArrowUp")
        settle(page)
        aspects.add(page.locator(".ta").get_attribute("data-peek"))
        assert page.evaluate(lit) >= 2
    assert '{"aspect":"attention"}' in aspects and len(aspects) >= 3
    page.keyboard.press("Escape")
    settle(page)
    assert page.evaluate(lit) == 0


def test_a_mark_that_is_pointed_at_is_read_and_not_chosen(stage):
    page = stage(ModelAtlas())
    page.get_by_role("option", name="PaLM 540B, 2022").hover()
    settle(page)
    assert "PaLM 540B" in page.locator(".ta-readout").text_content()
    assert trait(page, "first") == INDEX["gpt-2"]


def test_no_part_of_a_block_moves_the_picture_when_it_is_pointed_at(stage):
    """The gray line has just enough room for the longest text of any part: two blocks leave little space."""
    page = stage(ModelAtlas(view=1), viewport={"width": 820, "height": 1000})
    for names in ({}, {"first": INDEX["gemma-2-27b"], "second": INDEX["gpt-oss-120b"]}, {"view": 2}):
        page.evaluate("(state) => Object.entries(state).forEach(([k, v]) => model.set(k, v))", names)
        settle(page)
        high = page.locator(".ta").bounding_box()["height"]
        for part in page.locator("figure [data-aspect]").all():
            part.hover(position={"x": 8, "y": 8})  # next to the words: the whole box reacts, not only its edge
            settle(page)
            assert "→" in page.locator(".ta-readout").text_content()
            assert page.locator(".ta").bounding_box()["height"] == pytest.approx(high, abs=0.6)
        page.mouse.move(1, 1)


NAMES = """() => [...document.querySelectorAll('[role=listbox] span.ta-small')]
  .filter((e) => e.style.visibility !== 'hidden')
  .map((e) => [e.textContent, e.getBoundingClientRect().toJSON(), parseFloat(getComputedStyle(e).fontSize)])"""


@pytest.mark.parametrize("width", [820, 390])
def test_each_family_of_marks_has_its_name_beside_it(stage, width):
    """Names overlap neither each other nor a mark, and each model's title begins with the name behind its marks."""
    page = stage(ModelAtlas(), viewport={"width": width, "height": 1200})
    names = page.evaluate(NAMES)
    marks = page.locator("[role=option]").evaluate_all("(all) => all.map((e) => e.getBoundingClientRect().toJSON())")
    boxes = [box for _, box, _ in names] + marks
    clash = lambda a, b: (
        min(a["right"], b["right"]) - max(a["left"], b["left"]) > 0.5
        and min(a["bottom"], b["bottom"]) - max(a["top"], b["top"]) > 0.5
    )
    assert not [(a, b) for i, a in enumerate(boxes) for b in boxes[i + 1 :] if clash(a, b)]
    assert min(size for *_, size in names) >= 11 and len(names) > 45
    behind = page.locator("[role=option]").evaluate_all("(all) => all.map((e) => e.parentNode.lastChild.textContent)")
    titles = page.locator("[role=option]").evaluate_all("(all) => all.map((e) => e.getAttribute('aria-label'))")
    assert all(title.startswith(name) for title, name in zip(titles, behind, strict=True))
    page.evaluate("() => model.set('text', 'falcon')")
    settle(page)
    assert [name for name, *_ in page.evaluate(NAMES)] == ["Falcon", "Falcon 2"]


def test_lines_lead_from_mark_to_mark(stage):
    """Back to the first Transformer, and on to each model that goes back to this one's family, edge to edge."""
    page = stage(ModelAtlas(first=INDEX["gpt-3"]), viewport={"width": 820, "height": 900})
    places = """() => Object.fromEntries([...document.querySelectorAll('[role=option]')].map(
      (e, i) => {
        const r = e.querySelector('svg > :first-child').getBBox().height / 2;
        return [i, [e.offsetLeft + 12, e.offsetTop + 11 - r, e.offsetTop + 13 + r]];
      }))"""
    ends = """() => [...document.querySelectorAll('[role=listbox] > svg > path')].map((e) => e.getAttribute('d'))
      .filter(Boolean).map((d) => d.match(/[\\d.]+/g).map(Number)).map((n) => [n[0], n[1], n.at(-2), n.at(-1)])"""
    marks = {i: place for i, place in page.evaluate(places).items()}
    expected = [("transformer-base", "gpt-1"), ("gpt-1", "gpt-2-xl"), ("gpt-2-xl", "gpt-3")]
    expected += [("gpt-3", n) for n in "gpt-neox-20b pythia-6.9b opt-350m opt-175b gpt-oss-20b gpt-oss-120b".split()]
    where = lambda name: marks[str(INDEX[name])]
    lines = [[where(a)[0], where(a)[2], where(b)[0], where(b)[1]] for a, b in expected]
    assert page.evaluate(ends) == [], "nobody looks at a model yet"
    page.locator("[role=listbox]").focus()
    settle(page)
    near = lambda found: np.abs(np.array(sorted(found)) - np.array(sorted(lines))).max() < 0.01
    assert len(page.evaluate(ends)) == len(lines) and near(page.evaluate(ends))
    page.evaluate("() => document.activeElement.blur()")
    settle(page)
    assert page.evaluate(ends) == []
    page.locator("[role=option]").nth(INDEX["gpt-3"]).hover()
    settle(page)
    assert len(page.evaluate(ends)) == len(lines) and near(page.evaluate(ends))
    page.evaluate("(i) => model.set('first', i)", INDEX["gpt-4"])
    settle(page)
    page.locator("[role=option]").nth(INDEX["gpt-4"]).hover()
    settle(page)
    assert page.evaluate(ends) == []


def test_page_and_python_say_the_same_of_each_model_in_the_timeline(stage):
    page, widget = stage(ModelAtlas()), ModelAtlas()
    for widget.first in range(len(ROWS)):
        page.evaluate("(i) => model.set('first', i)", widget.first)
        settle(page)
        assert said(page) == widget.words
    widget.attention = 1  # caches are compared
    page.evaluate("() => model.set('attention', 1)")
    for widget.first in (INDEX["llama-2-7b"], INDEX["llama-2-70b"], INDEX["gpt-4"]):
        page.evaluate("(i) => model.set('first', i)", widget.first)
        settle(page)
        assert said(page) == widget.words


def test_the_whole_descent_is_drawn_and_later_generations_are_pale(stage):
    page = stage(ModelAtlas(), viewport={"width": 820, "height": 900})
    page.locator("[role=option]").nth(INDEX["llama-1-7b"]).hover()
    settle(page)
    drawn = page.evaluate("""() => [...document.querySelectorAll('[role=listbox] > svg > path')].flatMap(
      (e, i) => (e.getAttribute('d') ? [[i, Number(e.getAttribute('opacity'))]] : []))""")
    assert len(drawn) == 17
    assert {ROWS[i].after.startswith("llama-1") for i, opacity in drawn if opacity == 1} == {True}
    assert {ROWS[i].after.startswith("llama-1") for i, opacity in drawn if opacity < 0.5} == {False}


def test_the_mark_that_is_looked_at_has_its_own_name_and_size(stage):
    page = stage(ModelAtlas(), viewport={"width": 820, "height": 900})
    tag = page.locator("[role=listbox] > span")
    assert tag.is_hidden()
    for name, told in (("llama-2-70b", "LLaMA 2 70B: 69 billion"), ("gpt-4", "GPT-4")):
        page.locator("[role=option]").nth(INDEX[name]).hover()
        settle(page)
        assert tag.text_content() == told


def test_no_letter_before_two_are_compared_and_no_praise_for_a_count_that_nobody_wrote(stage):
    page = stage(ModelAtlas())
    letters = "() => [...document.querySelectorAll('[role=option] text')].map((e) => e.textContent).join('')"
    assert page.evaluate(letters) == "AB"
    set_state(page, {"alone": True, **ModelAtlas.story[0].state, "step": 0})
    assert page.evaluate(letters) == ""
    set_state(page, {**ModelAtlas.story[5].state, "step": 5})
    assert page.locator(".ta-readout").get_attribute("data-good") == "plain"


def test_a_mark_grows_by_one_step_for_ten_times_the_parameters(stage):
    page = stage(ModelAtlas(), viewport={"width": 820, "height": 900})
    radius = {
        title.split(",")[0]: float(r)
        for title, r in page.locator("[role=option]:has(circle)").evaluate_all(
            "(all) => all.map((e) => [e.getAttribute('aria-label'), e.querySelector('circle').getAttribute('r')])"
        )
    }
    cards = {card["title"]: card["size"] for card in ModelAtlas().spec["models"]}
    ratio = cards["Llama 3 405B"] / cards["GPT-2"]
    assert radius["Llama 3 405B"] - radius["GPT-2"] == pytest.approx(1.5 * np.log10(ratio))
    assert not cards["GPT-4"] and radius["GPT-4"] == 6


def test_frames_mark_what_differs_unless_everything_does(stage):
    framed = """() => [...document.querySelectorAll('figure [data-aspect]')]
      .filter((e) => e.style.strokeWidth === '2.4').length"""
    for names, some in (
        (("gpt-2", "gpt-2-xl"), True),
        (("gpt-2", "palm-540b"), False),
        (("transformer-base", "palm-540b"), False),
    ):
        page = stage(ModelAtlas(view=1, first=INDEX[names[0]], second=INDEX[names[1]]))
        assert (page.evaluate(framed) > 0) == some, names


@pytest.mark.parametrize(
    "name, good",
    [("llama-2-7b", "true"), ("kimi-linear-48b-a3b", "plain"), ("deepseek-v3", "plain"), ("gpt-4", "plain")],
)
def test_a_sign_of_success_is_for_a_count_that_hits_the_figure_of_a_model_that_can_be_built(stage, name, good):
    page = stage(ModelAtlas(view=2, first=INDEX[name]))
    assert page.locator(".ta-readout").get_attribute("data-good") == good


def test_two_of_one_family_differ_in_its_details(stage):
    page = stage(ModelAtlas(view=1, first=INDEX["gpt-2"], second=INDEX["llama-2-7b"]))
    assert "norm, position, details of attention, activation" in page.locator(".ta-readout").text_content()


def test_only_the_chain_of_descent_stays_bright(stage):
    page = stage(ModelAtlas(), viewport={"width": 820, "height": 900})
    page.locator("[role=option]").nth(INDEX["llama-3-405b"]).hover()
    settle(page)
    bright = page.evaluate(
        "() => [...document.querySelectorAll('[role=option] svg > :first-child')]"
        ".flatMap((e, i) => e.getAttribute('opacity') === '1' ? [i] : [])"
    )
    assert {ROWS[i].name for i in bright} == {*"llama-1-65b llama-2-70b llama-3-8b llama-3.2-1b".split()} | {
        "llama-3-405b",
        "llama-2-7b",  # B
    }


BARS = """() => [...document.querySelectorAll('[role=listbox] [data-share]')]
  .map((e) => [e.dataset.share, e.getAttribute('width')])"""


FILLED = """() => [...document.querySelectorAll('[role=option] svg > :first-child')]
  .map((e) => e.getAttribute('stroke-dasharray') !== 'none' ? null : e.style.fill !== 'none')"""
LEGEND = "Filled: RMSNorm, hollow: LayerNorm, dashed: not published;"
ASKED = [
    ({}, "norm", "RMSNorm", LEGEND),
    ({"since": 2019, "until": 2023}, "norm", "RMSNorm", LEGEND),
    ({"attention": 1}, "attention", "GQA", "Filled: GQA (attention), hollow: others, dashed: not published;"),
    ({"position": 3, "until": 2024}, "position", CHOICES["position"][3], "Filled: "),
]


@pytest.mark.parametrize("state, aspect, asked, legend", ASKED)
def test_filled_marks_and_bars_follow_what_is_asked(stage, state, aspect, asked, legend):
    """A mark is filled if the model has what the filter asks for, and the bar under a year is the share of those; one
    where nobody published that is dashed and counts nowhere."""
    widget = ModelAtlas(**state)
    has = [families(row)[aspect] for row in ROWS]
    filled = [None if one == "not published" else one == asked for one in has]
    page = stage(widget)
    assert page.evaluate(FILLED) == filled == widget.filled()
    assert page.locator(".ta-note", has_text="Filled:").text_content().startswith(legend)
    told = []
    for year in sorted({row.year for row in ROWS}):
        seen = year >= widget.since and year <= widget.until
        known = [filled[i] for i, row in enumerate(ROWS) if seen and row.year == year and filled[i] is not None]
        told.append((sum(known), len(known)))
    bars = page.evaluate(BARS)
    assert [share for share, _ in bars] == [f"{filled}/{known}" for filled, known in told]
    widths = [34 * filled / max(known, 1) for filled, known in told]
    assert [float(width) for _, width in bars] == pytest.approx(widths, abs=0.01) and max(widths) > 10


def test_every_choice_of_a_filter_is_explained():
    terms = ModelAtlas().spec["words"]["terms"]
    named = {name: set(values) - {"any", "not published"} for name, values in CHOICES.items()}
    assert {name: set(told) for name, told in terms.items()} == named
    for name, told in terms.items():
        assert all(text.startswith(family) and text.endswith(".") for family, text in told.items()), name


def test_words_are_explained_where_they_are_asked_for_and_where_they_are_pointed_at(stage):
    """Below the timeline, of what the filters ask for; in the gray line, of the part that is pointed at."""
    page = stage(ModelAtlas())
    terms = ModelAtlas().spec["words"]["terms"]
    meant = page.locator("[data-readout=terms]")
    assert meant.text_content() == f"{terms['norm']['LayerNorm']} {terms['norm']['RMSNorm']}"
    set_state(page, {"attention": CHOICES["attention"].index("GQA")})
    assert meant.text_content() == terms["attention"]["GQA"]
    set_state(page, {"attention": 0, "view": 1})
    page.locator("[data-aspect=activation]").first.hover()
    settle(page)
    heard = page.locator(".ta-readout").text_content()
    assert heard.endswith(f"LLaMA 2 7B: SwiGLU. {terms['activation']['GELU']} {terms['activation']['SwiGLU']}")


def test_the_line_of_the_timeline_tells_only_what_is_asked(stage):
    page = stage(ModelAtlas())
    assert "GPT-2, OpenAI, 2019: LayerNorm. It starts from GPT." in said(page)
    set_state(page, {"position": CHOICES["position"].index("learned")})
    assert "GPT-2, OpenAI, 2019: a learned table. It starts from GPT." in said(page)
    set_state(page, {"first": INDEX["gpt-4"]})
    assert said(page).endswith("GPT-4, OpenAI, 2023: its design is not published.")
