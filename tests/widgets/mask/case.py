"""MaskExplorer with right functions, and its controls."""

from anatomy.widgets import MaskExplorer
from anatomy.widgets.mask.scenes import KINDS

from autograder.recording.widgets.mask import MASKS

from ..case import Case

CASE = Case(
    MaskExplorer,
    (MASKS,),
    [
        ("combobox", "mask", "mask", "ArrowDown"),
        ("slider", "query", "query", "ArrowRight"),
        ("slider", "size", "size", "ArrowLeft", {"mask": "prefix LM", "size": 5}),
        ("slider", "layers", "layers", "End"),
        ("button", "Back to the mask", "painted", "Enter", {"painted": "3,6"}),
    ],
    crowded=tuple({"mask": i} for i in range(len(KINDS))),
)
