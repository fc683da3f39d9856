"""Shared by the recorders' facts: seeds of a setting, differences between paired runs, curves stored as text."""

import math
from collections import defaultdict
from collections.abc import Iterable
from statistics import mean, stdev

from autograder.recording.experiments import Row


def numbers(text: str) -> list[float]:
    """Parses a string of numbers as floats."""
    return [float(v) for v in text.split()]


def fewest_seeds(rows: Iterable[Row], *keys: str) -> int:
    """The smallest number of seeds of any setting; rows with the same ``keys`` are one setting."""
    found = defaultdict(set)
    for row in rows:
        found[tuple(row[k] for k in keys)].add(row["seed"])
    return min(map(len, found.values()))


def paired(differences: Iterable[float]) -> dict[str, float]:
    """``mean`` of differences between paired runs, its standard ``error``, and the number of ``pairs``."""
    differences = list(differences)
    spread = stdev(differences) if len(differences) > 1 else 0.0
    return {"mean": mean(differences), "error": spread / math.sqrt(len(differences)), "pairs": len(differences)}
