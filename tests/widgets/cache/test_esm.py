"""Tier 2 of CacheCalculator: its script alone in Chromium; test_promises.py tests what all widgets share."""

import pytest
from anatomy.widgets import CacheCalculator

from ..page import said, settle, trait, words
from .case import CASE
from .learners import right_bytes

pytestmark = pytest.mark.browser


def test_page_and_python_say_the_same(stage):
    for state in ({}, {"model": 12, "tokens": 32768, "users": 64}, {"model": 13, "gpu": 5, "users": 1024}):
        widget = CacheCalculator(right_bytes, **state)
        heard = said(stage(widget))
        n = widget.readings()
        assert f"{n['per_token']:,.0f} bytes per token" in heard and f"{n['fit']:,} fit on" in heard


def test_a_formula_that_differs_is_told(stage):
    page = stage(CacheCalculator(lambda n_layers, n_kv_heads, head_dim, itemsize=2: n_layers * n_kv_heads * head_dim))
    assert words(page)[-1] == "differs"
    assert words(stage(CacheCalculator(right_bytes)))[-1] == "same"


def area(page, name):
    return page.locator(f".ta-area[aria-label^='{name}']")


def formula(page):
    settle(page)
    return page.locator(".ta-formula").text_content()


def point(page, where, column, columns, row=0, rows=1, move="move"):
    box = area(page, where).bounding_box()
    x, y = box["x"] + (column + 0.5) * box["width"] / columns, box["y"] + (row + 0.5) * box["height"] / rows
    getattr(page.mouse, move)(x, y)


def test_pointing_at_a_kind_shows_it_everywhere_and_sets_nothing(stage):
    page = stage(CASE.make(more=True))
    before = page.locator(".ta-mine").get_attribute("d")
    point(page, "Kinds", 0, 1, 3, 5)
    assert "2 · 32 · 1 · 128 · 2 = 16,384" in formula(page)
    assert page.locator(".ta-mine").get_attribute("d") != before
    assert "MQA: 16,384 bytes per token" in page.locator(".ta-readout").text_content() and trait(page, "kind") == 0
    page.mouse.move(1, 1)
    assert formula(page) == "" and page.locator(".ta-mine").get_attribute("d") == before


def test_click_and_keys_choose_the_same(stage):
    by_hand, by_key = stage(CASE.make(more=True)), stage(CASE.make(more=True))
    point(by_hand, "Kinds", 0, 1, 2, 5, "click")
    area(by_key, "Kinds").focus()
    by_key.keyboard.press("ArrowDown")
    by_key.keyboard.press("ArrowDown")
    by_hand.mouse.move(1, 1)
    for page in (by_hand, by_key):
        assert "= 131,072" in formula(page) and trait(page, "kind") == 2
    assert said(by_hand) == said(by_key)
    by_key.keyboard.press("Escape")
    assert formula(by_key) == "" and trait(by_key, "kind") == 2


@pytest.mark.parametrize("state", [{}, {"model": 12, "tokens": 32768, "users": 8}])
def test_every_result_says_how_it_comes_about(stage, state):
    """The results of all tiles are those of Python, and each shows its formula, also with a window."""
    widget = CASE.make(more=True, **state)
    page, n = stage(widget), widget.readings()
    found = []
    for part in range(6):
        point(page, "Results", part, 6)
        found.append(formula(page))
    assert f"= {n['per_token']:,.0f}" in found[0] and f"rounded down = {n['fit']:,}" in found[4]
    assert f"{widget.users} · " in found[2] and f"{n['weights'] / 2e9:.3g} · 10⁹ parameters" in found[3]
    assert found[5].split("per second = ")[1].startswith(f"{n['seconds'] * 1e3:.3g}")
    assert ("min(32,768, 1,024)" in found[1]) == bool(state)


@pytest.mark.parametrize("state, told", [({"users": 32}, "32 caches and the"), ({"model": 13}, "the weights alone")])
def test_what_does_not_fit_takes_no_time(stage, state, told):
    page = stage(CASE.make(more=True, **state))
    assert "only 30 fit on" in said(page) or "weights alone do not fit" in said(page)
    assert "at least" not in said(page)
    point(page, "Results", 5, 6)
    assert told in formula(page) and "nothing is written" in formula(page)
    assert page.locator("svg[aria-label='Results'] .ta-strong").last.text_content() == "–"


def test_a_window_in_every_layer_leaves_no_full_layer_to_count(stage):
    page = stage(CASE.make(more=True, model=7, tokens=16384))
    point(page, "Results", 1, 6)
    assert "per user = min(16,384, 4,096) tokens · 131,072 bytes" in formula(page)


def test_layers_that_are_not_the_models_own_are_named(stage):
    assert "DeepSeek-V3 (window 4,096 in every layer), attention" in said(stage(CASE.make(model=13, stack=2)))
    assert "DeepSeek-V3, attention" in said(stage(CASE.make(model=13)))


def test_the_end_of_the_caches_is_dragged_and_answers_keys(stage):
    page = stage(CASE.make(more=True))
    grip = page.get_by_role("slider", name="end of the caches: users")
    box = page.locator("svg[aria-label^='Bar of weights']").bounding_box()
    at = grip.bounding_box()
    page.mouse.move(at["x"] + 12, at["y"] + 12)
    page.mouse.down()
    per_user, weights = 4096 * 524_288, 13.48e9
    for users in (32, 4, 1):
        share = (weights + users * per_user) / (1.25 * 80e9)
        page.mouse.move(box["x"] + 1 + share * (box["width"] - 2), at["y"] + 12, steps=3)
        assert trait(page, "users") == users
    page.mouse.up()
    grip.press("ArrowRight")
    assert trait(page, "users") == 2 and grip.get_attribute("aria-valuetext") == "2 users"
    grip.press("End")
    settle(page)
    assert trait(page, "users") == 1024 and words(page)[0] == "too much"


