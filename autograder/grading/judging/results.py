"""The result of one submission, and its points that wait for a person."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import nbformat
from anatomy.judge.verdict import Verdict

from ..base.masters import UnknownUnit
from ..base.notes import Note
from ..base.outlines import outline
from ..source.techniques import Sign

if TYPE_CHECKING:  # with torch, which a stored result doesn't need
    from .execution import Output


@dataclass(frozen=True)
class Held:
    """Computed points of one exercise that do not count until a person has looked at the answer.

    name: dotted name that the answer uses, or "cannot be resolved". evidence: the line. where: cell id and line.
    """

    exercise: str
    points: float
    name: str
    evidence: str
    where: str


@dataclass
class GradedNotebook:
    """The result for one submission.

    Attributes:
        verdicts: one per exercise, in order.
        notes: remarks about the file.
        signs: possible cheating, with evidence.
        outputs: cell id → execution.Output.
        notebook: the rebuilt notebook with outputs, in the form that nbgrader's feedback needs; None if there is none.
        problem: (slug, sentence) if the submission could not be read.
        tries: exercise → number of checks, if the submission has it.
        seconds: time that grading took.
        held: points that wait for a person.
        followed: exercise → points by its own answers alone, for exercises that earned more by follow-through.
    """

    student: str
    unit: str
    verdicts: list[Verdict]
    notes: list[Note] = field(default_factory=list)
    signs: list[Sign] = field(default_factory=list)
    outputs: dict[str, "Output"] = field(default_factory=dict)
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
            return outline(self.unit).extensions
        except UnknownUnit:
            return frozenset()

    @property
    def score(self) -> float:
        """Points, including extra points."""
        return sum(v.score for v in self.verdicts)

    @property
    def max_score(self) -> float:
        """Maximum points of the core path; with extensions, the score can be higher."""
        return sum(v.max_score for v in self.verdicts if v.exercise not in self.extensions)
