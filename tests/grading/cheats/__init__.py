"""Submissions that try to win without solving, or to stop the class, by technique: data for the cheat suite, and for
the benchmark that runs the same submissions through stock nbgrader."""

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
