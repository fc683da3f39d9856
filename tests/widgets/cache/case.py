"""CacheCalculator with right functions, and its controls."""

from anatomy.widgets import CacheCalculator

from ..case import Case
from .learners import right_bytes

MORE = {"more": True}
CASE = Case(
    CacheCalculator,
    (right_bytes,),
    [
        ("combobox", "model", "model", "ArrowDown"),
        ("combobox", "attention", "kind", "ArrowDown"),
        ("combobox", "layers", "stack", "End", MORE),
        ("combobox", "GPU", "gpu", "ArrowUp"),
        ("slider", "tokens per user", "tokens", "ArrowRight", MORE),
        ("slider", "users", "users", "ArrowLeft"),
        ("group", "bytes per number", "itemsize", "ArrowRight", MORE),
        ("button", "kinds of attention, lengths of text", "more", "Enter"),
    ],
    silent=("more",),
    crowded=(
        {},
        MORE,
        {**MORE, "users": 1024},
        {**MORE, "model": 11, "users": 1},
        {**MORE, "model": 13, "gpu": 5, "users": 8},
    ),
)
