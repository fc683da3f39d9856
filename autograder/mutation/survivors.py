"""Tries all mutants of an exercise: counts those that fail and lists those that pass."""

import difflib
import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain

from autograder.judge.spec import Exercise
from autograder.notebooks.cells import shown

from . import helpers
from .changes import Mutant
from .subjects import Subject, subjects
from .trial import OutOfTime, drawn, limited, patience, quiet
from .variants import Variant, variants

VARIANT_SECONDS = 8.0
MOST_LINES = 12  # in a diff


@dataclass(frozen=True)
class Survivor:
    """A mutant that passes.

    passes: ``examples``, ``drawn`` or both. told_by: kinds of inputs that would reveal it (see ``variants``).
    place: file and line. change: the changed lines as a diff.
    """

    exercise: str
    key: str
    what: str
    place: str
    passes: tuple[str, ...]
    told_by: tuple[str, ...]
    change: str


KILLED, WITHOUT_EFFECT = "killed", "without effect"
Result = str | Survivor
Wanted = Callable[[str], bool]


@dataclass
class Tally:
    """The results of all mutants of an exercise.

    problems: sentences on answers that fail even unchanged. seconds: processor time.
    """

    exercise: str
    mutants: int = 0
    killed: int = 0
    without_effect: int = 0
    survivors: list[Survivor] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, result: Result) -> None:
        """Counts one more mutant."""
        self.mutants += 1
        if isinstance(result, Survivor):
            self.survivors.append(result)
        elif result == KILLED:
            self.killed += 1
        else:
            self.without_effect += 1


def count(exercise: Exercise) -> int:
    """How many mutants there are, without running any."""
    return sum(1 for subject in subjects(exercise) for _ in subject.mutants())


class Trials:
    """The mutants of one exercise, one after the other.

    answers: the answers to change; default: the solution and the alternatives. wanted: selects mutants by their keys;
    default all. known: keys of survivors already explained: details that only help to explain them are skipped.
    problems: sentences on answers that do not pass unchanged; their mutants are left out.
    """

    def __init__(
        self,
        exercise: Exercise,
        answers: Sequence[Subject] | None = None,
        wanted: Wanted = lambda key: True,
        known: Container[str] = (),
    ) -> None:
        self.exercise, self.wanted, self.known = exercise, wanted, known
        self.cases = drawn(exercise)
        self.problems: list[str] = []
        self._seconds: dict[tuple[str, str], float] = {}  # (subject, kind of cases) → time limit of a mutant
        self.subjects = [s for s in answers or subjects(exercise) if self._passes(s)]
        self._variants = cache(lambda: variants(exercise, self.cases["examples"].record))
        self._usable = cache(self._usable_variants)  # by subject

    def _passes(self, subject: Subject) -> bool:
        implementation = subject.implementation()
        for kind, cases in self.cases.items():
            begun = time.process_time()
            name = cases.failed(self.exercise, implementation)
            self._seconds[subject.name, kind] = patience(time.process_time() - begun)
            if name:
                said = f"{shown(subject.path)}: {self.exercise.id}: {subject.name} fails case {name!r} ({kind})"
                self.problems.append(said)
                return False
        return True

    def run(self, start: int = 0) -> Iterator[Result]:
        """Results of all mutants beginning with number ``start``; their order never changes."""
        everything = chain.from_iterable(((s, m) for m in s.mutants() if self.wanted(m.key)) for s in self.subjects)
        for i, (subject, mutant) in enumerate(everything):
            if i >= start:
                yield self.result(subject, mutant)

    def result(self, subject: Subject, mutant: Mutant) -> Result:
        """The result of one mutant."""
        helpers.effects = 0
        passed = tuple(kind for kind in self.cases if self._survives(subject, mutant, kind))
        if not passed:
            return KILLED
        effects = helpers.effects
        may_be_none = mutant.quiet and not effects
        asked = self._usable(subject.name) if may_be_none or mutant.key not in self.known else []
        told_by = tuple(v.kind for v in asked if self._told(v, subject, mutant))
        if may_be_none and not told_by:
            return WITHOUT_EFFECT
        place = f"{shown(subject.path)}:{mutant.line}"
        return Survivor(self.exercise.id, mutant.key, mutant.what, place, passed, told_by, difference(mutant))

    def _survives(self, subject: Subject, mutant: Mutant, kind: str) -> bool:
        """Whether a mutant passes these cases. Anything it raises, even while it is being defined, is a failure."""
        try:
            with limited(self._seconds[subject.name, kind]), quiet():
                return self.cases[kind].failed(self.exercise, subject.implementation(mutant)) is None
        except KeyboardInterrupt:
            raise
        except BaseException:
            return False

    def _told(self, variant: Variant, subject: Subject, mutant: Mutant | None = None) -> bool:
        try:
            with limited(VARIANT_SECONDS), quiet():
                return variant.tells_apart(self.exercise, subject.implementation(mutant))
        except (Exception, OutOfTime):
            return True

    def _usable_variants(self, name: str) -> list[Variant]:
        """The variants that the unchanged answer passes; the others prove nothing."""
        subject = next(s for s in self.subjects if s.name == name)
        return [v for v in self._variants() if v.cases and not self._told(v, subject)]


def difference(mutant: Mutant) -> str:
    """The lines that a mutant changes, as a diff without context; long lines are cut around the difference."""
    before, after = mutant.before.split("\n"), mutant.after.split("\n")
    lines = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "replace" and j - i == m - k:
            for old, new in zip(before[i:j], after[k:m], strict=True):
                lines += _cut(old, new)
        elif tag != "equal":
            lines += [f"-{line}" for line in before[i:j]] + [f"+{line}" for line in after[k:m]]
    return "\n".join(lines[:MOST_LINES] + ["…"] * (len(lines) > MOST_LINES))


def _cut(old: str, new: str, around: int = 50) -> list[str]:
    """Two lines as a diff, without most of their common beginning and end."""
    longest = min(len(old), len(new))
    same = next((n for n in range(longest) if old[n] != new[n]), longest)
    rest = next((n for n in range(longest - same) if old[-1 - n] != new[-1 - n]), longest - same)
    first, last = max(0, same - around), max(0, rest - around)
    dots = "…" * bool(first), "…" * bool(last)
    return [f"{sign}{dots[0]}{line[first : len(line) - last]}{dots[1]}" for sign, line in (("-", old), ("+", new))]
