"""A page written by save_html works from a file without a network and reads well: light, dark, wide, on a phone."""

import io
from contextlib import contextmanager

import numpy as np
import pytest
from PIL import Image

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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_scripts_the_picture_lies_on_the_page_as_if_drawn_for_it(pages, saved, scheme):
    """Its margin has the page's color, in the dark too, and blue stays blue."""
    with pages.page(SIZES["wide"], color_scheme=scheme, java_script_enabled=False) as page:
        page.goto(saved("ActivationExplorer").as_uri())
        page.wait_for_selector("#widget > img")
        with Image.open(io.BytesIO(page.screenshot())) as shot:
            box = page.locator("#widget > img").bounding_box()
            inside = shot.convert("RGB").crop((box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]))
            paper = shot.convert("RGB").getpixel((1, 1))
    colors = np.asarray(inside).astype(int)
    assert np.abs(colors[1, 1] - paper).max() <= 1
    bluer = colors[..., 2] - colors[..., 0]
    assert bluer.max() > 100 and bluer.min() > -100


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
