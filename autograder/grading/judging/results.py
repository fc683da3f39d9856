"""The result of one submission, and points of it that wait for a person."""

from dataclasses import dataclass, field

import nbformat
from anatomy.judge.verdict import Verdict

from ..base.masters import UnknownUnit, master
from ..intake.rebuild import Note
from ..source.signs import Sign
from .execution import Output


@dataclass(frozen=True)
class Held:
    """Computed points of one exercise that do not count until somebody looked.

    name: dotted name of what is called, or "cannot be resolved". evidence: the line. where: cell id and line.
    """

    exercise: str
    points: float
    name: str
    evidence: str
    where: str


@dataclass
class GradedNotebook:
    """The result for one submission.

    verdicts: one per exercise, in order. notes: what was odd about the file. signs: what may be cheating, with
    evidence. outputs: cell id → execution.Output. notebook: the rebuilt one with outputs, as nbgrader's feedback wants
    it; None where nothing could be rebuilt. problem: (slug, sentence) in that case. tries: exercise → number of
    checks, where the submission tells. held: points that wait for a person. followed: exercise → points that it earned
    by its own answers alone, where it got more with the course's values in the place of earlier ones.
    """

    student: str
    unit: str
    verdicts: list[Verdict]
    notes: list[Note] = field(default_factory=list)
    signs: list[Sign] = field(default_factory=list)
    outputs: dict[str, Output] = field(default_factory=dict)
    notebook: nbformat.NotebookNode | None = None
    problem: tuple[str, str] | None = None
    tries: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    held: list[Held] = field(default_factory=list)
    followed: dict[str, float] = field(default_factory=dict)

    @property
    def extensions(self) -> frozenset[str]:
        """Ids of the exercises whose points are extra."""
        try:
            return master(self.unit).extensions
        except UnknownUnit:
            return frozenset()

    @property
    def score(self) -> float:
        """Points, the extra ones included."""
        return sum(v.score for v in self.verdicts)

    @property
    def max_score(self) -> float:
        """Points that the core path gives; with extensions a score can be above it."""
        return sum(v.max_score for v in self.verdicts if v.exercise not in self.extensions)
