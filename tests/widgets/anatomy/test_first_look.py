"""What a newcomer reads in AnatomyView without asking: what parts do, what thickness means, where more is."""

import pytest
from anatomy.widgets import AnatomyView

from ..stages import set_state, state_of
from . import learners

pytestmark = pytest.mark.browser
PLAIN = {"sentences": True, "guesses": True, "parts": False, "heads": False}
NEIGHBORS = '<nav><a href="index.html">Gallery</a><a rel="next" href="CacheStepper.html">next</a></nav>'


@pytest.mark.parametrize("width", [820, 390])
def test_each_box_says_what_its_part_does_and_holds_the_words(stage, width):
    page = stage(AnatomyView(step=1), viewport={"width": width, "height": 800})
    lines = page.locator(".an-part:has(rect)").evaluate_all("""(parts) => parts.map((part) => {
      const box = part.querySelector("rect").getBoundingClientRect();
      return [...part.querySelectorAll("text")].map((text) => {
        const { left, right, top, bottom } = text.getBoundingClientRect();
        return [text.textContent, left >= box.left && right <= box.right && top >= box.top && bottom <= box.bottom + 1];
      });
    })""")
    does = {name: what for (name, _), (what, _) in lines}
    assert all(fits for line in lines for _, fits in line), lines
    assert does["attention"] == "looks back and fetches" and does["gated FFN"] == "treats each token alone"
    assert len(lines) == 9 and len(set(does.values())) == 7, "one text for each kind of part"


def test_the_four_sentences_give_way_to_the_parts(stage):
    """With a part of the learner's, all of them are in sight at once; on a page by itself there is none of theirs."""
    page = stage(AnatomyView({"rms_norm": learners.rms_norm}))
    way, parts, heads = (page.locator(of) for of in (".an-steps", ".an-part", ".an-heads"))
    seen = lambda: [way.is_visible(), page.locator(".an-guesses").is_visible()]
    rest = lambda: [parts.first.is_visible(), page.get_by_text("click to open").is_visible()]
    assert seen() == [False, False] and rest() == [True, True] and heads.is_visible()
    set_state(page, {"alone": True, "step": 0})
    assert seen() == [True, True] and rest() == [False, False] and heads.is_hidden()
    assert "rises through 4 layers" in way.text_content() and "attends" not in page.locator(".ta-line").text_content()
    assert page.locator(".an-prompt [data-key]").count() == 0, "no dashed word before there is a head"
    set_state(page, {"part": "mask"})
    assert seen() == [False, False] and rest() == [True, True] and heads.is_hidden()
    set_state(page, {**AnatomyView.story[2].state, "step": 2})
    assert seen() == [False, False] and rest() == [True, True] and heads.is_visible()
    assert page.locator(".an-prompt [data-key]").count() == 0  # L0 looks at itself
    set_state(page, {"layer": 3})
    assert page.locator(".an-prompt [data-key]").count() == 1


def seen(page):
    places = {"sentences": ".an-steps", "guesses": ".an-guesses", "parts": ".an-part", "heads": ".an-heads"}
    return {name: page.locator(place).first.is_visible() for name, place in places.items()}


@pytest.mark.parametrize("alone", [False, True])
def test_a_newcomer_begins_with_the_text_in_a_notebook_too(stage, alone):
    page = stage(AnatomyView())
    rest = {name: not there for name, there in PLAIN.items()}
    for step in (0, 1, 2, 1, 0):
        set_state(page, {**AnatomyView.story[step].state, "step": step, "alone": alone})
        assert seen(page) == (PLAIN if step < 2 else rest), step
    set_state(page, {"part": "mask"})  # what is asked for is there
    assert seen(page)["parts"] and not seen(page)["sentences"]


@pytest.mark.parametrize("part", [learners.rms_norm, learners.centered_norm])
def test_a_part_of_the_learners_brings_all_parts_at_once(stage, part):
    assert seen(stage(AnatomyView({"rms_norm": part}))) == {name: not there for name, there in PLAIN.items()}


def test_the_legend_says_what_thickness_means_and_blue_lines_keep_to_it(stage):
    """A larger share is drawn thicker; half as thick in a curve, whose number is that of twice its share."""
    page = stage(AnatomyView())
    assert page.locator(".an-legend span").all_text_contents() == ["size of its numbers", "share in the guess"]
    widths = [
        float(w) for w in page.locator(".an-way").evaluate_all("(w) => w.map((e) => e.getAttribute('stroke-width'))")
    ]
    stems, curves = widths[:5], widths[5:]
    assert stems == sorted(set(stems)) and curves == sorted(set(curves)) and 2 * curves[4] == stems[4]
    drawn = page.locator(".an-way").nth(4)
    assert drawn.get_attribute("d"), "the token's own line, whose share is the largest"
    assert drawn.evaluate("(e) => getComputedStyle(e).strokeWidth") == "5px"


def test_an_open_part_leads_to_its_widget_where_the_page_has_neighbors(stage, draw):
    view = AnatomyView(step=4, part="norm")
    page = stage(view)
    opened = page.get_by_role("region", name="the part that is open")
    assert opened.get_by_role("link").count() == 0 and "More in" not in opened.text_content()
    page = draw(view._esm, view._css, state_of(view), around=NEIGHBORS)
    link = page.get_by_role("region", name="the part that is open").get_by_role("link")
    assert link.text_content() == "More in NormExplorer" and link.get_attribute("href") == "NormExplorer.html"
    set_state(page, {"part": "embedding"})
    assert link.count() == 0


def test_shapes_stand_in_the_part_that_is_open(stage):
    page = stage(AnatomyView(step=4, part="ffn"))
    title = page.locator(".an-head small")
    assert title.text_content() == "160 → 432 → 160"
    set_state(page, {"part": "unembedding"})
    assert title.text_content() == "(T, 160) → (T, 1280)"


@pytest.mark.parametrize("token", [31, 17, 0])
def test_streams_that_fed_the_guess_have_names_and_no_others(stage, token):
    """Where places are narrow, a name under each stream could not be told from its neighbors'."""
    page = stage(AnatomyView(token=token))
    words = [word.strip() for word in AnatomyView().spec["words"]]
    names = page.locator('[aria-label^="Residual streams"] text[translate="no"]').all_text_contents()
    named = {i for i, name in enumerate(names) if name}
    assert all(names[i] == words[i] for i in named) and token in named and max(named) == token
    blue = page.locator(".an-prompt span").evaluate_all("(all) => all.map((e) => Number(e.dataset.share))")
    assert {i for i, share in enumerate(blue) if share == 4} <= named, "the most important ones"
    assert all(blue[i] > 0 for i in named - {token})


def test_a_visitor_does_not_read_where_a_part_is_built(stage):
    page = stage(AnatomyView(step=4, part="norm"))
    opened = page.get_by_role("region", name="the part that is open")
    assert "Built in unit 02" in opened.text_content()
    set_state(page, {"alone": True, "part": "ffn"})
    assert "Built in" not in opened.text_content() and "160 → 432 → 160" in opened.text_content()
