"""CacheStepper with right functions, and its controls."""

from anatomy.widgets import CacheStepper

from ..case import Case
from .learners import right_step, right_turning

MORE = {"more": True}
CASE = Case(
    CacheStepper,
    (right_step, right_turning),
    [
        ("slider", "step", "chunk", "ArrowRight"),
        ("group", "look at", "view", "ArrowRight", MORE),
        ("combobox", "chunk plan", "plan", "ArrowDown", MORE),
        ("checkbox", "5", "plan", "Space", MORE),
        ("group", "store", "store", "ArrowRight", MORE),
        ("group", "positions", "origin", "ArrowRight", {"view": 1, "chunk": 2, **MORE}),
        ("button", "cuts, stores, positions", "more", "Enter"),
    ],
    silent=("more",),
    crowded=(
        {},
        MORE,
        {**MORE, "store": 1, "plan": [1] * 8, "chunk": 7},
        {**MORE, "store": 2, "plan": [8], "chunk": 0},
        {**MORE, "view": 1, "origin": 1, "store": 2, "plan": [5, 3], "chunk": 1},
    ),
)
