"""Tier 2 of ExpertsExplorer: its script alone in Chromium; test_promises.py tests what all widgets share."""

import pytest
from anatomy.widgets import ExpertsExplorer
from anatomy.widgets.experts.settings import MEAN, MORE, ROUTERS, WORDS

from autograder.exercises.u15_experts_and_drafts.route import EXERCISE

from ..page import find, settle, trait, words
from ..stages import set_state
from .case import CASE

pytestmark = pytest.mark.browser
SHOWN = "(all) => all.map((e) => getComputedStyle(e).display !== 'none')"
# → for each chip [word's number, rank, stack, its height in the stack, dropped?]
CHIPS = """() => [...document.querySelectorAll('.ta [data-choice]')].map((e) => {
  const [x, y] = e.getAttribute('transform').match(/[\\d.]+/g).map(Number);
  const [n, rank] = e.dataset.choice.split('.').map(Number);
  const foot = 36 + 12 * 15 + 4;
  return [n, rank, x, (foot - y) / 15 - 1, e.textContent.startsWith('✗')];
})"""


def stacks(page):
    """Words in each stack, from its foot up."""
    chips = page.evaluate(CHIPS)
    columns = sorted({chip[2] for chip in chips})
    return [[(n, rank) for n, rank, x, *_ in sorted(chips, key=lambda c: c[3]) if x == column] for column in columns]


def knobs(page):
    return [trait(page, f"bias{e}") for e in range(3)]


def test_each_choice_is_a_chip_in_its_stack_in_the_order_of_the_queue(stage):
    widget = CASE.make(k=2)
    _, chosen = widget.routed()
    wanted = [[(n, rank) for rank in (0, 1) for n in range(12) if chosen[n, rank] == e] for e in range(3)]
    assert stacks(stage(widget)) == wanted


def test_dropped_choices_are_crossed_out(stage):
    widget = CASE.make(k=2, room=MEAN)
    dropped = {(n, rank) for n, rank, *_, out in stage(widget).evaluate(CHIPS) if out}
    assert (
        dropped == {(n, rank) for n in range(12) for rank in (0, 1) if not widget.kept()[n, rank]} and len(dropped) == 4
    )


def test_a_knob_is_dragged_and_escape_takes_it_back(stage):
    page = stage(CASE.make())
    box = page.get_by_role("slider", name="bias of expert 2").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 200, y)
    settle(page)
    assert knobs(page) == [3, 3, 6] and len(stacks(page)) == 3
    page.keyboard.press("Escape")
    assert knobs(page) == [3, 3, 3]
    page.mouse.up()


def test_balancing_follows_the_learners_function(stage):
    page = stage(CASE.make(k=2))
    for after in ([2, 2, 4], [1, 3, 5], [1, 3, 5]):
        find(page, "button", "Balance once").press("Enter")
        settle(page)
        assert knobs(page) == after
    assert [len(s) for s in stacks(page)] == [8, 8, 8]
    page = stage(ExpertsExplorer({**CASE.given[0], "balanced_bias": lambda bias, chosen, rate: bias - rate}, k=2))
    find(page, "button", "Balance once").press("Enter")
    settle(page)
    assert knobs(page) == [2, 2, 2] and words(page)[-2:] == ["differs", "same"]


def test_pointing_at_a_word_shows_its_scores(stage):
    page = stage(CASE.make(k=2))
    area = page.locator('[aria-label^="Stacks"].ta-area')
    box = area.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 6, box["y"] + box["height"] - 5)
    settle(page)
    assert (
        trait(page, "word") == stacks(page)[0][0][0]
        and f"Scores of “{WORDS[trait(page, 'word')]}”" in page.locator(".ta").text_content()
    )
    assert "expert 0: 11 of 24 choices = 46 %" in page.locator(".ta-readout").text_content()


def test_a_word_of_the_text_is_chosen_with_a_click(stage):
    page = stage(CASE.make())
    text = page.locator("p.ta-note[aria-hidden]")
    assert text.text_content().split() == list(WORDS)
    text.get_by_text("fish", exact=True).click()
    settle(page)
    assert trait(page, "word") == 11 and "Scores of “fish”" in page.locator(".ta").text_content()


