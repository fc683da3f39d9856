"""CacheStepper with right functions, and its controls."""

from anatomy.widgets import CacheStepper

from ..case import Case
from .learners import right_step, right_turning

CASE = Case(
    CacheStepper,
    (right_step, right_turning),
    [
        ("group", "look at", "view", "ArrowRight"),
        ("combobox", "chunk plan", "plan", "ArrowDown"),
        ("checkbox", "5", "plan", "Space"),
        ("slider", "step", "chunk", "ArrowRight"),
        ("group", "store", "store", "ArrowRight"),
        ("group", "positions", "origin", "ArrowRight", {"view": 1, "chunk": 2}),
    ],
    crowded=(
        {},
        {"store": 1, "plan": [1] * 8, "chunk": 7},
        {"store": 2, "plan": [8], "chunk": 0},
        {"view": 1, "origin": 1, "store": 2, "plan": [5, 3], "chunk": 1},
    ),
)
