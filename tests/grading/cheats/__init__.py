"""Submissions that try to get points without solving the exercise, or to stop the class, sorted by technique. Used by
the cheat suite and by the benchmark that runs the same submissions through stock nbgrader."""

from . import availability, builtins, forging, limits, machinery, modules, reaching, replies
from .base import ATTENTION, CHEATS, START, Cheat, released
from .folders import ENTRIES, Entry

__all__ = [
    "ATTENTION",
    "CHEATS",
    "ENTRIES",
    "START",
    "Cheat",
    "Entry",
    "availability",
    "builtins",
    "forging",
    "limits",
    "machinery",
    "modules",
    "reaching",
    "released",
    "replies",
]
