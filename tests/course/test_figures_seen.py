"""Figures in Chromium: contrast of everything drawn, in both themes, and whose theme they follow."""

import io
import json

import pytest
from anatomy.figures import Table, bundle, page
from anatomy.figures.themes import DARK, LIGHT, contrast, mixed
from anatomy.notebook import plots
from matplotlib.colors import to_hex
from PIL import Image

from autograder.recording import figures as drawn

pytestmark = pytest.mark.browser

# One line for each kind and color of shape: its kind, color and opacity. Leaves out bands and grids, which are behind
# the series and less than half opaque, and the cells of color bars, which are data.
DRAWN = """() => {
  const found = new Set();
  const shapes = document.querySelectorAll('text, use, path:not(defs path), pattern rect, pattern path');
  for (const node of shapes) {
    if (node.closest('[id^=QuadMesh], clipPath')) continue;
    const style = getComputedStyle(node);
    const names = node.tagName === 'text' ? ['fill'] : ['fill', 'stroke'];
    for (const name of names) {
      const color = /^rgb\\((\\d+), (\\d+), (\\d+)\\)$/.exec(style[name]);
      if (!color) continue;
      const opacity = Number(style.opacity) * Number(style[`${name}Opacity`]);
      found.add([node.tagName, ...color.slice(1), opacity].join(' '));
    }
  }
  return [...found];
}"""
LIVE = "bars, lines, marks"


def live():
    """A figure with all that the course's figures use: lines of all colors, bars, marks, an image, colored text."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    with mpl.rc_context(plots.STYLE):
        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9, 3))
        for i in range(7):
            left.plot([0, 1, 2], [i, i + 1, i], label=f"{i}")
        left.plot([0, 1], [2, 2], "k*"), left.axhline(3, color="gray"), left.legend()
        left.text(1, 7, "orange", color=plots.ORANGE), left.text(1, 6, "yellow", color=plots.YELLOW)
        middle.bar([0, 1], [1, 2], color=[plots.SKY, plots.YELLOW], hatch="//")
        middle.fill_between([0, 1], [0, 0], [1, 1], alpha=0.2)
        figure.colorbar(right.imshow([[0, 1], [2, 3]], cmap="Greys"))
        html = bundle(figure, LIVE)[0]["text/html"]
        plt.close(figure)
    return html


def picture(name):
    """SVG of a recorded figure, or of the live one."""
    if name != LIVE:
        return (drawn.FIGURES / f"{name}.svg").read_bytes()
    import base64
    import re

    return base64.b64decode(re.search(r"base64,([^\"]+)", live())[1])


@pytest.mark.parametrize("scheme, paper", [("light", LIGHT), ("dark", DARK)])
@pytest.mark.parametrize("name", ["bottleneck", "gradient_flow", "norm_bandwidth", "leak", "loss_spike", LIVE])
def test_all_that_is_drawn_is_seen(browser, tmp_path, name, scheme, paper):
    path = tmp_path / "figure.svg"
    path.write_bytes(picture(name))
    tab = browser.new_page(color_scheme=scheme)
    tab.goto(path.as_uri())
    kinds = [line.split() for line in tab.evaluate(DRAWN)]
    tab.close()
    weak, papers, texts = [], 0, 0
    for tag, red, green, blue, opacity in kinds:
        color = to_hex([int(v) / 255 for v in (red, green, blue)])
        papers += color == paper
        if color == paper or float(opacity) < 0.5:
            continue
        ratio = contrast(mixed(color, paper, 1 - float(opacity)), paper)
        texts += tag == "text"
        if ratio < (4.5 if tag == "text" else 3):
            weak.append((tag, color, opacity, round(ratio, 2)))
    assert not weak, weak
    assert papers and texts and len(kinds) > 6, "nothing was measured"


def shade(tab):
    """The first picture's background color, near its corner."""
    shot = Image.open(io.BytesIO(tab.locator(".ta-figure img").first.screenshot())).convert("RGB")
    return to_hex([v / 255 for v in shot.getpixel((3, 3))])


@pytest.mark.parametrize(
    "body, scheme, paper",
    [
        ('data-jp-theme-light="true"', "dark", LIGHT),  # JupyterLab's theme counts, not the system's
        ('data-jp-theme-light="false"', "light", DARK),
        ('data-vscode-theme-kind="vscode-light"', "dark", LIGHT),
        ('data-vscode-theme-kind="vscode-high-contrast"', "light", DARK),
        ("", "light", LIGHT),
        ("", "dark", DARK),
    ],
)
def test_the_paper_is_that_of_the_page(browser, body, scheme, paper):
    tab = browser.new_page(color_scheme=scheme)
    tab.set_content(f"<body {body}>{live()}")
    assert shade(tab) == paper
    tab.evaluate("() => { document.body.dataset.jpThemeLight = 'false' }")
    assert shade(tab) == DARK, "it changes with the theme, without drawing again"
    tab.close()


@pytest.mark.parametrize("theme, scheme, paper", [("light", "dark", LIGHT), ("dark", "light", DARK)])
def test_the_paper_is_that_of_colab(browser, theme, scheme, paper):
    tab = browser.new_page(color_scheme=scheme)
    tab.set_content(f'<html theme="{theme}"><body>{live()}')
    assert shade(tab) == paper
    tab.close()


@pytest.mark.parametrize("width", [390, 820])
def test_picture_and_table_fit_the_page(browser, width):
    tables = json.loads((drawn.FIGURES / "tables.json").read_text(encoding="utf-8"))["gradient_flow"]
    tab = browser.new_page(viewport={"width": width, "height": 800})
    tab.set_content(page(picture("gradient_flow"), "alt", [Table.read(t) for t in tables], "caption"))
    height = lambda: tab.locator("figure").bounding_box()["height"]
    folded = height()
    tab.get_by_text("The numbers of this figure").click()
    assert height() > folded + 100
    assert tab.evaluate("() => document.documentElement.scrollWidth") <= width
    assert tab.get_by_role("table").count() == len(tables) and tab.get_by_role("img", name="alt").count() == 1
    assert tab.get_by_role("table").first.get_by_role("columnheader").count() == len(tables[0]["columns"])
    assert tab.get_by_role("table").first.get_by_role("rowheader").count() == len(tables[0]["rows"])
    tab.close()
