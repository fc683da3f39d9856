"""Tier 2 of ObjectiveLab: its script alone in Chromium, beyond what every widget promises."""

import pytest
from anatomy.widgets import ObjectiveLab

from autograder.recording.widgets.objective import OBJECTIVES

from ..page import said, words
from .case import CASE

pytestmark = pytest.mark.browser


def test_the_lab_says_what_is_seen_and_asked(stage):
    page = stage(CASE.make(objective="next_token_pairs", place=3))
    assert "sees one dog saw two → must predict “cats”" in said(page)
    page = stage(CASE.make(objective="nsp_pair", place=0, draw=1))
    assert "must predict “random”" in said(page)
    wrong = {**OBJECTIVES, "next_token_pairs": lambda ids: (ids[:, :-1], ids[:, :-1])}
    assert words(stage(ObjectiveLab(wrong))) == ["", "", "differs"]
