"""The scores of a class, for tables in other programs: one cell for each student and unit."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autograder.grading.book.tables import GRADED, MISSING, STALE, WAITING, Total

from .people import Person

# States with points to write; the other states don't count as zero.
COUNTED = (GRADED, WAITING, STALE)


CORE = "core"
EXTENSIONS = " extensions"  # ends the name of a column that has only a unit's points from extensions


def by_setting(totals: Iterable[Total], extensions: str) -> list[Total]:
    """The totals with points of extensions as ``c.Grading.extensions`` says (extra, capped or separate), or without
    (CORE)."""
    found = list(totals)
    if extensions == "capped":
        return [t._replace(score=min(t.score, t.max_score)) for t in found]
    if extensions in ("separate", CORE):
        beside = [t._replace(unit=t.unit + EXTENSIONS, score=t.extra, max_score=0.0) for t in found]
        return [t._replace(score=t.score - t.extra) for t in found] + beside * (extensions != CORE)
    return found


@dataclass(frozen=True)
class Scores:
    """The scores of a class.

    people    all students, sorted by last name
    units     in the course's order
    points    (student, unit) → points; missing if nothing counts
    most      unit → its maximum
    remarks   sentences for the instructor
    waiting   student → number of units that wait for a person
    """

    people: tuple[Person, ...]
    units: tuple[str, ...]
    points: dict[tuple[str, str], float]
    most: dict[str, float]
    remarks: tuple[str, ...]
    waiting: Counter[str]

    def cell(self, student: str, unit: str) -> str:
        """Points as text; "" if there are none, which is not the same as 0."""
        points = self.points.get((student, unit))
        return "" if points is None else number(points)

    def total(self, student: str) -> float:
        """Sum over the units, in points."""
        return math.fsum(self.points.get((student, u), 0.0) for u in self.units)

    @property
    def maximum(self) -> float:
        """Maximum of all units together, without extensions, in points."""
        return math.fsum(self.most[u] for u in self.units)

    def missing(self, student: str) -> int:
        """Number of units without points."""
        return sum((student, u) not in self.points for u in self.units if not u.endswith(EXTENSIONS))


def number(points: float) -> str:
    """Points with at most four decimals, without trailing zeros.

    >>> number(12.0), number(11.70000001)
    ('12', '11.7')
    """
    return f"{points:.4f}".rstrip("0").rstrip(".") or "0"


def gather(
    totals: Iterable[Total], people: Iterable[Person], order: Sequence[str], units: Sequence[str], as_zero: bool
) -> Scores:
    """Scores of ``units`` (all if empty) that at least one student handed in, sorted by ``order``, for all students in
    the roster or with a result. as_zero: missing and unreadable submissions are written as 0."""
    results = {(t.student, t.unit): t for t in totals if not units or t.unit.removesuffix(EXTENSIONS) in units}
    there = {t.unit for t in results.values() if t.status != MISSING}
    shown = tuple(sorted(there, key=lambda u: (order.index(u) if u in order else len(order), u)))
    known = {p.id: p for p in people}
    known |= {s: Person(s) for s, _ in results if s not in known}
    points, most, odd, waiting = {}, {}, Counter[str](), Counter[str]()
    for unit in shown:
        most[unit] = max((t.max_score for (_, u), t in results.items() if u == unit), default=0.0)
        for student in known:
            result = results.get((student, unit))
            status = result.status if result else MISSING
            if not unit.endswith(EXTENSIONS):
                odd[status] += 1
                waiting[student] += status == WAITING
            if result is not None and status in COUNTED:
                points[student, unit] = result.score
            elif as_zero:
                points[student, unit] = 0.0
    return Scores(
        tuple(sorted(known.values(), key=lambda p: (p.last_name.casefold(), p.first_name.casefold(), p.id))),
        shown,
        points,
        most,
        tuple(_remarks(odd, as_zero)),
        waiting,
    )


def _remarks(odd: Counter[str], as_zero: bool) -> Iterable[str]:
    cell = "0" if as_zero else "an empty cell"
    zero = "" if as_zero else "; ARGS=--missing-as-zero writes 0"
    if odd[WAITING]:
        yield f"Results that wait for a person, written as they stand (`make held` lists points): {odd[WAITING]}."
    if odd[STALE]:
        yield f"Results of an earlier version of the exercises, written as they stand: {odd[STALE]}."
    if odd[MISSING]:
        yield f"Missing submissions ({cell}{zero}): {odd[MISSING]}."
    if others := sum(n for status, n in odd.items() if status not in (*COUNTED, MISSING)):
        yield f"Submissions without a result, as they could not be read ({cell}; `make report` lists them): {others}."


# A spreadsheet takes an id that starts with a sign for a formula, but it can only show an error or another number.
_HONEST = re.compile(r"[+\-@]?[\w.@+\-]*")


class Exact:
    """A text that ``write_table`` writes unchanged: with a quote before an id, no platform would find the student."""

    def __init__(self, text: str):
        self.text = text

    def __str__(self) -> str:
        return self.text


def exact(text: str) -> Exact | str:
    """The same text, exempt from the protection against formulas if it is a plain id, address or number."""
    return Exact(text) if _HONEST.fullmatch(text) else text
