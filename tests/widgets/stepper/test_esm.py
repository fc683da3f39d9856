"""Tier 2 of CacheStepper: its script alone in Chromium; test_promises.py tests what all widgets share."""

import pytest
from anatomy.widgets import CacheStepper
from anatomy.widgets.stepper import TEXT

from ..page import said, settle, trait, words
from ..stages import set_state
from .case import CASE
from .learners import restarting, right_step, right_turning, top_left

pytestmark = pytest.mark.browser

POSITIONS = {"view": 1, "chunk": 2}


def test_a_learner_cuts_the_text_where_they_like(stage):
    page = stage(CacheStepper(right_step, right_turning, more=True))
    box = lambda token: page.get_by_role("checkbox", name=str(token), exact=True)
    assert [token for token in range(7) if box(token).is_checked()] == [3, 4, 5, 6]
    for token in (3, 5, 1):
        box(token).focus()
        page.keyboard.press("Space")
    settle(page)
    assert trait(page, "plan") == [2, 3, 2, 1]
    assert page.get_by_role("combobox", name="chunk plan").evaluate("e => e.selectedOptions[0].text") == "your own plan"
    page.get_by_role("combobox", name="chunk plan").select_option("chunks of 2, 3, 1, 2")
    settle(page)
    assert trait(page, "plan") == [2, 3, 1, 2] and [t for t in range(7) if box(t).is_checked()] == [1, 4, 5]


def test_positions_and_scores_are_written_out(stage):
    widget = CacheStepper(right_step, right_turning, origin=1, **POSITIONS)
    page = stage(widget)
    heard = said(page)
    assert "every chunk from 0: 0 1 2 3 0 0;" in heard
    scores = widget._table("restart", 256, 8, 8)[0b111000]
    shown = page.locator(".ta-svg").first.locator("text").all_text_contents()
    for score in scores[5, :6]:
        assert f"{score:.2f}".replace("-", "\u2212") in shown
    assert words(page)[-2:] == ["differs", "differs"]
    assert words(stage(CacheStepper(right_step, right_turning, **POSITIONS)))[-2:] == ["same"] * 2
    assert "0 1 2 3 0 0" in said(stage(CacheStepper(right_step, restarting, **POSITIONS)))


def test_page_and_python_say_the_same(stage):
    for state in (
        {},
        {"plan": [2, 3, 1, 2], "chunk": 3},
        {"plan": [3, 5], "chunk": 1, "store": 1, "view": 1},
        {"plan": [1] * 8, "chunk": 6, "store": 2, "view": 1, "origin": 1},
    ):
        widget = CacheStepper(right_step, right_turning, **state)
        heard = said(stage(widget))
        n = widget.readings()
        one = n["stop"] - n["start"] == 1
        fresh = f"token {n['start']} is" if one else f"tokens {n['start']} to {n['stop'] - 1} are"
        assert f"{fresh} computed, {n['read']} keys are read, {n['stored']} tokens are kept" in heard
        if widget.view:
            found = "a score changes by up to" if n["change"] > 1e-3 else "every score is right"
            assert f": {' '.join(map(str, n['positions']))}; {found}" in heard


def test_a_wrong_mask_is_told(stage):
    assert words(stage(CacheStepper(top_left, chunk=3)))[-2] == "differs"
    assert words(stage(CacheStepper(right_step, chunk=3)))[-2] == "same"


CELLS = "Cells; arrow keys"


def area(page, name):
    return page.locator(f".ta-area[aria-label^='{name}']")


def cell(page, query, key):
    """Page position of a cell of the grid."""
    box = area(page, CELLS).bounding_box()
    return box["x"] + (key + 0.5) * box["width"] / 8, box["y"] + (query + 0.5) * box["height"] / 8


def marks(page):
    return [m.evaluate("(e) => e.style.visibility") for m in page.locator(".ta-mark").all()]


def test_pointing_at_a_weight_shows_its_formula_and_its_slot(stage):
    page = stage(CASE.make())
    assert marks(page) == ["hidden", "hidden"]
    page.mouse.move(*cell(page, 6, 2))
    settle(page)
    inputs = CASE.usual._inputs
    scores = (inputs["q"][0, 0, 6] @ inputs["k"][0, 0].T / inputs["q"].shape[-1] ** 0.5)[:7]
    weight = scores.softmax(-1)[2].item()
    shown = page.locator(".ta-formula").text_content()
    assert f"w[6, 2] = exp(s[6, 2]) ÷ Σ exp(s[6, ·]) = exp({scores[2]:.2f})".replace("-", "\u2212") in shown
    assert f"= {weight:.2f};" in shown and "read from the store" in shown
    assert marks(page) == ["visible", "visible"] and "step 4 of 5" in page.locator(".ta-readout").text_content()
    assert trait(page, "chunk") == 1, "pointing sets nothing"
    page.mouse.move(1, 1)
    settle(page)
    assert page.locator(".ta-formula").text_content() == "" and marks(page) == ["hidden", "hidden"]


