"""SamplingExplorer with a right function, and its controls."""

from anatomy.widgets import SamplingExplorer

from ..case import Case
from .learners import right

CASE = Case(
    SamplingExplorer,
    (right,),
    [
        ("combobox", "the text so far", "prompt", "ArrowDown"),
        ("slider", "temperature", "temperature", "ArrowRight"),
        ("slider", "top-k", "top_k", "ArrowLeft"),
        ("slider", "top-p", "top_p", "ArrowLeft"),
    ],
    crowded=({}, {"prompt": 1, "temperature": 4.0}),
)
