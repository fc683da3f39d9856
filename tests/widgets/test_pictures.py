"""Each widget looks as it did when its picture was last approved: light and dark, on a phone, in a notebook, wide.

comparing.py takes and compares the pictures. ``make pictures`` stores them anew.
"""

import json
import tempfile
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from . import comparing
from .cases import CASES
from .comparing import MOST, SCHEMES, WIDTHS, differing, other_words, packed, photograph, shown, verdict, words
from .page import settle
from .stages import set_state

EACH = pytest.mark.parametrize("name", CASES)


@pytest.fixture(scope="module")
def folder():
    """Folder for expected, got and difference of all failures; it is kept after the test."""
    return Path(tempfile.gettempdir()) / "widget-pictures"


@pytest.mark.browser
@EACH
@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_looks_as_it_did(stages, folder, name, scheme):
    found = []
    for width in WIDTHS:
        with shown(stages, name, scheme, width) as page:
            found.append(verdict(name, scheme, width, photograph(page), folder))
            now = words(page)
        kept = comparing.words_of(name)
        before = (
            json.loads(kept.read_text(encoding="utf-8"))[str(width)] if kept.exists() else {"drawn": [], "said": []}
        )
        found += [f"{width} px, {sentence}" for sentence in other_words(before, now)]
    found = [sentence for sentence in found if sentence]
    assert not found, "\n" + "\n".join(found)


def test_no_picture_is_left_of_a_widget_that_is_gone():
    assert not comparing.abandoned(), "`make pictures` removes them"


# A widget with arrows, curves and a map, all open.
OPEN = {"panels": ["dials", "score", "map"]}


# Changes that an edit of styles or scripts could cause without being noticed. The code must find each element.
SPOILS = {
    "an arrow head": "document.querySelector('.ta-head').remove()",
    "the dashes of one arrow": "document.querySelector('.ta-arrow.ta-two').style.strokeDasharray = 'none'",
    "the dashes of the reference": "document.querySelector('.ta-reference').style.strokeDasharray = 'none'",
    "a thinner curve": "document.querySelector('.ta-mine').style.strokeWidth = '1.2'",
    "another color": "document.querySelector('.ta-mine').style.stroke = '#56b4e9'",
    "one pixel further": "document.querySelector('.ta-svg').style.marginLeft = '1px'",
    "the cells of the map": "document.querySelector('.ta canvas').style.visibility = 'hidden'",
}
SPOILED_WORDS = {
    "a label is gone": ("document.querySelector('.ta-svg text').remove()", "missing ['θ = 1']"),
    "a label is elsewhere": (
        "(() => { const {y} = document.querySelector('.ta-svg text').attributes; y.value = 5 + +y.value; })()",
        "stands at",
    ),
    "another number": (
        "(() => { const t = [...document.querySelectorAll('.ta-svg text')].find((t) => t.textContent === '16'); "
        "t.textContent = '17'; })()",
        "“17” for “16”",
    ),
    "a sentence is gone": ("document.querySelector('.ta-title').remove()", "missing ['RoPE"),
}


@pytest.mark.browser
@pytest.mark.parametrize("what", SPOILS)
def test_what_is_lost_is_found(stages, tmp_path, what):
    with shown(stages, "RopeExplorer", "light", 820) as page:
        set_state(page, OPEN)
        before = photograph(page)
        assert verdict("RopeExplorer", "light", 820, photograph(page), tmp_path, expected=before) == ""
        page.evaluate(f"() => {{ {SPOILS[what]} }}")
        settle(page)
        said = verdict("RopeExplorer", "light", 820, photograph(page), tmp_path, expected=before)
    assert "pixels differ" in said and str(tmp_path) in said
    assert {p.name.rpartition("-")[2] for p in tmp_path.glob("*.png")} == {"expected.png", "got.png", "difference.png"}


@pytest.mark.browser
@pytest.mark.parametrize("what", SPOILED_WORDS)
def test_a_lost_word_is_found(stages, what):
    script, sentence = SPOILED_WORDS[what]
    with shown(stages, "RopeExplorer", "light", 820) as page:
        set_state(page, OPEN)
        before = words(page)
        assert other_words(before, words(page)) == []
        page.evaluate(f"() => {{ {script} }}")
        settle(page)
        assert sentence in "; ".join(other_words(before, words(page)))


