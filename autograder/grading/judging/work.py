"""Progress of one grading, for a parent process that may stop it in the middle (see ``contained.py``)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from anatomy.judge.verdict import Verdict
from anatomy.system.translation import listed_and, ngettext

from ..base.words import amount, number

# Parts of the work other than exercises, which are named by their ids.
PARTS = NOTEBOOK, SOURCE, CELLS, FOLLOWING, PAGES = (
    "the notebook",
    "the source",
    "the cells",
    "the follow-through",
    "the pages",
)


@dataclass(frozen=True)
class Followed:
    """An exercise that earned more with the course's values instead of earlier answers (``following.py``).

    verdict: the better one. own: points by its own answers alone. names: functions that were replaced and called.
    offered: all functions that were replaced.
    """

    verdict: Verdict
    own: float
    names: tuple[str, ...]
    offered: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The sentence that the student and the instructor read."""
        sentence = ngettext(
            "These {score} of {points} were earned with the course's own {names} in the place of yours, which does not "
            "pass. By your own answers alone they are {own}.",
            "These {score} of {points} were earned with the course's own {names} in the place of yours, which do not "
            "pass. By your own answers alone they are {own}.",
            len(self.names),
        )
        score, full = number(self.verdict.score), amount(self.verdict.max_score, "point")
        return sentence.format(score=score, points=full, names=listed_and(self.names), own=number(self.own))


class Work:
    """The progress of one grading; this base class reports it nowhere.

    settled: exercise → verdict from an earlier attempt, which is not judged again. skipped: parts that are left out,
    because an earlier attempt died in them. followed: exercise → Followed, from an earlier attempt.
    """

    def __init__(
        self,
        settled: Mapping[str, Verdict] | None = None,
        skipped: Collection[str] = (),
        followed: Mapping[str, Followed] | None = None,
    ):
        self.settled, self.skipped, self.followed = settled or {}, skipped, followed or {}

    def step(self, name: str) -> None:
        """Reports that the grading starts with ``name``, a part or an exercise."""

    def done(self, verdict: Verdict) -> None:
        """Reports a settled verdict; only follow-through can still replace it by a better one."""

    def better(self, followed: Followed) -> None:
        """Reports a better verdict from follow-through, which is final."""
