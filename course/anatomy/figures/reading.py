"""Reads the numbers of a Matplotlib figure: lines, bars, error bars, bands, dots and images become tables.

A panel becomes one table if its series fit into one: a row for each position on the axis, a column for each series.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, YAxis
from matplotlib.collections import FillBetweenPolyCollection, PathCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from ..system.labels import label
from ..system.translation import N_, _, listed
from .captions import caption, of_columns, of_lines, of_rows
from .tables import MOST_ROWS, Table, joined, number, thinned

MOST_COLUMNS = 13
Key = float | str
BAND, BARS = N_("lowest to highest"), N_("ends of the error bars")  # meanings of the numbers in brackets


@dataclass
class Series:
    """One column: position on the axis → values there, and the ends of a band or an error bar there."""

    name: str
    values: dict[Key, list[float]] = field(default_factory=dict)
    ends: dict[Key, list[float]] = field(default_factory=dict)
    meaning: str = ""  # meaning of the ends

    def add(self, key: Key, value: float, ends: str = "") -> None:
        """Adds a value at a position; with ``ends``, a point of a band or error bar with that meaning."""
        (self.ends if ends else self.values).setdefault(key, []).append(float(value))
        self.meaning = ends or self.meaning

    def keys(self) -> set[Key]:
        """All positions."""
        return {*self.values, *self.ends}

    def header(self, what: str) -> str:
        """Name of its column; ``what`` is the label of the axis of its values."""
        return self.name or (_("band") if not self.values else what or _("value"))

    def cell(self, key: Key) -> str:
        """Text of its cell in a row: ``0.92 (0.9 to 0.95)``; without brackets if the band has no width."""
        reached = [v for v in self.ends.get(key, ()) if not math.isnan(v)]
        low, high = (number(min(reached)), number(max(reached))) if reached else ("", "")
        band = low if low == high else _("{low} to {high}").format(low=low, high=high)
        if key not in self.values:
            return band or joined(())
        value = joined(self.values[key])
        return value if band in ("", value) else f"{value} ({band})"


def tables(figure: Figure) -> list[Table]:
    """Tables of all panels, in order, except color bars."""
    found: list[Table] = []
    labels = _legend(figure)
    for ax in figure.axes:
        if ax.get_visible() and ax.get_label() != "<colorbar>" and ax.name != "3d":  # 3D axes don't keep their numbers
            found += _of_images(ax) or _of_series(ax, labels)
    return found


def _of_series(ax: Axes, labels: dict[tuple[str, str, str], str]) -> list[Table]:
    """Tables of the series of a panel."""
    across = _named(ax.yaxis) and not _named(ax.xaxis)  # rows follow the vertical axis, as in a horizontal bar chart
    along, value = (ax.yaxis, ax.xaxis) if across else (ax.xaxis, ax.yaxis)
    series = _series(ax, across, _places(along), labels)
    header, what = _label(ax, along), _label(ax, value)
    words = _sentences(ax)
    found: list[Table] = []
    for group in _groups(series):
        keys = sorted({k for s in group for k in s.keys()}, key=_order(along))
        kept, thin = thinned(len(keys))
        columns = [header or (_("name") if _named(along) else _("place")), *(s.header(what) for s in group)]
        brackets = dict.fromkeys(_(s.meaning) for s in group if s.meaning)
        said = [_("In brackets: {meanings}.").format(meanings=listed(brackets))] if brackets else []
        said += [of_rows(thin)]
        above = caption(_title(ax), what, header, *said, *words)
        found.append(Table(above, tuple(columns), tuple(_row(keys[i], group) for i in kept)))
        words = []
    return found


def _row(key: Key, group: Sequence[Series]) -> tuple[str, ...]:
    return (key if isinstance(key, str) else number(key), *(s.cell(key) for s in group))


def _groups(series: Sequence[Series]) -> list[list[Series]]:
    """Series grouped by table: all in one if that stays short, else those at the same positions."""
    series = [s for s in series if s.keys()]
    if len({k for s in series for k in s.keys()}) <= MOST_ROWS:
        return _parts(series)
    found: dict[frozenset[Key], list[Series]] = {}
    for s in series:
        found.setdefault(frozenset(s.keys()), []).append(s)
    return [part for group in found.values() for part in _parts(group)]


def _parts(series: list[Series]) -> list[list[Series]]:
    most = MOST_COLUMNS - 1
    return [series[i : i + most] for i in range(0, len(series), most)]


def _series(
    ax: Axes, across: bool, place: Callable[[float], Key], labels: dict[tuple[str, str, str], str]
) -> list[Series]:
    """All series of a panel in drawing order; series with the same name share a column."""
    found: dict[str, Series] = {}

    def add(name: str, x: Iterable[Any], y: Iterable[Any], ends: str = "") -> None:
        mine = found.setdefault(name, Series(name))
        keys, values = (y, x) if across else (x, y)
        for key, v in zip(keys, values, strict=True):
            if not math.isnan(float(key)):
                mine.add(place(float(key)), v, ends)

    drawn: set[int] = set()  # ids of artists that were read as part of a container
    here = _colors_here(ax)
    names = {color: name for color, (name, _) in here.items()}  # for bands, which often have no name
    for whole in ax.containers:
        name = _own(whole.get_label())
        if isinstance(whole, BarContainer):
            drawn |= {id(p) for p in whole.patches}
            _bars(ax, whole, name, add)
            errors = whole.errorbar
            if whole.patches:
                names.setdefault(to_hex(whole.patches[0].get_facecolor()), name)
        else:
            errors = whole if isinstance(whole, ErrorbarContainer) else None
        if errors is not None:
            line, caps, bars = errors.lines
            drawn |= {id(part) for part in (line, *caps, *bars) if part is not None}
            if line is not None:
                name = name or _of_look(line, here, labels)
                add(name, *_points(line))
                names.setdefault(to_hex(line.get_color()), name)
            for bar in bars:
                for segment in bar.get_segments():
                    add(name, segment[:, 0], segment[:, 1], BARS)
    for line in ax.lines:
        if id(line) not in drawn and _has_data(ax, line):
            name = _own(line.get_label()) or _of_look(line, here, labels)
            names.setdefault(to_hex(line.get_color()), name)
            add(name, *_points(line))
    for part in ax.collections:
        if isinstance(part, PathCollection):
            points = np.asarray(np.ma.filled(part.get_offsets(), np.nan))
            add(_own(part.get_label()), points[:, 0], points[:, 1])
        elif isinstance(part, FillBetweenPolyCollection):
            name = _own(part.get_label()) or next((names[c] for c in _faces(part) if c in names), "")
            for path in part.get_paths():
                corners = np.asarray(path.vertices)
                corners = corners[~np.isnan(corners).any(1)]
                add(name, corners[:, 0], corners[:, 1], BAND)
    return list(found.values())


def _bars(ax: Axes, bars: BarContainer, name: str, add: Callable[..., None]) -> None:
    """Adds the lengths of bars at their middles; the parts of a stack are not summed.

    Bars of several series are side by side around whole numbers, and get these as positions.
    """
    across = bars.orientation == "horizontal"
    if across:
        at, lengths = [p.get_y() + p.get_height() / 2 for p in bars.patches], [p.get_width() for p in bars.patches]
    else:
        at, lengths = [p.get_x() + p.get_width() / 2 for p in bars.patches], [p.get_height() for p in bars.patches]
    several = sum(isinstance(c, BarContainer) for c in ax.containers) > 1
    if several and len({round(a) for a in at}) == len(at):
        at = [round(a) for a in at]
    add(name, *((lengths, at) if across else (at, lengths)))


def _has_data(ax: Axes, line: Line2D) -> bool:
    """False for a line across the whole panel (axhline, axvline), and for one that only a legend shows."""
    return line.get_transform() == ax.transData and len(_points(line)[0]) > 0


def _points(line: Line2D) -> tuple[np.ndarray, np.ndarray]:
    """Positions and values of a line as numbers, even if names or dates were given."""
    return np.ravel(np.asarray(line.get_xdata(orig=False))), np.ravel(np.asarray(line.get_ydata(orig=False)))


def _sentences(ax: Axes) -> list[str]:
    """Describes the lines across the panel in words."""
    found: dict[tuple[bool, str], list[float]] = {}
    for line in ax.lines:
        if line.get_transform() == ax.transData:
            continue
        x, y = _points(line)
        if len(x) == 2 and x[0] == x[1]:
            found.setdefault((True, _own(line.get_label())), []).append(float(x[0]))
        elif len(y) == 2 and y[0] == y[1]:
            found.setdefault((False, _own(line.get_label())), []).append(float(y[0]))
    return [of_lines(upright, name, at) for (upright, name), at in found.items()]


def _of_images(ax: Axes) -> list[Table]:
    """A table for each image and mesh: a row for each of its rows, thinned in both directions."""
    arrays = [p.get_array() for p in ax.collections if isinstance(p, QuadMesh)]
    arrays += [image.get_array() for image in ax.images if isinstance(image, AxesImage)]
    found = []
    for array in arrays:
        cells: np.ndarray = np.ma.filled(np.ma.asarray(array, dtype=float), np.nan)
        if cells.ndim != 2:
            continue  # the numbers of a photograph are of no use to a reader
        rows, row_words = thinned(cells.shape[0], 17)
        columns, column_words = thinned(cells.shape[1], MOST_COLUMNS - 1)
        down, right = _places(ax.yaxis), _places(ax.xaxis)
        name = lambda place, i: k if isinstance(k := place(float(i)), str) else number(k)
        header = f"{_label(ax, ax.yaxis) or _('row')} \\ {_label(ax, ax.xaxis) or _('column')}"
        body = (
            (name(down, i), *(number(float(f"{cells[i, j]:.3g}")) for j in columns)) for i in rows
        )  # three digits, because colors show no more
        marks = sum(len(_points(line)[0]) for line in ax.lines if _has_data(ax, line))
        marked = _("{n} cells are marked.").format(n=marks) if marks else ""
        above = caption(_title(ax), _colors(ax), "", of_rows(row_words), of_columns(column_words), marked)
        found.append(Table(above, (header, *(name(right, j) for j in columns)), tuple(body)))
    return found


def _colors(ax: Axes) -> str:
    """Label of the panel's color bar."""
    bars = [bar for i in (*ax.images, *ax.collections) if (bar := getattr(i, "colorbar", None)) is not None]
    return next((label(text) for b in bars if (text := b.ax.get_ylabel() or b.ax.get_xlabel())), "")


