"""Runs the cheat suite through stock nbgrader and through ours.

It shows which cheats get points without solving anything, which keep the grader busy, and which entries of a folder
stop the grading of a class.

``python -m benchmarks.grading_cheats [--only WORD] [--stock all|some|none]``. Stock nbgrader runs the submissions with
its user's rights, and some of them kill processes, fill disks and flood output: so here it runs inside bubblewrap, with
a read-only system and its own process and network namespaces. That protects this machine; to the submissions it looks
like an instructor's machine. ``some`` (the default) skips cheats in stock nbgrader that only cost time: answers,
sources and files that are hard to read.
"""

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from autograder import ROOT
from autograder.grading.intake import collect
from autograder.grading.judging import execution, sessions
from autograder.grading.judging.contained import grade as grade_one
from autograder.grading.judging.submitted import of_bytes
from autograder.judge import trusted
from autograder.judge.drawing import student_key
from tests.grading.cheats import CHEATS, ENTRIES, START, Cheat, Entry, folders

CONFIG = """
c = get_config()
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "release"
"""
QUERY = """SELECT g.auto_score, g.manual_score FROM grade g JOIN base_cell b ON g.cell_id = b.id
JOIN submitted_notebook n ON g.notebook_id = n.id JOIN submitted_assignment s ON n.assignment_id = s.id
WHERE s.student_id = ? AND b.name = ?"""


LEFT_OUT = ("replies", "sources", "files", "ending")


