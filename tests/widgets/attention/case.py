"""AttentionExplorer with right functions, and its controls."""

from anatomy.widgets import AttentionExplorer

from ..case import UNLABELED, Case
from .learners import right_attention

CASE = Case(
    AttentionExplorer,
    (right_attention,),
    [
        ("slider", "query token", "query", "ArrowLeft"),
        ("combobox", "sentence", "sentence", "ArrowDown"),
        ("slider", "layer", "layer", "ArrowRight"),
        ("slider", "head", "head", "ArrowRight"),
        ("group", "scale of q·k", "scale", "ArrowRight", {"step": 4}),
        ("group", "mask", "mask", "ArrowDown", {"step": 4}),
        ("slider", "grip: score of “very”", "moved", "ArrowRight"),
        ("slider", "grip: score of “very”", "nudge", "ArrowLeft"),
    ],
    # The longest scores, among them a moved one next to a long word.
    crowded=({}, {"sentence": 2, "scale": "none", "mask": "none", "moved": 2, "nudge": -58}),
    drawn=UNLABELED,
)
