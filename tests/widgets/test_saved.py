"""A page written by save_html works from a file without a network and reads well: light, dark, wide, on a phone."""

from contextlib import contextmanager

import pytest

from .axe import violations
from .cases import CASES
from .measuring import CONTRAST
from .page import find, settle

pytestmark = pytest.mark.browser

SIZES = {"wide": {"width": 900, "height": 900}, "phone": {"width": 390, "height": 844}}
LEAST_CONTRAST, LETTER = 4.5, 11


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_saved_page_works_and_reads_well(pages, saved, name, scheme):
    """Reports all problems of one widget's pages in one theme together."""
    found = {}
    with opened(pages, saved(name, stubs=True), scheme, "wide") as page:
        found["stubs: notice"] = [] if page.locator(".ta-notice").is_visible() else ["it is not in sight"]
        found["stubs: letters and theme"] = hard_to_read(page, scheme)
    with opened(pages, saved(name), scheme, "wide") as page:
        found["letters and theme"] = hard_to_read(page, scheme)
        found["axe, wide"] = violations(page)
        found["a control"] = dead(page, CASES[name].controls[0])
    with opened(pages, saved(name), scheme, "phone") as page:
        found["axe, phone"] = violations(page)
    wrong = [f"{what}: {line}" for what, lines in found.items() for line in lines]
    assert not wrong, f"{name}, {scheme}\n" + "\n".join(wrong)


@contextmanager
def opened(pages, path, scheme, size):
    """The page; fails if it requests anything else."""
    asked = []
    note = lambda request: asked.append(request.url)
    with pages.page(SIZES[size], color_scheme=scheme, offline=True) as page:
        page.on("request", note)
        page.goto(path.as_uri())
        page.wait_for_selector(".ta .ta-svg:visible")
        settle(page)
        yield page
        page.remove_listener("request", note)
    assert asked == [path.as_uri()]


def hard_to_read(page, scheme):
    """Letters with too little contrast or size, and a theme that differs from the system's."""
    letters = page.evaluate(CONTRAST)
    lines = [f"“{text}” has contrast {ratio:.2f} and {px} px" for ratio, text, px in letters if _bad(ratio, px)]
    theme = page.locator(".ta").get_attribute("data-theme")
    return (
        lines + ([f"the theme is {theme}"] if theme != scheme else []) + ([] if len(letters) > 10 else ["no letters"])
    )


def _bad(ratio, px):
    return ratio < LEAST_CONTRAST or px < LETTER


def dead(page, control):
    """A sentence if a key on the control does not change the picture."""
    role, label, _, key = control[:4]
    before = page.locator(".ta").screenshot()
    find(page, role, label).press(key)
    settle(page)
    page.evaluate("() => document.activeElement.blur()")
    return [f"{key} on “{label}” changes nothing"] if page.locator(".ta").screenshot() == before else []
