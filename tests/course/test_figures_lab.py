"""Figures in a real JupyterLab: both themes, for a learner's own plot too, and the keyboard inside the table."""

import io

import pytest
from anatomy.figures.themes import DARK, LIGHT
from matplotlib.colors import to_hex
from PIL import Image

from tests.widgets.lab import open_notebook, run_all, shut_down_kernel, start_lab, write_notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = (
    "import matplotlib.pyplot as plt\nfrom anatomy.notebook.plots import described, use_style\nuse_style()",
    'with described("a rising line"):\n    plt.plot(range(40), label="mine"), plt.xlabel("step"), plt.legend()',
    'plt.plot([1, 2], [2, 1], label="a learner\'s own"); plt.legend();',
)


def shade(picture):
    """The background color, near the picture's corner."""
    shot = Image.open(io.BytesIO(picture.screenshot())).convert("RGB")
    return to_hex([v / 255 for v in shot.getpixel((3, 3))])


def test_figures_follow_jupyterlab_and_not_the_system(browser, tmp_path, monkeypatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)  # as a learner's kernel is started
    write_notebook(tmp_path / "figures.ipynb", *CELLS)
    with start_lab(tmp_path) as url:
        page = browser.new_context(viewport={"width": 1000, "height": 1000}, color_scheme="dark").new_page()
        open_notebook(page, url, "figures.ipynb")
        run_all(page)
        pictures = page.locator(".jp-OutputArea-output .ta-figure img")
        pictures.nth(1).wait_for(timeout=60_000)
        assert [pictures.nth(i).get_attribute("alt") for i in (0, 1)] == [
            "a rising line",
            "A plot. Values. Columns: place, a learner's own.",
        ]
        assert page.locator(".jp-OutputArea-output img").count() == 2, "no figure stands there twice"
        for theme, paper in (("JupyterLab Light", LIGHT), ("JupyterLab Dark", DARK)):
            page.evaluate(
                "async (theme) => { await window.jupyterapp.commands.execute('apputils:change-theme', { theme }) }",
                theme,
            )
            page.wait_for_selector(f'body[data-jp-theme-name="{theme}"]', state="attached")
            page.wait_for_timeout(500)
            page.screenshot(path=tmp_path / f"{theme}.png")
            assert [shade(pictures.nth(i)) for i in (0, 1)] == [paper, paper], theme

        summary = page.get_by_text("The numbers of this figure").first
        summary.focus()
        page.keyboard.press("Enter")
        numbers = page.get_by_role("region", name="The numbers of this figure")
        numbers.wait_for()
        page.keyboard.press("Tab")
        page.keyboard.press("End")
        page.wait_for_function("() => document.querySelector('.ta-numbers').scrollTop > 0")
        assert numbers.evaluate("(box) => document.activeElement === box"), "JupyterLab took the key"
        page.screenshot(path=tmp_path / "numbers.png")
        shut_down_kernel(page)
        page.context.close()
