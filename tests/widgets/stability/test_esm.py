"""Tier 2 of SoftmaxStabilityExplorer: its script alone in Chromium, beyond what every widget promises."""

import pytest
from anatomy.widgets import SoftmaxStabilityExplorer

from ..page import find, said, settle, words
from .case import RUN
from .learners import RIGHT, WRONG

pytestmark = pytest.mark.browser


def test_only_the_control_that_counts_is_enabled(stage):
    page = stage(SoftmaxStabilityExplorer(RIGHT))
    assert find(page, "slider", "factor").is_enabled() and find(page, "slider", "step of the run").is_disabled()
    find(page, "group", "scores grow").press("ArrowRight")
    settle(page)
    assert find(page, "slider", "factor").is_disabled() and find(page, "slider", "step of the run").is_enabled()


@pytest.mark.parametrize("state", [{}, RUN, {"factor": 36, "cap": 1.0}, {"factor": 0, "gain": 8.0}])
def test_page_and_python_say_the_same(stage, state):
    widget = SoftmaxStabilityExplorer(RIGHT, **state)
    page = stage(widget)
    heard, n = said(page), widget.readings()
    for shown, name in (("no remedy", "none"), ("soft cap", "soft cap"), ("QK-norm", "QK-norm")):
        part = heard.split(f"{shown} largest score ")[1]
        largest, weight = part.split(", weight ")[:2]
        assert float(largest.replace(",", "")) == pytest.approx(n["largest"][name], rel=6e-3)
        assert float(weight[:5]) == pytest.approx(n["weight"][name], abs=6e-4)
    assert ", ".join(n["nan"]) + "." in heard or "in no dtype." in heard


def test_dtype_table_says_nan_where_torch_does(stage):
    page = stage(SoftmaxStabilityExplorer(RIGHT, factor=16))  # scores up to 64
    rows = [row.locator("td").all_text_contents() for row in page.locator("table").first.locator("tr").all()[1:]]
    assert [r[1] for r in rows] == ["NaN", "1.000", "1.000", "1.000"] and [r[2] for r in rows] == ["1.000"] * 4
    assert [r[0] for r in rows] == ["x = 11.1", "x = 88.7", "x = 88.7", "x = 709.8"]
    assert {r[3] for r in rows} == {"64"}
    page = stage(SoftmaxStabilityExplorer({**RIGHT, "logsumexp": WRONG["logsumexp"]}, factor=16))
    cells = page.locator("table").first.locator("tr").nth(1).locator("td").all_text_contents()
    assert cells[3] == "∞ ✗"


def test_words_tell_whose_function_is_on_show(stage):
    assert words(stage(SoftmaxStabilityExplorer(RIGHT))) == ["yours, same"] * 6
    assert words(stage(SoftmaxStabilityExplorer(WRONG))) == ["yours, differs"] * 6
    page = stage(SoftmaxStabilityExplorer({**RIGHT, "soft_cap": lambda x, cap: 1 / 0}))
    assert words(page) == ["yours, same"] * 5 + ["reference shown"]
    assert "soft_cap, which raised ZeroDivisionError" in page.locator(".ta-notice").text_content()
    assert "the reference's, slope" in page.locator(".ta-caption").nth(1).text_content()


def test_functions_that_give_nan_are_said_not_drawn(stage):
    widget = SoftmaxStabilityExplorer({**RIGHT, "soft_cap": lambda x, cap: x * float("nan")})
    page = stage(widget)
    assert "NaN" in said(page)
    assert words(page)[-1] == "yours, differs"
    assert "nan" in widget.alt and widget.png()
