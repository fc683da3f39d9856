"""Writes a class to try out grading: ``python -m benchmarks.make_class FOLDER [--size 100] [--unit 00-start-here]``.

A mixed class: solved, half done (in a unit with one exercise: right in half of the cases), wrong, untouched and broken
files, and a hostile submission for every fifth student, if there are any for the unit.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.grading.cheats import CHEATS

from .grading_speed import kinds

BROKEN = (b"", b"PK\x03\x04 a zip", b"{}", b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')


def submissions(unit: str, size: int) -> Iterator[tuple[str, str, bytes]]:
    """Yields (student, kind, bytes); the same at every call."""
    honest, hostile = kinds(unit), [c for c in CHEATS if c.unit == unit]
    names = ("solved", "half", "wrong", "untouched")
    for i in range(size):
        if i % 5 == 4 and hostile:
            cheat = hostile[(i // 5) % len(hostile)]
            yield f"s{i:04}-hostile", cheat.name, cheat.data.replace(b"@PORT@", b"9")
        elif i % 10 == 8:
            yield f"s{i:04}-broken", "broken", BROKEN[(i // 10) % len(BROKEN)]
        else:
            kind = (0, 1, 2, 0, 3, 2, 0)[i % 7]  # 7 is coprime to 5 and 10: every kind keeps its share
            yield f"s{i:04}-{names[kind]}", names[kind], honest[kind]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--unit", default="00-start-here")
    options = parser.parse_args()
    if options.folder.exists():
        sys.exit(f"{options.folder} exists already")
    for student, _, data in submissions(options.unit, options.size):
        place = options.folder / student / options.unit
        place.mkdir(parents=True)
        (place / f"{options.unit}.ipynb").write_bytes(data)
    print(f"{options.size} submissions in {options.folder}")


if __name__ == "__main__":
    main()
