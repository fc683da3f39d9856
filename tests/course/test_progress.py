"""Progress: what counts as done, what comes next, and how it is shown."""

import json
import re
import time

import pytest
from anatomy import progress
from anatomy.judge.verdict import Verdict
from anatomy.notebook import after_check
from anatomy.progress.page import duration
from anatomy.progress.standing import note, unit_view, views, whats_next
from anatomy.system import store
from anatomy.system.store import read, update

from .units_folder import EARLY, FIRST, LATE, SECOND, THIRD, add_extensions, put, tried, write


@pytest.fixture(autouse=True)
def small_course(tmp_path, monkeypatch):
    folder = write(tmp_path / "assets")
    monkeypatch.setenv("ANATOMY_ASSETS", str(folder))
    monkeypatch.setattr(store, "_unsaved", {})
    return folder / "units"


def summary():
    return [(u.name, u.done, len(u.core), *u.points) for u in views() if not u.problem]


# ---- tries -----------------------------------------------------------------------------------------------


def test_tries_are_those_up_to_the_first_pass():
    assert tried(FIRST)["tries"] == 1
    assert tried(FIRST, score=0.5)["best"] == 0.5
    entry = tried(FIRST, passed=True)
    assert (entry["tries"], entry["passed_on_try"], entry["best"]) == (3, 3, 1.0)
    for again in (True, False, True):
        assert tried(FIRST, passed=again) == entry == read("progress")[FIRST]


def test_an_older_file_that_counted_on_says_the_tries_of_the_pass():
    put("progress", json.dumps({FIRST: {"tries": 9, "best": 1, "passed_on_try": 3}}))
    assert read("progress")[FIRST]["tries"] == 3 and tried(FIRST)["tries"] == 3


# ---- display ---------------------------------------------------------------------------------------------


def test_the_whole_course_in_one_call():
    tried(FIRST, passed=True)
    for passed in (False, True):
        tried(SECOND, passed=passed, score=2.0 * passed)
    tried(THIRD, score=1.0)
    update(
        "predictions",
        lambda data: data.update(
            {
                "rope.p1": {"choice": "gone?", "held": True, "shown": True},
                "rope.p2": {"choice": "ruins back", "held": False, "shown": True},
                "rope.p3": {"choice": "12", "held": None, "shown": True},
            }
        ),
    )
    update("quizzes", lambda data: data.update({"rope.q-1": {"first": "by 5θ", "right_on_first": True, "tries": 1}}))
    update("claims", lambda data: data.update(c1=True))
    text = repr(progress())
    assert text.splitlines() == [
        "Next: RoPE <all planes> (Rotary positions, about 45 min)",
        "",
        "Start here        █ 1/1 exercises, 1/1 points, done",
        "Rotary positions  █░ 1/2 exercises, 3/6 points, about 1 h 10 min left",
        "                  1 of 2 predictions held, recap: 1 of 1 right at first try, 1 to go, 1 of 2 claims decided",
        "Total             2/3 exercises, 4/7 points, about 1 h 10 min left",
    ]
    page = progress()._repr_html_()
    words = re.sub(r"<[^>]+>", " ", page)
    for said in (
        "1/2 exercises",
        "1 of 2 predictions held",
        "1 of 1 right at first try, 1 to go",
        "1 of 2 claims decided",
        "3/6 points",
        "about 1 h 10 min left",
        "passed on try 2",
        "1 try so far",
        "RoPE &lt;all planes&gt;",
    ):
        assert said in words, said
    assert 'href="../06-rope/06-rope.ipynb#cell-id=say-rope-rope"' in page and "<all planes>" not in page
    assert 'aria-label="Rotary positions: 1 of 2 exercises"' in page and page.count('role="heading"') == 2
    assert "<details>" in page and "<h" not in page.replace("<html", "")


def test_one_unit_unfolded():
    shown = progress("06-rope")
    assert "<details open>" in shown._repr_html_() and "Start here" not in shown._repr_html_().split("</strong>")[1]
    assert repr(shown).splitlines()[-2:] == [
        "  · Turning a pair: not tried yet",
        "  · RoPE <all planes>: not tried yet",
    ]
    with pytest.raises(ValueError, match="There is no unit '99'. Units: 00-start, 06-rope"):
        progress("99")
    assert summary() == [("00-start", 0, 1, 0, 1), ("06-rope", 0, 2, 0, 6)]
    state = lambda: (unit_view("06-rope").done, len(unit_view("06-rope").core), unit_view("06-rope").minutes)
    assert state() == (0, 2, 90)
    tried(SECOND, passed=True)
    assert state() == (1, 2, 70)


def test_what_is_next_follows_the_last_pass(monkeypatch):
    def coming(**kwargs):
        found = whats_next(**kwargs)
        return found and found["exercise"]["id"]

    assert coming() == FIRST and coming(after=FIRST) == SECOND and coming(after="unknown") == FIRST
    clock = iter(range(1000, 2000))
    monkeypatch.setattr(time, "time", lambda: next(clock))
    tried(SECOND, passed=True)
    assert coming() == THIRD and coming(after=FIRST) == THIRD and coming(after=THIRD) == FIRST
    tried(FIRST, passed=True)
    assert coming() == THIRD
    tried(THIRD, passed=True)
    assert coming() is None and coming(after=THIRD) is None
    assert "Every exercise is passed." in repr(progress()) and "Every exercise is passed." in progress()._repr_html_()


def test_a_new_unit_is_begun_at_its_first_page():
    tried(FIRST, passed=True)
    assert whats_next(after=FIRST)["href"] == "../06-rope/06-rope.ipynb" and not whats_next(after=FIRST)["begun"]
    tried(SECOND, passed=False)
    assert whats_next(after=FIRST)["href"].endswith("#cell-id=say-" + SECOND.replace(".", "-"))


