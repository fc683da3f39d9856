"""When a drill is due: how a try is rated, what the route of some days holds, lengths of time in words."""

from datetime import timedelta

import pytest
from anatomy.drill import command, schedule, spans
from anatomy.progress import drills
from anatomy.system import store

from .test_drill import DAY, HALF, NORM, START, TURN, clock, passed  # noqa: F401


@pytest.mark.parametrize(
    "tries, hints, seconds, want",
    [
        (1, 0, 119, "easy"),
        (1, 0, 121, "good"),
        (1, 0, None, "good"),
        (2, 0, 10, "good"),
        (3, 0, 10, "hard"),
        (1, 1, 10, "hard"),
        (5, 2, 10, "hard"),
        (6, 0, 10, "again"),
        (1, 3, 10, "again"),
    ],
)
def test_what_was_counted_says_how_it_went(tries, hints, seconds, want):
    opened = None if seconds is None else 1000
    entry = {"exercise": "a", "opened_at": opened, "tries": tries, "hints": hints, "passed_at": 1000 + (seconds or 0)}
    assert drills.rating(entry, minutes=6) == want
    assert drills.rating(entry | {"passed_at": None}, minutes=6) == "again"


def test_a_pass_after_looking_the_answer_up_counts_as_forgotten():
    first = {"tries": 6, "passed_on_try": 6, "passed_at": 1000}
    assert [r.rating for r in drills.reviews_of("a", first | {"passed_on_try": 1}, {}, 6)] == ["good"]
    looked = first | {"passed_on_try": 1, "looked_up_at": 900}
    assert [r.rating for r in drills.reviews_of("a", looked, {}, 6)] == ["again"]


def test_times_that_are_damaged_or_ahead_break_nothing(clock):  # noqa: F811
    for exercise, at in ((TURN, "x"), (HALF, None), (NORM, int(clock.at + 99 * DAY)), (START, 1e14)):
        entry = {"tries": 1, "best": 1.0, "passed_on_try": 1, "passed_at": at}
        store.update("progress", lambda data, e=exercise, v=entry: data.update({e: v}))
    found = {i.id: i for i in schedule.items()}
    assert len(found) == 4 and found[NORM].due == schedule.today() + timedelta(2), "a clock that was wrong means now"
    assert found[TURN].last is None and found[TURN].due <= schedule.today()
    assert "day not kept" in command.table(schedule.items())


def test_a_route_fills_days_evenly_and_forgets_nothing(clock):  # noqa: F811
    some = [e["id"] for u in ("06-rope", "07-masks-and-objectives") for e in schedule.units.load(u)["exercises"]]
    for n, exercise in enumerate(some):
        passed(exercise, clock.at - (20 + n) * DAY)
    way = schedule.route(schedule.items(), 10)
    planned = [item.id for day in way.days.values() for item in day]
    assert set(planned) == set(some) and set(way.days) <= {schedule.today() + timedelta(n) for n in range(10)}
    last = schedule.today() + timedelta(9)
    for day, items in way.days.items():
        assert len(items) == 1 or day == last or sum(i.minutes for i in items) <= way.minutes
        assert len({i.id for i in items}) == len(items)
    assert planned[0] == some[-1], "the most forgotten first"
    (only,) = schedule.route(schedule.items(), 1).days.values()
    assert len(only) == len(some)


@pytest.mark.parametrize(
    "text, days",
    [("two weeks", 14), ("10 days", 10), ("3 Weeks", 21), ("a month", 30), ("1 day", 1), ("7d", 7), ("2-weeks", 14)]
    + [("两周", 14), ("10天", 10), ("十天", 10), ("二十一天", 21), ("两个星期", 14), ("1 个月", 30), ("三十日", 30)],
)
def test_lengths_of_time_as_people_write_them(text, days):
    assert spans.days_in(text) == days


@pytest.mark.parametrize(
    "text", ["", "soon", "0 days", "-3 days", "999 weeks", "three", "1.5 weeks", "十十天", "周", "10", "ten ten days"]
)
def test_what_is_no_length_of_time(text):
    with pytest.raises(spans.NoSpan):
        spans.days_in(text)
