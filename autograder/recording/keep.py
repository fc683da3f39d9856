"""Keeps the parts of the previous recording that are still right, so that another processor changes no bytes.

Random draws and sums differ by a few rounding steps from one set of CPU kernels to the next. So a case reuses the
recorded inputs if this machine draws the same numbers up to rounding, and it keeps all of its recorded outcomes if
everything that runs on these inputs still gives the same results within the case's tolerance. Texts (names, messages)
and weights always come from the spec.
"""

import copy
import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from anatomy.program import runner
from anatomy.program.codec import Tensors
from safetensors.torch import load_file
from torch import Tensor

from autograder.judge.spec import Exercise

STEP = torch.finfo(torch.float32).eps  # inputs are drawn in float32, even those that become float64
DRAWN = 64  # rounding steps allowed between two machines' draws; 8 were observed
TIMES = 4  # a measured distance is the largest of a few roundings: it varies by this factor


class Before:
    """The existing recording of one unit; empty if it is missing or was made on a different device."""

    def __init__(self, stem: Path | None = None):
        self.cases, self.tensors = {}, {}
        if stem is not None and stem.with_suffix(".json").exists() and stem.with_suffix(".safetensors").exists():
            listed = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))["exercises"]
            self.cases = {(e["id"], c["name"]): _spread(c) for e in listed for c in e["cases"]}
            self.tensors = load_file(stem.with_suffix(".safetensors"))

    def of(self, exercise_id: str, case: dict[str, Any], part: str) -> Tensors:
        """Name → tensor of a recorded case's inputs (``part`` "in") or of one of its outcomes."""
        names = case["inputs"] if part == "in" else case["outcomes"][part]["tensors"]
        part = case.get("same", {}).get(part, part)
        return {n: self.tensors[f"{exercise_id}/{case['slug']}/{part}/{n}"] for n in names}

    def on_recorded_inputs(self, exercise: Exercise) -> Exercise:
        """The exercise with cases that build their programs on the recorded inputs if these are the same draw."""
        changed = copy.copy(exercise)
        changed.cases = [dataclasses.replace(c, build=self._build(exercise.id, c)) for c in exercise.cases]
        return changed

    def _build(self, exercise_id, case):
        old = self.cases.get((exercise_id, case.name))

        def build(source):
            program = case.build(source)
            recorded = self.of(exercise_id, old, "in") if old else {}
            if same_draw(program.tensors, recorded):
                program.tensors = runner.laid_out({"strides": program.strides()}, recorded)
            return program

        return build

    def settle(self, exercise_id: str, case: dict[str, Any], tensors: Tensors) -> tuple[dict[str, Any], Tensors]:
        """(case, tensors) to write for a fresh case, whose tensors have keys such as "in/i0" and "expected/o0".

        Returns the recorded outcomes and tolerances if the case is the same within its tolerance, else the fresh ones.
        """
        old = self.cases.get((exercise_id, case["name"]))
        if old is None or not self._same(exercise_id, old, case, tensors):
            return case, tensors
        kept = {
            f"{part}/{n}": t for part in ("in", *old["outcomes"]) for n, t in self.of(exercise_id, old, part).items()
        }
        return {**case, "outcomes": old["outcomes"], "atol": old["atol"]}, kept

    def _same(self, exercise_id, old, new, tensors):
        new = json.loads(json.dumps(new))  # tuples become lists, as they did in the file
        fixed = lambda c: (c["slug"], c["program"], c["inputs"], set(c["outcomes"]), set(c["atol"]), c["rtol"])
        if fixed(old) != fixed(new) or not all(noise(old["atol"][n], a) for n, a in new["atol"].items()):
            return False
        given = self.of(exercise_id, old, "in")
        if not all(identical(t, tensors[f"in/{n}"]) for n, t in given.items()):
            return False
        for name, outcome in new["outcomes"].items():
            if not alike(old["outcomes"][name], outcome, old["rtol"] or 1e-6):
                return False
            for n, t in self.of(exercise_id, old, name).items():
                atol = old["atol"].get(n, 0.0) if name == "expected" else max(old["atol"].get(n, 0.0), rounding(t))
                if not close(tensors[f"{name}/{n}"], t, atol, old["rtol"]):
                    return False
        return True


