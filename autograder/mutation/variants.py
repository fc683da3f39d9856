"""The same cases with inputs of a different kind: no case tests them, but an answer must handle them as well.

A change that does nothing at run time (detaching a result without a gradient, a cast to the dtype it already has) is
harmless only if it does nothing here either.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from anatomy.program import codec, runner
from anatomy.program.records import CaseRecord, ExerciseRecord
from torch import Tensor

from autograder.judge.spec import Exercise, Implementation

from .trial import differs

Outcome = tuple[runner.Outcome, dict[str, Tensor]]


def float64(t: Tensor) -> Tensor:
    """Floats as float64."""
    return t.double() if t.is_floating_point() else t


def transposed(t: Tensor) -> Tensor:
    """The same entries, stored in a different order."""
    if t.ndim == 1:
        return torch.stack([t, t], -1)[:, 0]
    return t.transpose(0, -1).contiguous().transpose(0, -1) if t.ndim > 1 else t


def expanded(t: Tensor) -> Tensor:
    """The first slice repeated for all slices, sharing memory."""
    return t[:1].expand(t.shape) if t.ndim > 1 and t.shape[0] > 1 else t


def with_gradient(t: Tensor) -> Tensor:
    """Floats that require a gradient."""
    return t.detach().clone().requires_grad_(True) if t.is_floating_point() else t.clone()


KINDS: dict[str, Callable[[Tensor], Tensor]] = {
    "float64": float64,
    "transposed storage": transposed,
    "expanded": expanded,
    "requires_grad": with_gradient,
}


class _Prepared(runner.Execution):
    """Runs a program on inputs of a different kind, passed to its steps unchanged, with or without a graph."""

    def __init__(
        self, case: CaseRecord, functions: runner.Functions, kind: Callable[[Tensor], Tensor], graph: bool
    ) -> None:
        super().__init__(case.program, case.tensors, functions)
        self.graph = graph
        self.inputs = {name: kind(t) for name, t in self.inputs.items()}

    def _call(self, step: runner.Step, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, None]:
        target = self.made[step["on"]] if step.get("on") is not None else self.functions[step["call"]]
        if step.get("method"):
            target = getattr(target, step["method"])
        with torch.set_grad_enabled(self.graph):
            return target(*args, **kwargs), None


def outcome(case: CaseRecord, functions: runner.Functions, kind: str) -> Outcome:
    """The functions' results for a case with inputs of one kind, in the form of ``runner.run_program``.

    For ``requires_grad`` each result is (value, which of its tensors carry a gradient, gradients of all inputs).
    """
    torch.manual_seed(0)
    graph = kind == "requires_grad"
    execution = _Prepared(case, functions, KINDS[kind], graph)
    before = {name: t.detach().clone() for name, t in execution.inputs.items()}
    results: list[dict[str, Any]] = []
    out: dict[str, Tensor] = {}
    for step in case.program["steps"]:
        try:
            value, _ = execution.step()
            if graph and "call" in step:
                value = [value, carries(value), _gradients(value, execution.inputs)]
        except (SystemExit, Exception) as error:
            results.append({"raises": runner.described(error)})
            break
        results.append({"value": None if "new" in step else codec.encode(value, out, prefix="o")})
        out = {name: runner.plain(t) for name, t in out.items()}
    results += [{"skipped": True}] * (len(case.program["steps"]) - len(results))
    same = (torch.equal(t.detach().nan_to_num(), before[n].nan_to_num()) for n, t in execution.inputs.items())
    changed = {n for n, s in zip(before, same, strict=True) if not s}
    return {"results": results, "mutated": sorted(changed | execution.rewritten)}, out


def _tensors(value: Any) -> list[Tensor]:
    """Floating tensors in a value, in order."""
    if isinstance(value, Tensor):
        return [value] if value.is_floating_point() else []
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in _tensors(v)] if isinstance(value, list | tuple) else []


def carries(value: Any) -> list[bool]:
    """Tells for each floating tensor of a value whether a gradient would flow back from it."""
    return [t.requires_grad for t in _tensors(value)]


def _gradients(value: Any, inputs: dict[str, Tensor]) -> list[Tensor | None]:
    ends = [t for t in _tensors(value) if t.requires_grad]
    leaves = [t for t in inputs.values() if t.requires_grad]
    if not ends or not leaves:
        return []
    # Unequal weights, since the plain sum of a softmax has no gradient.
    weights = [torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype).reshape(t.shape) for t in ends]
    found = torch.autograd.grad(ends, leaves, weights, retain_graph=True, allow_unused=True)
    return [torch.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, found, strict=True)]


@dataclasses.dataclass
class Variant:
    """A record's cases with inputs of one kind, and the reference's results for these."""

    kind: str
    cases: list[CaseRecord]

    def tells_apart(self, exercise: Exercise, implementation: Implementation) -> bool:
        """Whether the implementation's results differ from the reference's."""
        functions = exercise.functions(implementation)
        return any(differs(case, outcome(case, functions, self.kind)) for case in self.cases)


def variants(exercise: Exercise, record: ExerciseRecord) -> list[Variant]:
    """One variant for each kind of inputs, without the cases that make the reference raise on these inputs only."""
    found = []
    asked = [_without_limits(c) for c in record.cases if not any("law" in s for s in c.program["steps"])]
    for kind in KINDS:
        cases = []
        for case in asked:
            expected = outcome(case, exercise.functions(exercise.reference), kind)
            raised = [["raises" in r for r in o[0]["results"]] for o in (expected, case.outcomes["expected"])]
            if raised[0] == raised[1]:
                cases.append(_expecting(case, expected))
        found.append(Variant(kind, cases))
    return found


def _without_limits(case: CaseRecord) -> CaseRecord:
    """The case without cost limits."""
    steps = [{name: part for name, part in step.items() if name != "cost"} for step in case.program["steps"]]
    return dataclasses.replace(case, program={"steps": steps})


def _expecting(case: CaseRecord, expected: Outcome) -> CaseRecord:
    """The case with a new expected outcome and rounding tolerances that suit it: those of float64 if that occurs."""
    floats = {n: t for n, t in expected[1].items() if t.is_floating_point() or t.is_complex()}
    scale = max([float(t.double().nan_to_num(0, 0, 0).abs().max()) for t in floats.values() if t.numel()], default=0.0)
    wide = any(t.dtype == torch.float64 for t in floats.values())
    per = 1e-9 if wide else 1e-4
    atol = {n: per * scale + 1e-12 for n in floats}
    rtol = 1e-7 if wide else 1e-3
    return dataclasses.replace(case, outcomes={"expected": expected}, atol=atol, rtol=rtol, least=None)
