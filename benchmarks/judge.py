"""``make bench-judge [PART=listed] [UNIT=06-rope]``: measures the checks, for the page *How the checks are checked*.

Five parts. ``listed``: the mistakes that the specs list, and the right answers of specs and solutions. ``answers``:
answers that people wrote from the text alone. ``mutants``: right answers, changed by a machine in one place each.
``hostile``: submissions that want points without an answer. ``stock``: the same in stock nbgrader.

Each result goes into ``benchmarks/judge.json`` as soon as it is there; the others stay as they are, so that the parts
may be measured one at a time, unit by unit. ``ARGS=--due`` measures only what is missing or out of date;
``ARGS=--list`` lists it and measures nothing. All parts take about two hours of processor time. Afterwards
``make build`` writes the numbers into the README.
"""

import argparse
import datetime
import fcntl
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402
from anatomy.system import files  # noqa: E402

from autograder import ROOT, exercises, measured  # noqa: E402
from autograder.measured import Entry  # noqa: E402
from benchmarks import judge_parts as parts  # noqa: E402
from benchmarks import written_answers  # noqa: E402


@dataclass(frozen=True)
class Job:
    """One measurement: its place in the file, what it measures today, and a function that measures it."""

    part: str
    key: str
    of: dict[str, Any]
    measure: Callable[[], parts.Figures]

    def due(self, known: dict[str, dict[str, Entry]]) -> bool:
        """Whether its entry is missing or measured something else."""
        entry = known[self.part].get(self.key)
        return entry is None or entry.of != self.of


def jobs(chosen: Sequence[str], units: Sequence[str], workers: int = 2) -> Iterator[Job]:
    """The measurements of some parts, in the order in which they are made."""
    for unit in units if "listed" in chosen else ():
        yield Job("listed", unit, parts.of_unit(unit), partial(parts.listed, unit))
    for name in sets() if "answers" in chosen else ():
        for unit in units:
            of = parts.of_set(name, unit)
            yield Job("answers", f"{name} {unit}", of, partial(parts.answers, name, unit))
    if "hostile" in chosen:
        for kind, measure in (
            ("evasions", parts.evasions),
            ("folders", parts.folders),
            ("submissions", parts.submissions),
        ):
            yield Job("hostile", kind, parts.of_hostile(kind), measure)
    for technique in parts.techniques() if "stock" in chosen else ():
        yield Job("stock", technique, parts.of_technique(technique), partial(parts.stock, technique))
    for unit in units if "mutants" in chosen else ():
        yield Job("mutants", unit, parts.of_unit(unit), partial(parts.mutants, unit, workers))


def sets() -> list[str]:
    """Names of the sets of answers, in the order in which they were written."""
    known = ["first", *measured.trials()]
    return sorted(
        (p.stem for p in written_answers.FOLDER.glob("*.txt")), key=lambda n: (n not in known, *_at(known, n), n)
    )


def _at(known: Sequence[str], name: str) -> tuple[int, ...]:
    return (known.index(name),) if name in known else ()


def due(chosen: Sequence[str] = measured.PARTS) -> list[Job]:
    """The measurements that are missing or out of date."""
    known = measured.read()
    return [job for job in jobs(chosen, exercises.units()) if job.due(known)]


def machine() -> str:
    """Processor, number of cores, Python and torch."""
    try:
        named = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        named = None
    cpu = named[1].strip() if named else platform.processor() or platform.machine()
    cores, version = os.cpu_count(), torch.__version__.split("+")[0]
    return f"{cpu} ({platform.machine()}, {cores} cores), Python {platform.python_version()}, torch {version}"


def commit() -> str:
    """Short name of the repository's commit, "" without git."""
    try:
        said = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return said.stdout.strip()


def store(job: Job, figures: parts.Figures, checks: str) -> None:
    """Puts a result into the file; commands that run at the same time don't lose each other's."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    (ROOT / "build").mkdir(exist_ok=True)
    with open(ROOT / "build" / "bench-judge.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = measured.read()
        known[job.part][job.key] = Entry(figures, job.of, today, machine(), commit(), checks)
        files.replace(measured.FILE, measured.to_bytes(known))


def keep_first_trial(name: str) -> None:
    """Keeps what the checks say of a new set of answers: then they are mended, and it can't be measured again."""
    entries = measured.of_set(measured.read()["answers"], name)
    if name == "first" or name in measured.trials() or len(entries) < len(exercises.units()):
        return
    sums = measured.total(entries)
    named, told = (round(100 * sums[kind] / max(sums["wrong"], 1), 1) for kind in ("named", "told"))
    wrong, right, passed, refused = (int(sums[kind]) for kind in ("wrong", "right", "passed", "refused"))
    date = max(entry.date for entry in entries.values())
    trial = measured.Trial(date, wrong, right, named, told, passed, refused)
    lines = [f"  {json.dumps(n)}: {json.dumps(vars(t))}" for n, t in {**measured.trials(), name: trial}.items()]
    files.replace(measured.TRIALS, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status."""
    parser = argparse.ArgumentParser(prog="make bench-judge", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--part", action="append", choices=measured.PARTS, help="may be repeated; default: all")
    parser.add_argument("--unit", action="append", help="e.g. 06-rope (may be repeated; default all)")
    parser.add_argument("--due", action="store_true", help="only what is missing or out of date")
    parser.add_argument("--list", action="store_true", help="list what is missing or out of date, measure nothing")
    parser.add_argument("--workers", type=int, default=2, help="processes at a time, for mutants")
    options = parser.parse_args(argv)
    units = options.unit or exercises.units()
    if unknown := set(units) - set(exercises.units()):
        print(
            f"bench-judge: there is no unit {min(unknown)}; there are {', '.join(exercises.units())}", file=sys.stderr
        )
        return 2
    known, checks = measured.read(), parts.checks()
    chosen = [
        j for j in jobs(options.part or measured.PARTS, units, options.workers) if not options.due or j.due(known)
    ]
    for job in chosen:
        if options.list:
            if job.due(known):
                parts.said(job.part, job.key)
            continue
        figures = job.measure()
        store(job, figures, checks)
        parts.said(f"{job.part:8} {job.key:28}", *(f"{name} {number:g}" for name, number in figures.items()))
        if job.part == "answers":
            keep_first_trial(job.key.split()[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
