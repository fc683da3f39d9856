"""Tier 2 of PermutationExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import numpy as np
import pytest
from anatomy.widgets import PermutationExplorer
from anatomy.widgets.permutation import D_V, NAMED, ORDERS, WORDS, T, moved_word

from ..frames import frame, rest
from ..page import find, settle, trait, words
from .case import CASE

pytestmark = pytest.mark.browser


def test_permutation_words_for_both_choices(stage):
    page = stage(CASE.make())
    assert words(page) == ["equal", "equal", "same"]
    find(page, "group", "positions").press("ArrowRight")
    settle(page)
    assert words(page) == ["differs, as it should"] * 2 + ["same"]
    page = stage(PermutationExplorer(lambda q, k, v, mask=None: v.cumsum(-2)))
    assert words(page) == ["broken", "broken", "differs"]


NUMBERS = "[data-readout] text:not(:empty)"  # on the differences; the maps have none


def test_the_difference_of_each_row_is_told_where_the_lanes_meet(stage):
    page = stage(CASE.make())
    assert not any(text.is_visible() for text in page.locator(NUMBERS).all())
    page.get_by_role("button", name="Reveal", exact=True).press("Enter")  # it is what the first step asks for
    assert all(text.is_visible() for text in page.locator(NUMBERS).all())
    assert differences(page) == ["0"] * T
    assert "its output stays the same" in shown(page)
    find(page, "group", "positions").press("ArrowRight")
    settle(page)
    out = np.frombuffer(CASE.usual.tables["out"], "<f4").reshape(2, len(ORDERS), T, D_V)[1]
    want = np.abs(out[list(ORDERS).index("dog ↔ man")] - out[0, list(ORDERS["dog ↔ man"])]).max(-1)
    assert list(map(float, differences(page))) == pytest.approx(want, rel=0.005)
    assert "its output changes by" in shown(page)
    find(page, "slider", "order").press("Home")
    settle(page)
    assert "“dog” stays at place 1." in shown(page), "nothing is compared yet"
    wrong = stage(PermutationExplorer(lambda q, k, v, mask=None: v.cumsum(-2)))
    assert [told == "0" for told in differences(wrong)] == [True, *[False] * 4, True], "sums from the left"
    nowhere = stage(PermutationExplorer(lambda q, k, v, mask=None: v * float("nan")))
    assert set(differences(nowhere)) == {"NaN"}


def colored(page):
    """In f(x), P f(x) and f(Px): how many cells can be seen."""
    return [
        sum(cell.is_visible() for cell in found.locator("rect").all())
        for found in (page.locator(f"svg > g:has(> g:nth-child(6) > g > rect:nth-child({D_V}))").all())
    ]


def test_the_colors_that_would_give_an_answer_away_wait_for_it(stage):
    """Lane B's result; and in the second step, whose maps are all the same, the row of the second “the”."""
    page = stage(CASE.make())
    all_, twin = T * D_V, (T - 1) * D_V
    second = [all_, all_, 0]
    steps = [(second, "nowhere"), ([twin] * 3, "yes"), ([all_] * 3, None), (second, "all six"), (second, "yes")]
    for n, (waits, answer) in enumerate(steps):
        if n:
            page.get_by_role("button", name="Next step").click()
        settle(page)
        asked = [text for text in page.locator("svg text", has_text="?").all() if text.is_visible()]
        assert colored(page) == waits and len(asked) == 1 + sum(cells < all_ for cells in waits) - (answer is None)
        if answer:
            page.get_by_role("button", name=answer, exact=True).click()
            assert colored(page) == [all_] * 3 and not page.locator("svg text", has_text="?").first.is_visible()


def test_a_ghost_stays_where_the_word_stood(stage):
    page = stage(CASE.make(order="as written", word=0))
    ghost = page.locator("rect.ta-reference")
    assert not ghost.is_visible()
    was = grip(page, 1).bounding_box()["y"]
    take(page, 1)
    drag(page, 3)
    assert ghost.is_visible() and ghost.bounding_box()["y"] == pytest.approx(was + 4, abs=3)
    assert page.locator("g:has(> rect.ta-reference)").text_content() == "dog"
    drag(page, 1)
    page.mouse.up()
    assert not ghost.is_visible()


def differences(page):
    """What is told of each row where the lanes meet, from the top down."""
    texts = page.locator(NUMBERS).all()
    return [text.text_content() for text in sorted(texts, key=lambda text: text.bounding_box()["y"])]


def shown(page):
    """Text of the readout, even while its aria-live is off."""
    return page.locator(".ta-readout").text_content()


def spot(page, name, column, row, columns):
    """Page position of the center of a cell in the area with that name."""
    box = page.locator(f".ta-area[aria-label^='{name}']").bounding_box()
    return box["x"] + (column + 0.5) * box["width"] / columns, box["y"] + (row + 0.5) * box["height"] / T


