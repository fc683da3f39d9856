"""What all failed cases of a function have in common and no passed one has: words for the difference in their input."""

import torch

_BIG = 60.0  # exp(60) squared overflows float32, and so does exp(89)


def told(failed, passed, record):
    """Words such as ``a mask is given``, or None. failed, passed: CaseRecords of the same function."""
    if not failed or not passed:
        return None
    theirs = [_features(c, record) for c in failed]
    others = [_features(c, record) for c in passed]
    for words in theirs[0]:
        if all(words in f for f in theirs) and not any(words in f for f in others):
            return theirs[0][words]
    for words, negated in _NEGATED.items():
        if not any(words in f for f in theirs) and all(words in f for f in others):
            return negated
    return None


_NEGATED = {
    "calls": "there is only one call",
    "batch": "there is no batch, or one of 1",
    "length": "both first inputs have the same length",
}


def _features(case, record):
    """dict slug → words, the most telling first."""
    found, tensors = {}, case.tensors
    parameters = [p.split("=")[0].strip() for p in record.signature.partition("(")[2].rpartition(")")[0].split(",")]
    required = [p for p in record.signature.partition("(")[2].rpartition(")")[0].split(",") if "=" not in p]
    calls = [s for s in case.program["steps"] if "call" in s]
    for step in calls:
        plain = step.get("on") is None and step["call"] == record.targets[0]
        given = [
            (parameters[i] if plain and i < len(parameters) else None, v, i >= len(required))
            for i, v in enumerate(step["args"]["list"])
        ]
        for name, value, optional in given + [(k, v, True) for k, v in step["kwargs"]["dict"]]:
            if name and isinstance(value, bool):
                found[f"{name}={value}"] = f"{name} is {value}"
            elif name and optional and value is not None:
                found[f"{name} given"] = f"{name} is given"
    for t in tensors.values():
        if t.dtype in (torch.float16, torch.bfloat16, torch.float64):
            found[f"{t.dtype}"] = f"the input is {str(t.dtype).removeprefix('torch.')}"
        if t.dtype == torch.bool and t.ndim > 1 and t.numel() and (~t).all(-1).any():
            found["hidden row"] = "a mask hides a whole row"
        if t.is_floating_point() and t.numel():
            if t.isinf().any():
                found["infinite"] = "an input holds ∞"
            elif t.abs().max() > _BIG:
                found["big"] = f"an input holds numbers beyond {_BIG:g}"
    if any(t.dtype == torch.bool for t in tensors.values()):
        found["mask"] = "a mask is given"
    if len(calls) > 1:
        found["calls"] = "there are several calls in a row"
    if any(t.ndim >= 3 and t.shape[0] > 1 for t in tensors.values()):
        found["batch"] = "the batch is larger than 1"
    first = [
        tensors[a["tensor"]]
        for a in (calls[0]["args"]["list"] if calls else ())
        if isinstance(a, dict) and a.get("tensor") in tensors
    ][:2]
    if len(first) == 2 and all(t.ndim >= 2 for t in first) and first[0].shape[-2] != first[1].shape[-2]:
        found["length"] = "the first two inputs differ in length"
    return found
