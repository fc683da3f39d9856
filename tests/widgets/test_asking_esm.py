"""The control for predictions and recap questions, its script alone in Chromium: keyboard, names, announcements."""

import pytest
from anatomy.notebook.question import Question

from .measuring import CONTRAST
from .test_promises import THEMES

pytestmark = pytest.mark.browser

TURN = {
    "key": "q1",
    "question": "Which turn is left between q and k?",
    "above": False,
    "button": "Answer",
    "options": ["by 12θ", "by 5θ", "by 19θ, since both positions turn it, one after the other"],
}
CHANGES = {"key": "q2", "question": "What changes?", "above": False, "button": "Answer", "options": ["all", "nothing"]}
FREE = {"key": "p1", "question": "How many turns?", "above": True, "button": "Keep my prediction", "options": []}
WRONG = {
    "choice": "by 12θ",
    "tone": "wrong",
    "message": "Not quite.",
    "why": "That is the key's own turn.",
    "button": "Answer again",
}
RIGHT = {
    "choice": "by 5θ",
    "tone": "right",
    "message": "Right.",
    "why": "R(12 − 7).",
    "locked": True,
    "others": [["by 12θ", "That is the key's own turn."]],
}


@pytest.fixture
def ask(draw):
    """ask(*items, states=…, **context options) → page with the control."""

    def show(*items, states=None, around="", **options):
        state = {
            "items": items,
            "states": states or {},
            "commit": {},
            "name": "Recap questions",
            "token": "t1",
            "tables": {},
        }
        options = {"viewport": {"width": 800, "height": 700}, **options}
        return draw(Question._esm, Question._css, state, around, **options)

    return show


def committed(page):
    return page.evaluate("() => model.get('commit')")


def answer(page, **states):
    """Sends Python's reply: new states, each with the number of the commit that it answers."""
    page.evaluate(
        """(states) => { const n = model.get('commit').n || 0;
      const fresh = Object.fromEntries(Object.entries(states).map(([k, v]) => [k, {...v, n}]));
      model.set('states', {...model.get('states'), ...fresh}); }""",
        states,
    )


def said(page, i=0):
    return page.get_by_role("status").nth(i).text_content()


def test_choose_commit_see_by_keyboard_alone(ask):
    page = ask(TURN, CHANGES)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.get_by_role("radio", name="by 12θ").is_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert committed(page) == {"key": "q1", "value": "by 12θ", "n": 1}
    assert page.evaluate("() => model.saves") == 1
    answer(page, q1=WRONG)
    assert said(page) == "Not quite. That is the key's own turn."
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert committed(page) == {"key": "q1", "value": "by 5θ", "n": 2}
    answer(page, q1=RIGHT)
    assert said(page) == "✓ Right. R(12 − 7)."
    # Focus keeps its place in the page, though the question is closed now: the next Tab continues from it.
    assert page.evaluate("() => document.activeElement.getAttribute('role')") == "status"
    assert page.get_by_role("radio", name="by 12θ").is_disabled() and page.get_by_role("button").count() == 1
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "And the others?"
    page.keyboard.press("Enter")
    assert page.get_by_text("That is the key's own turn.").is_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.value") == "all"
    assert said(page, 1) == ""


def test_names_and_live_regions(ask):
    page = ask(TURN, FREE)
    snapshot = page.locator("body").aria_snapshot()
    for part in (
        '- group "Recap questions"',
        '- group "Which turn is left between q and k?"',
        '- radio "by 5θ"',
        '- group "How many turns?"',
        '- textbox "I expect"',
        '- button "Keep my prediction"',
    ):
        assert part in snapshot, snapshot
    assert page.get_by_role("status").count() == 2, "a live region stands there before its text comes"
    assert page.locator("[aria-live=polite]").count() == 2
    seen = page.locator("legend").nth(1).bounding_box()
    assert seen["width"] <= 2 and seen["height"] <= 2, "the question stands in the text above already"
    keys = page.evaluate(
        "() => [...document.querySelectorAll('input, button')].every((e) => e.dataset.lmSuppressShortcuts === 'true')"
    )
    assert keys, "JupyterLab would take the arrow keys"


def test_nothing_chosen_sends_nothing(ask):
    page = ask(TURN, FREE)
    page.get_by_role("button", name="Answer").click()
    assert said(page) == "Choose one first."
    page.get_by_role("textbox").fill("   ")
    page.get_by_role("textbox").press("Enter")
    assert said(page, 1) == "Write something first." and committed(page) == {}


