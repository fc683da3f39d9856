"""Tier 3: all widgets in a real JupyterLab, operated by keyboard while the notebook is in command mode."""

import pytest
from playwright.sync_api import TimeoutError

from autograder import ROOT
from tests.widgets.lab import open_notebook, run_all, shut_down_kernel, wait_until_run, write_notebook
from tests.widgets.page import find

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("lab")]

START = f"""import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.widgets.cases import CASES"""
WRONG_OUTPUT = "[data-mime-type='application/vnd.jupyter.stderr'], [data-mime-type='application/vnd.jupyter.error']"


def point_at(page, area, root, heard):
    """Points at the area until the readout says something else, as a hand does when the picture has moved away.

    Each try goes elsewhere: what the keys chose last may be what lies in the middle.
    """
    says_more = "([e, text]) => e.dataset.peek && e.querySelector('.ta-readout').textContent !== text"
    for attempt in range(12):
        box, part = area.bounding_box(), (1 / 2, 1 / 4, 3 / 4)[attempt % 3]
        area.hover(position={"x": part * box["width"], "y": part * box["height"]})
        try:
            page.wait_for_function(says_more, arg=[root.element_handle(), heard], timeout=5_000)
            return
        except TimeoutError:
            page.mouse.move(2, 2)
    raise AssertionError(f"pointing at it changes nothing in the readout: {heard}")


def test_widgets_live_in_jupyterlab(page, lab, course_copy):
    from tests.widgets.cases import CASES  # here, so that tests of a single unit import no widget

    write_notebook(course_copy / "all.ipynb", START, *(f"CASES[{name!r}].make()" for name in CASES))
    open_notebook(page, lab, "all.ipynb")
    run_all(page)
    wait_until_run(page)  # later output of other cells would move a widget away from the pointer
    for i, case in enumerate(CASES.values(), 1):
        cell = page.locator(".jp-Notebook .jp-CodeCell").nth(i)
        cell.scroll_into_view_if_needed()
        root = cell.locator(".ta")
        root.wait_for()
        before = root.get_attribute("data-key")
        role, name, _, key = case.controls[0][:4]
        find(root, role, name).press(key)
        page.wait_for_function("([e, key]) => e.dataset.key !== key", arg=[root.element_handle(), before])
        # In command mode, JupyterLab would otherwise use an arrow key to select another cell.
        active = page.locator(".jp-Notebook .jp-Cell.jp-mod-active")
        holds_focus = "(e) => e.contains(document.activeElement)"
        assert active.evaluate(holds_focus)
        for area in root.locator(".ta-area:visible").all():
            heard = root.locator(".ta-readout").text_content()
            point_at(page, area, root, heard)
            page.mouse.move(2, 2)
            area.focus()
            for pressed in ("ArrowDown", "ArrowRight", "ArrowUp"):
                page.keyboard.press(pressed)
                assert active.evaluate(holds_focus) and area.evaluate("(e) => e === document.activeElement")
            page.keyboard.press("Escape")
    assert page.locator(WRONG_OUTPUT).count() == 0
    for theme in ("Dark", "Light"):
        page.evaluate(
            "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", f"JupyterLab {theme}"
        )
        page.wait_for_function("(word) => document.querySelector('.ta').dataset.theme === word", arg=theme.lower())
    assert page.locator(".ta-next-day:visible").count() == 0
    page.wait_for_timeout(4_000)  # by now the pictures show the last state
    page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save') }")
    shut_down_kernel(page)
    stays_the_next_day(page, lab, CASES)


def stays_the_next_day(page, lab, cases):
    """Reopened without the earlier kernel, each widget shows its last picture, and no error."""
    open_notebook(page, lab, "all.ipynb")
    for i, name in enumerate(cases, 1):
        cell = page.locator(".jp-Notebook .jp-CodeCell").nth(i)
        cell.scroll_into_view_if_needed()
        picture = cell.locator(".ta-next-day img:visible")
        picture.wait_for()
        assert len(picture.get_attribute("alt")) > 100 and picture.bounding_box()["width"] > 500, name
        assert cell.get_by_text("Run this cell, and it moves.").is_visible()
        assert cell.get_by_text("Error displaying widget").filter(visible=True).count() == 0, name
    shut_down_kernel(page)


WRONG = """from anatomy import check
from anatomy.widgets import MixExplorer

def weighted_average(values, weights):
    return weights @ values"""
RIGHT = WRONG.split("\n\n")[1] + " / weights.sum()"
CHECK = "check('start.weighted_average', weighted_average)"


def test_a_check_changes_the_picture_of_another_cell(page, lab, course_copy):
    """A wrong function is drawn with its mistake; once the check passes, the picture updates without its cell."""
    write_notebook(course_copy / "mix.ipynb", WRONG, "MixExplorer(weighted_average)", RIGHT, CHECK)
    open_notebook(page, lab, "mix.ipynb")
    for cell in (0, 1):
        run_cell(page, cell)
    shown = page.locator(".jp-Notebook .jp-CodeCell").nth(1)
    banner, root = shown.locator(".ta-mistake"), shown.locator(".ta")
    banner.get_by_text("Divide it by the sum of the weights.").wait_for()
    prompt, before = shown.locator(".jp-InputPrompt").text_content(), root.get_attribute("data-key")
    for cell in (2, 3):
        run_cell(page, cell)
    banner.wait_for(state="hidden")
    page.wait_for_function("([e, key]) => e.dataset.key !== key", arg=[root.element_handle(), before])
    assert shown.locator(".jp-InputPrompt").text_content() == prompt
    last = page.locator(".jp-Notebook .jp-CodeCell").nth(3)
    assert "passed" in last.text_content()
    assert page.locator(WRONG_OUTPUT).count() == 0
    shut_down_kernel(page)


def run_cell(page, index):
    """Starts one cell; the kernel runs them in order."""
    page.evaluate(
        """(index) => {
      window.jupyterapp.shell.currentWidget.content.activeCellIndex = index;
      return window.jupyterapp.commands.execute('notebook:run-cell');
    }""",
        index,
    )
