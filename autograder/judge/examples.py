"""The examples of an exercise: the cases of the instant check, which a student may read.

The trusted path takes its words from them. Their recorded outcomes are taken where a case is still the one that was
recorded, so that a known mistake of a whole model costs nothing to name.
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
    """The cases of the instant check, with what the known mistakes gave there: seconds of work for a whole model's.
    A case that is being written stays as it is drawn, for its recording is none or another one."""
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
    """The same draw: another processor may compute other last digits of it."""
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
    """Would the public case's right answer be wrong here? Other inputs alone do not make it so."""
    right, shown = fresh.outcomes["expected"], public.outcomes["expected"]
    if any("raises" in r for r in right[0]["results"]):
        return False
    return judging.outcome_difference(fresh, right, shown, fresh.atol, fresh.rtol) is not None
