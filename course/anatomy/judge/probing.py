"""Calls a learner's function with other arguments, to see which ones it ignores, and whether it is right for slightly
different ones.

Only in the instant check, where the function is available and a few milliseconds can be spent.
"""

import contextlib
import copy
import inspect
import io
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ..program import runner
from ..program.codec import Tree
from ..program.records import CaseRecord, ExerciseRecord
from ..program.runner import Functions
from ..system.translation import N_, _
from . import judging
from .naming import expects_error, functions_of
from .verdict import Mistake, Verdict

SECONDS = 0.15  # of processor time, for all calls together: on a busy machine too
_NUMBERS = ("partly", "values", "order", "nearly", "slices", "unchanged", "shifted", "offset", "factor", "relation")

Change = Callable[[Any], Any]  # of a tensor or a number; gives None where it does not apply


def add_findings(record: ExerciseRecord, functions: Functions, verdict: Verdict) -> None:
    """Adds to a failed verdict's generic mistakes what calls with other arguments reveal. Never raises.

    record: ExerciseRecord. functions: dict target → the learner's function. verdict: what ``judging.judge`` said.
    """
    try:
        if not verdict.mistakes or verdict.mistakes[0].name not in {f"generic.{n}" for n in _NUMBERS}:
            return
        passed = [c.passed for c in verdict.cases]
        with contextlib.redirect_stdout(io.StringIO()):
            end = time.process_time() + SECONDS
            found = _exchanged(record, functions, passed, end - SECONDS / 2) or _ignored(record, functions, passed, end)
        if found:
            verdict.mistakes.insert(1, found)
            if len(verdict.mistakes) > 2:  # only two are shown: the place of the mistake joins the finding
                verdict.mistakes[1].message += " " + verdict.mistakes.pop(2).message
    except Exception:  # a learner's function may do anything when it is called with other numbers
        return


def _ignored(record: ExerciseRecord, functions: Functions, passed: Sequence[bool], end: float) -> Mistake | None:
    names = ignored(record, functions, passed, end)
    if not names:
        return None
    told = _("Your result does not depend on {names} at all: other values change nothing, in any of the cases.")
    return Mistake("generic.ignored", told.format(names=_(" or ").join(names)))


def ignored(record: ExerciseRecord, functions: Functions, passed: Sequence[bool], end: float = math.inf) -> list[str]:
    """Names of those arguments of the function that failed first whose values change nothing in any case.

    Tensors get other entries; numbers and flags get the values that they have in other cases. end: a time of
    ``time.process_time``; the result is empty if it is not known by then.
    """
    cases = _same_function(record, passed)
    given = {id(c): _arguments(c, functions) for c in cases}
    found: dict[str, bool] = {}
    for case in cases:
        plain = None
        for argument in given[id(case)]:
            if found.get(argument.name) is False or argument.name in record.idle:
                continue
            others = [
                v for c in cases if c is not case for a in given[id(c)] if a.name == argument.name for v in a.values
            ]
            for change in _other_values(argument, [*others, argument.default]):
                if time.process_time() > end:
                    return []
                plain = plain or _result(case, functions)
                if plain[2]:  # a call that raises says nothing about its arguments
                    return []
                same = _equal(plain, _result(argument.changed(case, change), functions))
                found[argument.name] = same and found.get(argument.name, True)
                if not same:
                    break
    return [name for name, unused in found.items() if unused]


def _same_function(record: ExerciseRecord, passed: Sequence[bool]) -> list[CaseRecord]:
    """The cases of the function that failed first, except those that expect an error."""
    first = functions_of(record.cases[list(passed).index(False)])
    return [c for c in record.cases if functions_of(c) == first and not expects_error(c)]


@dataclass
class _Argument:
    """One parameter of a function, in all calls of a case. values: the tensors or numbers passed for it.

    places: (step, ``args``, ``kwargs`` or ``state``, number or name in it) of each value.
    """

    name: str
    values: list[Any] = field(default_factory=list)
    places: list[tuple[int, str, Any]] = field(default_factory=list)
    of_constructor: bool = False
    default: Any = None

    def changed(self, case: CaseRecord, change: Change) -> CaseRecord:
        """The case with other values in all these places. Raises _Unchangeable."""
        steps, tensors = copy.deepcopy(case.program["steps"]), dict(case.tensors)
        for (step, kind, i), value in zip(self.places, self.values, strict=True):
            new = change(value)
            if new is None:
                raise _Unchangeable
            if isinstance(value, torch.Tensor):
                tensors[_at(case.program["steps"][step], kind, i)["tensor"]] = new
            elif kind == "args":
                steps[step]["args"]["list"][i] = new
            else:
                steps[step]["kwargs"]["dict"][i][1] = new
        return replace(case, program={"steps": steps}, tensors=tensors)


