"""What the recorders' facts count alike: seeds of a setting, differences between paired runs, curves kept as text."""

import math
from collections import defaultdict
from collections.abc import Iterable
from statistics import mean, stdev

from autograder.recording.experiments import Row


def numbers(text: str) -> list[float]:
    """Floats of a string of numbers."""
    return [float(v) for v in text.split()]


def fewest_seeds(rows: Iterable[Row], *keys: str) -> int:
    """Seeds of the setting that has the fewest; rows of the same ``keys`` are one setting."""
    found = defaultdict(set)
    for row in rows:
        found[tuple(row[k] for k in keys)].add(row["seed"])
    return min(map(len, found.values()))


def paired(differences: Iterable[float]) -> dict[str, float]:
    """``mean`` of differences between paired runs, its standard ``error``, and the number of ``pairs``."""
    differences = list(differences)
    spread = stdev(differences) if len(differences) > 1 else 0.0
    return {"mean": mean(differences), "error": spread / math.sqrt(len(differences)), "pairs": len(differences)}
