"""Submissions per minute: ``make grade`` with its sandbox against stock ``nbgrader autograde``, in one run.

``python -m benchmarks.grading_speed [--sizes 10 100] [--ours 1000] [--workers 2] [--unit 01-attention]``. The class is
mixed (solved, half done, wrong, untouched), with the same files for both. Times are wall time, including start-up. The
floor is the time of the students' own code in one warm process without any isolation: no grader can be faster.
"""

import argparse
import ast
import csv
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

from autograder import ROOT
from autograder.grading.base.masters import MARK, master
from autograder.grading.intake.rebuild import rebuild
from autograder.judge.asked import answer
from autograder.judge.ban import ban_of
from autograder.judge.drawing import draw_record
from autograder.judge.trusted import payload_of

ORDER = (0, 1, 2, 0, 3, 2)  # order of the kinds of submissions in a class
STOCK_CONFIG = """
c = get_config()
c.CourseDirectory.source_directory = "source"
c.CourseDirectory.release_directory = "release"
c.ExecutePreprocessor.timeout = 30
"""


# A wrong answer returns a value of the right form, so that it is compared and described like a student's own.
WRONG = """
def _wrong(result):
    import torch
    if isinstance(result, (tuple, list)):
        return type(result)(map(_wrong, result))
    if isinstance(result, dict):
        return {name: _wrong(value) for name, value in result.items()}
    if isinstance(result, bool):
        return not result
    if isinstance(result, torch.Tensor) and result.dtype == torch.bool:
        return ~result
    return result + 1 if isinstance(result, (int, float, torch.Tensor)) else None


"""
# Right for every second call only.
HALF = (
    WRONG.replace("_wrong", "_wrong_one")
    + """
_calls = iter(range(1 << 30))


def _wrong(result):
    return result if next(_calls) % 2 else _wrong_one(result)


"""
)


def kinds(unit: str) -> list[bytes]:
    """The four kinds of submissions: solved; half done (every other exercise solved, or a single exercise right in
    about half of the cases); wrong results everywhere; untouched."""
    solved = json.loads((ROOT / "solutions" / unit / f"{unit}.ipynb").read_text(encoding="utf-8"))
    blank = json.loads((ROOT / "course" / unit / f"{unit}.ipynb").read_text(encoding="utf-8"))
    half, wrong = json.loads(json.dumps(blank)), json.loads(json.dumps(solved))
    answers = [i for i, c in enumerate(solved["cells"]) if c["metadata"].get("nbgrader", {}).get("solution")]
    answers = [i for i in answers if solved["cells"][i]["cell_type"] == "code"]
    for number, i in enumerate(answers):
        source = "".join(solved["cells"][i]["source"])
        # A different name in each cell: otherwise their order would matter, and the cells would be run one by one.
        bad = f"_wrong_{number}"
        wrong["cells"][i]["source"] = WRONG.replace("_wrong", bad) + spoiled(source, bad)
        if len(answers) == 1:
            half["cells"][i]["source"] = HALF + spoiled(source, "_wrong")
        elif number % 2 == 0:
            half["cells"][i]["source"] = source
    return [json.dumps(b).encode() for b in (solved, half, wrong, blank)]


def spoiled(source: str, how: str) -> str:
    """The answer with the function ``how`` applied to the results of all its functions and methods."""
    found: list[ast.expr] = []
    todo: list[ast.AST] = [ast.parse(source)]
    while todo:
        for node in ast.iter_child_nodes(todo.pop()):
            if isinstance(node, ast.Return) and node.value is not None:
                found.append(node.value)
            elif not isinstance(node, ast.expr):
                todo.append(node)
    lines = source.encode().splitlines(keepends=True)  # positions are in bytes
    for value in sorted(found, key=lambda v: (v.lineno, v.col_offset), reverse=True):
        assert value.end_lineno is not None and value.end_col_offset is not None
        for line, column, text in (
            (value.end_lineno, value.end_col_offset, b"))"),
            (value.lineno, value.col_offset, f"{how}((".encode()),
        ):
            lines[line - 1] = lines[line - 1][:column] + text + lines[line - 1][column:]
    return b"".join(lines).decode()


def classroom(root: Path, unit: str, size: int) -> None:
    """Write ``size`` submissions: of every six, two are solved, one half done, two wrong and one untouched."""
    books = kinds(unit)
    for i in range(size):
        folder = root / "submitted" / f"s{i:04}" / unit
        folder.mkdir(parents=True)
        (folder / f"{unit}.ipynb").write_bytes(books[ORDER[i % len(ORDER)]])


