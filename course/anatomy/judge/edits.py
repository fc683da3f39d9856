"""Finds the single change of a right answer that gives exactly the wrong results: "one place reads `a // b`".

``autograder.recording.edits`` makes and records the changes; some combine two changes, each a known mistake. There are
thousands, so only a print of the results of each is kept: for every public case its form and three numbers.
"""

import json
import math
import zlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from ..program.codec import Memory, Tensors
from ..program.records import ExerciseRecord
from ..program.runner import Outcome, Outcomes
from ..system.translation import N_, _, said
from .compare import Difference
from .naming import Weight, weight_of, wrong_numbers
from .verdict import Mistake

Print = tuple[int, float, float, float]  # form, size, and two weighted sums of the numbers, divided by their sizes
RIGHT: Print = (0, 0.0, 0.0, 0.0)  # print of a case that passes

# The description of a change, by the kind under which it is recorded.
KINDS = {
    "stands": N_("one place reads `{code}`, where something else belongs"),
    "left_out": N_("the step that makes `{code}` is left out"),
    "turned": N_("the condition `{code}` is negated"),
    "always": N_("what belongs under `if {code}` always happens"),
    "never": N_("what belongs under `if {code}` never happens"),
    "unfiltered": N_("`if {code}` is left out of a loop"),
    "once": N_("a loop runs only once"),
    "not_at_all": N_("a loop never runs"),
    "computes": N_("everything is computed in {code}"),
}
KINDS_OF_PROBLEM = ("values", "nan", "shape")  # the other kinds already say what is wrong
_CLOSE, _CLOSE_IN_HALF = 3e-5, 1e-2


def found(
    record: ExerciseRecord, outcomes: Outcomes, problems: Sequence[Difference | None], memory: Memory
) -> list[Mistake]:
    """The Mistake that describes the change, the two known mistakes that were made at once, or nothing. Never raises.

    Arguments as for ``naming.named``, which has found no mistake.
    """
    if record.edits is None:
        return []
    try:
        change = _change(record, record.edits, outcomes, problems, memory)
        return _told(record, *change) if change else []
    except Exception:  # an outcome of a hostile process that fails only when examined closely
        return []


def _told(record: ExerciseRecord, kind: str, code: str) -> list[Mistake]:
    if kind == "both":
        one, other = code.split()
        first, second = (said(record.id, record.mistakes[name]) for name in (one, other))
        return [
            Mistake(one, _("Two things are wrong at once. One: {mistake}").format(mistake=first)),
            Mistake(other, _("The other: {mistake}").format(mistake=second)),
        ]
    told = _("Your results are exactly those of an otherwise right answer in which {change}. Look at that part.")
    return [Mistake("generic.edit", told.format(change=_(KINDS[kind]).format(code=code)))]


def _change(
    record: ExerciseRecord,
    file: Path,
    outcomes: Outcomes,
    problems: Sequence[Difference | None],
    memory: Memory,
) -> tuple[str, str] | None:
    first = next(p for p in problems if p is not None)
    if first.kind not in KINDS_OF_PROBLEM or not _is_evidence(record, outcomes, problems, memory):
        return None
    changes, forms, numbers = known(file, record.id)
    mine = [RIGHT if p is None else printed(*o, memory) for o, p in zip(outcomes, problems, strict=True)]
    if not changes or forms.shape[1] != len(mine):
        return None
    is_half = torch.tensor([_has_half(o[1]) for o in outcomes])
    close = torch.where(is_half, _CLOSE_IN_HALF, _CLOSE)[:, None]
    same = (forms == torch.tensor([m[0] for m in mine])).all(1)
    same &= ((numbers - torch.tensor([m[1:] for m in mine])).abs() <= close).all(2).all(1)
    return next((changes[i] for i in same.nonzero().flatten().tolist()), None)


