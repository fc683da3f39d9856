"""ModelAtlas with a right decoder, and its controls."""

from anatomy.widgets import ModelAtlas
from anatomy.widgets.atlas import INDEX

from ..case import Case
from .learners import right_decoder

COMPARE, BUILD = {"view": 1}, {"view": 2}
FILTERED = {"text": "a"}  # filters in effect are in sight

CASE = Case(
    ModelAtlas,
    (right_decoder,),
    [
        ("group", "show", "view", "ArrowRight"),
        ("combobox", "norm", "norm", "ArrowDown", FILTERED),
        ("combobox", "norms sit", "placement", "ArrowDown", FILTERED),
        ("combobox", "position", "position", "ArrowDown", FILTERED),
        ("combobox", "activation", "activation", "ArrowDown", FILTERED),
        ("combobox", "attention", "attention", "End", FILTERED),
        ("combobox", "mixing", "mixing", "ArrowDown", FILTERED),
        ("slider", "from year", "since", "ArrowRight", FILTERED),
        ("slider", "to year", "until", "ArrowLeft", FILTERED),
        ("searchbox", "search", "text", "m", {"since": 2018}),
        ("combobox", "model", "first", "ArrowDown", BUILD),
        ("combobox", "beside it", "second", "ArrowUp", COMPARE),
    ],
    crowded=(
        {},
        {"view": 1, "first": INDEX["transformer-big"], "second": INDEX["palm-540b"]},
        {"view": 1, "first": INDEX["gemma-2-27b"], "second": INDEX["gpt-oss-120b"]},
        {"view": 1, "first": INDEX["albert-large"], "second": INDEX["deepseek-v3"]},
        {"view": 1, "first": INDEX["falcon-180b"], "second": INDEX["gpt-4"]},
        {"view": 1, "first": INDEX["deepseek-v4-flash"], "second": INDEX["kimi-linear-48b-a3b"]},
        {"view": 2, "first": INDEX["gemma-2-9b"]},
    ),
)
