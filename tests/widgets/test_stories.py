"""The story of each widget: steps that set valid states, the picture that follows, the reply to an answer.

``tests/widgets/<name>/test_story.py`` tests whether each answer is true.
"""

import re
from pathlib import Path

import pytest
import traitlets as t
from anatomy.widgets.tools.story import Step

from .cases import CASES
from .page import settle, trait

EACH = pytest.mark.parametrize("name", CASES)


@EACH
def test_steps_set_states_that_the_widget_takes(name):
    """Four to eight steps; the first is the state in which the widget opens."""
    case = CASES[name]
    steps = case.widget.story
    assert 4 <= len(steps) <= 8
    usual = case.widget()
    for step in steps:
        assert set(step.state) == set(case.widget.controls), step  # a control that is left out would stay anywhere
        for trait_name, value in step.state.items():
            setattr(usual, trait_name, value)  # raises TraitError for a value out of bounds
            assert getattr(usual, trait_name) == value, step
    fresh = case.widget()
    assert {k: getattr(fresh, k) for k in steps[0].state} == dict(steps[0].state)


@EACH
def test_each_step_says_asks_and_answers(name):
    for step in CASES[name].widget.story:
        assert step.says.endswith((".", "!", ":")) and step.asks.endswith("?")
        assert 2 <= len(step.choices) <= 4 and len(set(step.choices)) == len(step.choices)
        assert step.because.strip() and step.look.strip() and step.because != step.look
        assert len(step.says) <= 200, f"{len(step.says)} characters: {step.says}"


@EACH
def test_every_answer_has_a_test_beside_the_widget(name):
    """The test file uses each step's number or quotes its right answer."""
    folder = Path(__file__).parent / CASES[name].widget.recording
    text = (folder / "test_story.py").read_text(encoding="utf-8")
    for i, step in enumerate(CASES[name].widget.story):
        assert step.choices[step.answer] in text or re.search(rf"[(\[]{i}[)\],]", text), step.asks


@EACH
@pytest.mark.browser
def test_the_story_is_walked_with_keys_and_answered(stage, name):
    """Next sets the state and updates the picture; a wrong answer gets a hint where to look, the right one a reason."""
    case = CASES[name]
    page = stage(case.usual)
    steps = case.widget.story
    section = page.get_by_role("region", name="What to try")
    scene = section.get_by_role("button", name="Set the scene")
    assert scene.get_attribute("aria-disabled") == "true"
    assert page.locator(".ta > :not([hidden])").nth(1).get_attribute("class") == "ta-story"  # after the title
    for i, step in enumerate(steps):
        if i:
            section.get_by_role("button", name="Next step").press("Enter")
            settle(page)
        assert trait(page, "step") == i and step.says in section.text_content()
        for name_, value in step.state.items():
            assert trait(page, name_) == value, (step.says, name_)
        assert step.says in page.locator(".ta-readout").text_content() or i == 0  # screen readers announce it too
        wrong = next(c for j, c in enumerate(step.choices) if j != step.answer)
        section.get_by_role("button", name=wrong, exact=True).press("Enter")
        assert f"✗ {step.look}" in section.text_content() and step.because not in section.text_content()
        section.get_by_role("button", name=step.choices[step.answer], exact=True).press("Enter")
        assert f"✓ {step.because}" in section.text_content()
        assert f"✓ {step.because}" in page.locator(".ta-readout").text_content()
    assert section.get_by_role("button", name="Next step").get_attribute("aria-disabled") == "true"
    section.get_by_role("button", name="Previous step").press("Enter")
    assert trait(page, "step") == len(steps) - 2


@EACH
@pytest.mark.browser
def test_the_scene_can_be_left_and_set_again(stage, name):
    case = CASES[name]
    page = stage(case.usual)
    page.get_by_role("button", name="Next step").press("Enter")
    told, other = next(
        (told, step.state[told])
        for told, set_ in case.widget.story[1].state.items()
        for step in case.widget.story
        if step.state.get(told, set_) != set_
    )
    value = trait(page, told)
    page.evaluate("([name, value]) => model.set(name, value)", [told, other])
    settle(page)
    scene = page.get_by_role("button", name="Set the scene")
    assert scene.get_attribute("aria-disabled") == "false"
    scene.press("Enter")
    settle(page)
    assert trait(page, told) == value and scene.get_attribute("aria-disabled") == "true"


def elsewhere(widget, name, value):
    """Another value of that trait."""
    kind = widget.traits()[name]
    if isinstance(kind, t.Enum):
        return next(other for other in kind.values if other != value)
    if isinstance(kind, t.Unicode):
        return "m" if name == "text" else "3.1"
    if isinstance(kind, t.List):
        return [8] if value != [8] else [4, 4]
    return not value if isinstance(kind, t.Bool) else value - 1 if value == kind.max else value + 1


@EACH
@pytest.mark.browser
def test_no_answer_is_right_about_another_picture(stage, name):
    """With all controls moved away, an answer sets the scene first; with the scene left after it, it is not shown.

    Traits that a step invites to move stay where they are.
    """
    case = CASES[name]
    page = stage(case.usual)
    move = "(values) => Object.entries(values).forEach(([name, value]) => model.set(name, value))"
    for i, step in enumerate(case.widget.story):
        if i:
            page.get_by_role("button", name="Next step").press("Enter")
        away = {k: elsewhere(case.usual, k, v) for k, v in step.state.items()}
        page.evaluate(move, away)
        settle(page)
        page.locator(".ta-asks").get_by_role("button", name=step.choices[step.answer], exact=True).press("Enter")
        settle(page)
        told = {**step.state, **{k: away[k] for k in step.moves}}
        assert {k: trait(page, k) for k in step.state} == told
        reply = page.locator(".ta-reply")
        assert reply.is_visible() and reply.text_content() == f"✓ {step.because}"
        left = {k: v for k, v in away.items() if k not in step.moves}
        page.evaluate(move, left)
        settle(page)
        assert reply.is_visible() == (not left)
        page.get_by_role("button", name="Set the scene").press("Enter")
        settle(page)
        assert {k: trait(page, k) for k in step.state} == step.state and reply.is_visible()


def test_what_may_move_is_a_part_of_the_scene():
    with pytest.raises(ValueError, match="lets b move"):
        Step("Say.", "Ask?", ("a", "b"), 0, "because", "look", {"a": 1}, moves=("b",))
