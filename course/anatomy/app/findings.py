"""The results of ``anatomy doctor``: a line of its report, and the type of the functions that yield such lines."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

MARKS = {"good": "✓", "note": "·", "wrong": "✗"}


@dataclass(frozen=True)
class Finding:
    """One line of the report. state: "good"; "note", worth knowing but no reason not to work; or "wrong"."""

    state: str
    text: str

    def __str__(self) -> str:
        return f"{MARKS[self.state]} {self.text}"


Examination = Callable[[], Iterator[Finding]]
