"""ActivationExplorer with right functions, and its controls."""

from anatomy.widgets import ActivationExplorer

from ..case import UNLABELED, Case
from .learners import ACTIVATIONS

CASE = Case(
    ActivationExplorer,
    (ACTIVATIONS,),
    [
        ("combobox", "activation", "activation", "ArrowDown"),
        ("slider", "input x", "place", "ArrowRight"),
        ("slider", "β of swish", "beta", "ArrowLeft"),
        ("slider", "value v", "value", "Home", {"activation": "gelu"}),
        ("slider", "shift of all units", "shift", "ArrowRight", {"activation": "relu", "shift": -4}),
        ("group", "look at", "look", "ArrowRight"),
        *(("slider", f"grip: weight of unit {n}", f"w{n}", "ArrowUp") for n in (1, 2, 3)),
    ],
    crowded=({}, {"look": "gate and units"}, {"look": "gate and units", "activation": 4}),
    drawn=UNLABELED,
)
