"""What ``anatomy doctor`` finds: a line of its report, and what yields such lines."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

MARKS = {"good": "✓", "note": "·", "wrong": "✗"}


@dataclass(frozen=True)
class Finding:
    """One line of the report. state: "good"; "note", which is worth knowing and keeps nobody from working; "wrong"."""

    state: str
    text: str

    def __str__(self) -> str:
        return f"{MARKS[self.state]} {self.text}"


Examination = Callable[[], Iterator[Finding]]
