"""What is drawn of one exercise, once for all that is asked of it: examples, and the cases of eight submissions."""

from functools import cached_property

from anatomy import records, runner
from anatomy.records import ExerciseRecord
from anatomy.runner import Outcomes

from autograder.judge.drawing import draw_record, student_key
from autograder.judge.spec import Exercise, Implementation

STUDENTS = tuple(f"student {i}" for i in range(8))


class Drawn:
    """Records of one exercise, each drawn when it is first asked for. Nobody changes them."""

    def __init__(self, exercise: Exercise) -> None:
        self.exercise = exercise
        self._graded: dict[str, ExerciseRecord] = {}
        self._fresh: dict[str, ExerciseRecord] = {}

    @cached_property
    def recorded(self) -> ExerciseRecord:
        """The examples as a learner has them, with what the known mistakes give."""
        return records.load(self.exercise.id)

    @cached_property
    def public(self) -> ExerciseRecord:
        """The examples, drawn now."""
        return draw_record(self.exercise, with_mutants=False)

    def graded(self, student: str = STUDENTS[0]) -> ExerciseRecord:
        """What a student's submission is judged on."""
        if student not in self._graded:
            self._graded[student] = self._draw(student, with_mutants=False, graded=True)
        return self._graded[student]

    def fresh(self, student: str = STUDENTS[0]) -> ExerciseRecord:
        """The same at the examples' sizes: the same record, but for exercises that ask for more in grading."""
        if not self.asks_for_more_in_grading:
            return self.graded(student)
        if student not in self._fresh:
            self._fresh[student] = self._draw(student, with_mutants=False)
        return self._fresh[student]

    @cached_property
    def with_mistakes(self) -> ExerciseRecord:
        """Fresh cases of another student, with what each known mistake gives there."""
        return self._draw("with mistakes", with_mutants=True)

    @property
    def asks_for_more_in_grading(self) -> bool:
        """Is a case so large in grading that known mistakes cannot afford it?"""
        return any(c.is_large for c in self.graded().cases)

    def _draw(self, student, **how):
        return draw_record(self.exercise, student_key("secret", student, self.exercise.unit), **how)


def right_answers(exercise: Exercise) -> dict[str, Implementation]:
    """dict Python text, of the exercise ``E`` → the reference or an alternative."""
    texts = {f"E.alternatives[{i}]": right for i, right in enumerate(exercise.alternatives)}
    return {"E.reference": exercise.reference} | texts


def outcomes(record: ExerciseRecord, functions: runner.Functions) -> Outcomes:
    """What functions give in all cases of a record."""
    return [runner.run_program(c.program, c.tensors, functions, record.forbidden) for c in record.cases]
