"""Tier 2 of MergeExplorer: rows appear and join, tiles and pairs answer, rows that differ are marked. In Chromium."""

import pytest
from anatomy.widgets import MergeExplorer
from anatomy.widgets.merge.story import WORDS

from ..page import settle, trait
from ..stages import set_state
from .case import CASE
from .learners import from_left

pytestmark = pytest.mark.browser


def rows(page):
    """The texts of the visible rows: name first, then the tiles."""
    groups = page.locator(".ta-svg g").all()
    return [[t for t in group.locator("text").all_text_contents() if t] for group in groups][: trait(page, "done") + 1]


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()
    settle(page)


def test_buttons_go_through_the_merges_and_begin_again(stage):
    page = stage(CASE.usual)
    assert rows(page) == [["bytes", *"·Elizabeth"]]
    press(page, "Next merge")
    assert rows(page)[1] == ["merge 83", *"·Elizab", "et", "h"]
    press(page, "Merge before")
    press(page, "Merge before")
    assert trait(page, "done") == 0
    for _ in range(9):
        press(page, "Next merge")
    assert rows(page)[-1] == ["merge 574", "·Elizabeth"]
    assert "1 token for 10 bytes; no merge joins what is left" in page.locator(".ta-readout").text_content()
    assert page.get_by_role("button", name="Next merge").count() == 0, "it says that it would begin again"
    press(page, "Start again")
    assert trait(page, "done") == 0 and page.get_by_role("button", name="Next merge").count() == 1


def loud(page):
    """The tiles that are marked as joined next, in all rows."""
    tiles = page.locator(".ta-svg g rect.ta-fill-one:visible").all()
    return sum(tile.evaluate("(e) => e.style.fillOpacity") == "1" for tile in tiles)


@pytest.mark.parametrize("step", [0, 1])
def test_what_is_joined_next_and_what_was_counted_wait_for_the_answer(stage, step):
    scene = CASE.widget.story[step]
    page = stage(CASE.make(step=step, **scene.state))
    assert loud(page) == 0 and page.locator("[data-readout]:visible", has_text="next").count() == 0
    assert page.locator(".ta-svg [data-readout]:visible", has_text="times").count() == 0
    press(page, "Next merge")
    assert loud(page) == 2, "what was joined may be seen, not what comes then"
    page.get_by_role("button", name=scene.choices[scene.answer]).click()
    settle(page)
    assert loud(page) > 2 and page.locator(".ta-svg [data-readout]:visible", has_text="next").count() > 0


def test_how_often_training_counted_stands_beside_each_pair(stage):
    page = stage(CASE.usual)
    set_state(page, {"step": 1, "word": WORDS.index(" banana"), "done": 0})
    page.get_by_role("button", name="Reveal").click()
    settle(page)
    told = page.locator(".ta-svg").nth(1).locator("text:visible", has_text="times").all_text_contents()
    assert told == ["29,862 times", "15,360 times", "15,360 times"]
    page.locator(".ta-area").nth(1).focus()
    page.keyboard.press("Home")
    settle(page)
    assert "is merge 13, counted 29,862 times: new id = 256 + 13 = 269" in page.locator(".ta-readout").text_content()


def test_the_outline_of_a_token_reaches_up_to_its_bytes(stage):
    page = stage(CASE.usual)
    set_state(page, {"done": 9})
    page.locator(".ta-area").first.focus()
    page.keyboard.press("End")
    settle(page)
    mark, tile = (page.locator(s).first.bounding_box() for s in (".ta-mark:visible", ".ta-svg g rect:visible"))
    assert mark["y"] <= tile["y"] and mark["height"] == pytest.approx(10 * 24 - 2, abs=2)
    assert mark["width"] == pytest.approx(10 * tile["width"], rel=0.15)


def test_how_many_merges_are_still_to_come_is_said(stage):
    page = stage(CASE.usual)
    for done in range(CASE.usual.last()):
        left = CASE.usual.last() - done
        said = "1 more merge changes this word." if left == 1 else f"{left} more merges change this word."
        assert page.locator(".ta-svg").first.get_by_text(said, exact=True).is_visible(), done
        press(page, "Next merge")
    assert page.locator(".ta-svg").first.get_by_text("No merge is left to come.").is_visible()


