"""What every recording script does at its end: one JSON file under ``assets/experiments`` with how it was made."""

import argparse
import datetime
import json
import os
import sys

import torch

from autograder.recording.record import ROOT, device_facts


def arguments(description):
    """Parser with ``--device`` and ``--out``; a script adds its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--out", default=ROOT / "assets" / "experiments", type=type(ROOT))
    return parser


def prepare(device):
    """Exits with a sentence where the device is not there; TF32 off, one thread on the CPU."""
    if device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit("No CUDA device here. Record with --device cpu; the file will say so.")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    if device == "cpu":
        torch.set_num_threads(1)


def save(name, data, options, seeds):
    """Writes ``<out>/<name>.json``: ``data`` plus ``made`` (device, versions, seeds, date, command)."""
    command = "python -m autograder.recording.experiments." + " ".join([name, *sys.argv[1:]])
    made = {**device_facts(options.device), "seeds": list(seeds), "date": datetime.date.today().isoformat(),
            "command": command.strip()}
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{name}.json"
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps({"made": made, **data}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(temporary, path)
    print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")
