"""Tier 3: every widget in a real JupyterLab, moved by the keyboard while the notebook is in command mode."""

from pathlib import Path

import pytest

from .cases import WIDGETS, find
from .lab import open_notebook, run_all, shut_down_kernel, start_lab, write_notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

START = f"""import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import learners
from anatomy.widgets import *"""


def test_widgets_live_in_jupyterlab(browser, tmp_path):
    cells = [f"{widget.__name__}(learners.{fn.__name__})" for widget, (fn, _) in WIDGETS.items()]
    write_notebook(tmp_path / "all.ipynb", START, *cells)
    with start_lab(tmp_path) as url:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        open_notebook(page, url, "all.ipynb")
        run_all(page)
        for i, (_, controls) in enumerate(WIDGETS.values(), 1):
            cell = page.locator(".jp-Notebook .jp-CodeCell").nth(i)
            cell.scroll_into_view_if_needed()
            root = cell.locator(".ta")
            root.wait_for(timeout=60_000)
            before = root.get_attribute("data-key")
            role, name, _, key = controls[0]
            find(root, role, name).press(key)
            page.wait_for_function("([e, key]) => e.dataset.key !== key", arg=[root.element_handle(), before])
            # In command mode the lab would have taken an arrow key to select another cell.
            active = page.locator(".jp-Notebook .jp-Cell.jp-mod-active")
            assert active.evaluate("(e) => e.contains(document.activeElement)")
        wrong = "[data-mime-type='application/vnd.jupyter.stderr'], [data-mime-type='application/vnd.jupyter.error']"
        assert page.locator(wrong).count() == 0
        page.evaluate("() => window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})")
        page.wait_for_function("() => document.querySelector('.ta').dataset.theme === 'dark'")
        shut_down_kernel(page)
        context.close()
