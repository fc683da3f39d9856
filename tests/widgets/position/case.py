"""PositionExplorer with right functions, and its controls."""

from anatomy.widgets import PositionExplorer
from anatomy.widgets.position import LISTED, NAMES

from ..case import Case
from .learners import POSITIONS

CASE = Case(
    PositionExplorer,
    (POSITIONS,),
    [
        ("combobox", "scheme", "scheme", "ArrowUp"),
        ("slider", "slope", "variant", "ArrowRight", {"scheme": NAMES.index("ALiBi")}),
        ("slider", "query position", "query", "ArrowLeft"),
    ],
    crowded=tuple({"scheme": i} for i in range(len(LISTED))),
)
