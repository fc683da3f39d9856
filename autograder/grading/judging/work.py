"""What a grading is at, for whoever watches over it: see ``contained.py``, which may end it in the middle."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from anatomy.judge.verdict import Verdict

from ..base.words import amount, number

# Parts of the work besides the exercises, which have their ids.
PARTS = NOTEBOOK, SOURCE, CELLS, FOLLOWING, PAGES = (
    "the notebook",
    "the source",
    "the cells",
    "the follow-through",
    "the pages",
)


@dataclass(frozen=True)
class Followed:
    """An exercise that earned more with the course's values in the place of earlier answers (``following.py``).

    verdict: the better one. own: points by its own answers alone. names: functions that were stood in for and called.
    offered: all that were stood in for.
    """

    verdict: Verdict
    own: float
    names: tuple[str, ...]
    offered: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What the student and the instructor read."""
        *most, last = self.names
        listed, verb = (f"{', '.join(most)} and {last}", "do") if most else (last, "does")
        score, full = number(self.verdict.score), amount(self.verdict.max_score, "point")
        return (
            f"These {score} of {full} were earned with the course's own {listed} in the place of yours, which "
            f"{verb} not pass. By your own answers alone they are {number(self.own)}."
        )


class Work:
    """A grading that nobody watches.

    settled: exercise → its verdict, from an earlier attempt: it is not judged again. skipped: parts that are left out,
    because an earlier attempt did not survive them. followed: exercises whose settled verdict is a better one.
    """

    def __init__(
        self,
        settled: Mapping[str, Verdict] | None = None,
        skipped: Collection[str] = (),
        followed: Mapping[str, Followed] | None = None,
    ):
        self.settled, self.skipped, self.followed = settled or {}, skipped, followed or {}

    def step(self, name: str) -> None:
        """From here on the grading is at ``name``, a part or an exercise."""

    def done(self, verdict: Verdict) -> None:
        """Nothing about this verdict changes any more, but for a better one by follow-through."""

    def better(self, followed: Followed) -> None:
        """This exercise has a better verdict, which is settled."""
