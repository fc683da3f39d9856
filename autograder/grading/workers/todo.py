"""What there is to grade, and what a run did. This imports no torch: often there is nothing to do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..base.outlines import outline
from ..intake.collect import Submission


@dataclass
class Summary:
    """The result of a run.

    Attributes:
        graded: (student, unit) stored in this run.
        kept: number of submissions that were up to date.
        problems: (student, unit, slug, sentence) of submissions without a result in the gradebook.
        zeros: (student, unit, slug, sentence) of submissions, from any run, that have zero points because nothing in
            them can be graded.
        said: (student, unit, sentence) with remarks for the instructor.
        stopped: a sentence if the run ended early.
    """

    graded: list[tuple[str, str]] = field(default_factory=list)
    kept: int = 0
    problems: list[tuple[str, str, str, str]] = field(default_factory=list)
    zeros: list[tuple[str, str, str, str]] = field(default_factory=list)
    said: list[tuple[str, str, str]] = field(default_factory=list)
    stopped: str = ""


def to_grade(
    submissions: Iterable[Submission], done: Mapping[tuple[str, str], tuple[str, str]], summary: Summary
) -> list[Submission]:
    """The submissions to grade; those that are up to date or cannot be stored go to the summary."""
    jobs = []
    for s in submissions:
        if s.problem and not s.known:
            summary.problems.append((s.student, s.unit, *s.problem))
        elif done.get((s.student, s.unit)) == (s.digest, outline(s.unit).version):
            summary.kept += 1
        else:
            jobs.append(s)
    return jobs
