"""Runs all experiments in turn, then draws their figures: ``python -m autograder.recording.experiments``.

Each runs in a process of its own (``--device cuda`` for a GPU). A failure does not stop the others; the final lines
name it, and the exit status is 1. The next call continues an interrupted one: every experiment keeps its finished rows,
and one whose file was written for this device, setting and torch since the last ``--fresh`` is skipped. With
``--minutes`` the whole call ends cleanly in time, with status 75 if something is left. Needs torch, numpy and
safetensors; figures need matplotlib.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import torch

from autograder import ROOT
from autograder.recording.experiments import Incomplete, found, named_models
from autograder.recording.experiments.resume import OUT_OF_TIME
from autograder.recording.experiments.writing import SETTINGS, default_setting, prepare
from autograder.recording.references import device_facts

try:
    FOUND = found()
except Incomplete as error:
    sys.exit(str(error))
READ = tuple(name for name, about in FOUND.items() if about.read)
# Experiments that measure times and bytes need the machine to themselves; trainings may share it (--jobs).
TIMED = tuple(name for name, about in FOUND.items() if about.alone)
TRAINED = tuple(name for name in FOUND if name not in TIMED + READ)
NAMES = TIMED + TRAINED
ESTIMATED = {name: FOUND[name].seconds for name in NAMES}


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--setting", choices=SETTINGS, help="sizes; large on CUDA and small elsewhere by default")
    parser.add_argument(
        "--only",
        action="append",
        choices=NAMES + READ,
        metavar="NAME",
        help=f"may be repeated; of {', '.join(NAMES + READ)}",
    )
    parser.add_argument("--jobs", type=int, default=1, help="trainings at the same time")
    parser.add_argument("--minutes", type=float, help="end in good order after so long; the next call goes on")
    parser.add_argument("--fresh", action="store_true", help="measure again what is there already")
    parser.add_argument("--out", type=Path, default=ROOT / "assets" / "experiments")
    options = parser.parse_args(argv)
    options.setting = options.setting or default_setting(options.device)
    return options


def planned(options: argparse.Namespace) -> list[str]:
    """Names of what is measured: those asked for, else all that the device is of use for."""
    is_gpu = torch.device(options.device).type != "cpu"
    return [n for n in NAMES if (n in options.only if options.only else not (is_gpu and FOUND[n].waits))]


def folder(options: argparse.Namespace) -> Path:
    """The folder of the setting's files."""
    return options.out / "large" if options.setting == "large" else options.out


def done(name: str, options: argparse.Namespace) -> bool:
    """True if the experiment's file was made on this device, with this torch and setting, and no run is unfinished."""
    path = folder(options) / f"{name}.json"
    if not path.exists() or path.with_suffix(".partial").exists():
        return False
    made = json.loads(path.read_text(encoding="utf-8"))["made"]
    return {**device_facts(options.device), "setting": options.setting}.items() <= made.items()


def left_out(name: str) -> bool:
    """True, with a message, if the package is missing whose configurations are read."""
    package = named_models.missing()
    if package:
        print(f"{name} needs {package}, which is not here: its file stays as it is.")
    return bool(package)


def expected(names: Iterable[str], options: argparse.Namespace) -> float | None:
    """Duration of these experiments in seconds, from earlier recordings or else the estimates; None if unknown."""
    total = 0
    for name in names:
        path = folder(options) / f"{name}.json"
        made = json.loads(path.read_text(encoding="utf-8"))["made"] if path.exists() else {}
        seconds = made.get("seconds", ESTIMATED.get(name) if options.setting == "large" else None)
        if seconds is None:
            return None
        total += seconds
    return total


def command(name: str, options: argparse.Namespace, minutes: float | None) -> list[str]:
    """The command line of the process that measures one experiment."""
    found = [
        sys.executable,
        "-m",
        f"autograder.recording.experiments.{name}",
        "--device",
        options.device,
        "--setting",
        options.setting,
        "--out",
        str(options.out),
    ]
    return found if minutes is None else [*found, "--minutes", f"{minutes:.3f}"]


def run(
    names: Iterable[str],
    options: argparse.Namespace,
    jobs: int,
    command: Callable[[str, argparse.Namespace, float | None], list[str]] = command,
) -> dict[str, int]:
    """Runs experiments, ``jobs`` at a time; returns name → exit status (75: out of time, perhaps before its start)."""
    waiting = list(names)
    running: dict[str, subprocess.Popen[bytes]] = {}
    status: dict[str, int] = {}
    start = time.monotonic()
    left = lambda: None if options.minutes is None else options.minutes - (time.monotonic() - start) / 60
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop(0)
                rest = left()
                if rest is not None and rest <= 0.1:
                    status[name] = OUT_OF_TIME
                    continue
                seconds = expected([name, *running, *waiting], options)
                told = f"; about {seconds / 60 / jobs:.0f} minutes for these" if seconds else ""
                print(f"-- {name}, then {len(waiting)} more{told}", flush=True)
                running[name] = subprocess.Popen(command(name, options, left()))
            for name, process in list(running.items()):
                if process.poll() is not None:
                    status[name] = process.returncode
                    del running[name]
            time.sleep(0.05)
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait()
    if options.minutes is not None:
        options.minutes = left()
    return status


def draw(options: argparse.Namespace) -> int:
    """Draws the figures of the default folder, or says why not. Returns an exit status."""
    if options.out.resolve() != ROOT / "assets" / "experiments":
        print("The figures were not drawn: these data lie in another folder.")
        return 0
    try:
        from autograder.recording import figures
    except ModuleNotFoundError as error:
        package = str(error.name).split(".")[0]
        print(
            f"The figures were not drawn, because {package} is not here: "
            "python -m autograder.recording.figures draws them where it is."
        )
        return 0
    try:
        print(f"figures: {len(figures.write_all())}")
    except figures.NoDrawing as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status."""
    options = parse(argv)
    prepare(options.device)
    torch.set_num_threads(1)
    chosen = planned(options)
    ready = [n for n in chosen if not options.fresh and done(n, options)]
    if ready:
        print(f"There already (--fresh measures them again): {', '.join(ready)}")
    todo = [n for n in chosen if n not in ready]
    todo += [n for n in READ if (not options.only or n in options.only) and not left_out(n)]
    status = run([n for n in todo if n in READ], options, 1)
    status |= run([n for n in todo if n in TIMED], options, 1)
    status |= run([n for n in todo if n in TRAINED], options, options.jobs)
    late = [n for n in todo if status[n] == OUT_OF_TIME]
    failed = [n for n in todo if status[n] not in (0, OUT_OF_TIME)]
    print(f"measured: {', '.join(n for n in todo if status[n] == 0) or 'nothing'}")
    if late:
        print(f"out of time, the next call goes on: {', '.join(late)}")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    drawn = draw(options)
    return 1 if failed or drawn else OUT_OF_TIME if late else 0


if __name__ == "__main__":
    sys.exit(main())
