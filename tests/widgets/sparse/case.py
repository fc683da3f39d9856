"""SparseExplorer with right functions, and its controls."""

from anatomy.widgets import SparseExplorer
from anatomy.widgets.sparse.scenes import KINDS, LAYERS

from autograder.recording.widgets.sparse import PATTERNS

from ..case import Case

CASE = Case(
    SparseExplorer,
    (PATTERNS,),
    [
        ("combobox", "pattern", "pattern", "ArrowDown"),
        ("slider", "size", "size", "ArrowRight"),
        ("slider", "query", "query", "ArrowLeft"),
        ("slider", "layers", "layers", "ArrowRight"),
    ],
    crowded=tuple({"pattern": i, "layers": n} for i in range(len(KINDS)) for n in (1, LAYERS)),
)
