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
from .stages import set_state

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


@EACH
@pytest.mark.browser
def test_what_a_step_goes_without_comes_with_another(stage, name):
    """Hidden things take no part in the tab order; a trait that was set elsewhere keeps its control."""
    case = CASES[name]
    page = stage(case.usual)
    names = {part for step in case.widget.story for part in step.without}
    find = lambda part: page.locator(f".ta [data-part={part}]")
    for i, step in enumerate(case.widget.story):
        set_state(page, {**step.state, "alone": True, "step": i})
        for part in names:
            if i == 0:  # a notebook's text may speak of any control, wherever no other choice hides it
                there = next(other for other in case.widget.story if part not in other.without)
                unfolded = {"more": True} if "more" in step.state else {}
                set_state(page, {**there.state, "alone": False, "step": i, **unfolded})
                assert find(part).first.is_visible(), part
                set_state(page, {**step.state, "alone": True, "step": i})
            away = part in step.without
            shown = "(all) => all.map((e) => getComputedStyle(e).display === 'none')"
            assert set(find(part).evaluate_all(shown)) == {away}, (i, part)
            if away and part in step.state:
                set_state(page, {part: elsewhere(case.usual, part, step.state[part])})
                assert all(one.is_visible() for one in find(part).all())
                set_state(page, {part: step.state[part]})
    assert not names & set.intersection(*(set(step.without) for step in case.widget.story))


@pytest.mark.browser
def test_checks_come_later_only_where_no_function_is_given(stage):
    """The checks of a learner's function are news at once; those of the reference can wait for a later step."""
    page = stage(CASES["RopeExplorer"].usual)
    checks = page.locator(".ta [data-part=checks]").first
    for alone, step, seen in ((False, 0, True), (True, 0, False), (True, 5, True), (False, 5, True)):
        set_state(page, {**CASES["RopeExplorer"].widget.story[step].state, "alone": alone, "step": step})
        assert checks.is_visible() == seen, (alone, step)


def elsewhere(widget, name, value):
    """Another value of that trait."""
    kind = widget.traits()[name]
    if isinstance(kind, t.Enum):
        return next(other for other in kind.values if other != value)
    if isinstance(kind, t.Unicode):
        return "m" if name == "text" else "3.1"
    if isinstance(kind, t.List):
        return [4 if value[:1] == [8] else 8, *value[1:]]
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
        assert page.locator(".ta-asks [data-right]").all_text_contents() == [step.choices[step.answer]]
        left = {k: v for k, v in away.items() if k not in step.moves}
        page.evaluate(move, left)
        settle(page)
        assert reply.is_visible() == (not left)
        page.get_by_role("button", name="Set the scene").press("Enter")
        settle(page)
        assert {k: trait(page, k) for k in step.state} == step.state and reply.is_visible()


# Read-outs that show the answer, and that a learner works with: (widget, step) → why they need not wait.
WORKED_WITH = {
    ("ExpertsExplorer", 1): "the weight 0.41 before the bias, to compare with the one after it",
    ("ExpertsExplorer", 2): "the loads 11, 9, 4 from which the presses start",
    ("MemoryExplorer", 4): "the dog's 1.00 from which the write takes away",
    ("MixExplorer", 0): "the weights that are dragged, and their sum",
    ("CacheStepper", 3): "the rule that is to be used",
    ("CacheCalculator", 3): "the time for 16 users, to compare with that for 32",
    ("SoftmaxStabilityExplorer", 6): "a note that says what a soft cap is, not where keys still share the weight",
}
# Visible words of the read-outs: the line, signs, facts, notes, and whatever else can wait.
READ_OUT = """() => {
  const seen = (e) => e.checkVisibility({visibilityProperty: true}) && !e.closest('.ta-unseen, .ta-story');
  const text = (n) => n.nodeType === 3 ? (seen(n.parentElement) ? n.data : '') : [...n.childNodes].map(text).join('');
  const all = '.ta-readout, .ta-signs li, .ta-facts tr, .ta-note, [data-readout]';
  return [...document.querySelectorAll(`.ta :is(${all})`)].map(text).filter((t) => t.trim());
}"""
PLACES = """() => [...document.querySelectorAll('.ta-controls, .ta-readout, .ta-signs, .ta-svg, .ta-caption')]
  .filter((e) => e.checkVisibility()).map((e) => Math.round(e.getBoundingClientRect().top))"""
VAGUE = {"yes", "no", "both", "none", "neither", "nothing", "never", "nowhere", "alike", "same"}
NUMBER = re.compile(r"(?<![\d.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\d|\.\d)")


