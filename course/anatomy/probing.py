"""Which argument a learner's function never looks at: found by changing it and running again.

Only in the instant check, where the function is at hand and a few milliseconds are free.
"""

import inspect
import json
import time
from collections.abc import Sequence

import torch

from . import runner
from .naming import expects_error, functions_of
from .records import ExerciseRecord
from .runner import Functions
from .verdict import Mistake, Verdict

SECONDS = 0.15
# (exercise, argument) that no right answer depends on: the reach of a mask is the same for every x.
FREE = {("sparse.gradient_reach", "x")}
_VAGUE = ("generic.partly", "generic.values", "generic.order", "generic.nearly", "generic.slices", "generic.unchanged")


def add_ignored(record: ExerciseRecord, functions: Functions, verdict: Verdict) -> None:
    """Adds to a failed verdict's generic mistakes that the result does not depend on some argument. Never raises.

    record: ExerciseRecord. functions: dict target → the learner's function. verdict: what ``judging.judge`` said.
    """
    try:
        if verdict.mistakes and verdict.mistakes[0].name in _VAGUE:
            names = ignored(record, functions, [c.passed for c in verdict.cases])
            if names:
                said = (
                    f"Your result does not depend on {' or '.join(names)} at all: other values change nothing, in "
                    "any of the cases."
                )
                verdict.mistakes.insert(1, Mistake("generic.ignored", said))
                if len(verdict.mistakes) > 2:  # only two are shown: where it fails belongs to what fails
                    verdict.mistakes[1].message += " " + verdict.mistakes.pop(2).message
    except Exception:  # a learner's function may do anything when it is called with other numbers
        return


def ignored(record: ExerciseRecord, functions: Functions, passed: Sequence[bool]) -> list[str]:
    """Names of the tensor arguments of the function that failed first whose values change nothing in any case."""
    first = passed.index(False)
    called = functions_of(record.cases[first])
    found: dict[str, bool] = {}
    began = time.perf_counter()
    for case in record.cases:
        if functions_of(case) != called or expects_error(case) or len(case.program["steps"]) > 1:
            continue
        plain = None
        for name, tensor in _arguments(case, functions):
            if found.get(name) is False or (record.id, name) in FREE:
                continue
            if time.perf_counter() - began > SECONDS:
                return []
            changed = _changed(case.tensors[tensor])
            if changed is None:
                continue
            plain = plain or _result(case, case.tensors, functions)
            same = _equal(plain, _result(case, {**case.tensors, tensor: changed}, functions))
            found[name] = same and found.get(name, True)
    return [name for name, unused in found.items() if unused]


def _arguments(case, functions):
    """(parameter, tensor name) for each tensor that the case passes to a function."""
    (step,) = case.program["steps"]
    parameters = list(inspect.signature(functions[step["call"]]).parameters)
    given = list(zip(parameters, step["args"]["list"], strict=False)) + [(k, v) for k, v in step["kwargs"]["dict"]]
    return [(name, v["tensor"]) for name, v in given if isinstance(v, dict) and "tensor" in v]


def _changed(t):
    """Other values of the same kind; None where none are sure to be allowed."""
    if not t.numel():
        return None
    if t.dtype == torch.bool:
        return ~t
    # Turned round as well: what looks at the order of numbers alone notices no other change.
    return t.flip(tuple(range(t.ndim))) * 1.37 + 0.21 if t.is_floating_point() else None


def _result(case, tensors, functions):
    outcome, out = runner.run_program(case.program, tensors, functions)
    return json.dumps(
        [r.get("raises", ["value"])[0] if "raises" in r else r for r in outcome["results"]], default=str
    ), out


def _equal(a, b):
    return (
        a[0] == b[0]
        and a[1].keys() == b[1].keys()
        and all(
            a[1][k].shape == b[1][k].shape and torch.equal(a[1][k].nan_to_num(), b[1][k].nan_to_num()) for k in a[1]
        )
    )
