"""Predictions in a real JupyterLab: the waiting result appears by itself, and a page without a kernel reads as text."""

import json

import nbformat
import pytest

from tests.course.units_folder import write

from .lab import open_notebook, run_all, shut_down_kernel, start_lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = {
    "predict-rope-p2": 'from anatomy import predict, reveal, quiz\npredict("rope.p2")',
    "between": "\n".join(f"# line {i}" for i in range(80)),
    "reveal-rope-p2": 'reveal("rope.p2", lambda: f"{3 * 14}", "So it is.", answer="ruins back")',
    "quiz": 'quiz("06-rope")',
}


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A notebook in its unit's folder, next to a small course; results wait for predictions."""
    monkeypatch.setenv("ANATOMY_ASSETS", str(write(tmp_path / "assets")))
    monkeypatch.delenv("ANATOMY_RUN_ALL", raising=False)
    path = tmp_path / "root" / "06-rope" / "06-rope.ipynb"
    path.parent.mkdir(parents=True)
    cells = [nbformat.v4.new_code_cell(source, id=name) for name, source in CELLS.items()]
    nbformat.write(
        nbformat.v4.new_notebook(
            cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        ),
        path,
    )
    return path


def cell(page, name):
    found = page.locator(".jp-Notebook .jp-Cell").nth(list(CELLS).index(name))
    found.scroll_into_view_if_needed()
    return found


def save(page):
    page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save') }")


def test_predict_then_see_and_come_back_the_next_day(browser, book):
    with start_lab(book.parents[1]) as url:
        page = browser.new_context(viewport={"width": 1200, "height": 800}).new_page()
        open_notebook(page, url, "06-rope/06-rope.ipynb")
        run_all(page)
        cell(page, "reveal-rope-p2").get_by_text("This result waits for your prediction.").wait_for(timeout=60_000)
        cell(page, "reveal-rope-p2").get_by_role("link", name="Go to the question").click()
        asked = cell(page, "predict-rope-p2")
        asked.get_by_role("radio", name="rescues <all>").wait_for()
        assert asked.locator(".ta-ask-plain").is_hidden(), "the question would stand there twice"
        asked.get_by_role("radio", name="rescues <all>").focus()
        for key in ("Space", "ArrowDown", "ArrowUp", "Tab", "Enter"):
            page.keyboard.press(key)
        asked.locator(".ta-ask").get_by_text("The result is there now.").wait_for()
        assert asked.get_by_role("radio", name="rescues <all>").is_disabled()
        asked.get_by_role("link", name="Go to the result").click()
        result = page.locator(".jp-Notebook .jp-Cell").nth(list(CELLS).index("reveal-rope-p2"))
        result.get_by_text("It came out differently.").wait_for()
        page.wait_for_function(
            "(e) => { const y = e.getBoundingClientRect().top; return y >= 0 && y < innerHeight }",
            arg=result.get_by_text("It came out differently.").element_handle(),
        )
        assert "42" in result.inner_text() and "waits" not in result.inner_text()

        save(page)
        page.reload()  # the kernel keeps running, and so do the controls
        cell(page, "quiz").get_by_role("radio", name="by 5θ").wait_for(timeout=60_000)
        cell(page, "quiz").get_by_role("radio", name="by 5θ").press("Space")
        page.keyboard.press("Enter")
        cell(page, "quiz").locator(".ta-ask").get_by_text("R(12 − 7).").wait_for()
        save(page)
        shut_down_kernel(page)
        page.context.close()

        page = browser.new_context(viewport={"width": 1200, "height": 800}).new_page()
        open_notebook(page, url, "06-rope/06-rope.ipynb")
        cell(page, "quiz").get_by_text("Which turn is left?").wait_for()
        # After a reload JupyterLab no longer knows which output to redraw: this answer was given after one.
        cell(page, "quiz").get_by_text("To answer, run this cell.").wait_for()
        page.wait_for_timeout(1500)  # by now JupyterLab has looked for the widgets of the earlier session
        kept = cell(page, "predict-rope-p2")
        assert kept.locator("li strong", has_text="rescues <all>").is_visible() and "Kept:" in kept.inner_text()
        assert cell(page, "predict-rope-p2").get_by_text("What does PI do?").is_visible()
        assert page.get_by_text("Error displaying widget").filter(visible=True).count() == 0
        assert "It came out differently." in cell(page, "reveal-rope-p2").inner_text()
        shut_down_kernel(page)
        page.context.close()
    saved = json.loads(book.read_text(encoding="utf-8"))
    assert "widgets" not in saved["metadata"]
