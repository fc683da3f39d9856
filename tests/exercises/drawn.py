"""Records drawn from one exercise, once for all its tests: examples, and the cases of ten submissions."""

import html
import re
from functools import cached_property

from anatomy.program import records, runner
from anatomy.program.records import ExerciseRecord
from anatomy.program.runner import Outcomes

from autograder.authoring.by_heart import KEYS
from autograder.judge.drawing import draw_record, student_key
from autograder.judge.spec import Exercise, Implementation


class Drawn:
    """Records of one exercise, each drawn on first use. Don't change them."""

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        self._fresh: dict[bytes, ExerciseRecord] = {}

    @cached_property
    def recorded(self) -> ExerciseRecord:
        """The examples as a learner has them, with the known mistakes' results."""
        return records.load(self.exercise.id)

    @cached_property
    def public(self) -> ExerciseRecord:
        """The examples, drawn again."""
        return draw_record(self.exercise, with_mutants=False)

    @cached_property
    def graded(self) -> ExerciseRecord:
        """The cases that judge one student's submission."""
        return draw_record(self.exercise, self._key("ada"), with_mutants=False, graded=True)

    @property
    def asks_for_more_in_grading(self) -> bool:
        """Whether a case is so large in grading that known mistakes cannot run on it."""
        return any(c.is_large for c in self.graded.cases)

    @cached_property
    def with_mistakes(self) -> ExerciseRecord:
        """Another student's cases at the examples' sizes, with each known mistake's results."""
        return draw_record(self.exercise, self._key("grace"))

    def fresh(self, student: int) -> ExerciseRecord:
        """Cases of one of eight more students, at the examples' sizes."""
        key = KEYS[student]
        if key not in self._fresh:
            self._fresh[key] = draw_record(self.exercise, key, with_mutants=False)
        return self._fresh[key]

    @property
    def students(self) -> list[ExerciseRecord]:
        """Cases of all eight students."""
        return [self.fresh(i) for i in range(len(KEYS))]

    def _key(self, name):
        return student_key("secret", name, self.exercise.unit)


def right_answers(exercise: Exercise) -> dict[str, Implementation]:
    """dict Python text (for the exercise ``E``) → the reference or an alternative."""
    texts = {f"E.alternatives[{i}]": right for i, right in enumerate(exercise.alternatives)}
    return {"E.reference": exercise.reference} | texts


def read(page: str) -> str:
    """A page's text, with code between backticks as in messages."""
    return html.unescape(re.sub("</?code>", "`", page))


def outcomes(record: ExerciseRecord, functions: runner.Functions) -> Outcomes:
    """Outcomes of functions in all cases of a record."""
    return [runner.run_program(c.program, c.tensors, functions, record.forbidden) for c in record.cases]
