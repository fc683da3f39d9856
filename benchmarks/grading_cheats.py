"""The cheat suite through stock nbgrader and through ours: who gets points without solving anything.

``python -m benchmarks.grading_cheats [--only WORD]``. Stock nbgrader runs the submissions with the rights of its user,
and some of them kill, fill and flood: here it runs inside bubblewrap, with the system read-only and process and network
namespaces of its own. That protects this machine; to the submissions it looks like the instructor's.
"""

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder import ROOT
from autograder.grading import execution, sessions
from autograder.grading.grade import grade_bytes
from autograder.judge.drawing import student_key
from tests.grading.cheats import CHEATS, Cheat

CONFIG = """
c = get_config()
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "release"
c.ExecutePreprocessor.timeout = 8
c.Execute.timeout = 8
"""
QUERY = """SELECT g.auto_score, g.manual_score FROM grade g JOIN base_cell b ON g.cell_id = b.id
JOIN submitted_notebook n ON g.notebook_id = n.id JOIN submitted_assignment s ON n.assignment_id = s.id
WHERE s.student_id = 'eve' AND b.name = ?"""


def contained(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command inside bubblewrap: everything read-only but ``root`` and a small /tmp."""
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
    return subprocess.run(bwrap, env=environment, capture_output=True, text=True, timeout=240)


def prepare() -> Path:
    """A stock course with the units that the submissions belong to."""
    root = Path(tempfile.mkdtemp(prefix="stock-"))
    (root / "home").mkdir()
    (root / "nbgrader_config.py").write_text(CONFIG)
    for unit in sorted({c.unit for c in CHEATS}):
        shutil.copytree(ROOT / "solutions" / unit, root / "solutions" / unit)
        made = contained(root, sys.executable, "-m", "nbgrader", "generate_assignment", unit)
        if made.returncode:
            sys.exit(made.stderr)
    shutil.copy(root / "gradebook.db", root / "clean.db")
    return root


def stock(root: Path, cheat: Cheat) -> float | None:
    """(points of the attacked exercise in stock nbgrader, or None where the submission got no result at all)."""
    shutil.copy(root / "clean.db", root / "gradebook.db")
    for folder in ("submitted", "autograded"):
        subprocess.run(["chmod", "-R", "u+w", root / folder], stderr=subprocess.DEVNULL)
        shutil.rmtree(root / folder, ignore_errors=True)
    place = root / "submitted" / "eve" / cheat.unit
    place.mkdir(parents=True)
    (place / f"{cheat.unit}.ipynb").write_bytes(cheat.data.replace(b"@PORT@", b"9"))
    try:
        done = contained(root, sys.executable, "-m", "nbgrader", "autograde", cheat.unit)
    except subprocess.TimeoutExpired:
        return None
    with sqlite3.connect(root / "gradebook.db") as db:
        rows = db.execute(QUERY, [cheat.solve.replace("solve", "check", 1)]).fetchall()
    scores = [manual if manual is not None else auto for auto, manual in rows]
    failed = done.returncode != 0 or not scores or scores[0] is None
    return None if failed else scores[0]


def ours(cheat: Cheat) -> float:
    """Points of the whole submission from ``make grade``'s own path."""
    return grade_bytes(
        cheat.data.replace(b"@PORT@", b"9"), cheat.unit, "eve", student_key("s", "eve", cheat.unit), sessions.sandboxed
    ).score


def main() -> None:
    """Prints a line per cheat and the totals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", default="", help="cheats whose name or technique contains this")
    options = parser.parse_args()
    execution.CELL_SECONDS = execution.TOGETHER_SECONDS = execution.ANSWER_SECONDS = 5.0
    chosen = [c for c in CHEATS if options.only in c.name or options.only in c.technique]
    root, won, lost, mine = prepare(), 0, 0, 0
    try:
        print(f"{'technique':20} {'cheat':44} {'stock':>10} {'ours':>6}")
        for cheat in sorted(chosen, key=lambda c: c.technique):
            theirs, us = stock(root, cheat), ours(cheat)
            won, lost, mine = won + bool(theirs), lost + (theirs is None), mine + bool(us)
            shown = "no result" if theirs is None else f"{theirs:g}"
            print(f"{cheat.technique:20} {cheat.name:44} {shown:>10} {us:6g}", flush=True)
    finally:
        subprocess.run(["chmod", "-R", "u+w", root])
        shutil.rmtree(root, ignore_errors=True)
    print(
        f"{len(chosen)} cheats: stock gives points to {won} and has no result for {lost}; ours gives points to {mine}."
    )


if __name__ == "__main__":
    main()
