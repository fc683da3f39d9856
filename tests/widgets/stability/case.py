"""SoftmaxStabilityExplorer with right functions, and its controls."""

from anatomy.widgets import SoftmaxStabilityExplorer

from ..case import Case
from .learners import RIGHT

RUN = {"grow": "as in a training run", "run_step": 4}
CASE = Case(
    SoftmaxStabilityExplorer,
    (RIGHT,),
    [
        ("group", "scores grow", "grow", "ArrowRight"),
        ("slider", "factor", "factor", "ArrowLeft"),
        ("slider", "step of the run", "run_step", "ArrowRight", RUN),
        ("slider", "soft cap c", "cap", "ArrowLeft"),
        ("slider", "gain of QK-norm", "gain", "ArrowRight"),
        ("slider", "λ of z-loss", "coefficient", "End"),
        ("group", "curve shows", "quantity", "ArrowRight"),
    ],
    silent=("coefficient", "quantity"),
    crowded=({}, {"factor": 36, "coefficient": 1.0, "gain": 8.0}, {**RUN, "run_step": 19}),
)
