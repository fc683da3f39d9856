"""Tier 2 of MaskExplorer and ObjectiveLab: their scripts alone in Chromium, beyond what every widget promises."""

import pytest
import torch
from anatomy.widgets import MaskExplorer, ObjectiveLab

from autograder.recording.widgets import MASKS, OBJECTIVES

from .cases import CASES, find, said, settle, trait, words

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", ["MaskExplorer", "ObjectiveLab"])
def test_every_setting_is_drawn_and_said(stage, name):
    """The list from end to end, each with the last value of the other controls: no error, no missing word."""
    page = stage(CASES[name].usual)
    first = CASES[name].controls[0][2]
    count = page.locator("select option").count()
    for i in range(count):
        for place in (0, 31):
            page.evaluate(
                "([name, i, place]) => { model.set(name, i); for (const k of ['query', 'size', 'place']) "
                "model.set(k, place); }",
                [first, i, place],
            )
            settle(page)
            heard = said(page)
            assert heard and "undefined" not in heard and "NaN" not in heard, (i, place, heard)
            drawn = " ".join(page.locator(".ta-svg text").all_text_contents())
            assert "undefined" not in drawn and "NaN" not in drawn, (i, place, drawn)


def test_a_click_on_a_row_chooses_the_query(stage):
    page = stage(CASES["MaskExplorer"].make(mask="causal", query=0))
    grid = page.get_by_role("img", name="Grid: one row for each query")
    box = grid.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 10)
    settle(page)
    assert trait(page, "query") == 7 and "may look at 8 of 8" in said(page)


def test_a_leak_is_called_one_and_crossed_out(stage):
    assert words(stage(CASES["MaskExplorer"].make(mask="causal"))) == ["", "no leak", "", "same"]
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


def test_the_lab_says_what_is_seen_and_asked(stage):
    page = stage(CASES["ObjectiveLab"].make(objective="next_token_pairs", place=3))
    assert "sees one dog saw two → must predict “cats”" in said(page)
    page = stage(CASES["ObjectiveLab"].make(objective="nsp_pair", place=0, draw=1))
    assert "must predict “random”" in said(page)
    wrong = {**OBJECTIVES, "next_token_pairs": lambda ids: (ids[:, :-1], ids[:, :-1])}
    assert words(stage(ObjectiveLab(wrong))) == ["", "", "differs"]
