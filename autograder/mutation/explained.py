"""Survivors that were read: ``equivalent`` in an exercise's spec says why each is no hole in the cases."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from autograder.judge.spec import Exercise

from . import because
from .because import BadReason
from .survivors import Survivor, Tally

WIDTH = 104  # characters of a mutant: its line has 120
_KEY = re.compile(r"[0-9a-f]{10}")


@dataclass(frozen=True)
class Entry:
    """A survivor and why it may survive. mutant: for human readers; only the key counts."""

    exercise: str
    key: str
    mutant: str
    reason: str


def entries(exercise: Exercise) -> dict[str, Entry]:
    """Key → entry of each mutant that the spec's ``equivalent`` explains.

    Raises BadReason where the block cannot be read, a line does not begin with a key, or a key comes twice.
    """
    found: dict[str, Entry] = {}
    try:
        for line, reason in because.reasons(exercise.equivalent).items():
            key, _, mutant = line.partition(" ")
            if not (_KEY.fullmatch(key) and mutant):
                raise BadReason(f"{line!r} is not a key and a mutant")
            if key in found:
                raise BadReason(f"the key {key} comes twice")
            found[key] = Entry(exercise.id, key, mutant, reason)
    except BadReason as error:
        raise BadReason(f"{exercise.id}: {error}") from None
    return found


@dataclass
class Review:
    """A tally compared with the reasons. stale: entries whose mutant is gone, or fails now."""

    tally: Tally
    explained: list[Survivor]
    unexplained: list[Survivor]
    stale: list[Entry]

    @property
    def clean(self) -> bool:
        """True if nothing is left to do."""
        return not (self.unexplained or self.stale or self.tally.problems)


def reviewed(tally: Tally, entries: dict[str, Entry]) -> Review:
    """Splits the survivors of an exercise into explained and unexplained ones."""
    keys = {s.key for s in tally.survivors}
    return Review(
        tally,
        [s for s in tally.survivors if s.key in entries],
        [s for s in tally.survivors if s.key not in entries],
        [e for e in entries.values() if e.key not in keys],
    )


def template(survivors: Iterable[Survivor]) -> str:
    """Lines for survivors, to be pasted below a reason into their specs' ``equivalent``."""
    return because.written({_line(s.key, s.what): f"{s.exercise}:" for s in survivors})


def pruned(text: str, exercise: Exercise, stale: Iterable[Entry]) -> str:
    """The text of a spec without some entries of an exercise; the other lines stay as they are.

    Raises BadReason if the block is not in the text as it is.
    """
    if exercise.equivalent not in text:
        raise BadReason(f"{exercise.id}: its spec does not have equivalent as plain text; remove the lines by hand")
    gone = {entry.key for entry in stale}
    kept = {_line(e.key, e.mutant): e.reason for e in entries(exercise).values() if e.key not in gone}
    return text.replace(exercise.equivalent, f"\n{because.written(kept)}")


def _line(key: str, mutant: str) -> str:
    return f"{key} {mutant if len(mutant) <= WIDTH else f'{mutant[: WIDTH - 1]}…'}"