def word_of(choice):
    """What of a choice a read-out would tell: “at ‘very’” is very, “Pre-LN’s” is Pre-LN."""
    return re.sub(r"^(at|with|the|in|a) |’s$", "", re.sub(r"^at “|[“”]", "", choice))


def told_by(step):
    """(what gives the answer away, the other choices if it is a word): the right choice, and numbers that only the
    reply to it has."""
    right, *others = (word_of(c) for c in (step.choices[step.answer], *step.choices) if c)
    others = [o for o in others if o != right]
    named = [step.says, step.asks, step.look, *step.choices, *map(str, step.state.values())]
    known = set(NUMBER.findall(" ".join(named)))
    numbers = [(n, []) for n in NUMBER.findall(step.because) if n not in known and len(n) > 1]
    return ([] if right.split(",")[0] in VAGUE else [(right, [] if NUMBER.fullmatch(right) else others)]) + numbers


def tells(readout, what, others=()):
    """Whether a read-out has that number, perhaps with more digits, or that word and none of the others: a legend names
    them all."""
    if NUMBER.fullmatch(what):
        return any(n == what or ("." in what and n.startswith(what)) for n in NUMBER.findall(readout))
    return bool(re.search(rf"(?<!\w){re.escape(what)}(?!\w)", readout)) and not any(o in readout for o in others)


@EACH
@pytest.mark.browser
def test_no_readout_gives_an_answer_away(stage, name):
    """In the scene, before an answer, no read-out shows the right answer or a number that only the reply to it has."""
    case, found = CASES[name], []
    page = stage(case.usual)
    for i, step in enumerate(case.widget.story):
        set_state(page, {**step.state, "step": i})
        readouts = page.evaluate(READ_OUT)
        hits = [(what, text) for what, others in told_by(step) for text in readouts if tells(text, what, others)]
        if bool(hits) != ((name, i) in WORKED_WITH) and not step.asks_for_function:
            found.append((i, step.asks, hits))
    assert not found


@EACH
@pytest.mark.browser
def test_what_waits_comes_with_any_answer_and_pushes_nothing(stage, name):
    case = CASES[name]
    page = stage(case.usual)
    root = page.locator(".ta")
    for i, step in enumerate(case.widget.story):
        if not step.waits:
            continue
        set_state(page, {**step.state, "step": i})
        before, places = page.evaluate(READ_OUT), page.evaluate(PLACES)
        assert root.get_attribute("data-waits") == " ".join(step.waits)
        if i % 2:
            page.get_by_role("button", name="Reveal", exact=True).press("Enter")
        else:
            wrong = next(c for j, c in enumerate(step.choices) if j != step.answer)
            page.locator(".ta-asks").get_by_role("button", name=wrong, exact=True).press("Enter")
        settle(page)
        assert root.get_attribute("data-waits") == "" and page.evaluate(READ_OUT) != before
        assert page.evaluate(PLACES) == places
        assert not page.get_by_role("button", name="Reveal", exact=True).is_visible()
        marked = page.locator(".ta-asks [data-right]").all_text_contents()
        assert marked == ([step.choices[step.answer]] if i % 2 else [])


@pytest.mark.browser
def test_what_waits_is_not_heard_and_says_nothing_of_another_picture(stage):
    """It is in no accessibility tree; a control that leaves the scene brings it; the scene takes it away again."""
    page = stage(CASES["MaskExplorer"].usual)
    line = "may look at 4 of 8"
    status = page.locator(".ta-readout")
    assert line in status.text_content() and line not in status.aria_snapshot()
    set_state(page, {"query": 4})
    assert "may look at 5 of 8" in status.aria_snapshot()
    set_state(page, {"query": 3})
    assert line not in status.aria_snapshot()
    page.get_by_role("button", name="Reveal", exact=True).press("Enter")
    settle(page)
    assert line in status.aria_snapshot()
    page.get_by_role("button", name="Next step").press("Enter")
    page.get_by_role("button", name="Previous step").press("Enter")
    settle(page)
    assert line in status.aria_snapshot(), "what was shown once does not hide again"
    page.evaluate("() => model.set('step', 1)")
    settle(page)
    page.emulate_media(media="print")
    assert page.locator(".ta-line").is_visible()
    page.emulate_media(media="screen")


def test_only_readouts_wait():
    with pytest.raises(ValueError, match="“Ask\\?” lets curve wait; it can be line, signs, numbers"):
        Step("Say.", "Ask?", ("a", "b"), 0, "because", "look", waits=("curve",))


def test_what_may_move_is_a_part_of_the_scene():
    with pytest.raises(ValueError, match="lets b move"):
        Step("Say.", "Ask?", ("a", "b"), 0, "because", "look", {"a": 1}, moves=("b",))
