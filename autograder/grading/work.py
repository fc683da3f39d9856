"""What a grading is at, for whoever watches over it: see ``contained.py``, which may end it in the middle."""

from collections.abc import Collection, Mapping

from anatomy.verdict import Verdict

# Parts of the work besides the exercises, which have their ids.
PARTS = NOTEBOOK, SOURCE, CELLS, PAGES = "the notebook", "the source", "the cells", "the pages"


class Work:
    """A grading that nobody watches.

    settled: exercise → its verdict, from an earlier attempt: it is not judged again. skipped: parts that are left out,
    because an earlier attempt did not survive them.
    """

    def __init__(self, settled: Mapping[str, Verdict] | None = None, skipped: Collection[str] = ()):
        self.settled, self.skipped = settled or {}, skipped

    def step(self, name: str) -> None:
        """From here on the grading is at ``name``, a part or an exercise."""

    def done(self, verdict: Verdict) -> None:
        """Nothing about this verdict changes any more."""
