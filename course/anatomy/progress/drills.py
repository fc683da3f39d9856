"""What is remembered of drills: each time an exercise was written again from blank, and how that went.

Drills have a file of their own in the store, so they never change what ``progress`` says of an exercise. Each entry is
named like the drill's notebook, and counts up to the first pass, as in ``standing.note``.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..system import store
from ..system.store import Entry
from ..system.translation import N_

Rating = Literal["again", "hard", "good", "easy"]  # the words of spaced repetition
# What is said of a drill with this rating.
SAID: dict[Rating, str] = {
    "again": N_("to be learned again"),
    "hard": N_("hard"),
    "good": N_("good"),
    "easy": N_("easy"),
}
HINTS = 3  # there are as many for each exercise; the last is nearly code
GOOD_TRIES, HARD_TRIES = 2, 5  # a slip of the pen is no forgetting, so two tries are still good
LATEST = 4_102_444_800  # 2100: a later time is damaged data
EASY = 1 / 3  # of the minutes that the exercise takes when it is new


def opened(name: str, exercise: str, at: int | None = None) -> Entry:
    """Records that a drill is there, and from when its clock runs if that is known; returns its entry.

    A clock that runs already is not set anew.
    """

    def change(data):
        entry = data.setdefault(name, _new(exercise))
        if entry["opened_at"] is None:
            entry["opened_at"] = at

    return _changed(name, change)


def tried(name: str, exercise: str, passed: bool) -> Entry:
    """Records one try in a drill; returns its entry. Nothing is counted after the first pass."""
    now = int(time.time())

    def change(data):
        entry = data.setdefault(name, _new(exercise))
        if entry["passed_at"] is None:
            entry |= {"tries": entry["tries"] + 1, "tried_at": now, "passed_at": now if passed else None}

    return _changed(name, change)


def hinted(name: str, exercise: str) -> Entry:
    """Records that one more hint was shown, unless the drill is passed; returns its entry."""

    def change(data):
        entry = data.setdefault(name, _new(exercise))
        if entry["passed_at"] is None:
            entry["hints"] = min(entry["hints"] + 1, HINTS)

    return _changed(name, change)


def kept(name: str, exercise: str) -> Entry:
    """The entry of a drill; a fresh one if there is none."""
    return store.read("drills").get(name) or _new(exercise)


def _new(exercise):
    return {"exercise": exercise, "opened_at": None, "tries": 0, "tried_at": None, "hints": 0, "passed_at": None}


def _changed(name, change):
    return store.update("drills", change)[0][name]


# ---- how it went ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Review:
    """One time that an exercise was done. at: seconds since 1970. tries: up to the pass, or until it was left."""

    at: int
    rating: Rating
    tries: int = 0


def rating(entry: Entry, minutes: float) -> Rating:
    """How a drill went, from what was counted in it. minutes: those of the exercise when it is new.

    Nobody is asked: people call easy what they have just read. Tries and hints are counted, and time only where it is
    short, because a long one may hold a lunch.
    """
    if entry["passed_at"] is None or entry["tries"] > HARD_TRIES or entry["hints"] >= HINTS:
        return "again"
    if entry["tries"] > GOOD_TRIES or entry["hints"]:
        return "hard"
    seconds = seconds_taken(entry)
    quick = seconds is not None and seconds <= EASY * 60 * minutes
    return "easy" if quick and entry["tries"] == 1 else "good"


def seconds_taken(entry: Entry) -> int | None:
    """Seconds from the opening of a drill to its pass; None if it is not passed, or the clock was never started."""
    if entry["passed_at"] is None or entry["opened_at"] is None:
        return None
    return max(0, entry["passed_at"] - entry["opened_at"])


def reviews_of(exercise: str, first: Entry, drills: Mapping[str, Entry], minutes: float) -> list[Review]:
    """All times that an exercise was done, earliest first.

    Args:
        exercise: its id.
        first: its entry in ``progress``, which counts if it was passed. Early versions kept no time: then it is 0.
        drills: the entries of all drills. One that was tried and left counts at its last try, one only opened does not.
        minutes: those of the exercise when it is new.
    """
    found = []
    if first.get("passed_on_try") is not None:
        tries, at = first["passed_on_try"], first.get("passed_at")
        if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at <= LATEST:
            at = 0
        how: Rating = "good" if tries <= GOOD_TRIES else "hard" if tries <= HARD_TRIES else "again"
        if first.get("looked_up_at"):  # the whole answer was seen before
            how = "again"
        found.append(Review(at, how, tries))
    for entry in drills.values():
        at = entry["passed_at"] if entry["passed_at"] is not None else entry["tried_at"]
        if entry["exercise"] == exercise and at is not None and at <= LATEST:
            found.append(Review(at, rating(entry, minutes), entry["tries"]))
    return sorted(found)