def _title(ax: Axes) -> str:
    titles = [ax.get_title(), *(other.get_title() for other in _beside(ax, column=True))]  # maybe above the column
    return next((_one_line(label(t)) for t in titles if t), "")


# -- names -----------------------------------------------------------------------------------------------------------


def _own(text: object) -> str:
    """The label if an author wrote it, else ""; Matplotlib's own labels begin with an underscore."""
    return "" if not isinstance(text, str) or text.startswith("_") else " ".join(label(text).split())


def _look(line: Line2D) -> tuple[str, str, str]:
    return to_hex(line.get_color()), str(line.get_linestyle()), str(line.get_marker())


def _legend(figure: Figure) -> dict[tuple[str, str, str], str]:
    """Look → name, for all named lines: often only one of several seeds, or one of several panels, has the name."""
    found: dict[tuple[str, str, str], str] = {}
    for ax in figure.axes:
        for line in ax.lines:
            if _own(line.get_label()):
                found.setdefault(_look(line), _own(line.get_label()))
        legend = ax.get_legend()
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True) if legend else ():
            if isinstance(handle, Line2D):  # named only in the legend
                found.setdefault(_look(handle), _own(text.get_text()))
    return found


def _of_look(line: Line2D, here: dict[str, tuple[str, str]], labels: dict[tuple[str, str, str], str]) -> str:
    """Name for a line without one: that of another line with the same look, or with the same color in its panel.

    here: color → (name, marker) of the panel's named artists. labels: names of lines in all panels.
    """
    if _look(line) in labels:
        return labels[_look(line)]
    color, _style, marker = _look(line)
    if color in here:
        name, other = here[color]
        if other in ("", marker):
            return name
        return _("{a}, {b}").format(a=name, b=_("dots") if line.get_linestyle() == "None" else _("line"))
    same = {name for (c, _, m), name in labels.items() if (c, m) == (color, marker)}
    return same.pop() if len(same) == 1 else ""