def test_the_reference_has_a_row_only_where_something_is_compared(stage):
    page = stage(CASE.usual)
    row = page.locator(".ta-svg").first.get_by_text("reference", exact=True)
    assert row.is_visible() and page.locator("rect.ta-reference:visible").count() == 10
    page.evaluate("() => { document.querySelector('.ta').parentNode.dataset.alone = ''; }")
    press(page, "Next merge")
    assert not row.is_visible() and page.locator("rect.ta-reference:visible").count() == 0


def test_more_merges_than_there_are_count_as_all(stage):
    page = stage(CASE.usual)
    set_state(page, {"word": WORDS.index(" café"), "done": 12})
    assert page.get_by_role("slider", name="merges done").get_attribute("aria-valuetext") == "1"
    press(page, "Merge before")
    assert trait(page, "done") == 0


def test_a_new_row_slides_unless_motion_is_reduced(stage):
    for motion, moving in (("no-preference", 1), ("reduce", 0)):
        page = stage(CASE.make(done=1), reduced_motion=motion)
        count = """() => document.querySelector('.ta').getAnimations({subtree: true})
          .filter((a) => !(a instanceof CSSTransition)).length"""
        page.get_by_role("button", name="Next merge", exact=True).click()
        assert page.evaluate(count) == moving
        assert page.get_by_role("button", name="Play").count() == moving


def test_a_pair_that_occurs_twice_is_marked_twice_and_joined_at_once(stage):
    page = stage(CASE.usual)
    set_state(page, {"word": WORDS.index(" banana"), "done": 1})
    lit = page.locator(".ta-svg g").nth(1).locator("rect.ta-fill-one:visible")
    assert sorted(r.evaluate("(e) => Number(e.style.fillOpacity)") for r in lit.all()) == [0.25, 1, 1, 1, 1]
    press(page, "Next merge")
    assert rows(page)[-1] == ["merge 38", "·b", "an", "an", "a"]


def test_a_byte_of_a_longer_character_says_so(stage):
    page = stage(CASE.usual)
    set_state(page, {"word": WORDS.index(" café"), "done": 0})
    area = page.locator(".ta-area").first
    area.focus()
    page.keyboard.press("End")
    settle(page)
    assert "byte 169, number 2 of 2 of é: id = 102" in page.locator(".ta-readout").text_content()


def test_a_pair_that_is_pointed_at_is_outlined_in_the_word(stage):
    page = stage(CASE.usual)
    page.locator(".ta-area").nth(1).focus()
    page.keyboard.press("ArrowDown")
    settle(page)
    assert "E + l = (36, 75): none of the 1,024 merges" in page.locator(".ta-readout").text_content()
    assert page.locator(".ta-mark:visible").count() == 2
    width, tile = (page.locator(s).first.bounding_box()["width"] for s in (".ta-mark", ".ta-svg g rect"))
    assert 1.9 < width / tile < 2.3


def test_rows_that_differ_are_marked(stage):
    page = stage(MergeExplorer(from_left))
    set_state(page, {"word": WORDS.index(" acknowledged"), "done": 6})
    assert [row[0] for row in rows(page)] == ["bytes", "merge 2", "✗ 20", "✗ 70", "✗ 194", "✗ 259", "✗ 470"]
    assert "2 of 8 differs" in " ".join(page.locator(".ta-signs").text_content().split())


def typed(page, text):
    page.get_by_label("or a word of your own").press_sequentially(text)
    settle(page)


def split(widget, word):
    """Rows of tokens, as Python's own loop over the recorded merges makes them: one for each merge that is applied."""
    merges = [tuple(pair) for pair in widget._inputs["merges"].long().tolist()]
    id_of = {byte: i for i, byte in enumerate(widget._inputs["byte_of"].long().tolist())}
    ids, made = [id_of[byte] for byte in word.encode()], []
    for n, pair in enumerate(merges):
        after, i = [], 0
        while i < len(ids):
            joins = tuple(ids[i : i + 2]) == pair
            after.append(256 + n if joins else ids[i])
            i += 2 if joins else 1
        if after != ids:
            made.append((n, after))
        ids = after
    return ids, made


