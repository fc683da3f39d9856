"""The numbers of a figure as tables: what they are, how they are written, how they are kept beside recorded figures."""

import html
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

MOST_ROWS = 24  # a longer table is thinned, and says so


@dataclass(frozen=True)
class Table:
    """columns: names; the first is that of the rows' names. rows: of as many cells each, as they are to be read."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"{self.caption}: each row needs {len(self.columns)} cells, as many as there are columns")

    def kept(self) -> dict[str, Any]:
        """As JSON keeps it; ``Table.read`` makes it one again."""
        return asdict(self)

    @staticmethod
    def read(kept: dict[str, Any]) -> "Table":
        """A table from what ``kept`` gave, also after JSON."""
        return Table(kept["caption"], tuple(kept["columns"]), tuple(map(tuple, kept["rows"])))


def as_html(table: Table) -> str:
    """One HTML table: caption, and header cells that say what they head."""
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
    """A number as it is read aloud: four digits, or all of a whole number; – where there is none."""
    value = float(value)
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    whole = value == int(value) or abs(value) >= 1000
    text = f"{value:,.0f}" if whole and abs(value) < 1e9 else f"{value:.4g}"
    return "0" if text == "-0" else text.replace("-", "−") if "e" not in text else text


def thinned(count: int, most: int = MOST_ROWS) -> tuple[list[int], str]:
    """(indices to keep of ``count`` in order, the first and the last among them; words that say so, or "")."""
    step = max(1, math.ceil((count - 1) / (most - 1)))
    if step == 1:
        return list(range(count)), ""
    kept = list(range(0, count, step))
    last = "" if kept[-1] == count - 1 else " and the last"
    return sorted({*kept, count - 1}), f"every {_ordinal(step)}{last} of {count:,}"


def joined(values: Sequence[float], most: int = 6) -> str:
    """Several numbers in one cell: all of a few, the range of many."""
    values = [v for v in values if not math.isnan(v)]
    if not values:
        return "–"
    if len(values) > most:
        return f"{number(min(values))} to {number(max(values))} ({len(values)} values)"
    return "; ".join(number(v) for v in values)


def _ordinal(n: int) -> str:
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"