def test_next_by_the_course_where_older_entries_have_no_time():
    passed = {"tries": 1, "best": 1, "passed_on_try": 1}
    put("progress", json.dumps({SECOND: passed}))
    assert whats_next() == {
        "unit": "06-rope",
        "title": "Rotary positions",
        "exercise": whats_next()["exercise"],
        "begun": True,
        "href": "../06-rope/06-rope.ipynb#cell-id=say-rope-rope",
    }


@pytest.mark.parametrize("text, said", [("{broken", "is damaged"), ('{"title": "x"}', "is damaged")])
def test_a_damaged_unit_hides_no_other(small_course, text, said):
    (small_course / "06-rope.json").write_text(text)
    assert said in repr(progress()) and "Start here" in repr(progress())
    assert said in progress()._repr_html_() and "Start here" in progress()._repr_html_()
    assert whats_next()["exercise"]["id"] == FIRST


def test_durations_in_words():
    assert [duration(m) for m in (0, 5, 60, 165)] == ["0 min", "5 min", "1 h", "2 h 45 min"]


# ---- extensions ------------------------------------------------------------------------------------------
@pytest.fixture
def extensions(small_course):
    """Unit 06 with two extensions, one between its core exercises and one after them; then a unit without any."""
    add_extensions(small_course)


def below(exercise, points=1.0):
    """What a learner reads after passing an exercise: (HTML, text)."""
    entry = note(Verdict(exercise, True, points, points))
    return after_check.after(Verdict(exercise, True, points, points), entry)


def coming(after=None):
    found = whats_next(after=after)
    return found and found["exercise"]["id"]


def test_the_loop_leads_along_the_core_path_and_offers_the_extensions_at_its_end(extensions):
    text = below(SECOND)[1]
    assert "Rotary positions: 1 of 2 exercises, extensions 0 of 2, about 70 min left." in text
    assert text.endswith("Next: RoPE <all planes>, about 45 min") and "Extension" not in text
    markup, text = below(THIRD)
    assert text.splitlines()[-3:] == [
        "Rotary positions: 2 of 2 exercises, extensions 0 of 2.",
        "Core path done. Next unit: Masks",
        "Extensions: Stretching <it> (20 min) · A third form (20 min)",
    ]
    assert 'href="06-rope.ipynb#cell-id=say-rope-stretch"' in markup and "<it>" not in markup
    assert 'max="2" value="2" aria-label="Rotary positions: 2 of 2 exercises"' in markup


def test_after_an_extension_comes_what_is_below_it_of_either_kind(extensions):
    assert below(EARLY)[1].endswith("Next: RoPE <all planes>, about 45 min")
    tried(THIRD, passed=True)
    assert coming(after=EARLY) == LATE and "Next extension: A third form, about 20 min" in below(EARLY)[1]
    assert coming() == SECOND, "over the course the core comes first"
    text = below(LATE)[1]
    assert "Next: Turning a pair, about 15 min" in text and "Core path" not in text
    tried(SECOND, passed=True)
    text = below(LATE)[1]
    assert "Next unit: Masks" in text and "Core path" not in text and "Extension" not in text
    assert coming() == coming(after=LATE) == "masks.causal"


def test_a_core_exercise_left_open_comes_before_the_next_unit(extensions):
    tried(THIRD, passed=True)
    assert coming(after=THIRD) == coming() == SECOND


def test_extensions_are_next_when_the_core_of_the_course_is_done(extensions):
    for exercise in (FIRST, SECOND, THIRD):
        tried(exercise, passed=True)
    assert below("masks.causal")[1].splitlines()[-2:] == [
        "Masks: 1 of 1 exercises.",
        "Unit done. Next extension: Stretching <it> in Rotary positions, about 20 min",
    ]
    assert repr(progress()).startswith("Core path done. Next extension: Stretching <it> (Rotary positions, about 20")
    assert "Core path done. Next extension: <a href=" in progress()._repr_html_()
    text = below(THIRD)[1]
    assert "Core path done. Next extension: A third form" in text and text.count("Extension: ") == 1
    for exercise in (EARLY, LATE):
        tried(exercise, passed=True)
    assert coming() is None and "last open exercise" in below(LATE)[1]


def test_extensions_are_counted_apart(extensions):
    tried(SECOND, passed=True, score=2.0)
    tried(THIRD, passed=True, score=4.0)
    tried(EARLY, score=1.5)
    tried(LATE, passed=True, score=3.0)
    assert repr(progress()).splitlines()[2:] == [
        "Start here        ░ 0/1 exercises, 0/1 points, about 5 min left",
        "Rotary positions  ██ 2/2 exercises, extensions 1 of 2, 6/6 points, 4.5 extra, done",
        "                  0 of 2 claims decided",
        "Masks             ░ 0/1 exercises, 0/1 points, about 10 min left",
        "Total             2/4 exercises, extensions 1 of 2, 6/8 points, 4.5 extra, about 15 min left",
    ]
    page = progress()._repr_html_()
    assert '<progress max="2" value="2" aria-label="Rotary positions: 2 of 2 exercises"></progress>' in page
    assert "extensions 1 of 2 · 6/6 points, 4.5 extra · done" in page
    assert "Stretching &lt;it&gt; (extension)</a>: 1 try so far" in page
    assert "  ✓ A third form (extension): passed on try 1" in repr(progress("06-rope"))
    assert summary()[1] == ("06-rope", 2, 2, 6, 6)
    view = unit_view("06-rope")
    assert (view.extensions_done, view.extra, view.minutes) == (1, 4.5, 0)