class Memory(threading.Thread):
    """Peak of the proportional memory (PSS) of all descendants of a process, sampled twice a second."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self.process, self.peak, self.stop = psutil.Process(pid), 0, False

    def run(self) -> None:
        while not self.stop:
            total = 0
            try:
                for p in self.process.children(recursive=True):
                    try:
                        total += p.memory_full_info().pss
                    except psutil.Error:
                        continue
            except psutil.Error:
                return
            self.peak = max(self.peak, total)
            time.sleep(0.5)


def timed(command: list[str], root: Path) -> tuple[float, float, int]:
    """Run a command. Returns (seconds, CPU seconds of the command and its children, peak bytes)."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "ANATOMY_SECRET": "benchmark",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with open(root / "log", "w") as log:
        process = subprocess.Popen(command, cwd=root, env=environment, stdout=log, stderr=log)
        memory = Memory(process.pid)
        memory.start()
        status = process.wait()
    memory.stop = True
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if status not in (0, 1):
        sys.exit(f"{' '.join(command)} failed:\n{(root / 'log').read_text()[-3000:]}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, memory.peak


def ours(unit: str, size: int, workers: int) -> tuple[float, float, int]:
    """One run of ``make grade`` in an empty folder."""
    root = Path(tempfile.mkdtemp(prefix="bench-ours-"))
    shutil.copy(ROOT / "nbgrader_config.py", root)
    classroom(root, unit, size)
    result = timed([sys.executable, "-m", "autograder.grading", "submitted", "--workers", str(workers)], root)
    known = {e.id for e in master(unit).exercises}
    with open(root / "grades.csv", newline="", encoding="utf-8") as table:
        scored = sum(row["exercise"] in known for row in csv.DictReader(table))
    assert scored == size * len(master(unit).exercises), "some submissions have no result"
    shutil.rmtree(root)
    return result


def stock(unit: str, size: int) -> tuple[float, float, int]:
    """One run of stock ``nbgrader autograde`` with nbgrader's default steps; the assignment is made beforehand."""
    root = Path(tempfile.mkdtemp(prefix="bench-stock-"))
    (root / "nbgrader_config.py").write_text(STOCK_CONFIG)
    shutil.copytree(ROOT / "solutions" / unit, root / "source" / unit)
    run = [sys.executable, "-m", "nbgrader"]
    timed([*run, "generate_assignment", unit], root)
    classroom(root, unit, size)
    result = timed([*run, "autograde", unit], root)
    assert len(list((root / "autograded").glob(f"*/{unit}/{unit}.ipynb"))) == size, "some submissions have no result"
    shutil.rmtree(root)
    return result


def floor(unit: str) -> float:
    """Average seconds of the students' own code for one submission: cells and answers, in a warm process."""
    records = [draw_record(e, b"floor", with_mutants=False) for e in master(unit).exercises]
    payload = b"".join(len(p).to_bytes(8, "little") + p for p in map(payload_of, records))
    bans = [ban_of(r.forbidden) for r in records]
    spent = []
    for data in kinds(unit):
        cells = [
            c.source
            for c in rebuild(data, unit).notebook.cells
            if c.cell_type == "code" and c.metadata[MARK]["role"] in ("setup", "answer", "extra")
        ]
        for _ in range(6):
            space, began = {"__name__": "__main__"}, time.perf_counter()
            for source in cells:
                try:
                    exec(compile(source, "<cell>", "exec"), space)
                except Exception:
                    continue
            answer(payload, space, bans)
            last = time.perf_counter() - began
        spent.append(last)
    return statistics.fmean(spent[i] for i in ORDER)


def row(name: str, size: int, seconds: float, cpu: float, peak: int, workers: int) -> None:
    """One line of the table."""
    print(
        f"{name:22} {size:6} {seconds:9.1f} s {60 * size / seconds:9.0f} {1000 * seconds / size:9.0f} ms "
        f"{1000 * cpu / size:9.0f} ms {peak / workers / 1e6:8.0f} MB",
        flush=True,
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 100], help="classes graded by both")
    parser.add_argument("--ours", type=int, nargs="*", default=[1000], help="classes graded by make grade alone")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--unit", default="00-start-here")
    options = parser.parse_args()
    print(f"{options.unit}, {os.cpu_count()} cores, {options.workers} workers, load {os.getloadavg()[0]:.1f}")
    print(f"{'':22} {'n':>6} {'wall':>11} {'per min':>9} {'per sub.':>12} {'CPU/sub.':>12} {'mem/worker':>11}")
    for size in options.sizes:
        theirs = stock(options.unit, size)
        row("stock autograde", size, *theirs, 1)
        mine = ours(options.unit, size, options.workers)
        row("make grade, sandboxed", size, *mine, options.workers)
        print(f"{'':22} {size:6} {theirs[0] / mine[0]:8.1f} times the speed of stock")
    for size in options.ours:
        row("make grade, sandboxed", size, *ours(options.unit, size, options.workers), options.workers)
    least = floor(options.unit)
    print(
        f"floor: the students' own code takes {1000 * least:.1f} ms per submission, "
        f"{1000 * least / options.workers:.1f} ms on {options.workers} cores; 1.3 times that and 60 ms: "
        f"{1300 * least + 60:.0f} ms"
    )


if __name__ == "__main__":
    main()
