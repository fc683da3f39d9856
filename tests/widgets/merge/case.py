"""MergeExplorer with a right function, and its controls."""

from anatomy.widgets import MergeExplorer
from anatomy.widgets.merge.story import WORDS

from ..case import Case
from .learners import right

CASE = Case(
    MergeExplorer,
    (right,),
    [
        ("combobox", "word", "word", "ArrowDown"),
        ("slider", "merges done", "done", "ArrowRight"),
    ],
    crowded=(
        {},
        {"word": WORDS.index(" happiness"), "done": 9},
        {"word": WORDS.index(" acknowledged"), "done": 4},
        {"word": WORDS.index(" acknowledged"), "done": 0},
        {"word": WORDS.index("中文"), "done": 0},
    ),
)
