"""Survivors that were read: ``equivalent/uNN_name.toml`` says of each, in a line, why it is no hole in the cases."""

import json
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder import exercises

from .survivors import Survivor, Tally

FOLDER = Path(__file__).parent / "equivalent"
SHORTEST = 15  # characters of a reason


@dataclass(frozen=True)
class Entry:
    """A survivor and why it may survive. mutant: for those who read; the key alone counts."""

    exercise: str
    key: str
    mutant: str
    reason: str


class BadEntry(ValueError):
    """A file of reasons that cannot be used; the message says where and why."""


def path_of(unit: str, folder: Path = FOLDER) -> Path:
    """The file of a unit; it need not exist."""
    return folder / f"{exercises.unit_module(unit)}.toml"


def read(path: Path) -> dict[str, dict[str, Entry]]:
    """Exercise id → key → entry; empty where there is no such file.

    Raises BadEntry where a file is no TOML, an entry lacks a field, its reason is too short or its key stands twice.
    """
    if not path.exists():
        return {}
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BadEntry(f"{path.name}: {error}") from None
    found: dict[str, dict[str, Entry]] = {}
    for exercise, entries in data.items():
        for item in entries if isinstance(entries, list) else [entries]:
            entry = _entry(path, exercise, item)
            if entry.key in found.setdefault(exercise, {}):
                raise BadEntry(f"{path.name}: {exercise}: the key {entry.key} stands twice")
            found[exercise][entry.key] = entry
    return found


def _entry(path: Path, exercise: str, item: object) -> Entry:
    if not isinstance(item, dict) or set(item) != {"key", "mutant", "reason"}:
        raise BadEntry(f'{path.name}: {exercise}: an entry is [["{exercise}"]] with key, mutant and reason')
    if len(item["reason"].strip()) < SHORTEST:
        raise BadEntry(f"{path.name}: {exercise}: {item['key']} needs a reason of {SHORTEST} characters or more")
    return Entry(exercise, item["key"], item["mutant"], item["reason"])


@dataclass
class Review:
    """A tally beside the reasons. stale: entries whose mutant is gone, or fails now."""

    tally: Tally
    explained: list[Survivor]
    unexplained: list[Survivor]
    stale: list[Entry]

    @property
    def clean(self) -> bool:
        """Whether nothing is left to do."""
        return not (self.unexplained or self.stale or self.tally.problems)


def reviewed(tally: Tally, entries: dict[str, Entry]) -> Review:
    """Divides the survivors of an exercise by whether its entries explain them."""
    keys = {s.key for s in tally.survivors}
    return Review(
        tally,
        [s for s in tally.survivors if s.key in entries],
        [s for s in tally.survivors if s.key not in entries],
        [e for e in entries.values() if e.key not in keys],
    )


def template(survivors: Iterable[Survivor]) -> str:
    """Entries for survivors, to be pasted into the unit's file; each still wants its reason."""
    return "\n".join(
        f'[["{s.exercise}"]]\nkey = "{s.key}"\nmutant = {json.dumps(s.what, ensure_ascii=False)}\nreason = ""\n'
        for s in survivors
    )


def pruned(text: str, stale: Iterable[Entry]) -> str:
    """The text of a unit's file without some of its entries; everything else stays as it is."""
    pieces = re.split(r"^(?=\[\[)", text, flags=re.M)
    gone = {f'key = "{entry.key}"' for entry in stale}
    return "".join(p for p in pieces if not (p.startswith("[[") and gone & set(p.split("\n"))))
