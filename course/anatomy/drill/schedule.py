"""When an exercise is likely to be forgotten: the FSRS model (https://github.com/open-spaced-repetition/py-fsrs), fed
with the tries and dates in the store.

No state of the model is stored. Each exercise's reviews are played to it again, so another version of the model, or a
better rating, holds for what is past as well.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta

from fsrs import Card, Rating, Scheduler

from ..program import units
from ..program.assets import MissingRecording
from ..program.units import Known
from ..progress.drills import Review, reviews_of
from ..system import store

# A drill takes minutes, and nobody does the same one twice within an hour, so there are no steps below a day. Without
# fuzz, the list, the plan and the check name the same day.
MODEL = Scheduler(learning_steps=(), relearning_steps=(), maximum_interval=365, enable_fuzzing=False)
UNKNOWN = 90  # days before what came next, for a pass whose time was not kept
RATINGS = {"again": Rating.Again, "hard": Rating.Hard, "good": Rating.Good, "easy": Rating.Easy}


@dataclass
class Item:
    """An exercise that can be drilled. reviews: at least one, earliest first. card: the model's state after them."""

    unit: str
    exercise: Known
    reviews: list[Review]
    card: Card = field(repr=False)

    @property
    def id(self) -> str:
        """The exercise's id."""
        return self.exercise["id"]

    @property
    def minutes(self) -> float:
        """Minutes of the exercise when it is new; from blank it rarely takes longer."""
        return self.exercise["minutes"]

    @property
    def due(self) -> date:
        """The day on which to write it again."""
        return self.card.due.astimezone().date()

    @property
    def last(self) -> date | None:
        """The day on which it was done last; None if that was not kept."""
        return datetime.fromtimestamp(self.reviews[-1].at).date() if self.reviews[-1].at else None

    def remembered(self, at: float) -> float:
        """Probability, 0 to 1, that it would be written without help at a time in seconds."""
        return MODEL.get_card_retrievability(self.card, datetime.fromtimestamp(at, UTC))


def card_of(reviews: Sequence[Review], now: float) -> Card:
    """The model's state after some reviews. A time in the future (a clock was wrong) counts as now."""
    card = Card(card_id=0)
    for review, following in zip(reviews, [*reviews[1:], None], strict=True):
        if not review.at:
            before = following.at if following else int(now)
            review = replace(review, at=max(0, before - UNKNOWN * 86_400))
        card = reviewed(card, review, now)
    return card


def reviewed(card: Card, review: Review, now: float) -> Card:
    """The model's state after one more review."""
    at = datetime.fromtimestamp(min(review.at, int(now)), UTC)
    return MODEL.review_card(card, RATINGS[review.rating], at)[0]


def next_day(exercise: str) -> date | None:
    """The day on which an exercise is due next; None if it was never done. Raises KeyError for an unknown id."""
    unit, about = units.exercise(exercise)
    first, drilled = _stored()
    found = _item(unit, about, first, drilled, time.time())
    return found.due if found else None


def items() -> list[Item]:
    """Every exercise of the course that was passed or drilled, the most forgotten first.

    An exercise that is no longer in the course is left out, and so is a unit whose description is damaged.
    """
    now, (first, drilled) = time.time(), _stored()
    found = []
    for unit in units.names():
        try:
            some = [_item(unit, e, first, drilled, now) for e in units.load(unit)["exercises"]]
        except (MissingRecording, OSError, KeyError, TypeError):
            continue
        found += [item for item in some if item is not None]
    return sorted(found, key=lambda item: (item.remembered(now), item.due))


def _stored():
    return store.read("progress"), store.read("drills")


def _item(unit, exercise, first, drilled, now):
    reviews = reviews_of(exercise["id"], first.get(exercise["id"], {}), drilled, exercise["minutes"])
    return Item(unit, exercise, reviews, card_of(reviews, now)) if reviews else None


def due(some: Sequence[Item], on: date | None = None) -> list[Item]:
    """Those that are due on a day (today, if it is not given), in the given order."""
    day = on or today()
    return [item for item in some if item.due <= day]


def today() -> date:
    """Today, where this computer is."""
    return datetime.fromtimestamp(time.time()).date()


def mistaken(some: Sequence[Item]) -> list[Item]:
    """Those that took more than one try when they were done last, or were left undone then; the most tries first."""
    wrong = [item for item in some if item.reviews[-1].tries > 1 or item.reviews[-1].rating == "again"]
    return sorted(wrong, key=lambda item: -item.reviews[-1].tries)


# ---- the route ------------------------------------------------------------------------------------------------

LEAST = 30  # minutes of a day that are filled before the rest moves to the next day


@dataclass(frozen=True)
class Route:
    """Which exercises on which days; a day without any is left out."""

    days: dict[date, list[Item]]
    minutes: int  # that a day was allowed to take, if more than one exercise is on it

    @property
    def drills(self) -> int:
        """The number of drills in all."""
        return sum(map(len, self.days.values()))


def route(some: Sequence[Item], days: int) -> Route:
    """Lays out what falls due within some days, from today on. It assumes that each drill goes well.

    Days are filled evenly: with the minutes of everything that is due, divided by the days, or LEAST if that is more.
    What has no room moves on to the next day, the most forgotten first; the last day takes the rest.
    """
    start = today()
    first_day = {item.id: item for item in some if item.due < start + timedelta(days)}
    minutes = max(LEAST, -int(-sum(item.minutes for item in first_day.values()) // days))
    cards = {item.id: item.card for item in first_day.values()}
    planned: dict[date, list[Item]] = {}
    waiting = dict.fromkeys(first_day)  # ids without a drill in the plan yet, which go first
    for number in range(days):
        day, used = start + timedelta(number), 0.0
        noon = datetime(day.year, day.month, day.day, 12).timestamp()
        ready = [i for i, card in cards.items() if card.due.astimezone().date() <= day]
        ready.sort(key=lambda i: (i not in waiting, MODEL.get_card_retrievability(cards[i], _utc(noon))))
        for i in ready:
            is_last = number == days - 1 and i in waiting
            if used and used + first_day[i].minutes > minutes and not is_last:
                continue
            planned.setdefault(day, []).append(first_day[i])
            used += first_day[i].minutes
            waiting.pop(i, None)
            cards[i] = reviewed(cards[i], Review(int(noon), "good"), noon)
    return Route(planned, minutes)


def _utc(at):
    return datetime.fromtimestamp(at, UTC)
