"""Tier 2 of MaskExplorer: its script alone in Chromium, beyond what every widget promises."""

import pytest
import torch
from anatomy.widgets import MaskExplorer

from autograder.recording.widgets.mask import MASKS

from ..page import find, said, settle, trait, words
from .case import CASE

pytestmark = pytest.mark.browser


def test_a_click_on_a_row_chooses_the_query(stage):
    page = stage(CASE.make(mask="causal", query=0))
    grid = page.get_by_role("img", name="Grid: one row for each query")
    box = grid.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 10)
    settle(page)
    assert trait(page, "query") == 7 and "may look at 8 of 8" in said(page)


def test_a_leak_is_called_one_and_crossed_out(stage):
    assert words(stage(CASE.make(mask="causal"))) == ["", "no leak", "", "same"]
    wrong = {**MASKS, "causal_mask": lambda T, S=None: torch.ones(T, S or T).tril((S or T) - T + 1) > 0}
    page = stage(MaskExplorer(wrong, mask="causal"))
    assert words(page) == ["", "leak", "", "differs"]
    crosses = page.get_by_role("img", name="Grid: one row for each query").locator("path.ta-mark")
    assert crosses.count() == 7


def test_layers_extend_the_reach_of_a_narrow_mask(stage):
    narrow = {**MASKS, "causal_mask": lambda T, S=8: torch.ones(T, S).tril(S - T).triu(S - T - 1) > 0}
    page = stage(MaskExplorer(narrow, mask="causal", query=6, layers=1))
    assert "after 1 layer it depends on 2 of 8" in said(page)
    find(page, "slider", "layers").press("End")
    settle(page)
    assert "after 4 layers it depends on 5 of 8" in said(page)
