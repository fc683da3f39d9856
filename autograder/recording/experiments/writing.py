"""Command line and output of all recording scripts: one JSON file in ``assets/experiments`` with its provenance."""

import argparse
import datetime
import json
from collections.abc import Iterable
from typing import Any

import torch
from anatomy.system import files

from autograder import ROOT
from autograder.recording.experiments import Data
from autograder.recording.references import demand, device_facts

SETTINGS = ("small", "large")


class Arguments(argparse.ArgumentParser):
    """Chooses the setting by the device: a GPU gets the large one, whose data go into a separate folder.

    Notebooks draw the small setting, which a laptop can repeat: a run on a GPU must not change the numbers in their
    text.
    """

    def parse_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> Any:
        options = super().parse_args(args, namespace)
        options.setting = options.setting or default_setting(options.device)
        if options.setting == "large":
            options.out = options.out / "large"
        return options


def default_setting(device: str) -> str:
    """``large`` on CUDA, ``small`` elsewhere."""
    return "large" if device.startswith("cuda") else "small"


def arguments(description: str | None) -> Arguments:
    """Parser with ``--device``, ``--setting``, ``--minutes`` and ``--out``; a script may add its own.

    description: the script's docstring, whose first line becomes the help text.
    """
    parser = Arguments(description=(description or "").split("\n")[0])
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--setting", choices=SETTINGS, help="sizes; large on CUDA and small elsewhere by default")
    parser.add_argument("--minutes", type=float, help="start no new row after so long; the next call goes on")
    parser.add_argument(
        "--out",
        default=ROOT / "assets" / "experiments",
        type=type(ROOT),
        help="folder; the large setting writes into its subfolder large",
    )
    return parser


def prepare(device: str) -> None:
    """Exits with a message if the device is missing; turns TF32 off and uses one thread on the CPU."""
    demand(device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    if device == "cpu":
        torch.set_num_threads(1)


def save(name: str, data: Data, options: argparse.Namespace, seeds: Iterable[int]) -> None:
    """Writes ``<out>/<name>.json``: ``data`` plus ``made`` (device, versions, setting, seeds, date, command).

    ``dtype`` in ``made`` comes from the rows or the setting if they name one, else float32, in which all trainings run.
    """
    command = f"python -m autograder.recording.experiments.{name} --device {options.device} --setting {options.setting}"
    made = {
        **device_facts(options.device),
        "dtype": dtypes(data),
        "setting": options.setting,
        "seeds": list(seeds),
        "tf32": False,
        "date": datetime.date.today().isoformat(),
        "command": command,
    }
    if hasattr(options, "seconds"):  # for all rows together, without interruptions
        made["seconds"] = round(options.seconds)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{name}.json"
    files.replace(path, (json.dumps({"made": made, **data}, indent=1, sort_keys=True) + "\n").encode())
    print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB", flush=True)


def dtypes(data: Data) -> str:
    """Names of the dtypes in an experiment's data."""
    setting, rows = data.get("setting", {}), data.get("rows", [])
    listed = [r["dtype"] for r in rows if isinstance(r, dict) and "dtype" in r]
    return ", ".join(dict.fromkeys(listed)) or setting.get("dtype", "float32")
