"""Submissions that try to win without solving, by technique: data for the cheat suite, and for the benchmark that runs
the same submissions through stock nbgrader."""

from . import builtins, forging, limits, machinery, reaching
from .base import ATTENTION, CHEATS, START, Cheat, released

__all__ = [
    "ATTENTION",
    "CHEATS",
    "START",
    "Cheat",
    "builtins",
    "forging",
    "limits",
    "machinery",
    "reaching",
    "released",
]
