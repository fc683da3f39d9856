"""NormExplorer with right functions, and its controls."""

from anatomy.widgets import NormExplorer

from ..case import UNLABELED, Case
from .learners import NORMS

CASE = Case(
    NormExplorer,
    (NORMS,),
    [
        ("slider", "scale", "scale", "ArrowRight"),
        ("slider", "shift", "shift", "ArrowLeft"),
        ("slider", "ε", "eps", "End", {"step": 1, "shift": 3.0}),
        ("group", "norms as", "show", "ArrowRight"),
        ("group", "stage", "stage", "ArrowLeft", {"show": "points"}),
    ],
    crowded=({}, {"show": "points"}),
    drawn=UNLABELED,
)
