"""MemoryExplorer with right functions, and its controls."""

from anatomy.widgets import MemoryExplorer
from anatomy.widgets.memory.texts import text_of

from autograder.exercises.u14_cheaper_attention.delta import corrected
from autograder.exercises.u14_cheaper_attention.linear import recurrent

from ..case import Case

MORE = {"more": True}
CASE = Case(
    MemoryExplorer,
    ({"linear_recurrent": recurrent, "delta_rule": corrected},),
    [
        ("group", "ask for", "asked", "ArrowRight"),
        ("button", "Take back", "text", "Enter"),
        ("group", "decay", "decay", "ArrowRight", {**MORE, "text": text_of((0, 0), (1, 1))}),
        ("group", "rate of the delta rule", "rate", "ArrowRight", MORE),
        ("button", "decay, rate", "more", "Enter"),
    ],
    silent=("more",),
    crowded=(
        {},
        {"text": 0},
        {"text": text_of((0, 0), (0, 0), (0, 0))},
        {**MORE, "text": text_of((2, 1), (0, 2), (2, 1)), "asked": 2, "decay": 0.5, "rate": 0.5},
    ),
)
