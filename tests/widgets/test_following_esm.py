"""The check's message in the page: the banner follows its trait, is above the picture, and works in both themes."""

import pytest

from .cases import CASES
from .measuring import CONTRAST
from .page import settle

pytestmark = pytest.mark.browser

TOLD = ("Your relu, and what its check says: " + "Negative inputs come through. " * 9).strip()
ALSO = "Your gelu, and what its check says: The factor is missing."


@pytest.mark.parametrize("name", CASES)
def test_the_banner_follows_the_trait(stage, name):
    page = stage(CASES[name].usual, viewport={"width": 600, "height": 900})
    banner = page.locator(".ta-mistake")
    assert banner.is_hidden() and page.locator(".ta-notice").is_hidden()
    plain = page.locator(".ta").screenshot()
    shots = []
    for light in ("true", "false"):
        page.evaluate("(light) => { document.body.dataset.jpThemeLight = light }", light)
        page.evaluate("(text) => model.set('mistake', text)", f"{TOLD}\n{ALSO}")
        settle(page)
        assert banner.is_visible() and page.locator(".ta-notice").is_hidden()
        assert banner.locator("p").all_text_contents() == [TOLD, ALSO]
        assert page.get_by_role("note").text_content() == TOLD + ALSO
        told = [found for found in page.evaluate(CONTRAST) if found[1].startswith(("Your relu", "Your gelu"))]
        assert len(told) == 2 and all(ratio >= 4.5 and size >= 12 for ratio, _, size in told)
        box, picture = banner.bounding_box(), page.locator(".ta-svg:visible").first.bounding_box()
        assert box["y"] + box["height"] <= picture["y"] and box["x"] + box["width"] <= 600
        shots.append(banner.screenshot())
    assert shots[0] != shots[1]
    page.evaluate("() => { model.set('mistake', ''); document.body.dataset.jpThemeLight = 'true' }")
    settle(page)
    assert banner.is_hidden() and page.locator(".ta").screenshot() == plain


def test_a_mark_stands_before_each_mistake(stage):
    """Color must not be the only sign."""
    page = stage(CASES["MixExplorer"].usual)
    page.evaluate("(text) => model.set('mistake', text)", f"{TOLD}\n{ALSO}")
    content = "(all) => all.map((e) => getComputedStyle(e, '::before').content)"
    assert page.locator(".ta-mistake p").evaluate_all(content) == ['"✗"', '"✗"']