def test_a_text_is_sent_once_with_enter(ask):
    page = ask(FREE)
    page.get_by_role("textbox").fill(" 12 ")
    page.get_by_role("textbox").press("Enter")
    assert committed(page) == {"key": "p1", "value": "12", "n": 1} and page.evaluate("() => model.saves") == 1
    answer(page, p1={"choice": "12", "tone": "kept", "message": "Kept: 12.", "button": "Change my prediction"})
    assert page.get_by_role("textbox").input_value() == "12"
    page.get_by_role("button", name="Change my prediction").click()
    assert committed(page)["n"] == 2


def test_a_busy_kernel_is_said_and_a_second_press_sends_nothing(ask):
    page = ask(TURN)
    page.get_by_role("radio", name="by 5θ").check()
    page.get_by_role("button").click()
    page.get_by_role("button").click()
    assert page.evaluate("() => model.saves") == 1 and said(page) == ""
    page.wait_for_timeout(600)
    assert said(page).startswith("Waiting for the kernel")
    answer(page, q1=RIGHT)
    assert said(page) == "✓ Right. R(12 − 7)."
    page.wait_for_timeout(600)
    assert said(page) == "✓ Right. R(12 − 7)."


def test_what_is_being_chosen_survives_an_answer_to_another_question(ask):
    page = ask(TURN, CHANGES, FREE)
    page.get_by_role("radio", name="nothing").check()
    page.get_by_role("textbox").fill("half a sen")
    page.get_by_role("radio", name="by 12θ").check()
    page.get_by_role("button", name="Answer").first.click()
    answer(page, q1=WRONG)
    assert page.get_by_role("radio", name="nothing").is_checked()
    assert page.get_by_role("textbox").input_value() == "half a sen"


def test_answers_of_earlier_are_there_from_the_start(ask):
    page = ask(TURN, CHANGES, states={"q1": RIGHT})
    assert said(page) == "✓ Right. R(12 − 7)." and page.get_by_role("radio", name="by 12θ").is_disabled()
    assert page.get_by_role("radio", name="by 5θ").is_checked()
    assert page.evaluate("() => document.activeElement.tagName") == "BODY", "nobody's focus is moved"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [800, 390])
def test_it_reads_well(ask, scheme, width):
    page = ask(
        TURN,
        FREE,
        CHANGES,
        states={"q1": WRONG, "q2": {**RIGHT, "choice": "all"}},
        color_scheme=scheme,
        viewport={"width": width, "height": 900},
    )
    page.locator("summary").press("Enter")
    found = page.evaluate(CONTRAST.replace("'.ta *'", "'.ta-ask *'"))
    assert len(found) > 10 and not [f for f in found if f[0] < 4.5 or f[2] < 13]
    assert page.locator(".ta-ask").get_attribute("data-theme") == scheme
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    targets = ".ta-ask :is(.ta-ask-option, button, summary, input[type=text])"
    sizes = page.evaluate(
        "(which) => [...document.querySelectorAll(which)].filter((e) => e.getClientRects().length)"
        ".map((e) => Object.values(e.getBoundingClientRect().toJSON()).slice(2, 4))",
        targets,
    )
    assert len(sizes) == 9 and all(min(size) >= 24 for size in sizes)
    for _ in range(4):
        page.keyboard.press("Shift+Tab")
        style, thick = page.evaluate(
            "() => { const s = getComputedStyle(document.activeElement);"
            " return [s.outlineStyle, parseFloat(s.outlineWidth)]; }"
        )
        assert style != "none" and thick >= 2


def test_the_plain_question_gives_way_and_cleanup_leaves_nothing(ask):
    page = ask(TURN, around='<p data-ask="t1">plain</p><p data-ask="t2">another</p>')
    assert page.get_by_text("plain").is_hidden() and page.get_by_text("another").is_visible()
    page.get_by_role("radio", name="by 5θ").check()
    page.get_by_role("button").click()
    assert page.evaluate("() => held.media > 0 && held.observers > 0"), "the counting counts nothing"
    page.evaluate("() => cleanup()")
    assert page.get_by_text("plain").is_visible()
    page.wait_for_timeout(600)
    assert page.evaluate("() => Object.values(model.listeners).every((list) => list.length === 0)")
    assert page.evaluate("() => [held.media, held.observers, document.querySelectorAll('.ta-ask').length]") == [0, 0, 0]


@pytest.mark.parametrize("place, name, light, dark", THEMES, ids=["VS Code", "high contrast", "Colab"])
def test_it_takes_the_theme_of_vs_code_and_colab(ask, place, name, light, dark):
    for system, word, want in (("dark", light, "light"), ("light", dark, "dark")):
        page = ask(TURN, color_scheme=system)
        page.evaluate("([place, name, word]) => document[place].setAttribute(name, word)", [place, name, word])
        page.locator(f".ta-ask[data-theme={want}]").wait_for()
