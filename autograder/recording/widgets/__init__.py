"""Writes ``assets/recordings/widgets``: for each widget its inputs and the reference's tables, and one manifest.

``python -m autograder.recording.widgets [--device cuda] [--out assets/recordings/widgets]``. Each widget has a module
here, named like its folder, with a RECORDER, which is found automatically. The inputs are drawn once, here, so that the
learner's package needs no random numbers and both functions see the same values. The references run on the device in
float64, and their results are then rounded. A file whose numbers differ only by rounding is kept, so that another
processor changes no bytes (``--fresh`` rewrites everything).
"""

import hashlib
import importlib
import json
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from anatomy.system import files
from safetensors.numpy import load, save
from torch.utils._pytree import tree_map

from autograder.recording.keep import STEP, close, middle, same_device
from autograder.recording.references import device_facts, made

from .tools import Recorder

SEED = 20210420
# Gradients are measured in float32, through many layers: two sets of kernels differed by 2e-5; the widget allows 2 %.
DEEP = 1e-3

# file stem → recorder
WIDGETS: dict[str, Recorder] = {
    module.name: importlib.import_module(f"{__name__}.{module.name}").RECORDER
    for module in pkgutil.iter_modules(__path__)
    if module.name not in ("__main__", "tools")
}


def recording(name: str, device: str = "cpu") -> dict[str, np.ndarray]:
    """Arrays of one widget's file: its inputs, and the reference's tables under ``ref_``; float32."""
    recorder = WIDGETS[name]
    # One seed per file, so that adding a widget does not change the other files.
    generator = torch.Generator().manual_seed(SEED + sum(name.encode()))
    inputs = {k: v.float() for k, v in recorder.draw(generator).items()}

    place = torch.device(device)
    to = lambda tree, where: tree_map(lambda t: t.to(where) if isinstance(t, torch.Tensor) else t, tree)

    def on_device(function):
        # A class makes a module, which stays where it is created: on the CPU.
        if place.type == "cpu" or recorder.whole or isinstance(function, type):
            return function

        def call(*args, **options):
            if torch.empty(0).is_meta:  # the widget only counts: nothing may be allocated
                return function(*args, **options)
            args = tuple(from_device(a) if callable(a) else a for a in args)
            with place:
                return to(function(*to(args, place), **to(options, place)), "cpu")

        return call

    # A function passed as an argument (a sublayer, a norm) is the widget's own code.
    def from_device(function):
        def call(*args):
            with torch.device("cpu"):
                return to(function(*to(args, "cpu")), place)

        return call

    function = recorder.reference
    moved = on_device(function) if callable(function) else {k: on_device(f) for k, f in function.items()}
    # The widget's own code runs on the CPU, as in a notebook; only the reference runs on the device.
    where = place if recorder.whole else torch.device("cpu")
    tables = recorder.widget.measure(moved, {k: v.double().to(where) for k, v in inputs.items()})
    return {**{k: v.numpy() for k, v in inputs.items()}, **{f"ref_{k}": v.astype("float32") for k, v in tables.items()}}


def stays(name: str, old: dict[str, np.ndarray], new: dict[str, np.ndarray]) -> bool:
    """Whether two dicts of a widget's arrays are the same up to rounding: a few steps of float32."""
    rtol = DEEP if WIDGETS[name].whole else 4 * STEP
    ours, theirs = ({k: torch.from_numpy(v) for k, v in arrays.items()} for arrays in (old, new))
    return ours.keys() == theirs.keys() and all(close(theirs[k], t, rtol * middle(t), rtol) for k, t in ours.items())


def record(out: str | Path, device: str = "cpu", fresh: bool = False) -> dict[str, Any]:
    """Write every file and manifest.json into ``out``; returns the manifest."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "manifest.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    before = {k: v for k, v in before.items() if k != "files"}
    comparable = not fresh and same_device(before or None, device_facts(str(device)))
    written = {}
    for name in WIDGETS:
        arrays, file = recording(name, device), out / f"{name}.safetensors"
        data = save(arrays)
        if comparable and file.exists() and stays(name, load(file.read_bytes()), arrays):
            data = file.read_bytes()
        files.replace(file, data)
        written[file.name] = {
            "sha256": hashlib.sha256(data).hexdigest(),
            "tensors": {k: list(v.shape) for k, v in sorted(arrays.items())},
        }
    facts = made(
        before, str(device), "make record", SEED, [out / name for name in written], "float64, stored as float32"
    )
    manifest = {**facts, "files": written}
    files.replace(path, (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())
    return manifest
