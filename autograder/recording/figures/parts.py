"""Functions shared by the drawings."""

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator


def panels(title: str, *titles: str, width: float = 3.6, height: float = 3.2) -> tuple[Figure, Sequence[Axes]]:
    """(figure, axes) with one panel for each title."""
    figure = Figure(figsize=(width * len(titles), height), layout="constrained")
    axes = figure.subplots(1, len(titles), squeeze=False)[0]
    for ax, text in zip(axes, titles, strict=True):
        ax.set_title(text, fontsize=10)
    figure.suptitle(title)
    return figure, axes


def mean(values: Iterable[float]) -> float:
    """Arithmetic mean."""
    values = list(values)
    return sum(values) / len(values)


def band(
    ax: Axes, x: Sequence[float], runs: Sequence[Sequence[float]], label: str | None = None, **style: Any
) -> Line2D:
    """Mean of several runs as a line, their smallest and largest values as a band behind it."""
    columns = list(zip(*runs, strict=True))
    (line,) = ax.plot(x, [mean(c) for c in columns], label=label, **style)
    ax.fill_between(x, [min(c) for c in columns], [max(c) for c in columns], color=line.get_color(), alpha=0.18, lw=0)
    return line


def spread(values: Sequence[float]) -> list[list[float]]:
    """Errors (below, above) of a mean, in the form that errorbar expects."""
    return [[mean(values) - min(values)], [max(values) - mean(values)]]


def ticks(axis: Axis, values: Iterable[float] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)) -> None:
    """Labels a logarithmic axis with plain numbers at ``values``, without minor ticks."""
    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.10g}"))
    axis.set_minor_locator(NullLocator())


def legend(figure: Figure, axes: Iterable[Axes], columns: int = 4) -> None:
    """Adds one legend below all panels, with each label once."""
    found: dict[str, Any] = {}
    for ax in axes:
        found |= {label: line for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns, fontsize=9)
