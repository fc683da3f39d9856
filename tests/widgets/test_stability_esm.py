"""Tier 2 of SoftmaxStabilityExplorer: the script alone in Chromium, and the exported page."""

import pytest
from anatomy.widgets import SoftmaxStabilityExplorer

from .cases import find
from .learners import unfinished
from .promises import (
    SCHEMES,
    cuts_nothing_off,
    draws_refreshed_tables,
    exports_a_readable_page,
    leaves_nothing_behind,
    moves_by_keyboard,
    names_its_controls,
    settle,
)
from .stability_learners import RIGHT, WRONG

pytestmark = pytest.mark.browser

RUN = {"grow": "as in a training run", "step": 4}
CONTROLS = [
    ("group", "scores grow", "grow", "ArrowRight", {}), ("slider", "factor", "factor", "ArrowLeft", {}),
    ("slider", "step of the run", "step", "ArrowRight", RUN), ("slider", "soft cap c", "cap", "ArrowLeft", {}),
    ("slider", "gain of QK-norm", "gain", "ArrowRight", {}), ("slider", "λ of z-loss", "coefficient", "End", {}),
    ("group", "curves show", "quantity", "ArrowRight", {}),
]
SILENT = ("quantity", "coefficient")  # what the readout says does not depend on these


@pytest.mark.parametrize("role, name, trait_name, key, state", CONTROLS, ids=[c[2] for c in CONTROLS])
def test_keyboard_moves_every_control_and_the_picture(stage, role, name, trait_name, key, state):
    page = stage(SoftmaxStabilityExplorer(RIGHT, **state))
    assert moves_by_keyboard(page, role, name, trait_name, key) == (trait_name not in SILENT)


def test_all_controls_are_listed_named_and_keep_their_keys(stage):
    names_its_controls(stage(SoftmaxStabilityExplorer(RIGHT)), SoftmaxStabilityExplorer, CONTROLS)


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
    said, n = page.locator(".ta [aria-live=polite]").text_content(), widget.figures()
    for shown, name in (("no remedy", "none"), ("soft cap", "soft cap"), ("QK-norm", "QK-norm")):
        part = said.split(f"{shown} largest score ")[1]
        largest, weight = part.split(", weight ")[:2]
        assert float(largest.replace(",", "")) == pytest.approx(n["largest"][name], rel=6e-3)
        assert float(weight[:5]) == pytest.approx(n["weight"][name], abs=6e-4)
    assert ", ".join(n["nan"]) + "." in said or "in no dtype." in said


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
    words = lambda page: page.locator(".ta-word").all_text_contents()
    assert words(stage(SoftmaxStabilityExplorer(RIGHT))) == ["yours, same"] * 6
    assert words(stage(SoftmaxStabilityExplorer(WRONG))) == ["yours, differs"] * 6
    page = stage(SoftmaxStabilityExplorer({**RIGHT, "soft_cap": lambda x, cap: 1 / 0}))
    assert words(page) == ["yours, same"] * 5 + ["reference shown"]
    assert "soft_cap, which raised ZeroDivisionError" in page.locator(".ta-notice").text_content()
    assert "the reference's, slope" in page.locator(".ta-caption").nth(1).text_content()


def test_functions_that_give_nan_are_said_not_drawn(stage):
    widget = SoftmaxStabilityExplorer({**RIGHT, "soft_cap": lambda x, cap: x * float("nan")})
    page = stage(widget)
    assert "NaN" in page.locator(".ta [aria-live=polite]").text_content()
    assert page.locator(".ta-word").all_text_contents()[-1] == "yours, differs"
    assert "nan" in widget.alt and widget.png()


def test_refresh_and_cleanup(stage):
    fresh = SoftmaxStabilityExplorer(dict.fromkeys(RIGHT, unfinished))
    page = stage(fresh)
    draws_refreshed_tables(page, fresh, RIGHT)
    leaves_nothing_behind(page)


@SCHEMES
def test_exported_page_works_and_reads_well_in_either_scheme(browser, tmp_path, scheme):
    exports_a_readable_page(browser, SoftmaxStabilityExplorer(RIGHT).save_html(tmp_path / "page.html"), scheme)


@pytest.mark.parametrize("width", [900, 860, 830])
@pytest.mark.parametrize("state", [{}, {"factor": 36, "coefficient": 1.0, "gain": 8.0}, {**RUN, "step": 19}])
def test_nothing_is_cut_off_or_overlaps(stage, state, width):
    cuts_nothing_off(stage(SoftmaxStabilityExplorer(RIGHT, **state), viewport={"width": width, "height": 900}))
