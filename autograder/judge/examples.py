"""The examples of an exercise: the cases of the instant check, which a student may read.

The feedback of trusted judging is worded with them. A case that still equals its recording takes the recorded outcomes,
so that naming a known mistake of a whole model costs nothing.
"""

from dataclasses import replace

from anatomy.judge import judging
from anatomy.program.records import CaseRecord, ExerciseRecord, MissingRecording, load

from autograder.judge.drawing import draw_record
from autograder.judge.spec import Exercise

_public: dict[tuple[str, str], ExerciseRecord] = {}


def public_record(exercise: Exercise, device: str = "cpu") -> ExerciseRecord:
    """The public cases' record, made once per process (it does not depend on the student)."""
    if (exercise.id, device) not in _public:
        _public[exercise.id, device] = draw_record(
            exercise, None, device, with_mutants=False, recorded=_recorded(exercise)
        )
    return _public[exercise.id, device]


def _recorded(exercise: Exercise) -> dict[str, CaseRecord]:
    """The cases of the instant check with the recorded outcomes of the known mistakes (for a whole model, these take
    seconds to compute). A case still being written is drawn: its recording is missing or different."""
    kept = {"expected", *(m.name for m in exercise.mutants)}
    try:
        cases = load(exercise.id).cases
    except MissingRecording:
        return {}
    return {c.name: replace(c, outcomes={k: v for k, v in c.outcomes.items() if k in kept}) for c in cases}


def is_drawn(fresh: CaseRecord, public: CaseRecord) -> bool:
    """True if the public case's right answer would be wrong here; different inputs alone do not make it so."""
    right, shown = fresh.outcomes["expected"], public.outcomes["expected"]
    if any("raises" in r for r in right[0]["results"]):
        return False
    return judging.outcome_difference(fresh, right, shown, fresh.atol, fresh.rtol) is not None
