"""Code that the widgets' still pictures share: Okabe–Ito colors, always together with a line style or a letter.

Matplotlib is imported when the first picture is drawn: the widget on the page needs none, and neither does a check.
"""

import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure as Figure
    from matplotlib.patches import Rectangle
else:
    Axes = Colormap = Figure = Rectangle = Any  # only annotations use them

BLUE, VERMILLION, GRAY = "#0072B2", "#D55E00", "#6b6b6b"
DASHES = (0, (4, 3))


def new_figure(width: float, height: float) -> Figure:
    """An empty figure with that size in inches; made without pyplot, so that no figure stays open unnoticed."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def diverging() -> Colormap:
    """Colors from the smallest number, vermillion, over white to the largest, blue."""
    return _colors("vermillion-blue", VERMILLION, "#ffffff", BLUE)


def sequential() -> Colormap:
    """Colors from the smallest number, white, to the largest, blue."""
    return _colors("white-blue", "#ffffff", BLUE)


def _colors(name, *colors):
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(name, colors)


def rectangle(corner: tuple[float, float], width: float, height: float, **style: Any) -> Rectangle:
    """A rectangle to add to axes. style: Matplotlib's own words for its edge and face."""
    from matplotlib.patches import Rectangle

    return Rectangle(corner, width, height, **style)


def above(figure: Figure, text: str) -> Figure:
    """Adds these lines above the figure, each wrapped and marked with a ✗; the picture keeps its size."""
    if not text or not _has_letters_of(text):
        return figure
    width, height = figure.get_size_inches()
    lines = [part for line in text.splitlines() for part in textwrap.wrap(f"✗ {line}", int(width * 14))]
    figure.set_size_inches(width, height + 0.19 * len(lines) + 0.08)
    # The text may contain a learner's own words, so a $ in it must not start a formula.
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=9, color="#8a3300", parse_math=False)
    return figure


def _has_letters_of(text: str) -> bool:
    """True if Matplotlib's own font has all its letters; boxes instead of letters would be useless."""
    from matplotlib.font_manager import findfont, get_font

    known = get_font(findfont("DejaVu Sans")).get_charmap()
    return all(ord(letter) in known for letter in text if letter.isprintable())


def plain(axes: Axes, title: str, xlabel: str = "", ylabel: str = "") -> None:
    """Sets title, labels and small ticks."""
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlabel(xlabel, fontsize=9)
    axes.set_ylabel(ylabel, fontsize=9)
    axes.tick_params(labelsize=8)


def number(x: float) -> str:
    """A short number for a description: 0.25, 1.2e-07, 54,410."""
    if x == 0 or 1e-3 <= abs(x) < 1e3:
        return f"{x:.3g}"
    return f"{x:,.0f}" if abs(x) >= 1e3 else f"{x:.1e}"
