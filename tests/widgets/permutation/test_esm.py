"""Tier 2 of PermutationExplorer: its script alone in Chromium, beyond what every widget promises."""

import pytest
from anatomy.widgets import (
    PermutationExplorer,
)

from ..page import find, settle, words
from .case import CASE

pytestmark = pytest.mark.browser


def test_permutation_words_for_both_choices(stage):
    page = stage(CASE.make())
    assert words(page) == ["equal", "equal", "same"]
    find(page, "group", "positions").press("ArrowRight")
    settle(page)
    assert words(page) == ["differs, as it should"] * 2 + ["same"]
    page = stage(PermutationExplorer(lambda q, k, v, mask=None: v.cumsum(-2)))
    assert words(page) == ["broken", "broken", "differs"]
