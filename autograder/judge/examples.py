"""The examples of an exercise: the cases of the instant check, which a student may read.

The feedback of trusted judging is worded with them. A case that still equals its recording takes the recorded outcomes,
so that naming a known mistake of a whole model costs nothing.
"""

from dataclasses import replace

import torch
from anatomy.judge import judging
from anatomy.program.records import CaseRecord, ExerciseRecord, MissingRecording, load

from autograder.judge.drawing import draw_record
from autograder.judge.spec import Exercise

_public: dict[tuple[str, str], ExerciseRecord] = {}


def public_record(exercise: Exercise, device: str = "cpu") -> ExerciseRecord:
    """The public cases' record, made once per process (it does not depend on the student)."""
    if (exercise.id, device) not in _public:
        drawn = draw_record(exercise, None, device, with_mutants=False)
        _public[exercise.id, device] = replace(drawn, cases=_as_recorded(drawn))
    return _public[exercise.id, device]


def _as_recorded(drawn: ExerciseRecord) -> list[CaseRecord]:
    """The cases of the instant check with the recorded outcomes of the known mistakes (for a whole model, these take
    seconds to compute). A case still being written stays as drawn: its recording is missing or different."""
    try:
        recorded = {c.name: c for c in load(drawn.id).cases}
    except MissingRecording:
        return drawn.cases
    return [
        replace(
            recorded[case.name],
            outcomes={k: v for k, v in recorded[case.name].outcomes.items() if k == "expected" or k in drawn.mistakes},
        )
        if case.name in recorded and _drawn_alike(case, recorded[case.name])
        else case
        for case in drawn.cases
    ]


def _drawn_alike(live: CaseRecord, recorded: CaseRecord) -> bool:
    """True for the same draw; the last digits may differ between processors."""
    if live.program != recorded.program or live.weight != recorded.weight or live.shows != recorded.shows:
        return False
    return live.tensors.keys() == recorded.tensors.keys() and all(
        _nearly(t, recorded.tensors[n]) for n, t in live.tensors.items()
    )


def _nearly(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    a, b = a.to(torch.complex128), b.to(torch.complex128)
    largest = torch.nan_to_num(b.abs(), posinf=0.0).amax().item() if b.numel() else 0.0
    return torch.allclose(a, b, rtol=0.0, atol=1e-5 * largest, equal_nan=True)


def is_drawn(fresh: CaseRecord, public: CaseRecord) -> bool:
    """True if the public case's right answer would be wrong here; different inputs alone do not make it so."""
    right, shown = fresh.outcomes["expected"], public.outcomes["expected"]
    if any("raises" in r for r in right[0]["results"]):
        return False
    return judging.outcome_difference(fresh, right, shown, fresh.atol, fresh.rtol) is not None
