"""Remarks about a submission that was graded nevertheless."""

from collections.abc import Iterable
from dataclasses import dataclass

from anatomy.system.translation import _

MAX_NOTES = 100  # a notebook without any of its cells gives fewer


@dataclass
class Note:
    """Something odd about a submission that was graded nevertheless.

    name: slug. sentence: for the student and the instructor. exercise: id, or "". suspicious: True if honest work does
    not cause it.
    """

    name: str
    sentence: str
    exercise: str = ""
    suspicious: bool = False


def few(notes: Iterable[Note]) -> list[Note]:
    """The distinct remarks, at most ``MAX_NOTES`` of them; suspicious ones are kept first."""
    distinct = list({(n.name, n.sentence): n for n in notes}.values())
    if len(distinct) <= MAX_NOTES:
        return distinct
    ranked = sorted(distinct, key=lambda n: not n.suspicious)
    kept = {id(n) for n in ranked[: MAX_NOTES - 1]}
    left = _("{n} more remarks are left out.").format(n=len(distinct) - len(kept))
    more = Note("submission.many_notes", left, suspicious=True)
    return [n for n in distinct if id(n) in kept] + [more]