def _faces(part: FillBetweenPolyCollection) -> list[str]:
    """List with the fill color of an area; empty if it is not filled."""
    return [to_hex(color) for color in np.atleast_2d(part.get_facecolor())[:1] if len(color)]


def _colors_here(ax: Axes) -> dict[str, tuple[str, str]]:
    """Color → (name, marker; "" for a band) of the named artists in a panel; the first of each color."""
    found: dict[str, tuple[str, str]] = {}
    for line in ax.lines:
        if _own(line.get_label()):
            found.setdefault(to_hex(line.get_color()), (_own(line.get_label()), _look(line)[2]))
    for part in ax.collections:
        if _own(part.get_label()) and isinstance(part, FillBetweenPolyCollection):
            found |= {color: (_own(part.get_label()), "") for color in _faces(part) if color not in found}
    return found


def _label(ax: Axes, axis: Axis) -> str:
    """Label of an axis; if it has none, that of a neighboring panel with the same axis."""
    of_x = axis is ax.xaxis
    told = [ax]
    if not _named(ax.yaxis):
        told += _beside(ax, of_x, below=of_x)  # panels below, or to the left
        told += [o for o in _beside(ax, not of_x, below=not of_x) if _shares(ax, o, of_x)]
    texts = (o.get_xlabel() if of_x else o.get_ylabel() for o in told)
    return next((_one_line(label(t)) for t in texts if t), "")