class _Unchangeable(Exception):
    """The change does not apply to one of the values."""


def _at(step: runner.Step, kind: str, i: Any) -> Tree:
    if kind == "state":
        return {"tensor": step["state"][i]}
    return step["args"]["list"][i] if kind == "args" else step["kwargs"]["dict"][i][1]


def _arguments(case: CaseRecord, functions: Functions) -> list[_Argument]:
    """The arguments of a case's calls, constructors included, that are tensors, numbers or flags."""
    found: dict[tuple[str, str], _Argument] = {}
    for number, step in enumerate(case.program["steps"]):
        name, defaults = _called(case.program["steps"], step, functions)
        given = [(p, "args", i) for i, p in zip(range(len(step["args"]["list"])), defaults, strict=False)]
        given += [(k, "kwargs", i) for i, (k, *__) in enumerate(step["kwargs"]["dict"])]
        given += [(f"its parameter {k}", "state", k) for k in step.get("state") or {}]
        for parameter, kind, i in given:
            tree = _at(step, kind, i)
            is_tensor = isinstance(tree, dict) and "tensor" in tree
            if is_tensor or isinstance(tree, int | float):
                argument = found.setdefault((name, parameter), _Argument(parameter))
                argument.of_constructor, argument.default = "new" in step, defaults.get(parameter)
                argument.values.append(case.tensors[tree["tensor"]] if is_tensor else tree)
                argument.places.append((number, kind, i))
    return list(found.values())


def _called(steps: Sequence[runner.Step], step: runner.Step, functions: Functions) -> tuple[str, dict[str, Any]]:
    """(name, parameter → its default) of what a step calls."""
    on = steps[step["on"]].get("new") if step.get("on") is not None else None
    if on and step.get("method") in (steps[step["on"]].get("methods") or ()):
        return f"{on}.{step['method']}", {}  # a method that the case defines
    name = str(on or step.get("call") or step.get("new"))
    target: Any = functions[name]
    if on:
        target = getattr(target, step.get("method") or ("forward" if hasattr(target, "forward") else "__call__"))
    parameters = list(inspect.signature(target).parameters.values())
    defaults = {p.name: p.default for p in (parameters[1:] if on else parameters)}
    return f"{name}.{step.get('method') or 'call' if on else 'new'}", defaults


def _other_values(argument: _Argument, others: Sequence[Any]) -> Iterator[Change]:
    """Changes to other values that are allowed as well, as far as one can know. others: the values in other cases."""
    value = argument.values[0]
    if isinstance(value, torch.Tensor):
        if all(t.numel() and (t.is_floating_point() or t.dtype == torch.bool) for t in argument.values):
            yield _other_entries
    elif isinstance(value, bool):
        yield lambda flag: not flag
    elif isinstance(value, float) or not argument.of_constructor:  # a size may only serve to allocate memory
        seen = {v for v in others if type(v) is type(value)} - set(argument.values)
        near = sorted((v for v in seen if abs(v) <= 2 * abs(value) + 4), key=lambda v: abs(v - value))
        for other in near[:2]:
            yield lambda value, other=other: other  # type: ignore[misc]  # mypy sees no default


def _other_entries(t: torch.Tensor) -> torch.Tensor:
    # Flipped as well: code that depends only on the order of the numbers notices no other change.
    return ~t if t.dtype == torch.bool else t.flip(tuple(range(t.ndim))) * 1.37 + 0.21


def _result(case: CaseRecord, functions: Functions) -> tuple[str, dict[str, torch.Tensor], bool]:
    """(the results as JSON, without the tensors; the tensors; whether it raised)."""
    steps = [{k: v for k, v in s.items() if k not in ("cost", "law")} | {"grad": None} for s in case.program["steps"]]
    outcome, out = runner.run_program({"steps": steps}, case.tensors, functions)
    raised = [r["raises"][0] for r in outcome["results"] if "raises" in r]
    return json.dumps(raised or outcome["results"], default=str), out, bool(raised)


def _equal(a, b):
    return (
        a[0] == b[0]
        and a[1].keys() == b[1].keys()
        and all(
            a[1][k].shape == b[1][k].shape and torch.equal(a[1][k].nan_to_num(), b[1][k].nan_to_num()) for k in a[1]
        )
    )