def test_what_nearly_ties_is_told_with_enough_digits(stage):
    """0.646 and 0.450 + 0.2 = 0.650 are no tie, though both are 0.65."""
    page = stage(CASE.make(k=2, bias1=5))
    page.locator('[aria-label^="Scores of the word"].ta-area').press("ArrowDown")
    settle(page)
    assert "score 0.450 + bias 0.2 = 0.650" in page.locator(".ta-readout").text_content()


def test_only_a_limited_room_tells_what_is_dropped(stage):
    page = stage(CASE.make(k=2))
    said = lambda: page.locator(".ta-readout").text_content()
    assert "dropped" not in said()
    set_state(page, {"room": MEAN})
    assert "dropped 4 of 24" in said()


def test_a_bias_that_weighs_differs_once_it_is_turned(stage):
    wrong = next(m.fn for m in EXERCISE.mutants if m.name == "bias_weighs")
    page = stage(ExpertsExplorer({**CASE.given[0], "route_biased": EXERCISE.functions(wrong)["route_biased"]}, k=2))
    assert words(page)[-3] == "same"
    set_state(page, {"bias1": 5})
    assert words(page)[-3] == "differs"
    area = page.locator('[aria-label^="Scores of the word"].ta-area')
    area.press("ArrowDown")
    settle(page)
    assert "÷ 1.096 = 0.41, but the function says 0.50" in page.locator(".ta-readout").text_content()


def test_the_softmax_router_has_no_knobs_to_follow(stage):
    page = stage(CASE.make(k=2))
    before = stacks(page)
    set_state(page, {"router": ROUTERS[1], "bias2": 6})
    assert stacks(page) == before and page.locator("text", has_text="no bias here").count() == 3


def test_play_ends_where_nothing_moves_and_where_the_loads_swing(stage):
    said = lambda page: page.locator(".ta-readout").text_content()
    page = stage(CASE.make(k=2, more=True), reduced_motion="no-preference")
    find(page, "button", "Play").press("Enter")
    page.wait_for_function("() => model.get('bias0') === 1 && model.get('bias2') === 5")
    find(page, "button", "Play").wait_for()
    assert knobs(page) == [1, 3, 5] and "swing" not in said(page)
    page = stage(CASE.make(k=1), reduced_motion="no-preference")
    find(page, "button", "Play").press("Enter")
    page.get_by_text("The loads swing to and fro").wait_for()
    assert page.get_by_role("button", name="Pause").count() == 0
    find(page, "button", "Balance once").press("Enter")
    settle(page)
    assert "swing" not in said(page)


def test_nothing_is_balanced_where_there_is_no_bias(stage):
    page = stage(CASE.make(k=2, router=ROUTERS[1], more=True))
    assert find(page, "button", "Balance once").is_disabled()
    set_state(page, {"router": ROUTERS[0]})
    assert find(page, "button", "Balance once").is_enabled()


def test_a_step_speaks_of_one_setting_and_shows_no_other(stage):
    """Each setting folded away is there for the step that needs it, and no weight before it is explained."""
    page = stage(CASE.make())
    rows = page.locator("[aria-label^='Bars: the scores'] text tspan")
    seen = lambda: [part for part in ("k", "router", "room") if page.locator(f"[data-part=folded-{part}]").is_visible()]
    found = []
    for i, step in enumerate(ExpertsExplorer.story):
        set_state(page, {**step.state, "alone": True, "step": i})
        found.append(seen())
        weights = [text for text, on in zip(rows.all_text_contents(), rows.evaluate_all(SHOWN), strict=True) if on]
        said = page.locator(".ta-readout").text_content()
        assert any("weight" in text for text in weights) == (i > 0), (i, weights)
        assert ("weight" in said) == (i > 0), (i, said)
    assert found == [[], [], [], ["room"], ["room"], ["k", "router"]]


def test_the_mean_and_the_room_say_how_many(stage):
    page = stage(CASE.make(k=2, room=MORE))
    for text in ("mean 8", "room 10"):
        assert page.locator("text", has_text=text).is_visible()
