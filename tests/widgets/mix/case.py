"""MixExplorer with right functions, and its controls."""

from anatomy.widgets import MixExplorer

from ..case import UNLABELED, Case
from .learners import right_average

CASE = Case(
    MixExplorer,
    (right_average,),
    [
        ("slider", "weight of cat", "first", "ArrowRight"),
        ("slider", "weight of sat", "second", "ArrowLeft"),
        ("slider", "weight of mat", "third", "End"),
    ],
    drawn=UNLABELED,
)
