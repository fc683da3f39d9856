"""Tier 2 of CacheCalculator: the script alone in Chromium, and the exported page."""

import pytest
from anatomy.widgets import CacheCalculator

from .learners import unfinished
from .promises import (
    SCHEMES,
    cuts_nothing_off,
    draws_refreshed_tables,
    exports_a_readable_page,
    leaves_nothing_behind,
    moves_by_keyboard,
    names_its_controls,
)
from .test_cache_tables import right

pytestmark = pytest.mark.browser

CONTROLS = [
    ("combobox", "model", "model", "ArrowDown"), ("combobox", "attention", "kind", "ArrowDown"),
    ("combobox", "layers", "stack", "End"), ("combobox", "GPU", "gpu", "ArrowUp"),
    ("slider", "tokens per user", "tokens", "ArrowRight"), ("slider", "users", "users", "ArrowLeft"),
    ("group", "bytes per number", "itemsize", "ArrowRight"),
]


@pytest.mark.parametrize("role, name, trait_name, key", CONTROLS, ids=[c[2] for c in CONTROLS])
def test_keyboard_moves_every_control_and_the_picture(stage, role, name, trait_name, key):
    page = stage(CacheCalculator(right))
    assert moves_by_keyboard(page, role, name, trait_name, key)


def test_all_controls_are_listed_named_and_keep_their_keys(stage):
    names_its_controls(stage(CacheCalculator(right)), CacheCalculator, CONTROLS)


def test_page_and_python_say_the_same(stage):
    for state in ({}, {"model": 12, "tokens": 32768, "users": 64}, {"model": 13, "gpu": 5, "users": 1024}):
        widget = CacheCalculator(right, **state)
        said = stage(widget).locator(".ta [aria-live=polite]").text_content()
        n = widget.figures()
        assert f"{n['per_token']:,.0f} bytes per token" in said and f"{n['fit']:,} fit on" in said


def test_a_formula_that_differs_is_told(stage):
    page = stage(CacheCalculator(lambda n_layers, n_kv_heads, head_dim, itemsize=2: n_layers * n_kv_heads * head_dim))
    assert page.locator(".ta-word").all_text_contents()[-1] == "differs"
    assert stage(CacheCalculator(right)).locator(".ta-word").all_text_contents()[-1] == "same"


def test_refresh_and_cleanup(stage):
    fresh = CacheCalculator(unfinished)
    page = stage(fresh)
    draws_refreshed_tables(page, fresh, right)
    leaves_nothing_behind(page)


@SCHEMES
def test_exported_page_works_and_reads_well_in_either_scheme(browser, tmp_path, scheme):
    exports_a_readable_page(browser, CacheCalculator(right).save_html(tmp_path / "page.html"), scheme)


@pytest.mark.parametrize("state", [{}, {"users": 1024}, {"model": 11, "users": 1}, {"model": 13, "gpu": 5, "users": 8}])
def test_nothing_is_cut_off_or_overlaps(stage, state):
    cuts_nothing_off(stage(CacheCalculator(right, **state), viewport={"width": 860, "height": 900}))
