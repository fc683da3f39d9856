"""Tier 2 of ObjectiveLab: its script alone in Chromium; test_promises.py tests what all widgets share."""

import pytest
from anatomy.widgets import ObjectiveLab

from autograder.recording.widgets.objective import OBJECTIVES

from ..page import said, settle, trait, words
from .case import CASE

pytestmark = pytest.mark.browser


def test_the_lab_says_what_is_seen_and_asked(stage):
    page = stage(CASE.make(objective="next_token_pairs", place=3))
    assert "sees one dog saw two → must predict “cats”" in said(page)
    page = stage(CASE.make(objective="nsp_pair", place=0, draw=1))
    assert "must predict “random”" in said(page)
    wrong = {**OBJECTIVES, "next_token_pairs": lambda ids: (ids[:, :-1], ids[:, :-1])}
    assert words(stage(ObjectiveLab(wrong))) == ["", "", "differs"]


def test_a_token_is_pointed_at_clicked_and_reached_by_keys(stage):
    page = stage(CASE.make(objective="next_token_pairs", place=3))
    area = page.locator(".ta-area")
    box = area.bounding_box()
    spot = box["x"] + 5.5 / 16 * box["width"], box["y"] + 0.5 * box["height"]  # the second of three rows
    page.mouse.move(*spot)
    settle(page)
    heard = page.locator(".ta-readout").text_content()
    assert "labels[5] = “then”: one of 10 terms, −ln p(then | x[0…5]) ÷ 10" in heard and "= 3.37" in heard
    assert trait(page, "place") == 3
    page.mouse.click(*spot)
    page.mouse.move(1, 1)
    settle(page)
    assert trait(page, "place") == 5
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    settle(page)
    assert trait(page, "place") == 4 and page.locator(".ta").get_attribute("data-peek") == ""