def lit(page):
    """The framed row in each of the maps, and the framed cell in it as (row, column); None if there is none. The last
    are the differences, a map of one column."""
    return page.evaluate("""() => {
      const marks = [...document.querySelectorAll('rect.ta-mark')];
      const maps = [...document.querySelectorAll(".ta-area[aria-label^='Cells'], .ta-area[aria-label^='Largest']")];
      const n = (e, name) => Number(e.getAttribute(name));
      const row = (e, map) => Math.round((n(e, 'y') - n(map, 'y')) / (n(map, 'height') / 6));
      return maps.map((map, g) => [row(marks[2 * g], map), marks[2 * g + 1].style.visibility === 'hidden' ? null
        : [row(marks[2 * g + 1], map), Math.round((n(marks[2 * g + 1], 'x') - n(map, 'x')) * 8 / n(map, 'width'))]]);
    }""")


def test_permutation_a_cell_pointed_at_shows_its_numbers_in_all_maps(stage):
    """In the order dog ↔ man, the old row 4, man, is in place 1."""
    widget = CASE.make(positions=True)
    out = np.frombuffer(widget.tables["out"], "<f4").reshape(2, len(ORDERS), T, D_V)[1]
    j = list(ORDERS).index("dog ↔ man")
    page = stage(widget)
    quiet = shown(page)
    page.mouse.move(*spot(page, "Cells of f(x)", 5, 4, D_V))
    settle(page)
    assert lit(page) == [[4, [4, 5]], *[[1, [1, 5]]] * 2, [1, None]]
    heard = shown(page).replace("\u2212", "-")
    assert f"P f(x)[1, 5] = f(x)[4, 5] = {out[0, 4, 5]:.3f}; f(Px)[1, 5] = {out[j, 1, 5]:.3f}" in heard
    assert "“man” goes from place 4 to 1" in heard and trait(page, "word") == 1
    page.mouse.move(*spot(page, "Cells of f(Px)", 5, 1, D_V))
    settle(page)
    assert shown(page).replace("\u2212", "-") == heard  # the same cell, pointed at in another map
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(1, 1)
    settle(page)
    assert trait(page, "word") == 4 and shown(page).replace("\u2212", "-") == heard
    page.keyboard.press("Escape")
    settle(page)
    assert [cell for _, cell in lit(page)] == [None] * 4
    assert shown(page) != quiet and "point at a cell" in shown(page)


def test_permutation_keys_walk_the_cells_as_the_pointer_does(stage):
    page = stage(CASE.make())
    page.mouse.click(*spot(page, "Cells of f(Px)", 1, 2, D_V))
    page.mouse.move(1, 1)
    settle(page)
    kept = shown(page), lit(page)
    page = stage(CASE.make(word=4))
    area = page.locator(".ta-area[aria-label^='Cells of f(Px)']")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):  # from row 1, where “man” is now
        area.press(key)
    settle(page)
    assert (shown(page), lit(page)) == kept and trait(page, "word") == 2


def grip(page, word):
    return page.get_by_role("slider", name=f"Place of word {word}, “{WORDS[word]}”", exact=True)


def at_place(page, place, across=0.5):
    """Page position of that place in the list of cards."""
    boxes = [grip(page, word).bounding_box() for word in range(T)]
    top, bottom = min(b["y"] for b in boxes), max(b["y"] + b["height"] for b in boxes)
    row = (bottom - top - boxes[0]["height"]) / (T - 1)
    return boxes[0]["x"] + across * boxes[0]["width"], top + boxes[0]["height"] / 2 + place * row


def cards(page):
    """The words of lane B from the top down."""
    return sorted(range(T), key=lambda word: grip(page, word).bounding_box()["y"])


def take(page, place):
    page.mouse.move(*at_place(page, place))
    page.mouse.down()
    settle(page)


def drag(page, place, **how):
    page.mouse.move(*at_place(page, place, **how))
    settle(page)


def test_permutation_a_dragged_word_is_inserted_where_the_hand_is(stage):
    page = stage(CASE.make(order="as written", word=0))
    take(page, 1)
    assert (trait(page, "order"), trait(page, "word")) == ("as written", 1)
    for place in (2, 3, 5, 4, 0, 1, 3):
        drag(page, place, across=3)  # the hand may leave the list to the side
        assert cards(page) == list(moved_word(1, place)) == list(ORDERS[trait(page, "order")])
        assert grip(page, 1).get_attribute("aria-valuenow") == str(place)
    assert trait(page, "order") == "dog: 1 → 3" and trait(page, "word") == 1
    assert "“dog” goes from place 1 to 3" in shown(page)
    assert page.locator("output", has_text="dog: 1 → 3").is_visible()
    page.mouse.up()
    drag(page, 0)
    assert trait(page, "order") == "dog: 1 → 3", "after the release, the mouse only points"


def test_permutation_each_drag_starts_from_the_sentence_as_written_and_escape_takes_it_back(stage):
    page = stage(CASE.make(order="backward"))
    take(page, 1)  # man
    assert (trait(page, "order"), trait(page, "word")) == ("backward", 4)
    drag(page, 2)
    assert ORDERS[trait(page, "order")] == moved_word(4, 2) == (0, 1, 4, 2, 3, 5)
    page.keyboard.press("Escape")
    settle(page)
    assert trait(page, "order") == "backward" and page.locator(".ta").get_attribute("data-dragging") is None
    page.mouse.up()


