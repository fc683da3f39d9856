"""Tier 2 of CacheCalculator: its script alone in Chromium, beyond what every widget promises."""

import pytest
from anatomy.widgets import CacheCalculator

from ..page import said, words
from .learners import right_bytes

pytestmark = pytest.mark.browser


def test_page_and_python_say_the_same(stage):
    for state in ({}, {"model": 12, "tokens": 32768, "users": 64}, {"model": 13, "gpu": 5, "users": 1024}):
        widget = CacheCalculator(right_bytes, **state)
        heard = said(stage(widget))
        n = widget.readings()
        assert f"{n['per_token']:,.0f} bytes per token" in heard and f"{n['fit']:,} fit on" in heard


def test_a_formula_that_differs_is_told(stage):
    page = stage(CacheCalculator(lambda n_layers, n_kv_heads, head_dim, itemsize=2: n_layers * n_kv_heads * head_dim))
    assert words(page)[-1] == "differs"
    assert words(stage(CacheCalculator(right_bytes)))[-1] == "same"
