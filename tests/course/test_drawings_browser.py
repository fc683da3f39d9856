"""Drawings in Chromium: words don't overlap and can be read on a phone, in every theme; drawings have names."""

import pytest
from anatomy import drawings
from anatomy.atlas import configuration
from anatomy.drawings import __main__ as stored
from anatomy.drawings.theme import DARK, LIGHT
from anatomy.models import config

from autograder import ROOT
from tests.widgets.axe import passed, violations

pytestmark = pytest.mark.browser

DRAWN = stored.STORED | {
    "block-post": lambda: drawings.block(config(placement="post", kind="encoder", norm="gemma", qk_norm="head")),
    "block-parallel": lambda: drawings.block(configuration("falcon-7b")),
    "block-both": lambda: drawings.block(configuration("gemma-2-9b")),
    "block-cross": lambda: drawings.block(configuration("t5-11b")),
    "heads-many": lambda: drawings.split_and_merge(16384, 128),
    "sharing-many": lambda: drawings.key_value_heads(64, 8, 128),
    "small-latent": lambda: drawings.latent(config(attention="latent", kv_rank=24, rope_dim=4, v_dim=16)),
    "own": lambda: drawings.wiring_of(lambda x, F, norm: norm(x) + F(norm(x)), "mine"),
}
NARROWEST_TEXT = 11.0

# For each svg: its own rectangle, its texts' rectangles with the scale at which they are shown, and its filled boxes.
MEASURE = """() => [...document.querySelectorAll('svg.ad')].map((svg) => {
  const place = (e) => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
  const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  return {
    at: place(svg),
    texts: [...svg.querySelectorAll('text')].map((t) =>
      ({ words: t.textContent, at: place(t), size: parseFloat(getComputedStyle(t).fontSize) * scale,
         box: t.previousElementSibling?.tagName === 'rect' && !t.getAttribute('class') ?
           place(t.previousElementSibling) : null })),
    boxes: [...svg.querySelectorAll('rect.part, rect.norm, rect.mix, rect.ffn, rect.kept')].map(place),
  };
})"""


def meet(a, b, slack):
    return a[0] + slack < b[2] and b[0] + slack < a[2] and a[1] + slack < b[3] and b[1] + slack < a[3]


def show(browser, body, width=390, scheme="light", page_attributes=""):
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.set_content(f'<!doctype html><body {page_attributes} style="margin:8px">{body}</body>')
    return page


def faults(measured):
    """Messages about words in one svg that are too small, overlap, or leave the drawing or their box."""
    found, texts = [], measured["texts"]
    for i, t in enumerate(texts):
        if t["size"] < NARROWEST_TEXT - 0.01:
            found.append(f"{t['words']!r} is {t['size']:.1f} px")
        if not (measured["at"][0] <= t["at"][0] + 0.5 and t["at"][2] <= measured["at"][2] + 0.5):
            found.append(f"{t['words']!r} leaves the drawing")
        # Lines may overlap by 3 px, since a line has empty space above and below its letters.
        found += [f"{t['words']!r} meets {u['words']!r}" for u in texts[i + 1 :] if meet(t["at"], u["at"], 3)]
        own = [b for b in measured["boxes"] if b[0] < (t["at"][0] + t["at"][2]) / 2 < b[2] and meet(t["at"], b, 3)]
        for b in own:
            if not (b[0] <= t["at"][0] + 0.5 and t["at"][2] <= b[2] + 0.5):
                found.append(f"{t['words']!r} is wider than its box")
    return found


@pytest.mark.parametrize("name", DRAWN)
def test_words_can_be_read_on_a_phone_and_keep_apart(name, browser):
    page = show(browser, DRAWN[name]().html())
    shown = page.evaluate(MEASURE)
    assert shown and all(s["texts"] for s in shown)
    assert [f for s in shown for f in faults(s)] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, "the page scrolls sideways"
    page.close()


def test_words_that_meet_would_be_found(browser):
    body = DRAWN["own"]().html().replace('text-anchor="middle">norm<', 'text-anchor="middle">a norm of great width<')
    page = show(browser, body)
    assert any("wider than its box" in f for f in faults(page.evaluate(MEASURE)[0]))
    page.set_content(DRAWN["own"]().html().replace("max-width:", "max-width:100px;min-width:1px;width:"))
    assert any("px" in f for f in faults(page.evaluate(MEASURE)[0]))
    page.close()


