"""RopeExplorer with right functions, and its controls."""

from anatomy.widgets import RopeExplorer
from anatomy.widgets.rope import PANELS

from ..case import UNLABELED, Case
from .learners import right_rope

MORE = {"more": True}
PROOF, SCORE = {"panels": ["dials", "proof"]}, {"panels": ["dials", "score"]}
BREAKING, TRAINING, STRIP = ({"panels": [panel]} for panel in ("breaking", "training", "strip"))

CASE = Case(
    RopeExplorer,
    (right_rope,),
    [
        ("slider", "query position m", "m", "ArrowRight"),
        ("slider", "key position n", "n", "ArrowLeft"),
        ("slider", "base of the angles", "base", "ArrowRight", MORE),
        ("slider", "head dim D", "dim", "ArrowLeft", MORE),
        ("button", "more panels", "more", "Enter"),
        ("button", "Proof", "panels", "Enter", MORE),
        ("slider", "Planes", "plane", "ArrowRight"),
        ("button", "Stand on k", "stand", "Enter", {"step": 1}),
        ("button", "Next equality", "proof", "Enter", PROOF),
        ("button", "Three tokens in front", "front", "Enter"),
        ("group", "A drag moves the", "hand", "ArrowRight"),
        ("slider", "content of q in plane 0, in degrees", "turned", "PageUp", {"hand": "content"}),
        ("button", "wave of plane 0", "waves", "Enter", SCORE),
        ("group", "Broken:", "fault", "ArrowRight", BREAKING),
        ("group", "Order in memory:", "order", "ArrowRight", STRIP),
        ("slider", "for a head dim of", "head", "ArrowLeft", TRAINING),
        ("slider", "trained on", "trained", "ArrowLeft", TRAINING),
        ("slider", "length of the text", "length", "ArrowLeft", TRAINING),
        ("group", "Slowed by:", "scheme", "ArrowRight", TRAINING),
        ("application", "Hands: plane 32", "clock", "ArrowRight", TRAINING),
    ],
    silent=("more", "panels", "plane", "stand", "proof", "hand", "waves", "order"),
    crowded=(
        {},
        MORE,
        {"panels": ["line", "dials", "proof", "score", "map"], "m": 40, "n": 4, "proof": 4, "stand": True},
        {"panels": ["training"], "head": 256},
        {"panels": list(PANELS), **MORE, "dim": 16, "fault": 5, "order": "halves", "hand": "content", "front": 4},
    ),
    drawn=UNLABELED,
)
