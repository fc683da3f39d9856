"""Tier 2 of WavelengthExplorer: its script alone in Chromium, beyond what every widget promises."""

import pytest
from anatomy.widgets import (
    WavelengthExplorer,
)

from ..page import find, said, settle, words
from .case import CASE
from .learners import right_frequencies

pytestmark = pytest.mark.browser


def test_wavelength_plane_beyond_a_smaller_dimension(stage):
    page = stage(CASE.make(plane=127, dim=256))
    find(page, "slider", "head dimension D").press("Home")
    settle(page)
    assert "plane 15:" in said(page)
    assert page.get_by_role("slider", name="plane to read i").get_attribute("max") == "15"
    page = stage(WavelengthExplorer(lambda D, base=1e4: right_frequencies(D, base) * 0))
    assert words(page)[3:] == ["broken", "broken", "differs"]
