"""SoftmaxStabilityExplorer with right functions, and its controls."""

from anatomy.widgets import SoftmaxStabilityExplorer

from ..case import Case
from .learners import RIGHT

MORE = {"more": True}
RUN = {"grow": "as in a training run", "run_step": 4, **MORE}
CASE = Case(
    SoftmaxStabilityExplorer,
    (RIGHT,),
    [
        ("group", "scores grow", "grow", "ArrowRight"),
        ("slider", "factor", "factor", "ArrowLeft"),
        ("slider", "step of the run", "run_step", "ArrowRight", RUN),
        ("slider", "soft cap c", "cap", "ArrowLeft", MORE),
        ("slider", "gain of QK-norm", "gain", "ArrowRight", MORE),
        ("slider", "λ of z-loss", "coefficient", "End", MORE),
        ("group", "curve shows", "quantity", "ArrowRight", MORE),
        ("group", "exp of", "exp_of", "ArrowRight", MORE),
        ("button", "remedies, curves and dtypes", "more", "Enter"),
        ("group", "show", "part", "ArrowLeft", MORE),
    ],
    silent=("coefficient", "quantity"),
    crowded=(
        {},
        *(
            {**MORE, "part": part, "factor": 22}
            for part in ("soft cap", "QK-norm", "z-loss", "dtypes", "loss", "slope")
        ),
        {"factor": 14},
        {"factor": 14, "exp_of": "x − max"},
        {**MORE, "factor": 36, "coefficient": 1.0, "gain": 8.0},
        {**RUN, "run_step": 19},
        {**MORE, "factor": 36, "part": "dtypes", "exp_of": "x − max"},
    ),
)
