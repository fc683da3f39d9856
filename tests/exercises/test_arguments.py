"""Cases judge everything that a text asks for: every argument takes several values, alone and in pairs, floats come in
more than one precision, and results that gradients flow through have their gradients checked.

What holds for good reasons is listed with its reason in the spec (``unasked``); a reason that is no longer needed fails
too.
"""

import inspect
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from anatomy.judge.judging import outcome_difference
from anatomy.judge.naming import expects_error
from anatomy.program import runner
from anatomy.program.records import ExerciseRecord

from autograder import exercises
from autograder.judge.spec import Exercise
from autograder.mutation.because import reasons

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
DEFAULT = object()
ONE_VALUE, PAIR = re.compile(r"[\w.]+\(\w+\)"), re.compile(r"[\w.]+\(\w+, \w+\)")
PRECISION, GRADIENT = re.compile("precision"), re.compile(r"gradient of [\w.]+")


def unasked(exercise: Exercise, kind: re.Pattern[str]) -> set[str]:
    """The exceptions of one kind that the spec gives reasons for."""
    return {line for line in reasons(exercise.unasked) if kind.fullmatch(line)}


@pytest.fixture
def cases(drawn):
    """All cases of the examples and of two submissions that expect no error."""
    records = [drawn.public, drawn.with_mistakes, drawn.fresh(0)]
    return [c for record in records for c in record.cases if not expects_error(c)]


