"""Chromium for the widget tests, and pages in it that are reused."""

import functools
from contextlib import ExitStack

import pytest
from anatomy.system.translation import language
from anatomy.widgets.tools import following

from .frames import frozen
from .lab import launched
from .stages import Pages, Stages, state_of


@pytest.fixture(scope="package")
def browser():
    """Chromium, started once for all of these tests: none of them runs its own event loop."""
    with launched() as running:
        yield running


@pytest.fixture(scope="package", autouse=True)
def judged_once():
    """A check of the same functions runs once, not for every widget made of them: that was a third of the time here."""
    judge, verdicts = following._judge, {}

    def once(exercise, given):
        key = language(), exercise, *((target, id(function)) for target, function in given.items())
        if key not in verdicts:
            judge(exercise, given)
            said = {target: following.last_said(target, function) for target, function in given.items()}
            verdicts[key] = given, said  # the functions are kept, so that no other one gets their ids
        elif all(target in given for target in following.records.calls_of(exercise)[0]):
            for target in following.records.calls_of(exercise)[0]:
                following._remember(target, given[target], verdicts[key][1])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(following, "_judge", once)
        yield


@pytest.fixture(scope="package")
def stages(browser):
    """Pages for single widgets: ``with stages.showing(widget) as page``."""
    return Stages(browser)


@pytest.fixture(scope="package")
def pages(browser):
    """Pages for whole documents."""
    return Pages(browser)


@pytest.fixture
def draw(stages):
    """draw(esm, css, state, **options) → page with the script's drawing; the test fails on any JavaScript error."""
    with ExitStack() as open_:
        yield lambda *what, **options: open_.enter_context(
            stages.drawing(*what, **{"viewport": {"width": 900, "height": 800}, **options})
        )


@pytest.fixture
def stage(draw):
    """stage(widget, **options) → page with the widget drawn."""
    return lambda widget, **options: draw(widget._esm, widget._css, state_of(widget), **options)


@pytest.fixture
def moving(stage):
    """moving(widget, **options) → page with the widget drawn, where motion is allowed and frames wait for the test.

    Motion is allowed when the widget stands there: what it shows on load does not begin.
    """

    def open_(widget, reduced_motion="no-preference", **options):
        page = stage(widget, **options)
        page.emulate_media(reduced_motion=reduced_motion)
        return pages.enter_context(frozen(page))

    with ExitStack() as pages:
        yield open_


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """saved(name, stubs=False) → the page that save_html writes of that widget, or of its most crowded state without
    functions; written once."""
    from .cases import CASES  # here, so that a case that fails to import only breaks its own tests

    folder = tmp_path_factory.mktemp("saved")

    @functools.cache
    def path(name, stubs=False):
        case = CASES[name]
        widget = case.stubs(**case.crowded[-1]) if stubs else case.usual
        return widget.save_html(folder / f"{name}-{'stubs' if stubs else 'usual'}.html")

    return path