@pytest.mark.parametrize("word", ["pride", "Darcy", "prejudice", "happiness", "nevertheless", "éééé", "中文", "zzz"])
def test_a_word_of_ones_own_is_split_by_the_courses_merges(stage, word):
    page, spec = stage(CASE.usual), CASE.usual.spec
    typed(page, word)
    ids, made = split(CASE.usual, f" {word}")
    shown = page.locator(".ta-svg g").all()
    texts = [[t for t in group.locator("text").all_text_contents() if t] for group in shown]
    found = [row for row in texts if row]
    assert [row[0] for row in found] == ["bytes", *(f"merge {n}" for n, _ in made)]
    for row, (_, after) in zip(found[1:], made, strict=True):
        assert row[1:] == [spec["pieces"][i] for i in after]
    said = page.locator(".ta-readout").text_content()
    count = "1 token" if len(ids) == 1 else f"{len(ids)} tokens"
    assert f"·{word}, merges done: {len(made)}. {count} for {len(word.encode()) + 1} bytes; no merge joins" in said
    small = page.locator(".ta-svg").first.locator("text.ta-small").all_text_contents()
    assert [str(i) for i in ids] == [t for t in small[small.index("id") + 1 :] if t.isdigit()]


def test_a_listed_word_and_the_same_word_typed_look_alike(stage):
    page = stage(CASE.usual)
    set_state(page, {"word": WORDS.index(" acknowledged"), "done": 12})
    pictures = []
    for text in ("", "acknowledged"):
        typed(page, text)
        pictures.append(
            ([g.text_content() for g in page.locator(".ta-svg g").all()], page.locator(".ta-readout").text_content())
        )
    assert pictures[0] == pictures[1]
    press(page, "Merge before")
    assert "merges done: 6." in page.locator(".ta-readout").text_content()


def test_the_field_takes_letters_that_fit_and_a_listed_word_empties_it(stage):
    page = stage(CASE.usual)
    field = page.get_by_label("or a word of your own")
    typed(page, "a1 b-c" + "d" * 30)
    assert field.input_value() == "abc" + "d" * 9
    field.fill("中文中文中文")
    assert field.input_value() == "中文中文"
    note = page.locator(f"[id='{field.get_attribute('aria-describedby')}']")
    assert note.text_content() == "split by the course’s merges; no more letters fit"
    field.fill("two words")
    assert note.text_content() == "split by the course’s merges; letters alone are taken"
    field.fill("twowords")
    assert note.text_content() == "split by the course’s merges, behind a space"
    page.get_by_role("combobox", name="word").select_option("·banana")
    settle(page)
    assert field.input_value() == "" and "·banana" in page.locator(".ta-readout").text_content()
    typed(page, "ab")
    page.get_by_role("button", name="Next step").press("Enter")
    settle(page)
    assert field.input_value() == "" and "·banana" in page.locator(".ta-readout").text_content()


def test_a_word_of_ones_own_is_never_said_to_be_split_by_the_learner(stage):
    page = stage(MergeExplorer(from_left))
    typed(page, "acknowledged")
    names = [row[0] for row in rows(page) if row]
    assert names == ["bytes", *(f"merge {n}" for n, _ in split(CASE.usual, " acknowledged")[1])]
    assert "not compared" in page.locator(".ta-signs").text_content()
    field = page.get_by_label("or a word of your own")
    note = field.evaluate("(e) => document.getElementById(e.getAttribute('aria-describedby')).textContent")
    assert note == "split by the course’s merges, behind a space"
    page.set_viewport_size({"width": 500, "height": 800})
    page.wait_for_timeout(100)
    settle(page)
    assert field.input_value() == "acknowledged" and "·acknowledged" in page.locator(".ta-readout").text_content()
