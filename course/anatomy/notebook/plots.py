"""Plotting style of the course: Okabe–Ito colors with line styles, legible in light and dark themes."""

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib as mpl
from cycler import cycler

from .. import figures
from ..system.labels import label
from ..system.translation import PICTURE, said

BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, GRAY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
    "#777777",
)
STYLE = {
    "figure.figsize": (7.0, 3.2),
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "font.size": 10,
    "axes.titlesize": 11,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "axes.prop_cycle": cycler(color=[BLUE, ORANGE, GREEN, RED, PURPLE, SKY, GRAY])
    + cycler(linestyle=["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1))]),
}


def use_style() -> None:
    """Applies the course's style to the whole notebook, and shows its figures in the colors of the page's theme.

    Draw on a white background: ``anatomy.figures`` makes it dark on dark pages.
    """
    mpl.rcParams.update(STYLE)
    figures.follow_theme()


@contextmanager
def described(alt: str, **values: object) -> Iterator[None]:
    """Shows the current figure with alternative text and, folded up, with its numbers as a table.

    Use as ``with described("Loss falls from 3.1 to 0.2."): plt.plot(...)``. Pass computed values by name, so that the
    sentence can be translated: ``described("Loss falls to {last:.1f}.", last=loss)``.
    """
    import matplotlib.pyplot as plt
    from IPython.display import display

    yield
    data, metadata = figures.bundle(plt.gcf(), _filled(said(PICTURE, alt), values))
    plt.close()
    display(data, raw=True, metadata=metadata)


def _filled(text: str, values: dict[str, object]) -> str:
    said = {name: label(value) if isinstance(value, str) else value for name, value in values.items()}
    return text.format(**said) if values else text