def test_running_along_the_curve_sets_the_tokens(stage):
    page = stage(CASE.make(more=True))
    point(page, "Tokens", 6, 12)
    assert "32,768 tokens · 524,288 bytes = 17.2 GB" in formula(page) and trait(page, "tokens") == 4096
    point(page, "Tokens", 6, 12, move="click")
    assert trait(page, "tokens") == 32768
    page.keyboard.press("ArrowLeft")
    assert trait(page, "tokens") == 16384


def test_a_bar_is_as_long_as_its_number_says(stage):
    """MHA stores 32 times as much as MQA in this model, and its bar is 32 times as long."""
    page = stage(CASE.make(more=True))
    bars = page.locator("svg[aria-label^='Bytes per token'] rect:not(.ta-area)").all()
    widths = [float(bar.get_attribute("width")) for bar in bars]
    numbers = [
        int(text.replace(",", ""))
        for text in page.locator("svg[aria-label^='Bytes per token'] .ta-small").all_text_contents()
    ]
    assert widths[0] / widths[3] == pytest.approx(32, rel=0.02) and max(widths) > 150
    assert widths == pytest.approx([max(widths) * n / max(numbers) for n in numbers], abs=0.1)


def test_it_begins_with_the_bar_and_unfolds_the_rest(stage):
    """Folded: no layers, kinds, curve, or sources; a step opens what it needs."""
    page = stage(CASE.make())
    fold = page.get_by_role("button", name="kinds of attention, lengths of text")
    assert [page.get_by_role(role).count() for role in ("slider", "combobox", "radio")] == [4, 3, 3]
    assert fold.get_attribute("aria-expanded") == "false" and not page.locator("summary").is_visible()
    notes = page.locator(".ta-note:visible").all_text_contents()
    assert notes == ["As built: the kind of attention that this model has." + PALE]
    assert not area(page, "Kinds").is_visible()
    assert page.locator("svg[aria-label^='Bar of weights']").is_visible()
    fold.press("Enter")
    settle(page)
    assert fold.get_attribute("aria-expanded") == "true" and trait(page, "more")
    assert [page.get_by_role(role).count() for role in ("slider", "combobox", "radio")] == [6, 4, 3]
    fold.click()
    for __ in range(5):
        page.get_by_role("button", name="Next step").click()
    settle(page)
    assert trait(page, "more") and area(page, "Kinds").is_visible()
    assert (
        CacheCalculator(step=5).more
        and not CacheCalculator(step=4).more
        and not CacheCalculator(step=5, more=False).more
    )


MEANT = {
    "MHA": "a key-value head of its own",
    "GQA": "shares one key-value head",
    "MQA": "all query heads share one key-value head",
}
PALE = " Pale squares: query heads without a key-value head of their own."


def test_the_letters_of_the_kind_that_is_pointed_at_are_spelled_out(stage):
    page = stage(CASE.make(more=True))
    note = page.locator(".ta-note").first
    assert note.text_content() == "As built: the kind of attention that this model has." + PALE
    for i, (letters, meaning) in enumerate({**MEANT, "MLA": "latent"}.items(), 1):
        point(page, "Kinds", 0, 1, i, 5)
        settle(page)
        assert note.text_content().startswith(f"{letters}, ") and meaning in note.text_content()


CELLS = "svg[aria-label='Where the bytes of a cache come from'] g"


def factors(page):
    """(number, word, dark squares, pale squares) of each cell that is seen."""
    settle(page)
    return page.locator(CELLS).evaluate_all("""(all) => all.filter((g) => g.style.display !== 'none').map((g) => {
      const count = (i) => (g.querySelectorAll('path')[i].getAttribute('d')?.match(/z/g) ?? []).length;
      const texts = [...g.querySelectorAll('text')].map((t) => t.textContent);
      return [texts[1], texts[2], count(1), count(0)];
    })""")


@pytest.mark.parametrize("state, heads, pale", [({"model": 4}, 8, 24), ({"kind": 3}, 1, 31), ({}, 32, 0)])
def test_each_factor_has_as_many_squares_as_its_number_says(stage, state, heads, pale):
    found = factors(stage(CASE.make(**state)))
    assert [row[:2] for row in found[:5]] == [
        ["2", "key and value"],
        ["32", "layers"],
        [str(heads), "key-value heads"],
        ["128", "numbers per head"],
        ["2", "bytes per number"],
    ]
    assert [row[2:] for row in found[:5]] == [[2, 0], [32, 0], [heads, pale], [128, 0], [2, 0]]
    n = CASE.make(**state).readings()
    assert found[5][:2] == [f"{n['per_token']:,.0f}", "bytes per token"] and found[6][:2] == ["4,096", "tokens"]


def test_a_latent_and_windows_have_factors_of_their_own(stage):
    rows = factors(stage(CASE.make(model=13)))
    assert [row[:2] for row in rows[:4]] == [
        ["1", "latent"],
        ["61", "layers"],
        ["576", "numbers"],
        ["2", "bytes per number"],
    ]
    assert rows[2][2] == 576 and len(rows) == 7
    assert factors(stage(CASE.make(model=12, tokens=32768)))[6][0] == "1,024–32,768"


def test_the_product_waits_for_the_answer(stage):
    page = stage(CASE.make(**CacheCalculator.story[1].state, step=1))
    shown = page.locator(f"{CELLS} [data-readout]")
    assert [one.is_visible() for one in shown.all()] == [False, False]
    page.get_by_role("button", name="no, smaller", exact=True).click()
    settle(page)
    assert [one.is_visible() for one in shown.all()] == [True, True]