def test_a_click_and_the_arrow_keys_pin_the_same_cell_and_escape_lets_go(stage):
    by_hand, by_key = stage(CASE.make()), stage(CASE.make())
    by_hand.mouse.click(*cell(by_hand, 6, 2))
    area(by_key, CELLS).focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft"):  # from query 4, key 4
        by_key.keyboard.press(key)
    by_hand.mouse.move(1, 1)
    for page in (by_hand, by_key):
        settle(page)
        assert trait(page, "chunk") == 3 and "w[6, 2] = exp" in said(page)
    assert said(by_hand) == said(by_key)
    by_key.keyboard.press("Escape")
    settle(by_key)
    assert "w[6, 2]" not in said(by_key) and trait(by_key, "chunk") == 3


def test_running_down_the_rows_scrubs_through_the_steps(stage):
    page = stage(CASE.make())
    page.mouse.move(*cell(page, 0, 0))
    page.mouse.down()
    seen = []
    for query in range(8):
        page.mouse.move(*cell(page, query, 0))
        seen.append(trait(page, "chunk"))
    page.mouse.up()
    assert seen == [0, 0, 0, 0, 1, 2, 3, 4]


def test_slots_tell_why_a_token_lies_there(stage):
    page = stage(CASE.make(store=2, chunk=3))
    slots = area(page, "Slots")
    slots.focus()
    page.keyboard.press("End")
    settle(page)
    assert "Token 2: page table[2 // 3] = table[0] = 2, place 2 mod 3 = 2." in said(page)
    box = slots.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5 / 9, box["y"] + 5)
    settle(page)
    assert "Token 3: page table[3 // 3] = table[1] = 0, place" in page.locator(".ta-formula").text_content()


def test_step_goes_on_and_starts_again_and_play_can_pause_and_ends(stage):
    page = stage(CASE.make(chunk=3), reduced_motion="no-preference")
    step = page.get_by_role("button", name="Step", exact=True)
    seen = []
    for _ in range(3):
        step.press("Enter")
        seen.append(trait(page, "chunk"))
    assert seen == [4, 0, 1]
    play = page.get_by_role("button", name="Play")
    play.evaluate("(button) => { button.click(); button.click(); }")  # at once: a slow machine may reach the end
    page.wait_for_timeout(1000)
    assert trait(page, "chunk") == 2
    play.press("Enter")
    page.wait_for_function("() => model.get('chunk') === 4")
    play.wait_for()
    page.wait_for_timeout(1000)
    assert trait(page, "chunk") == 4
    calm = stage(CASE.make(), reduced_motion="reduce")
    assert calm.get_by_role("button", name="Play").count() == 0


def test_a_score_is_written_out_and_the_wrong_one_beside_the_right(stage):
    widget = CacheStepper(right_step, right_turning, origin=1, **POSITIONS)
    page = stage(widget)
    page.mouse.move(*cell(page, 5, 2))
    settle(page)
    wrong, right = widget._table("restart", 256, 8, 8)[0b111000, 5, 2], widget._table("right", 8, 8)[5, 2]
    shown = page.locator(".ta-formula").text_content()
    assert f"+ 2 − 0) ÷ √2 = {wrong:.2f}; right: {right:.2f}".replace("-", "\u2212") in shown


def test_new_and_read_cells_differ_in_lightness(stage):
    """They are distinguishable in a grayscale print: at least 2 to 1, in both themes."""
    for scheme in ("light", "dark"):
        page = stage(CASE.make(), color_scheme=scheme)
        light = page.evaluate("""() => {
          const paper = getComputedStyle(document.querySelector('.ta')).backgroundColor;
          const rgb = (c) => c.match(/[\\d.]+/g).slice(0, 3).map(Number);
          const lum = (c) => c.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
            .reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
          return ['.ta-fill-two', '.ta-fill-one'].map((kind) => {
            const node = document.querySelector('.ta-svg ' + kind);
            const [style, back] = [getComputedStyle(node), rgb(paper)];
            const a = Number(style.fillOpacity);
            return lum(rgb(style.fill).map((v, i) => a * v + (1 - a) * back[i]));
          });
        }""")
        low, high = sorted(light)
        assert (high + 0.05) / (low + 0.05) > 2, (scheme, light)


