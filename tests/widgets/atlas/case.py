"""ModelAtlas with a right decoder, and its controls."""

from anatomy.widgets import ModelAtlas
from anatomy.widgets.atlas import INDEX

from ..case import Case
from .learners import right_decoder

COMPARE, BUILD = {"view": 1}, {"view": 2}  # of the filters, those in effect are in sight

CASE = Case(
    ModelAtlas,
    (right_decoder,),
    [
        ("group", "show", "view", "ArrowRight"),
        ("combobox", "norm", "norm", "ArrowDown", {"norm": 1}),
        ("combobox", "norms sit", "placement", "ArrowDown", {"placement": 1}),
        ("combobox", "position", "position", "ArrowDown", {"position": 1}),
        ("combobox", "activation", "activation", "ArrowDown", {"activation": 1}),
        ("combobox", "attention", "attention", "End", {"attention": 1}),
        ("combobox", "mixing", "mixing", "ArrowDown", {"mixing": 1}),
        ("slider", "from year", "since", "ArrowRight", {"since": 2018}),
        ("slider", "to year", "until", "ArrowLeft", {"until": 2025}),
        ("searchbox", "search", "text", "m", {"text": "a"}),
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
