"""The numbers of a figure as tables: their contents, their formatting, and how recorded figures store them."""

import html
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..system.translation import ENGLISH, _, language

MOST_ROWS = 24  # a longer table is thinned, and its caption says so


@dataclass(frozen=True)
class Table:
    """columns: names; the first column holds the rows' names. rows: each has as many cells, as text for a reader."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"{self.caption}: each row needs {len(self.columns)} cells, as many as there are columns")

    def kept(self) -> dict[str, Any]:
        """Returns a dict for JSON; ``Table.read`` turns it back into a table."""
        return asdict(self)

    @staticmethod
    def read(kept: dict[str, Any]) -> "Table":
        """Rebuilds a table from the result of ``kept``, also after JSON."""
        return Table(kept["caption"], tuple(kept["columns"]), tuple(map(tuple, kept["rows"])))


def as_html(table: Table) -> str:
    """One HTML table with a caption, and with header cells that have a scope."""
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in table.columns)
    rows = "".join(
        f'<tr><th scope="row">{html.escape(first)}</th>{"".join(f"<td>{html.escape(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in table.rows
    )
    return (
        f"<table><caption>{html.escape(table.caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def number(value: float) -> str:
    """Formats a number for reading: four digits, or all digits of a whole number; – for NaN."""
    value = float(value)
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    whole = value == int(value) or abs(value) >= 1000
    text = f"{value:,.0f}" if whole and abs(value) < 1e9 else f"{value:.4g}"
    return "0" if text == "-0" else text.replace("-", "−") if "e" not in text else text


def thinned(count: int, most: int = MOST_ROWS) -> tuple[list[int], str]:
    """Returns (indices to keep of ``count`` in order, including the first and the last; words that say so, or "")."""
    step = max(1, math.ceil((count - 1) / (most - 1)))
    if step == 1:
        return list(range(count)), ""
    kept = list(range(0, count, step))
    nth = _ordinal(step) if language() == ENGLISH else str(step)
    said = _("every {nth} of {count}") if kept[-1] == count - 1 else _("every {nth} and the last of {count}")
    return sorted({*kept, count - 1}), said.format(nth=nth, count=f"{count:,}")


def joined(values: Sequence[float], most: int = 6) -> str:
    """Several numbers in one cell: each of them if few, the range if many."""
    values = [v for v in values if not math.isnan(v)]
    if not values:
        return "–"
    if len(values) > most:
        ends = _("{low} to {high}").format(low=number(min(values)), high=number(max(values)))
        return _("{ends} ({n} values)").format(ends=ends, n=len(values))
    return "; ".join(number(v) for v in values)


def _ordinal(n: int) -> str:
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"