def test_permutation_keys_move_a_word_as_the_hand_does(stage):
    page = stage(CASE.make(order="as written", word=0))
    for key, place in (("ArrowDown", 3), ("ArrowDown", 4), ("End", 5), ("ArrowDown", 5), ("ArrowUp", 4), ("Home", 0)):
        grip(page, 2).press(key)
        settle(page)
        assert cards(page) == list(moved_word(2, place)) and trait(page, "word") == 2
        assert grip(page, 2).get_attribute("aria-valuetext") == f"place {place}: bites"
    assert trait(page, "order") == "bites: 2 → 0"
    page.get_by_role("button", name="Next order").press("Enter")
    assert trait(page, "order") == "dog ↔ man", "the one after that from which the drag began"


@pytest.mark.parametrize("width", [900, 390])
def test_permutation_the_order_of_a_moved_word_has_a_place_of_its_own_on_the_slider(stage, width):
    page = stage(CASE.make(order="man: 4 → 1"), viewport={"width": width, "height": 1300})
    slider = find(page, "slider", "order")
    assert slider.get_attribute("max") == str(len(NAMED)) == slider.input_value()
    slider.press("Home")
    settle(page)
    assert trait(page, "order") == "as written" and slider.get_attribute("max") == str(len(NAMED) - 1)
    take(page, 5)
    drag(page, 0)
    assert trait(page, "order") == "shifted by one", "the full stop in front has a name already"


def test_permutation_next_order_goes_round_all_six(stage):
    page = stage(CASE.make(), reduced_motion="reduce")
    assert page.get_by_role("button", name="Play orders").count() == 0
    seen = []
    for _ in NAMED:
        page.get_by_role("button", name="Next order").press("Enter")
        seen.append(trait(page, "order"))
    assert sorted(seen) == sorted(NAMED) and seen[-1] == "dog ↔ man"


HOLD = """(share) => document.querySelector('.ta').getAnimations({subtree: true})
  .filter((a) => !(a instanceof CSSTransition)).map((a) => {
    a.pause();
    a.currentTime = share * a.effect.getTiming().duration;
    return a.effect.getTiming().duration;
  })"""


def test_permutation_rows_travel_to_their_new_places(moving):
    """In the order dog ↔ man, rows 1 and 4 change places; each keeps its node and name, and they pass side by side."""
    page = moving(CASE.make(order="as written"))
    box = lambda word: page.locator("svg g > g", has_text="dog" if word == 1 else "man").nth(1).bounding_box()
    row = lambda word: box(word)["y"]
    up, down, left = row(1), row(4), box(1)["x"] + box(1)["width"]
    find(page, "slider", "order").press("ArrowRight")
    assert set(page.evaluate(HOLD, 0)) == {300 + 3 * 60}
    assert (row(1), row(4)) == pytest.approx((up, down), abs=0.5)
    page.evaluate(HOLD, 0.5)
    assert up < row(1) < down and up < row(4) < down
    assert up + down == pytest.approx(row(1) + row(4), abs=1)
    ends = [box(word)["x"] + box(word)["width"] - left for word in (1, 4)]
    assert ends == pytest.approx([12, -12], abs=0.5), "neither hides the other"
    framed = page.locator("rect.ta-mark:not([stroke-dasharray])").nth(2).bounding_box()
    assert framed["y"] == pytest.approx(row(1), abs=3), "the frame goes with its row"
    page.evaluate(HOLD, 1)
    rest(page)
    assert (row(1), row(4)) == pytest.approx((down, up), abs=0.5)


def test_permutation_a_whole_reordering_takes_600_ms_and_goes_on_from_where_it_is(moving):
    page = moving(CASE.make(order="as written"))
    first = lambda: page.locator("svg g > g", has_text="bites").nth(1).bounding_box()["y"]
    find(page, "slider", "order").press("End")  # shuffled again: “the” goes from 0 to 5
    assert set(page.evaluate(HOLD, 0.5)) == {600}
    midway = first()
    find(page, "slider", "order").press("Home")
    frame(page, 0)
    times = page.evaluate(HOLD, 0)
    assert first() == pytest.approx(midway, abs=1) and max(times) < 600
    page = moving(CASE.make(order="backward"))
    find(page, "slider", "order").press("Home")
    assert set(page.evaluate(HOLD, 0)) == {600}


def test_permutation_rows_jump_under_a_hand_and_with_reduced_motion(stage):
    page = stage(CASE.make(order="as written"), reduced_motion="reduce")
    find(page, "slider", "order").press("ArrowRight")
    assert page.evaluate(HOLD, 0) == []
    page = stage(CASE.make(order="as written", word=0), reduced_motion="no-preference")
    take(page, 1)
    drag(page, 3)
    drag(page, 4)
    assert trait(page, "order") != "as written" and page.evaluate(HOLD, 0) == []