def saved(page):
    """Keys computed with the cache and without, and the widths of each bar's parts: earlier steps', and this one's."""
    svg = page.locator("svg[aria-label^='Keys computed']")
    widths = [float(rect.get_attribute("width")) for rect in svg.locator("rect").all()]
    numbers = [int(text) for text in svg.locator(".ta-strong").all_text_contents()]
    assert svg.get_attribute("aria-label") == (
        f"Keys computed so far: {numbers[0]} with the cache, {numbers[1]} without a cache"
    )
    assert svg.locator("rect.ta-fill-two").count() == 2  # the new parts
    return numbers, widths[:2], widths[2:]


@pytest.mark.parametrize("plan", [[4, 1, 1, 1, 1], [1] * 8, [8], [2, 3, 1, 2]])
def test_what_the_cache_saves_is_counted(stage, plan):
    """Without it, every step computes the keys of all tokens so far."""
    for chunk in range(len(plan)):
        ends = [sum(plan[: i + 1]) for i in range(chunk + 1)]
        numbers, cached, anew = saved(stage(CASE.make(plan=plan, chunk=chunk)))
        assert numbers == [ends[-1], sum(ends)]
        key = sum(cached) / ends[-1]
        assert [w / key for w in cached] == pytest.approx([ends[-1] - plan[chunk], plan[chunk]], abs=1e-3)
        assert [w / key for w in anew] == pytest.approx([sum(ends[:-1]), ends[-1]], abs=1e-3)


@pytest.mark.parametrize("view", [0, 1])
def test_only_the_rows_of_this_step_have_numbers(stage, view):
    """A cache needs no earlier query again: its cells are gray, those of later ones empty."""
    page = stage(CASE.make(step=1, plan=[4, 1, 1, 1, 1], chunk=1, view=view))
    texts = page.locator("svg[aria-label^='One row for each query'] .ta-onfill").all()
    assert [i for i, text in enumerate(texts) if text.text_content()] == [8 * 4 + k for k in range(5)]
    fills = [text.locator("xpath=preceding-sibling::*[1]").evaluate("(e) => e.style.fill") for text in texts]
    assert [i for i, fill in enumerate(fills) if fill] == [8 * q + k for q in range(4) for k in range(q + 1)]


def test_right_scores_stand_below_wrong_ones_only(stage):
    for origin in (0, 1):
        page = stage(CASE.make(view=1, chunk=2, origin=origin))
        assert page.locator("svg[aria-label^='One row']").get_by_text("right", exact=True).count() == origin


def test_scores_are_judged_only_where_they_are_looked_at(stage):
    for view in (0, 1):
        page = stage(CASE.make(view=view, step=1))
        judged = page.locator(".ta-signs li", has_text="scores as without cuts")
        assert judged.is_visible() == bool(view)
        assert page.locator(".ta-signs li", has_text="weights as without cuts").is_visible()


def test_it_begins_with_one_control_and_unfolds_the_rest(stage):
    """Folded: the step. The button says whether it is open; a step of the story opens what it needs."""
    page = stage(CASE.make())
    fold = page.get_by_role("button", name="cuts, stores, positions")
    counted = lambda: [page.locator(".ta-controls").get_by_role(r).count() for r in ("slider", "checkbox", "radio")]
    assert counted() == [1, 0, 0] and fold.get_attribute("aria-expanded") == "false"
    fold.press("Enter")
    settle(page)
    assert counted() == [1, 7, 5] and fold.get_attribute("aria-expanded") == "true" and trait(page, "more")
    fold.click()
    for _ in range(2):
        page.get_by_role("button", name="Next step").click()
    settle(page)
    assert trait(page, "more") and counted()[1] == 7
    assert CacheStepper(step=4).more and not CacheStepper().more


def test_the_words_stand_over_their_keys_and_in_their_slots_once_they_are_written(stage):
    page = stage(CASE.make(chunk=1))
    grid, slots = (page.locator(f"svg[aria-label^='{name}']") for name in ("One row", "Slots of"))
    for picture in (grid, slots):
        texts = picture.locator("text").all_text_contents()
        assert [w for w in texts if w in TEXT] == list(TEXT[:5]), "three words are still to come"
    set_state(page, {"view": 1})
    assert not [w for w in grid.locator("text").all_text_contents() if w in TEXT]
