"""benchmarks.widget_latency measures correctly: slow drawings are slow, missing kinds of input are left out."""

import random

import pytest

from benchmarks import widget_latency
from benchmarks.widget_latency_page import (
    CONTROL,
    Found,
    act,
    by_drag,
    by_hover,
    by_key,
    figures,
    frames,
    percentile,
    watch,
    ways,
)

SLOW = 60  # ms of delay for a slow drawing
BUSY = f"const until = performance.now() + {SLOW}; while (performance.now() < until);"


@pytest.fixture
def opened(browser):
    """opened(html) → page with the watch running."""
    contexts = []

    def show(html):
        contexts.append(browser.new_context(viewport={"width": 600, "height": 400}))
        page = contexts[-1].new_page()
        page.set_content(html)
        watch(page)
        return page

    yield show
    for context in contexts:
        context.close()


@pytest.mark.browser
def test_every_way_is_measured_and_scripts_take_a_part_of_it(opened):
    page = opened(CONTROL)
    found = list(ways(page, page.locator("input"), 5))
    assert [f.what for f in found] == ["key", "hover", "drag"]
    for f in found:
        assert len(f.pixels) == len(f.scripts) == 5
        assert all(0 <= script < pixels for script, pixels in zip(f.scripts, f.pixels, strict=True))


@pytest.mark.browser
@pytest.mark.parametrize("how", ["in the event", "in a microtask", "in a frame"])
def test_a_slow_drawing_is_seen_wherever_it_is_done(opened, how):
    wrap = {
        "in the event": "%s",
        "in a microtask": "queueMicrotask(() => { %s })",
        "in a frame": "requestAnimationFrame(() => { %s })",
    }
    slow = wrap[how] % f"{BUSY} root.dataset[where] = ++n; said.textContent = n % 10;"
    page = opened(CONTROL.replace("const answer = (where) => {", f"const answer = (where) => {{ {slow}; return;"))
    for found in ways(page, page.locator("input"), 3):
        assert min(found.pixels) >= SLOW and min(found.scripts) >= SLOW * 0.95, found


@pytest.mark.browser
def test_what_changes_nothing_is_not_counted(opened):
    page = opened(CONTROL)
    found = Found("hover")
    assert not act(page, found, lambda: page.mouse.move(500, 390), random.Random(0))
    assert (found.pixels, found.unanswered) == ([], 1)
    points = iter([(200, 100), (210, 100), (220, 100), (230, 100)])  # several, in case the machine is busy
    assert any(act(page, found, lambda: page.mouse.move(*next(points)), random.Random(0)) for _ in range(4))
    assert len(found.pixels) == 1


@pytest.mark.browser
def test_a_widget_without_maps_and_handles_has_only_keys(opened):
    page = opened(CONTROL.replace('class="ta-area"', ""))
    assert by_hover(page, 3).pixels == by_drag(page, 3).pixels == []
    assert [f.what for f in ways(page, page.locator("input"), 3)] == ["key"]


@pytest.mark.browser
def test_a_key_turns_back_at_the_end_of_a_range(opened):
    page = opened(CONTROL.replace('max="99999"', 'max="2"'))
    assert len(by_key(page, page.locator("input"), 6).pixels) == 6


@pytest.mark.browser
def test_a_widget_is_moved_in_all_three_ways(browser):
    rows = widget_latency.in_page(browser, "RopeExplorer", 2)
    assert [row.found.what for row in rows] == ["key", "hover", "drag"]
    assert all(str(row).count("|") == widget_latency.HEAD.splitlines()[0].count("|") for row in rows)


@pytest.mark.browser
def test_frames_come_at_a_steady_pace(opened):
    between = frames(opened(CONTROL), 10)
    assert len(between) == 10 and min(between) > 0 and 5 < percentile(between, 50) < 200


def test_a_row_is_within_the_limits_or_not():
    row = lambda *ms: widget_latency.Row("page", "X", Found("key", list(ms), [0.1] * len(ms)), 0.0)
    good, slow, uneven = row(*[10.0] * 20), row(*[13.0] * 20), row(*[10.0] * 18, 30.0, 30.0)
    assert [r.met for r in (good, slow, uneven)] == [True, False, False]
    assert figures([1, 2, 3, 4]) == (2.5, 4)
    assert "1 of 3 rows are within" in (said := widget_latency.verdict([good, slow, uneven], [good]))
    assert "X key in page" in said and "cannot show" not in said
    assert "cannot show" in widget_latency.verdict([good], [slow])


def test_sizes_are_those_of_the_bundle():
    code, packed, tables, tables_packed, page = widget_latency.sizes("MixExplorer")
    assert packed < code < page and tables_packed < page and page > code + tables * 4 / 3
