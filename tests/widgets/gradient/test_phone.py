"""GradientFlowExplorer on a phone."""

import pytest

from ..stages import set_state
from .case import CASE


@pytest.mark.browser
def test_on_a_phone_the_labels_have_room_and_the_hint_stays_over_the_boxes(stage):
    """Numbers of layers don't touch, and the hint is no wider than the boxes that it speaks of."""
    page = stage(CASE.make(depth=96, back=0), viewport={"width": 390, "height": 900})
    flow = page.locator("svg[aria-label^='The gradient of each layer']")
    hint = flow.get_by_text("empty: let the gradient run back", exact=True).bounding_box()
    area = page.locator(".ta-area[aria-label^='Flow']").bounding_box()
    assert area["x"] - 6 <= hint["x"] and hint["x"] + hint["width"] <= area["x"] + area["width"] + 6
    for depth in (6, 12, 24, 96):
        set_state(page, {"depth": depth})
        places = [one.bounding_box() for one in flow.locator("g text").all()]
        assert len(places) > 4 and all(
            b["x"] - a["x"] - a["width"] >= 4 for a, b in zip(places, places[1:], strict=False)
        )
