"""WavelengthExplorer with right functions, and its controls."""

from anatomy.widgets import WavelengthExplorer

from ..case import UNLABELED, Case
from .learners import right_frequencies

CASE = Case(
    WavelengthExplorer,
    (right_frequencies,),
    [
        ("slider", "context length", "context", "PageUp"),
        ("slider", "base", "base", "ArrowUp"),
        ("slider", "head dim D", "dim", "ArrowLeft"),
        ("slider", "plane to read i", "plane", "ArrowRight"),
    ],
    drawn=UNLABELED,
)