def _is_evidence(
    record: ExerciseRecord, outcomes: Outcomes, problems: Sequence[Difference | None], memory: Memory
) -> bool:
    """True if more is wrong than a few small numbers, zeros or a factor, which many changes give."""
    failed = [(c, o, p) for c, o, p in zip(record.cases, outcomes, problems, strict=True) if p and p.kind != "raised"]
    if any(p.kind == "shape" for *_, p in failed):
        return True
    return weight_of([pair for c, o, _ in failed for pair in wrong_numbers(c, o, memory)]) == Weight.MUCH


def _has_half(tensors: Tensors) -> bool:
    return any(t.dtype in (torch.float16, torch.bfloat16) for t in tensors.values())


@lru_cache(maxsize=4)
def known(file: Path, exercise_id: str) -> tuple[list[tuple[str, str]], Tensor, Tensor]:
    """([(kind, code)], forms (n, cases), numbers (n, cases, 3)) of an exercise's changes; all empty if it has none."""
    with safe_open(str(file), framework="pt") as store:
        if f"{exercise_id}/changes" not in store.keys():  # noqa: SIM118
            return [], torch.zeros(0, 0, dtype=torch.int32), torch.zeros(0, 0, 3)
        packed, forms, numbers = (store.get_tensor(f"{exercise_id}/{name}") for name in ("changes", "forms", "numbers"))
    return [(kind, code) for kind, code in json.loads(zlib.decompress(packed.numpy().tobytes()))], forms, numbers


def printed(outcome: Outcome, tensors: Tensors, memory: Memory) -> Print:
    """The Print of a failed case's outcome."""
    form: list[str] = []
    parts: list[Tensor] = []
    for result in outcome["results"]:
        if "raises" in result:
            form.append(f"raises {result['raises'][0]}")
        elif "skipped" not in result:
            for part in ("value", "grads"):
                if part in result:
                    _read(memory.value(result[part], tensors), form, parts)
    size, first, second = 0.0, 0.0, 0.0
    for k, tensor in enumerate(parts, 1):
        numbers = tensor.double().flatten()
        finite = numbers[numbers.isfinite()]
        form.append(f"{len(finite)} {int(numbers.isnan().sum())} {int((numbers == math.inf).sum())}")
        middle = finite.abs().mean().item() if len(finite) else 0.0
        if middle:
            size += (2 + _weights(k, 1)[-1].item()) * math.log(middle)
            first += (_weights(len(finite), 1) @ finite).item() / (middle * len(finite))
            second += (_weights(len(finite), 2) @ finite).item() / (middle * len(finite))
    return zlib.crc32("\n".join(form).encode()) & 0x3FFFFFFF | 1, size, first, second


def _read(value: Any, form: list[str], parts: list[Tensor]) -> None:
    """Adds the structure of a value to ``form``, and its numbers to ``parts``: one for each tensor or list of
    numbers."""
    if isinstance(value, Tensor):
        form.append(f"{value.dtype} {tuple(value.shape)}")
        parts.append(torch.view_as_real(value) if value.is_complex() else value)
    elif isinstance(value, dict):
        form.append(f"dict {sorted(map(str, value))}")
        for key in sorted(value, key=str):
            _read(value[key], form, parts)
    elif isinstance(value, list | tuple):
        form.append(f"{type(value).__name__} {len(value)}")
        if value and all(isinstance(v, int | float) for v in value):
            form.extend(type(v).__name__ for v in value)
            parts.append(torch.tensor([float(v) for v in value], dtype=torch.float64))
        else:
            for item in value:
                _read(item, form, parts)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        form.append(type(value).__name__)
        parts.append(torch.tensor([float(value)], dtype=torch.float64))
    else:
        form.append(f"{type(value).__name__} {value}")


@lru_cache(maxsize=256)
def _weights(n: int, which: int) -> Tensor:
    """Numbers between −1 and 1 without a pattern that a result could have; the same on every machine."""
    return torch.cos(torch.arange(1, n + 1, dtype=torch.float64).square() * (which * 0.6180339887498949) + which)
