"""Checks that a unit's source has each part of each exercise once, in the same order for all parts."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from .cells import PARTS, Cell, Problem


def problems(path: Path, cells: Sequence[Cell], listed: Sequence[str]) -> list[Problem]:
    """The problems that an author has to fix. listed: ids of the unit's specs; other ids are ignored."""
    places = {part: [(c.exercise, c.line) for c in cells if c.part == part and c.exercise in listed] for part in PARTS}
    found = [Problem(path, line, says) for line, says in _not_once(places, listed)]
    return found or [Problem(path, line, says) for line, says in _moved(places)]


def _not_once(places: dict[str, list[tuple[str, int]]], listed: Sequence[str]) -> Iterator[tuple[int, str]]:
    for exercise in listed:
        lines = {part: [line for name, line in places[part] if name == exercise] for part in PARTS}
        known = [line for found in lines.values() for line in found]
        if not known:
            yield 1, f"{exercise} has a spec and no text here: it needs exactly one {' cell, one '.join(PARTS)} cell"
            continue
        for part, found in lines.items():
            if not found:
                begins = f'# %% {"[markdown] " * (part != "exercise")}{part}="{exercise}"'
                yield max(known), f"{exercise} needs exactly one {part} cell and has none; it begins with {begins}"
            for again in found[1:]:
                yield again, f"{exercise} needs exactly one {part} cell; there is another in line {found[0]}"


def _moved(places: dict[str, list[tuple[str, int]]]) -> Iterator[tuple[int, str]]:
    """The parts that are out of order with their exercise."""
    written = [name for name, _ in places["exercise"]]
    for part in ("statement", "hints", "worth"):
        names, lines = [name for name, _ in places[part]], dict(places[part])
        for name in out_of_place(names, written):
            yield (
                lines[name],
                f"{name}: its {part} cell is the {nth(names.index(name) + 1)} of the unit, and its exercise cell the "
                f"{nth(written.index(name) + 1)}; they belong together",
            )


def out_of_place(names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The fewest names to move so that ``names`` has the order of ``wanted``."""
    blocks = SequenceMatcher(None, names, wanted, autojunk=False).get_matching_blocks()
    stay = {name for b in blocks for name in names[b.a : b.a + b.size]}
    return [name for name in names if name not in stay]


def nth(number: int) -> str:
    """1st, 2nd, 3rd, 11th…"""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
