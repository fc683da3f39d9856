"""Writes ``assets/recordings/precision.json``: how far each exercise's reference is from float64, per dtype and device.

``python -m autograder.recording.precision [--device cuda]``. The public inputs are rounded to the dtype first and then
run twice, in that dtype and in float64, so that only the arithmetic is measured, not the rounding of the inputs. The
file holds, over all floating outputs and cases, the largest distance, and the largest distance relative to the tensor's
largest entry; null if the dtype cannot run. A tensor smaller than one rounding step of the inputs (a gradient that
cancels to nearly 0, a slope that underflows) is measured relative to the inputs: relative to itself it would be off by
100 % in any arithmetic that rounds. Results of other devices in the file are kept, and so are an exercise's distances
if the new ones differ only as much as on another processor (``--fresh`` rewrites everything).
"""

import datetime
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from anatomy.program import runner
from anatomy.program.codec import Tensors
from anatomy.system import files

from autograder import exercises
from autograder.judge.drawing import PUBLIC_SEED, case_seed
from autograder.judge.spec import Exercise, Source
from autograder.recording.keep import noise, same_device
from autograder.recording.references import arguments, device_facts

DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

Distances = dict[str, dict[str, float] | None]  # by dtype: absolute and relative, None where it cannot run


def cast(tensors: Tensors, dtype: torch.dtype, device: str = "cpu") -> Tensors:
    """Copies with every floating tensor in ``dtype``."""
    return {n: t.to(device, dtype) if t.is_floating_point() else t.to(device) for n, t in tensors.items()}


def in_dtype(implementation: Callable[..., Any], dtype: torch.dtype) -> Callable[..., Any]:
    """Makes a module class cast its modules to the dtype before weights are loaded: they are created in float32."""
    if isinstance(implementation, type) and issubclass(implementation, torch.nn.Module):
        return lambda *args, **kwargs: implementation(*args, **kwargs).to(dtype)
    return implementation


def outputs(
    exercise: Exercise, steps: runner.Program, inputs: Tensors, dtype: torch.dtype, device: str
) -> Tensors | None:
    """Floating outputs by name, in float64 on the CPU; None if a step raised."""
    functions = {n: in_dtype(f, dtype) for n, f in exercise.functions(exercise.reference).items()}
    with torch.device(device):
        outcome, tensors = runner.run_program(steps, cast(inputs, dtype, device), functions)
    if any("raises" in r for r in outcome["results"]):
        return None
    return {n: t.double() for n, t in tensors.items() if t.is_floating_point()}


def distance(got: Tensors, want: Tensors, inputs: float = 0.0, step: float = 0.0) -> tuple[float, float] | None:
    """(largest distance, largest distance relative to the tensor's largest entry) over finite entries; None if none.

    inputs: the largest entry of the inputs; step: the dtype's relative rounding step. A tensor below their product is
    measured relative to the inputs.
    """
    absolute, relative = [], []
    for name in got.keys() & want.keys():
        a, b = got[name], want[name]
        if a.shape != b.shape:
            continue
        finite = a.isfinite() & b.isfinite()
        if finite.any():
            gap, scale = (a - b)[finite].abs().max().item(), b[finite].abs().max().item()
            scale = inputs if scale < inputs * step else scale
            absolute.append(gap)
            relative.append(gap / scale if scale else 0.0)
    return (max(absolute), max(relative)) if absolute else None


def largest(tensors: Tensors) -> float:
    """The largest finite absolute value in all floating tensors; 0 without any."""
    entries = [t.double()[t.isfinite()].abs() for t in tensors.values() if t.is_floating_point()]
    return max((e.max().item() for e in entries if e.numel()), default=0.0)


def measure(exercise: Exercise, device: str = "cpu") -> Distances:
    """dtype → {absolute, relative} or None; {} for an exercise without floating tensors to cast."""
    found: dict[str, list[tuple[float, float] | None]] = {name: [] for name in DTYPES if name != "float64"}
    floating = False
    for case in exercise.cases:
        program = case.build(Source(case_seed(exercise.id, case.name)))
        steps = program.finish(exercise.targets[0])
        if not any(t.is_floating_point() for t in program.tensors.values()):
            continue
        for name, values in found.items():
            rounded = cast(program.tensors, DTYPES[name])
            want = outputs(exercise, steps, rounded, torch.float64, device)
            if not want:  # the case is about an error, or gives no tensor
                continue
            floating = True
            got = outputs(exercise, steps, rounded, DTYPES[name], device)
            step = torch.finfo(DTYPES[name]).eps
            values.append(distance(got, want, largest(rounded), step) if got is not None else None)
    if not floating:
        return {}
    short = lambda values: float(f"{max(values):.3g}")
    result: Distances = {}
    for name, values in found.items():
        ran = [v for v in values if v is not None]
        result[name] = {"absolute": short(v[0] for v in ran), "relative": short(v[1] for v in ran)} if ran else None
    return result


def stays(old: Distances, new: Distances) -> bool:
    """Whether an exercise's distances differ from the recorded ones no more than between two processors."""
    if old.keys() != new.keys() or any((old[dtype] is None) != (new[dtype] is None) for dtype in old):
        return False
    # Below one rounding step, a single additional rounding is a large factor.
    return all(
        noise(before[key], value, torch.finfo(DTYPES[dtype]).eps)
        for dtype, found in new.items()
        if found and (before := old[dtype])
        for key, value in found.items()
    )


def record(out: Path, device: str = "cpu", units: Iterable[str] | None = None, fresh: bool = False) -> dict[str, Any]:
    """Measures the exercises of all units (or of those named) and updates ``out``/precision.json; returns its data."""
    path = out / "precision.json"
    data = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kind, facts = device.split(":")[0], device_facts(device)
    part = data.get(kind, {})
    before, comparable = part.get("distances", {}), not fresh and same_device(part.get("made"), facts)
    distances = {i: d for i, d in before.items() if units}
    for unit in units or exercises.units():
        live = {e.id: d for e in exercises.of_unit(unit) if (d := measure(e, device))}
        live |= {i: before[i] for i, d in live.items() if comparable and i in before and stays(before[i], d)}
        distances |= live
        print(f"{unit}: {len(live)} exercises against float64", flush=True)
    command = f"python -m autograder.recording.precision --device {device}"
    made = {
        **facts,
        "dtype": ", ".join(DTYPES),
        "seed": PUBLIC_SEED,
        "tf32": False,
        "command": command,
        "date": datetime.date.today().isoformat(),
    }
    data[kind] = part if comparable and distances == before else {"made": made, "distances": distances}
    out.mkdir(parents=True, exist_ok=True)
    files.replace(path, (json.dumps(data, indent=1, sort_keys=True) + "\n").encode())
    return data


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status."""
    options = arguments(__doc__, argv)
    record(options.out, options.device, options.unit, options.fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
