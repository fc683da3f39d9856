"""GradientFlowExplorer with right functions, and its controls."""

from anatomy.widgets import GradientFlowExplorer

from ..case import Case
from .learners import WIRED

LATER = {"step": 2, "back": 96}  # all controls, nothing unfolded

CASE = Case(
    GradientFlowExplorer,
    (WIRED,),
    [
        ("button", "◂ Let the gradient run back", "back", "Enter"),
        ("combobox", "wiring", "wiring", "ArrowDown", LATER),
        ("combobox", "compare with", "other", "ArrowDown", LATER),
        ("slider", "number of layers", "depth", "ArrowRight", LATER),
        ("slider", "width d", "width", "ArrowRight", LATER),
        ("slider", "seed", "seed", "ArrowRight", LATER),
        ("slider", "run back through", "back", "ArrowLeft", LATER),
    ],
    crowded=({}, LATER, {"wiring": 4, "depth": 96, "back": 96}),
)
