"""Writes ``assets/recordings``: for each unit a JSON file (programs, words, tolerances) and a safetensors file.

``python -m autograder.recording.record [--device cuda] [--unit 06-rope] [--out assets/recordings] [--fresh]``. The
same commit gives the same bytes on every CPU: a case that differs from the recorded one by rounding only stays as it
is (``keep.py``; ``--fresh`` writes everything new). The entry in the manifest tells where and when the bytes last
changed. It needs torch, numpy and safetensors; where sympy is missing, the exercises whose specs need it are left out,
and what was recorded of them before stays.
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
from pathlib import Path
from types import ModuleType

import torch
from anatomy import records
from safetensors.torch import load_file, save

from autograder import exercises
from autograder.judge.make_record import PUBLIC_SEED, make_record
from autograder.recording.keep import Before, same_device

ROOT = Path(__file__).resolve().parents[2]


def slug(text):
    """Lower-case name for use in a tensor key."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def device_facts(device):
    """What a manifest says of the device that made a recording. A CPU is called cpu, nothing else."""
    facts = {"device": device, "torch": torch.__version__.split("+")[0], "python": platform.python_version()}
    if device.startswith("cuda"):
        facts["name"] = torch.cuda.get_device_name()
        facts["cuda"] = torch.version.cuda
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        try:
            said = subprocess.run(query, capture_output=True, text=True).stdout
        except FileNotFoundError:  # a container may have the driver and not the tool
            said = ""
        facts["driver"] = said.split("\n")[0].strip() or "unknown"
    else:
        facts["name"] = platform.machine()
    return facts


def made(before, device, command, seed, paths, dtype="that of each case"):
    """Manifest entry of some files: how they were made, and their hash.

    Where the bytes are those of ``before``, the entry made before, and so is the device, that entry stays: another
    date, processor, Python or torch that gives the same bytes made nothing.
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
    same = same_device(before, facts) and told(before) == told(facts)
    return before if same else {**facts, "date": datetime.date.today().isoformat()}


def exact(device):
    """Settings under which the same inputs give the same bytes, as near to float64 as the dtype allows.

    TF32 would cost ten bits of mantissa in every matrix product, and with them the meaning of a tolerance; sums in half
    precision likewise. Where CUDA adds by atomics (``scatter_add``), the order would differ from run to run.
    """
    products = torch.backends.cuda.matmul
    products.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    products.allow_fp16_reduced_precision_reduction = products.allow_bf16_reduced_precision_reduction = False
    if device.startswith("cuda"):
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what cuBLAS needs for it
        torch.use_deterministic_algorithms(True, warn_only=True)


def available(unit, folder=ROOT / "assets" / "recordings"):
    """(exercises of a unit whose specs can be imported here, ids recorded in ``folder`` that are left out).

    A spec file that needs a package which is missing is put aside as a whole; one sentence says so.
    """
    put_aside = {}
    while True:
        try:
            found = exercises.of_unit(unit)
            break
        except ModuleNotFoundError as error:
            # The innermost spec file that was being imported is the one that needs the missing package.
            name = next((n for n in reversed(_imported(error)) if n.startswith("autograder.exercises.u")), None)
            if name is None or name in put_aside:
                raise
            put_aside[name] = (error.name or "a package").split(".")[0]
            sys.modules[name] = empty = ModuleType(name)
            empty.EXERCISES = []
    for name in put_aside:
        del sys.modules[name]
    if not put_aside:
        return found, []
    path = folder / f"{unit}.json"
    recorded = json.loads(path.read_text(encoding="utf-8"))["exercises"] if path.exists() else []
    missing = [e["id"] for e in recorded if e["id"] not in {e.id for e in found}]
    files = ", ".join(n.rsplit(".", 1)[1] + ".py" for n in put_aside)
    needs = ", ".join(sorted(set(put_aside.values())))
    print(
        f"{unit}: {files} needs {needs}, which is not here; what was recorded of "
        f"{', '.join(missing) or 'its exercises'} stays as it is.",
        flush=True,
    )
    return found, missing


def _imported(error):
    """Names of the modules in an error's traceback, outermost first."""
    names, frame = [], error.__traceback__
    while frame is not None:
        names.append(frame.tb_frame.f_globals.get("__name__", ""))
        frame = frame.tb_next
    return names


def record_unit(unit, device="cpu", chosen=None, before=None):
    """(JSON-ready dict, tensors) of one unit's public cases.

    chosen: its exercises, default all. before: the recording that is there, whose cases stay where they are the same.
    """
    store, listed, before = {}, [], before or Before()
    for exercise in exercises.of_unit(unit) if chosen is None else chosen:
        record = make_record(before.on_recorded_inputs(exercise), device=device)
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
                "atol": c.atol,
                "rtol": c.rtol,
            }
            case, written = before.settle(record.id, case, fresh)
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
            )
        }
        listed.append({**fields, "cases": cases})
    return {"format": records.FORMAT, "unit": unit, "exercises": listed}, store


def _with_kept(data, tensors, stem, missing):
    """Adds the exercises ``missing`` from the files recorded before, in their old places."""
    before = {e["id"]: e for e in json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))["exercises"]}
    fresh = {e["id"]: e for e in data["exercises"]}
    order = [*(i for i in before if i in fresh or i in missing), *(i for i in fresh if i not in before)]
    listed = [fresh.get(i) or before[i] for i in order]
    old = load_file(stem.with_suffix(".safetensors"))
    kept = {n: t for n, t in old.items() if n.split("/")[0] in missing}
    return {**data, "exercises": listed}, tensors | kept


def replace(path, content):
    """Writes a file in one step."""
    temporary = path.with_suffix(path.suffix + ".tmp")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def write_unit(unit, out, device="cpu", before=None):
    """Records one unit into the folder ``out``; both files are replaced only when both are complete.

    before: ``Before`` of the files there, None to write everything new.
    """
    found, missing = available(unit, out)
    data, tensors = record_unit(unit, device, found, before)
    if missing:
        data, tensors = _with_kept(data, tensors, out / unit, missing)
    out.mkdir(parents=True, exist_ok=True)
    pairs = [
        (out / f"{unit}.json", (json.dumps(data, ensure_ascii=False, sort_keys=True, indent=0) + "\n").encode()),
        (out / f"{unit}.safetensors", save(dict(sorted(tensors.items())))),
    ]
    for path, content in pairs:
        path.with_suffix(path.suffix + ".tmp").write_bytes(content)
    for path, _ in pairs:
        os.replace(path.with_suffix(path.suffix + ".tmp"), path)
    return len(data["exercises"]), sum(len(content) for _, content in pairs)


def demand(device):
    """Ends the process with a sentence where the device is not there: nothing is recorded on another one instead."""
    if device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit("No CUDA device here. Record with --device cpu (make: DEVICE=cpu); the files will say so.")


def arguments(description, argv=None):
    """Options of a recorder's command line, device, unit and out; the device is there, and set to exact arithmetic."""
    parser = argparse.ArgumentParser(description=description)
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


def main(argv=None):
    """Command line; returns an exit status."""
    options = arguments(__doc__.split("\n")[0], argv)
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
    except exercises.UnknownName as error:
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
    replace(path, (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
