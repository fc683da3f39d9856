"""“Show me” beside a reply does what the reply speaks of, and leaves the picture where the answer can be read."""

import base64
from contextlib import contextmanager

import pytest
from anatomy.widgets.anatomy import packed
from anatomy.widgets.tools.story import Step

from .cases import CASES
from .frames import frame, frozen, rest
from .page import said, settle, trait
from .stages import set_state

MS, TRAVELED = 750, 300  # for each state; until what it changes has arrived
SHOWN = [(name, i) for name, case in CASES.items() for i, step in enumerate(case.widget.story) if step.show]
# What is drawn, without the story, the controls, and the sentence that tells the state.
PICTURE = """() => JSON.stringify([
  [...document.querySelectorAll('.ta > :not(.ta-story, .ta-controls, .ta-readout)')].map((e) => e.outerHTML),
  [...document.querySelectorAll('.ta canvas')].map((e) => e.toDataURL())])"""
WELL = ("AttentionExplorer", 1)  # its story moves a bar, and points at two others


def merged(step, states):
    """The traits after these states."""
    return {**step.state, **{k: v for state in states for k, v in state.items() if k in step.state}}


def traits(page, step):
    return {name: trait(page, name) for name in step.state}


def answer(page, step, right=True):
    choice = step.choices[step.answer] if right else next(c for i, c in enumerate(step.choices) if i != step.answer)
    page.locator(".ta-asks").get_by_role("button", name=choice, exact=True).press("Enter")
    settle(page)


def button(page):
    return page.get_by_role("button", name="Show me", exact=True)


@pytest.fixture
def replied(stage):
    """replied(name, i, right=True) → (page with the reply to that step, the step)."""

    def open_(name, i, right=True, **options):
        step = CASES[name].widget.story[i]
        reads = (
            name == "AnatomyView" and step.state["text"]
        )  # the page's own model reads it, as on a page without a kernel
        page = stage(CASES[name].widget() if reads else CASES[name].usual, **options)
        set_state(page, {**step.state, "step": i})
        if reads:
            page.evaluate("(bytes) => model.set('weights', view(bytes))", base64.b64encode(packed.model()).decode())
            page.wait_for_function("() => !document.querySelector('.ta-readout').textContent.includes('Waiting')")
        answer(page, step, right)
        return page, step

    return open_


@contextmanager
def moving(page):
    """Motion is allowed, and frames wait for the test."""
    page.emulate_media(reduced_motion="no-preference")
    with frozen(page):
        yield


def press(page):
    """Presses the button by a key, as far as its first state."""
    button(page).press("Enter")
    frame(page, 0)


def test_what_is_shown_ends_where_the_reply_is_still_about_it():
    told = ("Say.", "Ask?", ("a", "b"), 0, "because", "look", {"a": 1, "b": 1})
    Step(*told, moves=("b",), show=({"a": 2}, {"a": 1, "b": 2}, {"point": 3}))
    with pytest.raises(ValueError, match="“Show me” of “Ask\\?” ends with another a, which may not move"):
        Step(*told, moves=("b",), show=({"b": 2}, {"a": 2}))


def test_nearly_all_steps_show_what_they_say():
    every = [step for case in CASES.values() for step in case.widget.story if not step.asks_for_function]
    assert len(SHOWN) >= 0.95 * len(every)


@pytest.mark.parametrize("name, i", SHOWN)
def test_states_are_valid(name, i):
    """Python takes each state, and the page's scripts know what is pointed at."""
    widget = CASES[name].usual
    step = widget.story[i]
    assert len(step.show) <= 7, "longer than one likes to watch"
    for state in step.show:
        for key, value in state.items():
            if key in step.state:
                assert widget.traits()[key]._validate(widget, value) == value  # else it raises TraitError
            else:
                assert not widget.has_trait(key) and f'ui.seen("{key}")' in widget._esm, key


@pytest.mark.browser
@pytest.mark.parametrize("name, i", SHOWN)
def test_each_state_changes_the_picture_and_the_last_one_stays(replied, name, i):
    page, step = replied(name, i)
    with moving(page):
        before = page.evaluate(PICTURE)
        press(page)
        for n in range(1, len(step.show) + 1):
            frame(page, TRAVELED)
            now = page.evaluate(PICTURE)
            assert now != before, step.show[n - 1]
            assert traits(page, step) == merged(step, step.show[:n])
            assert page.locator(".ta-reply").is_visible(), "it belongs to what is shown"
            before = now
            frame(page, MS - TRAVELED)
        assert rest(page) == []
        assert page.evaluate(PICTURE) == before
    text = page.locator(".ta").text_content()
    assert "undefined" not in text and traits(page, step) == merged(step, step.show)
    reply = page.locator(".ta-reply")
    assert reply.is_visible() and reply.text_content() == f"✓ {step.because}"
    assert said(page).startswith("The picture shows it now:")


