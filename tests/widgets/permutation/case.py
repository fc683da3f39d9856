"""PermutationExplorer with right functions, and its controls."""

from anatomy.widgets import PermutationExplorer

from ..attention.learners import right_attention
from ..case import UNLABELED, Case

CASE = Case(
    PermutationExplorer,
    (right_attention,),
    [
        ("slider", "order", "order", "ArrowRight"),
        ("slider", "word to follow", "word", "Home"),
        ("group", "positions", "positions", "ArrowRight"),
    ],
    drawn=UNLABELED,
)
