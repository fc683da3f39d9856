"""axe-core finds no violation in any widget, the class report or the feedback page (test_saved.py: or a saved page).

It checks each in light and in dark, on a wide page and on a phone; widgets also in the states that show more: a notice,
a failed check, an answered question, the crowded ones. Ink on an SVG, which axe cannot judge, is measured in
test_saved.py, sizes in test_room.py.
"""

import pytest

from ..grading import made_pages
from .axe import NOT_ON_STAGE, passed, violations
from .cases import CASES
from .page import settle
from .stages import CALM, set_state

pytestmark = pytest.mark.browser

EACH = pytest.mark.parametrize("name", CASES)
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])
SIZES = {"wide": (900, 900), "phone": (390, 844)}


def _options(size, scheme):
    width, height = SIZES[size]
    return {"viewport": {"width": width, "height": height}, "color_scheme": scheme}


@EACH
@SCHEMES
@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_found_in_a_widget(stages, name, scheme, size):
    case = CASES[name]
    found = {}
    with stages.showing(case.usual, CALM, **_options(size, scheme)) as page:

        def look(state):
            settle(page)
            if lines := violations(page, ".ta", NOT_ON_STAGE):
                found[state] = lines

        look("at first")
        answers = page.locator(".ta-asks button")
        if answers.count():
            answers.first.click()
            look("a question is answered")
        set_state(page, {"notice": "Showing the reference.", "mistake": "attention.softmax: rows must sum to 1"})
        look("with a notice and a failed check")
        if case.crowded[-1]:
            set_state(page, case.crowded[-1])
            look(f"crowded: {case.crowded[-1]}")
    assert not found, _told(found)


def test_landmarks_of_two_widgets_have_different_names(stages):
    with stages.showing(CASES["MixExplorer"].usual) as page:
        other = page.locator(".ta").evaluate("(e) => e.outerHTML")
    with stages.showing(CASES["RopeExplorer"].usual) as page:
        page.locator("#place").evaluate("(e, other) => e.insertAdjacentHTML('beforeend', other)", other)
        assert page.get_by_role("region", name="What to try").count() == 2
        assert not [line for line in violations(page, "#place") if line.startswith("landmark")]


@pytest.mark.parametrize("kind", ["report", "feedback"])
@SCHEMES
@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_found_in_pages_of_a_class(pages, tmp_path, kind, scheme, size):
    html = made_pages.report_page(tmp_path) if kind == "report" else made_pages.feedback_page()
    with pages.page(**_options(size, scheme)) as page:
        page.set_content(html)
        page.evaluate("() => document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        found = violations(page)
    assert not found, _told({f"the {kind}": found})


SPOILS = {
    "label": "document.querySelector('.ta label[for]').remove()",
    "color-contrast": "document.querySelector('.ta-title').style.color = '#bbb'",
    "target-size": """document.querySelector('.ta').append(...[0, 1, 2].map(() => Object.assign(
      document.createElement('button'), {textContent: 'x', style: 'width: 12px; height: 12px; padding: 0'})))""",
    "svg-img-alt": """(() => { const whole = document.querySelector('.ta-svg').cloneNode();
      whole.setAttribute('role', 'img'); whole.removeAttribute('aria-label');
      document.querySelector('.ta').append(whole); })()""",
    "aria-valid-attr-value": "document.querySelector('.ta input').setAttribute('aria-live', 'now')",
}


@pytest.mark.parametrize("rule", SPOILS)
def test_what_is_spoiled_is_found(stages, rule):
    with stages.showing(CASES["RopeExplorer"].make(more=True), CALM) as page:
        page.evaluate(f"() => {{ {SPOILS[rule]} }}")
        found = violations(page, ".ta", NOT_ON_STAGE)
    assert [line.split(" ×")[0] for line in found] == [rule]


def test_the_rules_that_matter_here_are_asked(stages):
    with stages.showing(CASES["RopeExplorer"].usual) as page:
        assert {"color-contrast", "label", "target-size", "aria-allowed-attr"} <= passed(page)


def _told(found):
    return "\n".join(["", *(f"{state}:\n  " + "\n  ".join(lines) for state, lines in found.items())])
