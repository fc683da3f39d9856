"""Writes ``assets/recordings``: for each unit a JSON file (programs, texts, tolerances) and a safetensors file.

``python -m autograder.recording.references [--device cuda] [--unit 06-rope] [--out assets/recordings] [--fresh]``. The
same commit gives the same bytes on every CPU: a case that differs from the recorded one only by rounding is kept
(``keep.py``; ``--fresh`` rewrites everything). The entry in the manifest tells where and when the bytes last changed.
Needs torch, numpy and safetensors; if sympy is missing, exercises whose specs need it are left out, and their previous
recordings are kept.
"""

import argparse
import datetime
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from anatomy.program.codec import Tensors
from anatomy.system import files
from safetensors.torch import save

from autograder import ROOT, exercises
from autograder.judge.drawing import PUBLIC_SEED, draw_record
from autograder.judge.spec import Exercise
from autograder.recording.keep import Before, same_device, shared

Made = dict[str, Any]  # an entry of a manifest


def slug(text: str) -> str:
    """Lower-case name for use in a tensor key."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def device_facts(device: str) -> dict[str, Any]:
    """The manifest's facts about the device that makes a recording; any CPU is just called cpu."""
    facts: dict[str, Any] = {
        "device": device,
        "torch": torch.__version__.split("+")[0],
        "python": platform.python_version(),
    }
    if device.startswith("cuda"):
        facts["name"] = torch.cuda.get_device_name()
        facts["cuda"] = torch.version.cuda
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        try:
            said = subprocess.run(query, capture_output=True, text=True).stdout
        except FileNotFoundError:  # a container may have the driver but not the tool
            said = ""
        facts["driver"] = said.split("\n")[0].strip() or "unknown"
    else:
        facts["name"] = platform.machine()
    return facts


def made(
    before: Made | None, device: str, command: str, seed: int, paths: Iterable[Path], dtype: str = "that of each case"
) -> Made:
    """Manifest entry of some files: how they were made, and their hash.

    Returns ``before``, the previous entry, if bytes and device are the same: a run with a different date, processor,
    Python or torch that gives the same bytes changes nothing.
    """
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
    facts = {
        **device_facts(device),
        "dtype": dtype,
        "seed": seed,
        "tf32": False,
        "made_by": command,
        "command": f"{command} DEVICE={device}",
        "sha256": digest,
    }
    told = lambda entry: {k: v for k, v in entry.items() if k not in ("date", "torch", "python", "name")}
    if before and same_device(before, facts) and told(before) == told(facts):
        return before
    return {**facts, "date": datetime.date.today().isoformat()}


def exact(device: str) -> None:
    """Makes the same inputs give the same bytes, as close to float64 as the dtype allows.

    TF32 would cost ten bits of mantissa in every matrix product, and so make tolerances meaningless; so would sums in
    half precision. If CUDA adds with atomics (``scatter_add``), the order would differ from run to run.
    """
    products = torch.backends.cuda.matmul
    products.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    products.allow_fp16_reduced_precision_reduction = products.allow_bf16_reduced_precision_reduction = False
    if device.startswith("cuda"):
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # needed by cuBLAS
        torch.use_deterministic_algorithms(True, warn_only=True)