def _spread(case: dict[str, Any]) -> dict[str, Any]:
    """A case as read, with every outcome written out; "same": name → the outcome that has its tensors."""
    same = {name: o for name, o in case["outcomes"].items() if isinstance(o, str)}
    outcomes = {name: case["outcomes"][same.get(name, name)] for name in case["outcomes"]}
    return {**case, "outcomes": outcomes, "same": same}


def shared(case: dict[str, Any], tensors: Tensors) -> tuple[dict[str, Any], Tensors]:
    """(case, tensors) with bit-identical outcomes written once; repetitions are replaced by the name of the first.

    Most known mistakes change nothing in most cases.
    """
    outcomes: dict[str, Any] = {}
    kept = {key: t for key, t in tensors.items() if key.startswith("in/")}
    first: dict[Any, str] = {}
    for name in sorted(case["outcomes"], key=lambda n: (n != "expected", n)):
        outcome = case["outcomes"][name]
        own = {n: tensors[f"{name}/{n}"] for n in outcome["tensors"]}
        key = json.dumps(outcome, sort_keys=True), tuple((n, t.dtype, t.shape, _bytes(t)) for n, t in own.items())
        if key in first:
            outcomes[name] = first[key]
        else:
            first[key], outcomes[name] = name, outcome
            kept |= {f"{name}/{n}": t for n, t in own.items()}
    return {**case, "outcomes": outcomes}, kept


def _bytes(t: Tensor) -> bytes:
    # An expanded one-element tensor counts as contiguous, and even a clone keeps its strides of 0.
    rows = t.detach().clone(memory_format=torch.contiguous_format).view(-1)
    return rows.view(torch.uint8).numpy().tobytes() if t.numel() else b""


def identical(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors have the same dtype, shape and entries; NaN equals NaN."""
    return a.dtype == b.dtype and a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)


def same_draw(new: Tensors, old: Tensors) -> bool:
    """Whether two dicts of inputs are the same draw up to rounding, on the scale of a tensor's median entry."""
    step = lambda t: max(STEP, torch.finfo(t.dtype).eps) if t.is_floating_point() else 0.0
    return new.keys() == old.keys() and all(
        close(t, old[name], DRAWN * step(t) * middle(t), DRAWN * step(t)) for name, t in new.items()
    )


def middle(t: Tensor) -> float:
    """Median absolute value of a tensor's finite nonzero entries; 0 if it has none."""
    size = t.detach().double().abs() if t.is_floating_point() else torch.zeros(0)
    size = size[(size > 0) & size.isfinite()]
    return size.median().item() if size.numel() else 0.0


def rounding(t: Tensor) -> float:
    """The effect of a different order of summation on a tensor of this scale: 32 steps of its largest entry."""
    if not (t.is_floating_point() or t.is_complex()) or not t.isfinite().any():
        return 0.0
    return 32 * torch.finfo(t.dtype).eps * t[t.isfinite()].abs().max().item()


def close(got: Tensor, want: Tensor, atol: float, rtol: float | None = None) -> bool:
    """Whether two tensors agree by the judge's rule: same dtype and shape, entries within atol + rtol·|entry|.

    rtol: None for 64 rounding steps. Integers and booleans have to be equal; NaN equals NaN.
    """
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if not (want.is_floating_point() or want.is_complex()):
        return torch.equal(got, want)
    rtol = 64 * torch.finfo(want.dtype).eps if rtol is None else rtol
    wide = torch.complex128 if want.is_complex() else torch.float64
    return torch.allclose(got.to(wide), want.to(wide), rtol=rtol, atol=atol, equal_nan=True)


def alike(a: Any, b: Any, rtol: float = 1e-6) -> bool:
    """Whether two JSON trees are equal, apart from floats, which may differ by this factor (the judge's rtol)."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=rtol, abs_tol=1e-12)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k], rtol) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(alike(x, y, rtol) for x, y in zip(a, b, strict=True))
    return a == b


def noise(a: float, b: float, floor: float = 0.0) -> bool:
    """Whether two measured distances differ by no more than the usual variation of such measurements."""
    return a <= TIMES * b + floor and b <= TIMES * a + floor


def same_device(made: Mapping[str, Any] | None, facts: Mapping[str, Any]) -> bool:
    """Whether a manifest's entry was made on the same device. All CPUs count as the same; GPUs go by their names."""
    if not made or made["device"] != facts["device"]:
        return False
    return facts["device"] == "cpu" or made["name"] == facts["name"]
