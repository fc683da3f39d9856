"""CacheCalculator with right functions, and its controls."""

from anatomy.widgets import CacheCalculator

from ..case import Case
from .learners import right_bytes

CASE = Case(
    CacheCalculator,
    (right_bytes,),
    [
        ("combobox", "model", "model", "ArrowDown"),
        ("combobox", "attention", "kind", "ArrowDown"),
        ("combobox", "layers", "stack", "End"),
        ("combobox", "GPU", "gpu", "ArrowUp"),
        ("slider", "tokens per user", "tokens", "ArrowRight"),
        ("slider", "users", "users", "ArrowLeft"),
        ("group", "bytes per number", "itemsize", "ArrowRight"),
    ],
    crowded=({}, {"users": 1024}, {"model": 11, "users": 1}, {"model": 13, "gpu": 5, "users": 8}),
)