def contained(root: Path, *command: str, seconds: int = 240) -> subprocess.CompletedProcess[bytes]:
    """Run a command inside bubblewrap, with everything read-only except ``root`` and a small /tmp."""
    bwrap = [
        "bwrap",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--size",
        str(256 << 20),
        "--tmpfs",
        "/tmp",
        "--bind",
        str(root),
        str(root),
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--die-with-parent",
        "--new-session",
        "--chdir",
        str(root),
        "prlimit",
        f"--as={12 << 30}",
        *command,
    ]
    environment = {
        **os.environ,
        "HOME": str(root / "home"),
        "OMP_NUM_THREADS": "1",
        "TMPDIR": "/tmp",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    return subprocess.run(bwrap, env=environment, capture_output=True, timeout=seconds)


def prepare(with_stock: bool) -> Path:
    """Make a stock course with the units of the submissions, or an empty course if stock nbgrader is not run."""
    root = Path(tempfile.mkdtemp(prefix="stock-"))
    (root / "home").mkdir()
    (root / "nbgrader_config.py").write_text(CONFIG)
    (root / "gradebook.db").touch()
    for unit in sorted({c.unit for c in CHEATS}) if with_stock else ():
        shutil.copytree(ROOT / "solutions" / unit, root / "solutions" / unit)
        made = contained(root, sys.executable, "-m", "nbgrader", "generate_assignment", unit)
        if made.returncode:
            sys.exit(made.stderr.decode(errors="replace"))
    shutil.copy(root / "gradebook.db", root / "clean.db")
    return root


def stock(root: Path, cheat: Cheat) -> float | None:
    """Points of the attacked exercise in stock nbgrader, or None if the submission got no result at all."""
    clear(root)
    place = root / "submitted" / "eve" / cheat.unit
    place.mkdir(parents=True)
    (place / f"{cheat.unit}.ipynb").write_bytes(cheat.data.replace(b"@PORT@", b"9"))
    try:
        done = contained(root, sys.executable, "-m", "nbgrader", "autograde", cheat.unit)
    except subprocess.TimeoutExpired:
        return None
    score = stored(root, "eve", cheat.solve.replace("solve", "check", 1))
    return None if done.returncode else score


def clear(root: Path) -> None:
    """Removes everything that an earlier submission left."""
    shutil.copy(root / "clean.db", root / "gradebook.db")
    for folder in ("submitted", "autograded"):
        subprocess.run(["chmod", "-R", "u+rwx", root / folder], stderr=subprocess.DEVNULL)
        shutil.rmtree(os.fsencode(root / folder), ignore_errors=True)


def stored(root: Path, student: str, cell: str) -> float | None:
    """Points of a cell in stock nbgrader's gradebook."""
    with closing(sqlite3.connect(root / "gradebook.db")) as db:
        rows = db.execute(QUERY, [student, cell]).fetchall()
    scores = [manual if manual is not None else auto for auto, manual in rows]
    return scores[0] if scores else None


def ours(cheat: Cheat) -> tuple[float, float, float]:
    """(points of the whole submission, graded like ``make grade``; seconds; the grader's own processor time)."""
    data, began, used = cheat.data.replace(b"@PORT@", b"9"), time.monotonic(), sum(os.times()[:4])
    graded = grade_one(of_bytes(data, cheat.unit, "eve", student_key("s", "eve", cheat.unit)), sessions.sandboxed)
    return graded.score, time.monotonic() - began, sum(os.times()[:4]) - used


def stock_folder(root: Path, entry: Entry) -> tuple[float | None, bool]:
    """(points of zoe, whose honest submission comes after the entry, or None without a result; whether the secret file
    next to the class was leaked), in stock nbgrader."""
    clear(root)
    make_class(root, entry)
    try:
        contained(root, sys.executable, "-m", "nbgrader", "autograde", START, seconds=30)
    except subprocess.TimeoutExpired:
        pass
    told = any(
        b"top secret" in path.read_bytes()
        for path in (root / "autograded").rglob("*")
        if path.is_file() and path.stat().st_size < 1 << 20
    )
    return stored(root, "zoe", "check-start-weighted_average"), told


def our_folder(root: Path, entry: Entry) -> tuple[int, float]:
    """(number of submissions found without a problem, except ada's and zoe's; seconds), when ours reads the folder."""
    clear(root)
    make_class(root, entry)
    began = time.monotonic()
    found = collect.find(root / "submitted")
    assert {"ada", "zoe"} <= {s.student for s in found if not s.problem}
    return sum(not s.problem for s in found) - 2, time.monotonic() - began


def make_class(root: Path, entry: Entry) -> None:
    """Write the submissions of ada and zoe, a secret file next to the class, and the entry."""
    (root / ".secret").write_text("top secret")
    for student in ("ada", "zoe"):
        folders.unit_folder(os.fsencode(root / "submitted" / student), folders.book())
    folders.build(root / "submitted", [entry])


def compare_folders(root: Path, chosen: list[Entry], with_stock: bool) -> None:
    """Prints a line for each entry, and the totals."""
    stopped = leaked = 0
    print(f"\n{'entry beside an honest submission':70} {'stock: zoe':>10} {'leaked':>7} {'ours: s':>8}")
    for entry in chosen:
        honest, told = stock_folder(root, entry) if with_stock else (1.0, False)
        stopped, leaked = stopped + (honest != 1), leaked + told
        shown = "-" if not with_stock else "no result" if honest is None else f"{honest:g}"
        print(f"{entry.name:70} {shown:>10} {'yes' if told else '':>7} {our_folder(root, entry)[1]:8.2f}", flush=True)
    said = f"stock stops at {stopped} and gives {leaked} the secret; " if with_stock else ""
    print(f"{len(chosen)} entries: {said}ours finds the honest submissions beside each of them.")


def main() -> None:
    """Prints a line for each cheat and each entry, and the totals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default="", help="cheats and entries whose name or technique contains this")
    parser.add_argument("--stock", default="some", choices=("all", "some", "none"), help="which run in stock nbgrader")
    options = parser.parse_args()
    execution.CELL_SECONDS = execution.TOGETHER_SECONDS = execution.ANSWER_SECONDS = 5.0
    trusted.TOGETHER_SECONDS = 5.0
    chosen = [c for c in CHEATS if options.only in c.name or options.only in c.technique]
    root = prepare(options.stock != "none")
    tried = won = lost = mine = 0
    worst = 0.0
    try:
        print(f"{'technique':18} {'cheat':58} {'stock':>10} {'ours':>6} {'s':>6} {'own s':>6}")
        for cheat in sorted(chosen, key=lambda c: c.technique):
            points, seconds, own = ours(cheat)
            mine, worst, shown = mine + bool(points), max(worst, own), "-"
            if options.stock == "all" or options.stock == "some" and cheat.technique not in LEFT_OUT:
                theirs = stock(root, cheat)
                tried, won, lost = tried + 1, won + bool(theirs), lost + (theirs is None)
                shown = "no result" if theirs is None else f"{theirs:g}"
            line = f"{cheat.technique:18} {cheat.name:58} {shown:>10} {points:6g} {seconds:6.1f} {own:6.2f}"
            print(line, flush=True)
        entries = [e for e in ENTRIES if options.only in e.name or options.only == "folders"]
        if entries:
            compare_folders(root, entries, options.stock != "none")
    finally:
        subprocess.run(["chmod", "-R", "u+rwx", root], stderr=subprocess.DEVNULL)
        shutil.rmtree(os.fsencode(root), ignore_errors=True)
    print(
        f"{len(chosen)} cheats: ours gives points to {mine}, at most {worst:.1f} s of the grader's own processor time. "
        f"Of {tried} in stock, {won} get points and {lost} no result."
    )


if __name__ == "__main__":
    main()