@pytest.mark.parametrize("name", stored.STORED)
def test_stored_files_can_be_read_on_a_phone(name, browser):
    """Drawings are images that shrink with the page; a wide drawing has a narrow file for phones."""
    narrow = ROOT / "assets" / "drawings" / f"{name}-narrow.svg"
    text = (narrow if narrow.exists() else ROOT / "assets" / "drawings" / f"{name}.svg").read_text(encoding="utf-8")
    page = show(browser, text.replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1))
    assert [f for s in page.evaluate(MEASURE) for f in faults(s)] == []
    page.close()


COLORS = """() => {
  const svg = document.querySelector('svg.ad'), of = (s) => getComputedStyle(svg.querySelector(s)).fill;
  return { paper: of('.paper'), ink: of('text.title') };
}"""


def rgb(color):
    return "rgb({}, {}, {})".format(*(int(color[i : i + 2], 16) for i in (1, 3, 5)))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_file_follows_the_system(scheme, browser):
    theme = {"light": LIGHT, "dark": DARK}[scheme]
    page = show(browser, drawings.wiring("Pre-LN").svg(), scheme=scheme)
    assert page.evaluate(COLORS) == {"paper": rgb(theme["paper"]), "ink": rgb(theme["ink"])}
    page.close()


@pytest.mark.parametrize(("scheme", "lab"), [("light", "dark"), ("dark", "light"), ("dark", "dark")])
def test_in_jupyterlab_its_theme_counts_and_not_the_systems(scheme, lab, browser):
    paper, ink = ("#fefefe", "#010101") if lab == "light" else ("#111111", "#fefefe")
    says = f'data-jp-theme-light="{str(lab == "light").lower()}"'
    style = f"<style>:root {{ --jp-layout-color0: {paper}; --jp-content-font-color1: {ink}; }}</style>"
    page = show(browser, style + drawings.wiring("Pre-LN").html(), scheme=scheme, page_attributes=says)
    assert page.evaluate(COLORS) == {"paper": rgb(paper), "ink": rgb(ink)}
    theme = {"light": LIGHT, "dark": DARK}[lab]
    stroke = "getComputedStyle(document.querySelector('svg .norm')).stroke"
    assert page.evaluate(stroke) == rgb(theme["one"])
    page.close()


def test_a_screen_reader_gets_a_name_and_a_description(browser):
    drawing = drawings.token_path(configuration("gpt-2"), 1, 3)
    page = show(browser, drawing.html())
    assert page.get_by_role("img", name="The path of a token", exact=True).count() == 1
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    (image,) = [n for n in nodes if n.get("role", {}).get("value") == "image"]
    assert image["description"]["value"] == drawing.alt
    page.set_content(drawings.wirings().html())
    group = page.get_by_role("group", name="Residual wirings")
    assert group.get_by_role("img").count() == 8 and group.get_by_role("img", name="sandwich").count() == 1
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(scheme, browser):
    body = "".join(f"<h2>{name}</h2>{draw().html()}" for name, draw in DRAWN.items())
    page = show(browser, f"<main><h1>Drawings</h1>{body}</main>", scheme=scheme)
    page.evaluate("() => { document.title = 'Drawings'; document.documentElement.lang = 'en'; }")
    assert violations(page) == []
    assert "svg-img-alt" in passed(page), "the drawings were looked at"
    page.close()


def test_panels_stand_side_by_side_where_there_is_room(browser):
    page = show(browser, drawings.wirings().html(), width=820)
    rows = page.evaluate(
        "new Set([...document.querySelectorAll('svg')].map((s) => s.getBoundingClientRect().bottom)).size"
    )
    assert rows == 2
    page.set_viewport_size({"width": 390, "height": 800})
    rows = page.evaluate(
        "new Set([...document.querySelectorAll('svg')].map((s) => s.getBoundingClientRect().bottom)).size"
    )
    assert rows == 4
    page.close()