def calls(exercise: Exercise, case: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields (name of the callable, dict parameter → its tree, DEFAULT if omitted) for each step of a case."""
    functions = exercise.functions(exercise.reference)
    for step in case.program["steps"]:
        name = step.get("new") or step.get("call")
        if name is None:
            made = case.program["steps"][step["on"]]
            owner = functions[made["new"]] if "new" in made else None
            name = f"{made.get('new')}.{step.get('method') or 'forward'}"
            function = getattr(owner, step.get("method") or "forward", None)
        else:
            function = functions[name]
        try:
            parameters = dict(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            continue
        parameters.pop("self", None)
        given = dict(zip(parameters, step["args"]["list"], strict=False)) | dict(step["kwargs"]["dict"])
        optional = {p: DEFAULT for p, v in parameters.items() if v.default is not v.empty}
        yield name, {p: v for p, v in (optional | given).items() if p in parameters}


def defaults(exercise: Exercise, name: str) -> dict[str, Any]:
    owner, _, method = name.partition(".")
    function = exercise.functions(exercise.reference)[owner]
    function = getattr(function, method) if method else function
    return {p: v.default for p, v in inspect.signature(function).parameters.items() if v.default is not v.empty}


def as_text(exercise: Exercise, name: str, parameter: str, tree: Any) -> str:
    if tree is DEFAULT:
        tree = defaults(exercise, name)[parameter]
    return json.dumps(tree, default=str)


def test_every_plain_argument_takes_several_values(exercise, cases):
    """If a number, flag or name is the same in all cases, an answer with a constant instead would pass."""
    values, count = defaultdict(set), defaultdict(int)
    for case in cases:
        for name, given in calls(exercise, case):
            for parameter, tree in given.items():
                count[name, parameter] += 1
                values[name, parameter].add(
                    "a tensor" if isinstance(tree, dict) else as_text(exercise, name, parameter, tree)
                )
    single = {f"{n}({p})" for (n, p), v in values.items() if len(v) == 1 and v != {"a tensor"}}
    assert single == unasked(exercise, ONE_VALUE), f"always the same: {sorted(single)}"


def test_optional_arguments_meet(exercise, cases):
    """Otherwise an answer that ignores one argument when the other is given would pass."""
    optional: dict[str, set[str]] = defaultdict(set)
    together = defaultdict(set)
    for case in cases:
        for name, given in calls(exercise, case):
            has = defaults(exercise, name)
            optional[name] |= set(has)
            own = [
                p
                for p in sorted(has)
                if given[p] is not DEFAULT and as_text(exercise, name, p, given[p]) != json.dumps(has[p], default=str)
            ]
            together[name] |= set(itertools.combinations(own, 2))
    never = {
        f"{name}({a}, {b})"
        for name, names in optional.items()
        for a, b in itertools.combinations(sorted(names), 2)
        if (a, b) not in together[name]
    }
    assert never == unasked(exercise, PAIR), f"never given together: {sorted(never)}"


def test_floats_come_in_more_than_one_precision(exercise, cases):
    """Otherwise an answer that always computes in float32 would pass."""
    seen = {t.dtype for case in cases for t in case.tensors.values() if t.dtype in FLOATS}
    one = len(seen) == 1
    assert one == bool(unasked(exercise, PRECISION)), f"float inputs come as {seen}"


def test_where_the_reference_carries_a_gradient_one_is_asked_for(exercise, cases):
    carrying, asked = set(), set()
    functions = exercise.functions(exercise.reference)
    for case in cases:
        steps = case.program["steps"]
        for step in steps:
            if step.get("grad"):
                asked.add(_function_of(steps, step))
        inputs = {n: t.requires_grad_() if t.is_floating_point() else t for n, t in _clones(case.tensors).items()}
        execution = _Carrying(case.program, inputs, functions)
        for step in steps:
            value, _ = execution.step()
            if "new" not in step and any(t.requires_grad for t in runner.floating(value)):
                carrying.add(_function_of(steps, step))
    missing = carrying - asked
    assert {f"gradient of {name}" for name in missing} == unasked(exercise, GRADIENT), "no gradient is asked of these"


class _Carrying(runner.Execution):
    """Runs a program whose inputs require gradients, without computing them."""

    def __init__(self, program, tensors, functions):
        super().__init__(
            {"steps": [s | ({"grad": None} if "call" in s else {}) for s in program["steps"]]}, {}, functions
        )
        self.inputs = tensors


def _clones(tensors):
    return {n: t.detach().clone() for n, t in tensors.items()}


def _function_of(steps, step):
    made = steps[step["on"]] if step.get("on") is not None else step
    return made.get("new") or made.get("call")


def test_an_optional_argument_changes_something_for_everyone_or_for_nobody(exercise, drawn):
    """By chance, a drawn window may hide nothing; then an answer that ignores the argument would pass."""
    idle = [set(without_effect(exercise, record)) for record in [drawn.public, *drawn.students]]
    by_luck = set.union(*idle) - set.intersection(*idle)
    assert not by_luck, f"without effect for some students: {sorted(by_luck)}"


def without_effect(exercise: Exercise, record: ExerciseRecord) -> Iterator[str]:
    """Yields each case and its optional argument that does not change the reference's results."""
    for case in record.cases:
        for name, parameter, changed in without_one_argument(exercise, case):
            results = runner.run_program(changed, case.tensors, exercise.functions(exercise.reference))
            if outcome_difference(case, case.outcomes["expected"], results, case.atol, case.rtol) is None:
                yield f"{case.name}: {name}({parameter})"


def without_one_argument(exercise: Exercise, case: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yields (name of the callable, an optional argument that the case passes, the program without that argument)."""
    steps = case.program["steps"]
    functions = exercise.functions(exercise.reference)
    for i, step in enumerate(steps):
        name = step.get("call") or step.get("new")
        if name is None:
            continue
        parameters = inspect.signature(functions[name]).parameters
        optional = {p: v.default for p, v in parameters.items() if v.default is not v.empty}
        places = dict(zip(range(len(step["args"]["list"])), parameters, strict=False))
        for k, parameter in places.items():
            if parameter in optional and _is_plain(optional[parameter]):
                args = [*step["args"]["list"]]
                args[k] = optional[parameter]
                yield name, parameter, _with(case.program, i, args={"list": args})
        for key, _value in step["kwargs"]["dict"]:
            if key in optional:
                others = [pair for pair in step["kwargs"]["dict"] if pair[0] != key]
                yield name, key, _with(case.program, i, kwargs={"dict": others})


def _is_plain(value):
    return value is None or isinstance(value, bool | int | float | str)


def _with(program, i, **changes):
    return program | {"steps": [step | changes if k == i else step for k, step in enumerate(program["steps"])]}


def test_exceptions_are_of_a_kind_that_is_asked():
    kinds = ONE_VALUE, PAIR, PRECISION, GRADIENT
    listed = {e.id: set(reasons(e.unasked)) for e in exercises.all_exercises() if e.unasked}
    assert len(listed) > 20
    for exercise, lines in listed.items():
        assert all(sum(bool(kind.fullmatch(line)) for kind in kinds) == 1 for line in lines), exercise
