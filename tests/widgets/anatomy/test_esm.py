"""Tier 2 of AnatomyView: its script alone in Chromium; test_promises.py tests what all widgets share."""

import numpy as np
import pytest
from anatomy.widgets import AnatomyView
from anatomy.widgets.anatomy import OPENED

from ..page import said, settle
from ..stages import set_state
from . import learners
from .case import CASE

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def cracked():
    return AnatomyView({**learners.RIGHT, "GatedFeedForward": learners.Swapped})


def test_every_part_opens_and_closes_by_mouse_and_by_keys(stage):
    page = stage(AnatomyView(step=4))
    opened = page.get_by_role("region", name="the part that is open")
    for name in ("embedding", "RoPE", "mask", "attention", "gated FFN", "RMSNorm before the FFN", "unembedding"):
        part = page.get_by_role("button", name=name, exact=True)
        part.click()
        settle(page)
        assert opened.is_visible() and part.get_attribute("aria-expanded") == "true"
        assert "Built in unit" in opened.text_content() and "undefined" not in opened.text_content()
        page.get_by_role("button", name="close the part").press("Enter")
        settle(page)
        assert opened.is_hidden() and page.evaluate("() => model.get('part')") == ""


def test_what_a_part_is_for_is_read_where_it_is_pointed_at(stage):
    page = stage(AnatomyView(step=4))
    told = lambda: page.locator(".ta-readout").text_content()
    usual, parts, purposes = told(), page.locator(".an-part").all(), set()
    for part in parts:
        part.hover()
        settle(page)
        purposes.add(told())
        page.mouse.move(0, 0)
        settle(page)
        assert told() == usual
        part.focus()
        settle(page)
        assert told() in purposes
        part.blur()
    assert usual not in purposes and len(purposes) == len(OPENED[1:])


@pytest.mark.parametrize("part", OPENED[1:])
def test_an_open_part_follows_the_token(stage, part):
    """A panel draws a different picture for another token or layer, and never NaN."""
    page = stage(AnatomyView(part=part))
    look = "() => document.querySelector('.ta section[aria-label^=\"the part\"]').innerHTML"
    before = page.evaluate(look)
    set_state(page, {"token": 9, "layer": 1, "head": 2})
    assert page.evaluate(look) != before and "NaN" not in page.evaluate(look)


def test_pointing_at_a_word_lights_it_in_every_panel(stage):
    """The river's name and answer, the row in the head's map, and the readout belong to the word under the pointer."""
    page, view = stage(AnatomyView(step=2)), AnatomyView(token=10)
    page.locator(".an-prompt span").nth(10).hover()
    settle(page)
    assert page.evaluate("() => model.get('token')") == 31, "a hover sets nothing"
    assert page.locator(".an-prompt span[data-here]").text_content() == "ish"
    drawn = " ".join(page.locator(".ta-svg text").all_text_contents())
    word, share = view.likely(10)[0]
    assert f"next: “{word}” {share:.0%}" in drawn and f"{word} {share:.0%}" in drawn
    assert "Token 10 “ish”" in page.locator(".ta-readout").text_content()


def test_the_way_back_adds_up_to_one(stage):
    """The attention rollout that the page computes equals a product of matrices (arXiv:2005.00928)."""
    page = stage(AnatomyView())
    page.add_script_tag(
        type="module",
        content=AnatomyView._esm.replace(
            "export default widget;",
            """
      const view = model.get("tables").att;
      const att = new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
      window.shares = [...walkBack(meanOfHeads(att, model.get("spec")), model.get("spec"), 31, () => {}, () => {})];""",
        ),
    )
    page.wait_for_function("() => window.shares")
    mixed = 0.5 * np.eye(32) + 0.5 * AnatomyView().shown("att").mean(1)  # (layers, T, T)
    expected = np.linalg.multi_dot(mixed[::-1])[31]
    # Shares below a hundredth are not followed any further down.
    assert np.abs(np.array(page.evaluate("() => shares")) - expected).max() < 0.03
    assert expected.sum() == pytest.approx(1)


def test_a_broken_part_shows_without_color(stage, cracked):
    """A ✗ sign, a dashed border and a crack; dashed streams; the reference's word next to the changed one."""
    page = stage(cracked)
    part = page.get_by_role("button", name="gated FFN: yours, wrong", exact=True)
    assert "✗" in part.text_content()
    assert part.locator("rect").evaluate("(e) => getComputedStyle(e).strokeDasharray") != "none"
    assert part.locator(".an-crack").is_visible() and page.locator(".an-crack:visible").count() == 1
    assert page.locator(".an-off").count() > 100
    assert page.locator(".an-off").first.evaluate("(e) => getComputedStyle(e).strokeDasharray") != "none"
    assert 'reference ‹"›' in said(page) and "off the reference" in said(page)
    part.click()
    settle(page)
    assert "Yours is wrong here" in page.get_by_role("region", name="the part that is open").text_content()


def test_right_parts_have_no_crack_and_no_dashed_stream(stage):
    page = stage(CASE.usual)
    assert page.locator(".an-lit").count() == 9 and page.locator(".an-bad, .an-off, .an-crack:visible").count() == 0
    assert "off the reference" not in said(page)


def test_a_river_cell_takes_its_token_and_its_layer(stage):
    page = stage(AnatomyView())
    river = page.get_by_role("application", name="streams, by token and layer")
    box = river.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 10.5 / 32, box["y"] + box["height"] * 0.9)
    settle(page)
    assert page.evaluate("() => [model.get('token'), model.get('layer')]") == [10, 0]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.evaluate("() => [model.get('token'), model.get('layer')]") == [11, 1]


def test_pointing_costs_little_script(stage):
    """Script time of moving the pointer from word to word, drawing included: the median of sixty moves."""
    page = stage(AnatomyView())
    spent = page.evaluate("""async () => {
      const area = document.querySelector('.ta-area[aria-label^="streams"]');
      const box = area.getBoundingClientRect();
      const found = [];
      for (let i = 0; i < 60; i++) {
        const clientX = box.left + ((i * 7) % 32 + 0.5) * box.width / 32;
        const clientY = box.top + box.height * ((i * 3) % 4 + 0.5) / 4;
        const start = performance.now();
        area.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY, bubbles: true, pointerType: "mouse" }));
        await Promise.resolve().then(() => {});
        found.push(performance.now() - start);
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      }
      return found.sort((a, b) => a - b);
    }""")
    print(f"hover: median {spent[30]:.2f} ms, p95 {spent[57]:.2f} ms")
    assert spent[30] < 10


def test_on_load_the_sentence_flows_upward_once(stage):
    """Cut off at the bottom first, whole in the end; a touch ends it, a view that is built anew stands still."""
    cut = "() => [...document.querySelectorAll('.ta svg, .ta svg *')].filter((e) => e.style.clipPath).length"
    page = stage(AnatomyView(), reduced_motion="no-preference")
    assert page.evaluate(cut) == 2 and page.locator(".an-halo").is_hidden()
    page.wait_for_function("() => document.querySelector('.an-part[data-now]')")
    page.wait_for_function(f"() => ({cut})() === 0")
    assert page.locator(".an-halo").is_visible() and page.locator("[data-now]").count() == 0
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_function("() => document.querySelector('.ta').clientWidth < 400")
    settle(page)
    assert page.evaluate(cut) == 0
    assert stage(AnatomyView(), reduced_motion="reduce").evaluate(cut) == 0
    page = stage(AnatomyView(), reduced_motion="no-preference")
    page.get_by_label("your text").press("a")
    assert page.evaluate(cut) == 0