@pytest.mark.browser
def test_words_are_not_in_the_picture_and_their_room_is(stages, tmp_path):
    """Other letters of the same widths move no pixel; longer texts may take more room."""
    with shown(stages, "RopeExplorer", "light", 820) as page:
        set_state(page, OPEN)
        before = photograph(page)
        page.evaluate("""() => {
          const title = document.querySelector('.ta-title').firstChild;
          title.data = [...title.data].reverse().join('');
        }""")
        page.evaluate("() => document.querySelectorAll('.ta-svg text').forEach((t) => { t.textContent += '!'; })")
        assert differing(before, photograph(page))[0] <= MOST


@pytest.mark.browser
def test_last_digits_of_another_processor_change_nothing(stages, tmp_path):
    """Tables that differ in the last bits of float32 give the same picture and the same words."""
    nudge = """() => {
      const moved = Object.fromEntries(Object.entries(model.get('tables')).map(([k, v]) => {
        const copy = new Float32Array(v.buffer.slice(v.byteOffset, v.byteOffset + v.byteLength));
        return [k, new DataView(copy.map((x, i) => Math.fround(x * (1 + (i % 3 - 1) * 3e-7))).buffer)];
      }));
      model.set('tables', moved);
    }"""
    with shown(stages, "RopeExplorer", "light", 820) as page:
        set_state(page, OPEN)
        before, kept = photograph(page), words(page)
        page.evaluate(nudge)
        settle(page)
        assert verdict("RopeExplorer", "light", 820, photograph(page), tmp_path, expected=before) == ""
        assert other_words(kept, words(page)) == []


def _drawing(*spots):
    image = Image.new("RGB", (60, 40), "white")
    for box in spots:
        ImageDraw.Draw(image).rectangle(box, fill="black")
    return image


@pytest.mark.parametrize("spot, least", [((30, 20, 34, 24), 25), ((0, 0, 4, 4), 25), ((55, 35, 59, 39), 25)])
def test_pixels_are_counted_one_by_one(spot, least):
    """Also at the edges, and with the same result as for the whole picture."""
    from pixelmatch.contrib.PIL import pixelmatch

    count, picture = differing(_drawing(), _drawing(spot))
    assert count == least == pixelmatch(_drawing(), _drawing(spot), threshold=comparing.THRESHOLD)
    assert picture.size == (60, 40) and picture.getpixel(spot[:2]) == (255, 0, 0)


def test_eight_pixels_may_differ_and_no_more(tmp_path):
    some, more = _drawing((3, 3, 6, 4)), _drawing((3, 3, 6, 4), (20, 20, 20, 20))
    ask = lambda got: verdict("RopeExplorer", "light", 820, got, tmp_path, expected=_drawing())
    assert ask(some) == "" and "9 pixels differ" in ask(more)


def test_another_size_is_never_the_same(tmp_path):
    got = Image.new("RGB", (60, 41), "white")
    assert "60 × 41 for 60 × 40" in verdict("RopeExplorer", "light", 820, got, tmp_path, expected=_drawing())


@pytest.mark.parametrize("colors", [3, 200, 256, 300])
def test_what_is_stored_is_the_picture_itself(tmp_path, colors):
    image = Image.new("RGB", (40, 40))
    image.putdata([(i % colors % 256, i % colors // 256, 7) for i in range(1600)])
    (tmp_path / "a.png").write_bytes(packed(image))
    assert Image.open(tmp_path / "a.png").convert("RGB").tobytes() == image.tobytes()


@pytest.mark.parametrize(
    "before, now, same",
    [
        ("q·k = 2.71", "q·k = 2.72", True),
        ("q·k = 2.71", "q·k = 2.73", False),
        ("m = 9", "m = 10", False),
        ("5.4e−7 ok", "6.1e−7 ok", True),
        ("5.4e−7 ok", "6.1e−3 ok", False),
        ("54,410 bytes", "54,411 bytes", False),
        ("1,024.5", "1,024.6", True),
        ("up", "down", False),
    ],
)
def test_a_number_may_differ_by_one_in_its_last_digit(before, now, same):
    page = lambda text: {"drawn": [[text, 10, 10]], "said": []}
    assert (other_words(page(before), page(now)) == []) == same
