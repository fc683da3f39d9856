"""Claims on trial: one counts as decided when the cells between the claim and its verdict have run."""

import hashlib
from functools import cache

from . import units
from .records import MissingRecording
from .store import update


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
            for mark in claim["cells"]:
                found.setdefault(mark, []).append((claim["id"], frozenset(claim["cells"])))
    return found


class Tracker:
    """Sees each cell that ran, and notes the claims that are decided with it."""

    def __init__(self):
        self.seen = set()

    def ran(self, source):
        """One cell ran to its end. Never raises: a claim that is not counted must not stop a notebook."""
        try:
            mark = hashlib.sha256(source.strip().encode()).hexdigest()[:12]
            self.seen.add(mark)
            decided = [name for name, cells in _claims().get(mark, ()) if cells <= self.seen]
        except (MissingRecording, OSError, ValueError, KeyError, TypeError):
            return
        if decided:
            update("claims", lambda known: known.update(dict.fromkeys(decided, True)))
