"""Finds what the inputs of all failed cases of a function share and no passed case has, and puts it into words."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..program.codec import Tree
from ..program.records import CaseRecord, ExerciseRecord
from ..program.runner import Step
from ..system.translation import N_, _

_BIG = 60.0  # exp(60) squared overflows float32, and so does exp(89)


def told(failed: Sequence[CaseRecord], passed: Sequence[CaseRecord], record: ExerciseRecord) -> str | None:
    """Words such as ``a mask is given``, or None. failed, passed: CaseRecords of the same function."""
    if not failed or not passed:
        return None
    theirs = [_features(c, record) for c in failed]
    others = [_features(c, record) for c in passed]
    for words in theirs[0]:
        # In a single case these are chance, unless the case was made for them.
        if len(failed) == 1 and words in _COMMON and words.removeprefix("torch.") not in failed[0].shows:
            continue
        if all(words in f for f in theirs) and not any(words in f for f in others):
            return theirs[0][words]
    for words, negated in _NEGATED.items():
        if not any(words in f for f in theirs) and all(words in f for f in others):
            return _(negated)
    return None


_COMMON = ("batch", *(f"{d}" for d in (torch.float16, torch.bfloat16, torch.float64)))  # features of many cases
_NEGATED = {
    "batch": N_("there is no batch, or one of 1"),
    "length": N_("both first inputs have the same length"),
}


def _features(case: CaseRecord, record: ExerciseRecord) -> dict[str, str]:
    """slug → words, the most telling first."""
    calls = [s for s in case.program["steps"] if "call" in s]
    tensors = case.tensors.values()
    found: dict[str, str] = {}
    for step in calls:
        found |= _of_arguments(step, record)
    for t in tensors:
        found |= _of_tensor(t)
    if any(t.dtype == torch.bool for t in tensors):
        found["mask"] = _("a mask is given")
    if any(t.ndim >= 3 and t.shape[0] > 1 for t in tensors):
        found["batch"] = _("the batch is larger than 1")
    first = [case.tensors[n] for n in _tensor_names(calls[0]) if n in case.tensors][:2] if calls else []
    if len(first) == 2 and all(t.ndim >= 2 for t in first) and first[0].shape[-2] != first[1].shape[-2]:
        found["length"] = _("the first two inputs differ in length")
    return found


def _of_arguments(step: Step, record: ExerciseRecord) -> dict[str, str]:
    """Features of a call's arguments: flags, and the optional arguments that are given."""
    inside = record.signature.partition("(")[2].rpartition(")")[0]
    parameters = [p for p in inside.split(",") if p.strip()]
    names = [p.split("=")[0].strip() for p in parameters]
    required = sum("=" not in p for p in parameters)
    is_first_target = step.get("on") is None and step["call"] == record.targets[0]
    found: dict[str, str] = {}
    for i, value in enumerate(step["args"]["list"]):
        if is_first_target and i < len(names):  # the signature is that of the first target
            found |= _of_argument(names[i], value, i >= required)
    for name, value in step["kwargs"]["dict"]:
        found |= _of_argument(name, value, True)
    return found


def _of_argument(name: str, value: Tree, optional: bool) -> dict[str, str]:
    if isinstance(value, bool):
        return {f"{name}={value}": _("{name} is {value}").format(name=name, value=value)}
    if optional and value is not None:
        return {f"{name} given": _("{name} is given").format(name=name)}
    return {}


def _of_tensor(t: Tensor) -> dict[str, str]:
    found = {}
    if t.dtype in (torch.float16, torch.bfloat16, torch.float64):
        found[f"{t.dtype}"] = _("the input is {dtype}").format(dtype=str(t.dtype).removeprefix("torch."))
    if t.dtype == torch.bool and t.ndim > 1 and t.numel() and (~t).all(-1).any():
        found["hidden row"] = _("a mask hides a whole row")
    if t.is_floating_point() and t.numel():
        if t.isinf().any():
            found["infinite"] = _("an input holds ∞")
        elif t.abs().max() > _BIG:
            found["big"] = _("an input holds numbers beyond {n:g}").format(n=_BIG)
    return found


def _tensor_names(step: Step) -> list[str]:
    """Names of the tensors that a call gets as positional arguments."""
    return [a["tensor"] for a in step["args"]["list"] if isinstance(a, dict) and "tensor" in a]