def _exchanged(
    record: ExerciseRecord, functions: Functions, passed: Sequence[bool], end: float = math.inf
) -> Mistake | None:
    """The Mistake that names what the code takes an argument for: so changed, every failed case comes out right."""
    cases = [
        c
        for c in _same_function(record, passed)
        if not passed[next(i for i, x in enumerate(record.cases) if x is c)]
        and not any("law" in s for s in c.program["steps"])
    ]
    numbers = sum(t.numel() for c in cases for t in c.outcomes["expected"][1].values())
    if not cases or len(cases) < 2 and numbers < 4:  # one number may come out right by chance
        return None
    for words, changed in _exchanges(cases[0], functions):
        if time.process_time() > end:
            return None
        if all(_comes_out_right(c, changed, functions) for c in cases):
            told = _("Where it fails, your code behaves as if {what}.")
            if len(cases) == len(_same_function(record, passed)):
                told = _("Your code behaves as if {what}.")
            return Mistake("generic.exchanged", told.format(what=words))
    return None


def _comes_out_right(case: CaseRecord, changed: Callable[[CaseRecord], CaseRecord], functions: Functions) -> bool:
    try:
        other = changed(case)
    except (_Unchangeable, KeyError, IndexError):
        return False
    outcome, tensors = runner.run_program(other.program, other.tensors, functions)
    outcome = outcome | {"mutated": []}
    return judging.outcome_difference(case, case.outcomes["expected"], (outcome, tensors), case.atol, case.rtol) is None


def _exchanges(case: CaseRecord, functions: Functions) -> Iterator[tuple[str, Callable[[CaseRecord], CaseRecord]]]:
    """(what the code may take an argument for, how to change a case so that it gets what it needs then)."""
    arguments = _arguments(case, functions)
    for argument in arguments:
        for words, change in _CHANGES:
            if argument.places[0][1] == "state" or any(change(v) is None for v in argument.values):
                continue

            def changed(c: CaseRecord, name: str = argument.name, change: Change = change) -> CaseRecord:
                return next(a for a in _arguments(c, functions) if a.name == name).changed(c, change)

            yield _(words).format(name=argument.name), changed
    for i, first in enumerate(arguments):
        for second in arguments[:i]:
            if _alike(first, second):

                def swapped(c: CaseRecord, names: tuple[str, str] = (first.name, second.name)) -> CaseRecord:
                    a, b = (next(x for x in _arguments(c, functions) if x.name == n) for n in names)
                    if not _alike(a, b):
                        raise _Unchangeable
                    theirs, ours = iter(b.values), iter(a.values)
                    return b.changed(a.changed(c, lambda value: next(theirs)), lambda value: next(ours))

                told = _("{name} and {other} had changed places")
                yield told.format(name=second.name, other=first.name), swapped


def _alike(a: _Argument, b: _Argument) -> bool:
    """Can two arguments be swapped, and does it make a difference?"""
    if len(a.values) != len(b.values):
        return False
    return all(_are_alike(x, y) for x, y in zip(a.values, b.values, strict=True))


def _are_alike(x: Any, y: Any) -> bool:
    if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
        return x.shape == y.shape and x.dtype == y.dtype
    return type(x) is type(y) and not isinstance(x, torch.Tensor) and x != y


def _of_flags(change: Change) -> Change:
    return lambda v: change(v) if isinstance(v, bool) else None


def _of_counts(change: Change) -> Change:
    """For Python's integers and for tensors of integers only."""

    def applied(v: Any) -> Any:
        if isinstance(v, torch.Tensor):
            return change(v) if v.dtype in (torch.int64, torch.int32) else None
        return change(v) if isinstance(v, int) and not isinstance(v, bool) else None

    return applied


def _of_numbers(change: Change) -> Change:
    return lambda v: change(v) if isinstance(v, float) and math.isfinite(v) and v > 0 else None


def _of_masks(change: Change) -> Change:
    return lambda v: change(v) if isinstance(v, torch.Tensor) and v.dtype == torch.bool else None


def _of_squares(t: Any) -> Any:
    is_square = isinstance(t, torch.Tensor) and t.ndim > 1 and t.shape[-1] == t.shape[-2] > 1
    return t.transpose(-1, -2).contiguous() if is_square else None


# What the code takes an argument for, and the change that makes the result right then.
_CHANGES: list[tuple[str, Change]] = [
    (N_("True and False had changed places in {name}"), _of_masks(torch.logical_not)),
    (N_("{name} were the other way round"), _of_flags(lambda v: not v)),
    (N_("{name} were one larger"), _of_counts(lambda v: v - 1)),
    (N_("{name} were one smaller"), _of_counts(lambda v: v + 1)),
    (N_("{name} had the other sign"), _of_counts(lambda v: -v)),
    (N_("{name} had the other sign"), lambda v: -v if isinstance(v, float) and v else None),
    (N_("{name} were its square root"), _of_numbers(lambda v: v**2)),
    (N_("{name} were its square"), _of_numbers(lambda v: v**0.5)),
    (N_("{name} were 1 − {name}"), _of_numbers(lambda v: 1 - v)),
    (N_("{name} were 1/{name}"), _of_numbers(lambda v: 1 / v)),
    (N_("the last two axes of {name} had changed places"), _of_squares),
]
