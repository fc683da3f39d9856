"""Claims on trial: one counts as decided when the cells between the claim and its verdict have run."""

import hashlib
from functools import cache

from ..program import units
from ..program.records import MissingRecording
from ..system.store import update


def mark(source: str) -> str:
    """12 hexadecimal digits that identify a cell's source, wherever the cell is run."""
    return hashlib.sha256(source.strip().encode("utf-8", "replace")).hexdigest()[:12]


@cache
def _claims():
    """mark of a cell → the claims that it helps to decide, each (id, marks of all its cells)."""
    found = {}
    for unit in units.names():
        try:
            text = units.load(unit)
        except MissingRecording:
            continue
        for claim in text["claims"]:
            for cell in claim["cells"]:
                found.setdefault(cell, []).append((claim["id"], frozenset(claim["cells"])))
    return found


class Tracker:
    """Sees each cell that ran, and records the claims that it decides."""

    def __init__(self):
        self.seen = set()

    def ran(self, source: str) -> None:
        """Takes note of a cell that ran to its end. Never raises: a claim that is not counted must not stop a
        notebook."""
        try:
            cell = mark(source)
            self.seen.add(cell)
            decided = [name for name, cells in _claims().get(cell, ()) if cells <= self.seen]
        except (MissingRecording, OSError, ValueError, KeyError, TypeError):
            return
        if decided:
            update("claims", lambda known: known.update(dict.fromkeys(decided, True)))
