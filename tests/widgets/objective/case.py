"""ObjectiveLab with right functions, and its controls."""

from anatomy.widgets import ObjectiveLab

from autograder.recording.widgets.objective import OBJECTIVES

from ..case import Case

CASE = Case(
    ObjectiveLab,
    (OBJECTIVES,),
    [
        ("combobox", "objective", "objective", "ArrowDown"),
        ("slider", "predicted word", "place", "ArrowRight"),
        ("checkbox", "nothing follows yet", "cut", " "),
        ("slider", "hide others", "draw", "End", {"objective": "blank_infilling", "step": 1}),
    ],
    crowded=tuple({"objective": i} for i in range(len(OBJECTIVES))),
)
