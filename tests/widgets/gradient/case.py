"""GradientFlowExplorer with right functions, and its controls."""

from anatomy.widgets import GradientFlowExplorer

from ..case import Case
from .learners import WIRED

CASE = Case(
    GradientFlowExplorer,
    (WIRED,),
    [
        ("combobox", "wiring", "wiring", "ArrowDown"),
        ("combobox", "compare with", "other", "ArrowDown"),
        ("slider", "number of layers", "depth", "ArrowRight"),
        ("slider", "width d", "width", "ArrowRight"),
        ("slider", "seed", "seed", "ArrowRight"),
        ("slider", "run back through", "back", "ArrowLeft"),
    ],
    crowded=({}, {"wiring": 4, "depth": 96}),
)