@pytest.mark.browser
@pytest.mark.parametrize("right", [True, False])
def test_the_button_comes_with_the_reply_and_keeps_the_focus(stage, right):
    name, i = WELL
    step = CASES[name].widget.story[i]
    page = stage(CASES[name].make(**step.state, step=i))
    assert button(page).count() == 0
    top = page.locator(".ta-controls").bounding_box()["y"]
    answer(page, step, right)
    marked = page.locator(".ta-asks [data-right]")
    assert marked.count() == right
    button(page).press("Enter")
    settle(page)
    assert button(page).evaluate("(e) => e === document.activeElement")
    reply = f"{'✓' if right else '→'} {step.because}"  # what there is to see, when it has been shown
    page.get_by_text(reply, exact=True).wait_for()
    assert page.locator(".ta-reply").text_content() == reply
    assert marked.all_text_contents() == [step.choices[step.answer]]
    assert page.locator(".ta-controls").bounding_box()["y"] == top, "nothing is pushed away"
    page.get_by_role("button", name="Set the scene").press("Enter")
    settle(page)
    assert traits(page, step) == step.state and button(page).is_visible()


@pytest.mark.browser
def test_a_step_without_states_has_no_button(stage):
    name, i = next((n, i) for n, c in CASES.items() for i, s in enumerate(c.widget.story) if not s.show)
    page = stage(CASES[name].make(**CASES[name].widget.story[i].state, step=i))
    answer(page, CASES[name].widget.story[i])
    assert page.locator(".ta-reply").is_visible() and button(page).count() == 0


@pytest.mark.browser
def test_it_begins_with_the_scene_wherever_the_learner_went(replied):
    page, step = replied(*WELL)
    set_state(page, {"nudge": -7, "layer": 0})
    with moving(page):
        press(page)
        assert traits(page, step) == step.state
        frame(page, MS)
        assert traits(page, step) == merged(step, step.show[:1])
        assert page.locator("[aria-live=polite]").count() == 0, "what passes is not read out"


@pytest.mark.browser
@pytest.mark.parametrize("touch", ["pointerdown", "keydown"])
def test_a_touch_ends_it_where_it_is(replied, touch):
    page, step = replied(*WELL)
    with moving(page):
        press(page)
        frame(page, MS)
        page.evaluate(
            "(kind) => document.querySelector('.ta-title').dispatchEvent(new Event(kind, {bubbles: true}))", touch
        )
        frame(page, MS)
        assert rest(page) == []
    assert traits(page, step) == merged(step, step.show[:2]) != merged(step, step.show)
    assert page.locator("[aria-live=polite]").count() == 1 and "shows it" not in said(page)


@pytest.mark.browser
def test_what_comes_from_python_ends_it(replied):
    page, step = replied(*WELL)
    with moving(page):
        press(page)
        page.evaluate("() => model.set('layer', 0)")
        frame(page, MS)
        assert rest(page) == []
    assert traits(page, step) == {**merged(step, step.show[:1]), "layer": 0}
    assert not page.locator(".ta-reply").is_visible(), "the picture is another one"


@pytest.mark.browser
def test_it_does_not_begin_while_a_hand_drags(replied):
    page, step = replied(*WELL)
    with moving(page):
        box = page.locator(".ta-title").bounding_box()
        page.mouse.move(box["x"] + 20, box["y"] + 5)
        page.mouse.down()
        page.mouse.move(box["x"] + 60, box["y"] + 5)
        button(page).evaluate("(e) => e.click()")
        frame(page, MS)
        assert traits(page, step) == step.state
        page.mouse.up()
        press(page)
        assert traits(page, step) == merged(step, step.show[:1])


@pytest.mark.browser
def test_with_reduced_motion_the_end_is_there_at_once(replied):
    page, step = replied(*WELL)
    button(page).press("Enter")
    settle(page)
    assert traits(page, step) == merged(step, step.show)
    assert page.locator(".ta").get_attribute("data-peek") == '{"key":2}'
    page.wait_for_function("() => document.querySelector('.ta-readout').textContent.includes('shows it')")


@pytest.mark.browser
def test_with_reduced_motion_a_way_that_returns_is_shown_state_by_state(replied):
    """Its end alone would be the picture that stands there already."""
    page, step = replied("MaskExplorer", 4)
    assert merged(step, step.show) == step.state
    button(page).press("Enter")
    settle(page)
    assert trait(page, "size") == step.show[0]["size"] != step.state["size"]
    page.wait_for_function("(end) => model.get('size') === end", arg=step.state["size"])


@pytest.mark.browser
def test_play_stops_before_it_begins(stage):
    widget = CASES["PermutationExplorer"].make(**CASES["PermutationExplorer"].widget.story[2].state, step=2)
    step = widget.story[2]
    page = stage(widget, reduced_motion="no-preference")
    answer(page, step)
    page.get_by_role("button", name="Play orders", exact=True).press("Enter")
    page.get_by_role("button", name="Pause", exact=True).wait_for()
    button(page).press("Enter")
    page.wait_for_function("() => model.get('order') === 'shuffled again'")
    assert page.get_by_role("button", name="Pause", exact=True).count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("press", ["Next step", "1"], ids=["next step", "an answer that sets the scene"])
def test_play_does_not_go_on_in_another_scene(stage, press):
    widget = CASES["CacheStepper"].make(**CASES["CacheStepper"].widget.story[0].state)
    page = stage(widget, reduced_motion="no-preference")
    page.get_by_role("button", name="Play", exact=True).press("Enter")
    page.get_by_role("button", name="Pause", exact=True).wait_for()
    page.get_by_role("button", name=press, exact=True).press("Enter")
    assert page.get_by_role("button", name="Pause", exact=True).count() == 0
    scene = trait(page, "chunk")
    page.wait_for_timeout(1500)
    assert trait(page, "chunk") == scene
