"""Widgets in pages of their own, for what looks at all of them: axe, pictures, room, latency."""

import json
from contextlib import contextmanager

from .conftest import STAGE, state_of
from .page import settle

# What moves or blinks by itself, and would give another picture or another color each time.
CALM = """.ta, .ta *, .ta *::before, .ta *::after {
  animation: none !important; transition: none !important; caret-color: transparent !important;
}"""


def html_of(widget, css=""):
    """The bare stage with that widget on it; css comes after the widget's own."""
    return STAGE % {"css": widget._css + css, "state": json.dumps(state_of(widget)), "esm": json.dumps(widget._esm)}


@contextmanager
def on_stage(browser, widget, css="", **options):
    """Page with the widget drawn, closed at the end; options are those of a browser context.

    Raises RuntimeError if the script of the widget raised anything meanwhile.
    """
    context = browser.new_context(**{"viewport": {"width": 820, "height": 900}, "reduced_motion": "reduce", **options})
    try:
        page, errors = context.new_page(), []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.set_content(html_of(widget, css))
        page.wait_for_function("() => window.ready")
        settle(page)
        yield page
    finally:
        context.close()
    if errors:
        raise RuntimeError(f"{type(widget).__name__}: {'; '.join(errors)}")


@contextmanager
def saved(browser, path, **options):
    """Page of a file that save_html wrote, closed at the end."""
    context = browser.new_context(**{"viewport": {"width": 900, "height": 900}, "reduced_motion": "reduce", **options})
    try:
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector(".ta .ta-svg")
        settle(page)
        yield page
    finally:
        context.close()


def set_state(page, state):
    """Sets traits as Python would, and waits for the picture."""
    page.evaluate("(state) => Object.entries(state).forEach(([k, v]) => model.set(k, v))", state)
    settle(page)
