"""RopeExplorer with right functions, and its controls."""

from anatomy.widgets import RopeExplorer

from ..case import UNLABELED, Case
from .learners import right_rope

CASE = Case(
    RopeExplorer,
    (right_rope,),
    [
        ("slider", "query position m", "m", "ArrowRight"),
        ("slider", "key position n", "n", "ArrowLeft"),
        ("slider", "base of the angles", "base", "ArrowRight"),
        ("slider", "head dim D", "dim", "ArrowLeft"),
    ],
    drawn=UNLABELED,
)
