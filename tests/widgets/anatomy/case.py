"""AnatomyView with right parts, and its controls."""

from anatomy.widgets import AnatomyView

from ..case import Case
from .learners import RIGHT

CASE = Case(
    AnatomyView,
    (RIGHT,),
    [
        ("slider", "token", "token", "ArrowLeft"),
        ("slider", "layer", "layer", "ArrowLeft"),
        ("slider", "head", "head", "ArrowRight"),
        ("button", "gated FFN: yours, right in this place", "part", "Enter"),
    ],
    crowded=({}, {"token": 10, "layer": 0, "part": "attention"}, {"token": 17, "part": "residual"}, {"part": "ffn"}),
)
