"""AnatomyView with right parts, and its controls."""

from anatomy.widgets import AnatomyView

from ..case import Case
from .learners import RIGHT

RIVER = "streams, by token and layer: token 31 “,”, layer 3"
TYPED = {"text": "My dear Mr. Bennet, you are over-scrupulous, surely", "token": 31}

CASE = Case(
    AnatomyView,
    (RIGHT,),
    [
        ("textbox", "your text", "text", "a"),
        ("application", RIVER, "token", "ArrowLeft"),
        ("application", RIVER, "layer", "ArrowDown"),
        ("button", "head 1 of the layer", "head", "Enter"),
        ("button", "gated FFN: yours, right in this place", "part", "Enter"),
        ("button", "One token", "wrote", "Enter"),
        ("checkbox", "draw among 5", "draws", " "),
    ],
    silent=("draws",),
    crowded=(
        {},
        {"token": 10, "layer": 0, "part": "attention"},
        {"token": 17, "part": "residual"},
        {"part": "ffn"},
        TYPED,
    ),
)