def record_unit(
    unit: str, device: str = "cpu", chosen: Iterable[Exercise] | None = None, before: Before | None = None
) -> tuple[dict[str, Any], Tensors]:
    """(JSON-ready dict, tensors) of one unit's public cases.

    chosen: its exercises, default all. before: the existing recording, whose unchanged cases are kept.
    """
    store: Tensors = {}
    listed, before = [], before or Before()
    for exercise in exercises.of_unit(unit) if chosen is None else chosen:
        record = draw_record(before.on_recorded_inputs(exercise), device=device)
        cases = []
        for c in record.cases:
            fresh, outcomes = {f"in/{n}": t for n, t in c.tensors.items()}, {}
            for name, (outcome, tensors) in c.outcomes.items():
                fresh |= {f"{name}/{n}": t for n, t in tensors.items()}
                outcomes[name] = {"outcome": outcome, "tensors": sorted(tensors)}
            case = {
                "name": c.name,
                "slug": slug(c.name),
                "shows": c.shows,
                "weight": c.weight,
                "program": c.program,
                "inputs": sorted(c.tensors),
                "outcomes": outcomes,
                "atol": dict(c.atol),
                "rtol": c.rtol,
            }
            case, written = shared(*before.settle(record.id, case, fresh))
            cases.append(case)
            store |= {f"{record.id}/{case['slug']}/{n}": t for n, t in written.items()}
        fields = {
            k: getattr(record, k)
            for k in (
                "id",
                "unit",
                "title",
                "points",
                "targets",
                "signature",
                "forbidden",
                "forbidden_message",
                "mistakes",
                "extension",
            )
        }
        if exercise.idle:
            fields["idle"] = list(exercise.idle)
        listed.append({**fields, "cases": cases})
    return {"unit": unit, "exercises": listed}, store


def write_unit(unit: str, out: Path, device: str = "cpu", before: Before | None = None) -> tuple[int, int]:
    """Records one unit in the folder ``out``; writes nothing before everything is computed. Returns (exercises, bytes).

    before: ``Before`` of the existing files, None to rewrite everything.
    """
    data, tensors = record_unit(unit, device, before=before)
    pairs = [
        (out / f"{unit}.json", written_out(data).encode()),
        (out / f"{unit}.safetensors", save(dict(sorted(tensors.items())))),
    ]
    for path, content in pairs:
        files.replace(path, content)
    return len(data["exercises"]), sum(len(content) for _, content in pairs)


def written_out(data: dict[str, Any]) -> str:
    """JSON with one line per case, so that a diff shows the changed cases."""
    compact = lambda value: json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    listed = []
    for exercise in data["exercises"]:
        head = compact({k: v for k, v in exercise.items() if k != "cases"})
        cases = ",\n".join(compact(c) for c in exercise["cases"])
        listed.append(f'{head[:-1]},"cases":[\n{cases}\n]}}')
    return f'{{"unit":{compact(data["unit"])},"exercises":[\n' + ",\n".join(listed) + "\n]}\n"


def demand(device: str) -> None:
    """Ends the process with a message if the device is missing, instead of recording on a different one."""
    if device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit("No CUDA device here. Record with --device cpu (make: DEVICE=cpu); the files will say so.")


def arguments(description: str | None, argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses a recorder's command line, checks that the device is there, and sets exact arithmetic.

    description: the module's docstring, whose first line becomes the help text.
    """
    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--unit", action="append", help="only this unit (may be repeated)")
    parser.add_argument("--out", type=Path, default=ROOT / "assets" / "recordings")
    parser.add_argument("--fresh", action="store_true", help="write everything new, also what differs by rounding only")
    options = parser.parse_args(argv)
    demand(options.device)
    exact(options.device)
    return options


def _manifest(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status."""
    options = arguments(__doc__, argv)
    path = options.out / "manifest.json"
    manifest = _manifest(path)
    facts = device_facts(options.device)
    try:
        chosen = options.unit or exercises.units()
        for unit in chosen:
            stays = not options.fresh and same_device(manifest.get(unit), facts)
            before = Before(options.out / unit) if stays else None
            count, size = write_unit(unit, options.out, options.device, before)
            print(f"{unit}: {count} exercises, {size / 1e3:.0f} kB")
    except (exercises.SpecError, exercises.UnknownName) as error:
        print(error, file=sys.stderr)
        return 2
    manifest = _manifest(path)  # another unit may have been recorded meanwhile
    for unit in chosen:
        manifest[unit] = made(
            manifest.get(unit),
            options.device,
            "make record",
            PUBLIC_SEED,
            [options.out / f"{unit}.json", options.out / f"{unit}.safetensors"],
        )
    files.replace(path, (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