def _shares(ax: Axes, other: Axes, of_x: bool) -> bool:
    return (ax.get_shared_x_axes() if of_x else ax.get_shared_y_axes()).joined(ax, other)


def _one_line(text: str) -> str:
    """A title or label of several lines, joined into one line."""
    return ", ".join(part for line in text.splitlines() if (part := " ".join(line.split())))


def _beside(ax: Axes, column: bool, below: bool = False) -> list[Axes]:
    """Panels of the same column (row) above (left of) this one, or if ``below``, below (right of) it; nearest first."""
    mine, other = ("colspan", "rowspan") if column else ("rowspan", "colspan")
    here = ax.get_subplotspec()
    found: list[tuple[int, Axes]] = []
    for a in getattr(ax.get_figure(), "axes", ()):
        spec = a.get_subplotspec()
        if (
            here is None
            or spec is None
            or spec.get_gridspec() is not here.get_gridspec()
            or getattr(spec, mine) != getattr(here, mine)
        ):
            continue
        far = getattr(spec, other).start - getattr(here, other).start
        if (far > 0) if below else (far < 0):
            found.append((abs(far), a))
    return [a for _, a in sorted(found, key=lambda pair: pair[0])]


def _ticks(axis: Axis) -> dict[float, str]:
    """Position → label, for ticks set one by one; equal labels, such as a text's tokens, get their position added."""
    locator = axis.get_major_locator()
    if not isinstance(locator, FixedLocator) and type(locator).__name__ != "StrCategoryLocator":
        return {}
    places = [float(p) for p in locator()]
    texts = [" ".join(label(str(t)).split()) for t in axis.get_major_formatter().format_ticks(places)]
    often = Counter(texts)
    named = (f"{text} ({at:g})" if often[text] > 1 else text for at, text in zip(places, texts, strict=True))
    return {at: text for at, text, plain in zip(places, named, texts, strict=True) if plain}


def _named(axis: Axis) -> bool:
    """True if its tick labels are words, not numbers."""
    return any(any(c.isalpha() for c in text) for text in _ticks(axis).values())


def _places(axis: Axis) -> Callable[[float], Key]:
    """Returns a function position → label of its tick, or the position itself if it has no tick.

    Series side by side at one tick, such as bars, belong to that tick.
    """
    ticks = _ticks(axis)
    if all(_same(at, text) for at, text in ticks.items()):
        return lambda at: at
    whole = axis.get_scale() == "linear" and all(at == round(at) for at in ticks)
    near = 0.49 if whole and len(ticks) > 1 else 1e-9

    def place(at: float) -> Key:
        nearest = min(ticks, key=lambda t: abs(t - at))
        return ticks[nearest] if abs(nearest - at) <= near else at

    return place


def _same(at: float, text: str) -> bool:
    """True if a tick's label is just its position."""
    try:
        return math.isclose(float(text.replace(",", "").replace("−", "-")), at)
    except ValueError:
        return False


def _order(axis: Axis) -> Callable[[Key], tuple[float, str]]:
    """Sort key of rows: in the axis's reading order, from the left or from above; labels at their ticks' positions."""
    at = {text: place for place, text in _ticks(axis).items()}
    sign = 1 if axis.get_inverted() == isinstance(axis, YAxis) else -1
    return lambda key: (sign * at.get(key, 0.0), key) if isinstance(key, str) else (sign * key, "")
