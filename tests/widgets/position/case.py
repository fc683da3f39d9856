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
        ("slider", "trained on texts of", "trained", "ArrowLeft", {"scheme": NAMES.index("learned absolute")}),
    ],
    crowded=tuple({"scheme": i, "trained": n} for i in range(len(LISTED)) for n in (16, 32)),
)
