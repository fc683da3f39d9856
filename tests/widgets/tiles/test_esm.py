"""Tier 2 of TilesExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import pytest
from anatomy.widgets import TilesExplorer
from anatomy.widgets.tiles.scenes import EARLIER, MERGE, Scene, softmax_over

from autograder.exercises.u14_cheaper_attention.stream import MISTAKES

from ..page import find, settle, trait, words
from ..stages import set_state
from .case import CASE

pytestmark = pytest.mark.browser
HIGH = 52  # px of a bar of 1


def shown(page):
    return page.locator(".ta-readout").text_content()


def heights(page):
    """Heights of the keys' bars, as shares of a bar of 1."""
    return page.evaluate(
        f"""() => [...document.querySelectorAll('svg[aria-label^="Bars: how much each key"] rect.ta-fill-one')]
        .map((e) => e.getAttribute('height') / {HIGH})"""
    )


def area(page, name):
    return page.locator(f'[aria-label^="{name}"].ta-area')


def test_bars_are_as_high_as_their_numbers(stage):
    page = stage(CASE.make(read=3))
    assert heights(page) == pytest.approx(CASE.make(read=3).bars().tolist(), abs=1e-3)


def test_reading_on_goes_to_the_last_block_and_then_to_the_next_queries(stage):
    page = stage(CASE.make(query=5, read=1, look=EARLIER))
    seen = []
    for name in ("Read on", "Next queries", "Read on", "Read on", "Next queries"):
        find(page, "button", name).press("Enter")
        settle(page)
        seen.append((trait(page, "query"), trait(page, "read")))
    assert seen == [(5, 2), (8, 1), (8, 2), (8, 3), (11, 1)]
    set_state(page, {"query": 11, "read": 4})
    find(page, "button", "Read again").press("Enter")
    assert (trait(page, "query"), trait(page, "read")) == (11, 1)


def test_the_slider_ends_at_the_last_block_that_the_query_reads(stage):
    page = stage(CASE.make(query=5, read=2, look=EARLIER))
    slider = page.get_by_role("slider", name="blocks read")
    assert (slider.get_attribute("max"), slider.get_attribute("aria-valuetext")) == ("1", "2 of 2")
    set_state(page, {"query": 11, "read": 4})
    slider.press("End")
    assert slider.get_attribute("max") == "3" and trait(page, "read") == 4


def test_how_the_kept_numbers_came_about_is_told_only_where_they_did(stage):
    page = stage(CASE.make())
    told = lambda: [text for text in page.locator("[data-readout=how]").all_text_contents() if text]
    find(page, "button", "Read on").press("Enter")
    settle(page)
    assert told() == [
        "the largest score so far",
        "3.42 × e^(2 − 4) + 1.59 (paler: new)",
        "19.63 × e^(2 − 4) + 11.73 (paler: new)",
        "= mixed ÷ sum",
    ]
    find(page, "button", "Read on").press("Enter")
    settle(page)
    assert told()[1:3] == ["2.05 + 0.77 (paler: new)", "14.39 + 1.75 (paler: new)"]
    wrong = next(m.fn for m in MISTAKES if m.name == "sum_not_rescaled")
    page = stage(TilesExplorer({**CASE.given[0], "attention_in_blocks": wrong}))
    find(page, "button", "Read on").press("Enter")
    settle(page)
    assert "3.42 × e^(2 − 4) + 1.59 (paler: new)" not in told() and len(told()) == 3


def test_merged_parts_are_boxes_joined_one_after_the_other(stage):
    page = stage(CASE.make(way=MERGE, query=11, read=4, more=True))
    boxes = "(all) => all.filter((e) => e.style.visibility === 'visible' && /^lse/.test(e.textContent)).length"
    assert page.locator("text").evaluate_all(boxes) == 4 + 3
    result, lse = softmax_over(TilesExplorer()._inputs, Scene(3, False, 4))[11, -2:]
    assert page.locator("text.ta-strong", has_text=f"lse {lse:.2f}").count() == 1
    assert page.locator("text.ta-strong", has_text=f"{result:.2f}").count() >= 1


def test_what_shrinks_has_an_outline_of_what_it_was(stage):
    page = stage(CASE.make())
    dashed = lambda: page.evaluate(
        "() => [...document.querySelectorAll('.ta-reference')].map((e) => e.style.visibility !== 'hidden' && "
        "e.getAttribute('d') !== '')"
    )
    assert not any(dashed())
    find(page, "button", "Read on").press("Enter")
    settle(page)
    assert (
        dashed() == [True, False, True, True, False]
        and "dashed: before; × e^(2 − 4) = × 0.14" in page.locator(".ta-strong").all_text_contents()
    )
    find(page, "button", "Read on").press("Enter")
    settle(page)
    assert not any(dashed())


def test_a_click_on_a_tile_goes_to_the_moment_when_it_is_read(stage):
    page = stage(CASE.make())
    box = area(page, "Tiles").bounding_box()
    page.mouse.click(box["x"] + 4.5 / 12 * box["width"], box["y"] + 7.5 / 12 * box["height"])
    settle(page)
    assert (trait(page, "query"), trait(page, "read")) == (7, 2) and "bar of word 4 = e^(" in shown(page)
    area(page, "Tiles").press("ArrowRight")
    area(page, "Tiles").press("ArrowRight")
    settle(page)
    assert trait(page, "read") == 3


def test_hidden_and_unread_keys_are_told(stage):
    page = stage(CASE.make(query=4, look=EARLIER))
    box = area(page, "Bars").bounding_box()
    page.mouse.move(box["x"] + 7.5 / 12 * box["width"], box["y"] + 10)
    settle(page)
    assert "word 7 comes after word 4: it is hidden" in shown(page)
    page = stage(CASE.make())
    page.mouse.move(box["x"] + 7.5 / 12 * box["width"], box["y"] + 10)
    settle(page)
    assert "its block is not read yet" in shown(page)


def test_a_sum_that_is_not_rescaled_is_told_when_a_larger_score_comes(stage):
    wrong = next(m.fn for m in MISTAKES if m.name == "sum_not_rescaled")
    page = stage(TilesExplorer({**CASE.given[0], "attention_in_blocks": wrong}))
    assert words(page)[:2] == ["same", "same"]
    find(page, "button", "Read on").press("Enter")
    settle(page)
    assert words(page)[:2] == ["differs", "differs"] and "(one softmax: 7.01)" in shown(page)
    assert "new bars" not in shown(page)
    area(page, "Kept numbers").press("Home")
    area(page, "Kept numbers").press("ArrowDown")
    settle(page)
    assert "+ 1.59 (new bars) = 2.05, but the function says 5.01" in shown(page)
    ticks = page.locator(".ta-tick").evaluate_all("(all) => all.map((e) => e.style.visibility)")
    assert ticks == ["hidden", "visible", "visible", "visible"]


def test_skipped_tiles_are_crossed_out_and_counted(stage):
    page = stage(CASE.make(look=EARLIER, block=2, read=6, more=True))
    assert page.locator(".ta-number").all_text_contents()[-1] == "21 of 36"
    crosses = page.evaluate("() => document.querySelectorAll('.ta-axis')[0].getAttribute('d').split('l').length")
    assert crosses - 1 == 2 * 15


def test_the_fold_is_open_where_the_story_needs_it():
    assert TilesExplorer(step=4).more and not TilesExplorer().more and not TilesExplorer(step=4, more=False).more
