"""A rehearsal of grading: three made-up students hand in one unit, and their pages and the report are made.

``python -m autograder.classes.rehearsal [--unit 01-attention] [--to FOLDER]`` (make rehearsal). Everything lies in a
folder of its own, with a gradebook and a secret of its own: nothing of the real class is read or written, and none of
its settings count. Other arguments go to grading, such as ``--no-sandbox``.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from anatomy.system import files

from autograder import ROOT
from autograder.grading.base.masters import gradable_units, master
from autograder.grading.book.secret import VARIABLE
from autograder.messages import read_answers

# The settings of nbgrader, which would otherwise be the repository's. A folder with this file was made here.
CONFIG = "c = get_config()\nc.CourseDirectory.course_id = 'rehearsal'\n"
WRITTEN = ROOT / "benchmarks" / "answers" / "first.txt"  # answers that people wrote from the text alone


def submissions(unit: str) -> dict[str, bytes]:
    """Made-up student → notebook: ada solved all, bob made a mistake in every second exercise, eve did the first half.

    Raises UnknownUnit.
    """
    known = master(unit)
    solved, blank = (
        json.loads((ROOT / folder / unit / f"{unit}.ipynb").read_text("utf-8")) for folder in ("solutions", "course")
    )
    wrong = _wrong_answers()
    erring, half = json.loads(json.dumps(solved)), json.loads(json.dumps(blank))
    places = {c["metadata"].get("nbgrader", {}).get("grade_id"): at for at, c in enumerate(solved["cells"])}
    for number, (name, exercise) in enumerate(known.answers.items()):
        at = places[name]
        if number % 2 == 0 and exercise.id in wrong:
            erring["cells"][at]["source"] = wrong[exercise.id]
        if number < len(known.answers) // 2:
            half["cells"][at]["source"] = solved["cells"][at]["source"]
    return {who: json.dumps(book).encode() for who, book in (("ada", solved), ("bob", erring), ("eve", half))}


def _wrong_answers():
    """Exercise → the first wrong answer to it, as a cell's text."""
    found: dict[str, str] = {}
    for answer in read_answers(WRITTEN):
        if not answer.right and not answer.own:
            found.setdefault(answer.exercise, answer.source)
    return found


def make(folder: Path, unit: str) -> None:
    """Writes the class into a folder, in place of an earlier rehearsal.

    Raises UnknownUnit, FileExistsError if something else is in the folder, and OSError.
    """
    handed_in = submissions(unit)
    config = folder / "nbgrader_config.py"
    if folder.exists():
        students = {path.name for path in (folder / "submitted").glob("*")}
        if not config.is_file() or config.read_text("utf-8") != CONFIG or students - {*handed_in}:
            raise FileExistsError(f"{folder} holds something else than a rehearsal: name another folder with --to")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    files.replace(config, CONFIG.encode())
    for student, data in handed_in.items():
        place = folder / "submitted" / student / unit
        place.mkdir(parents=True)
        files.replace(place / f"{unit}.ipynb", data)


def grade(folder: Path, arguments: Sequence[str] = (), secret: str = "") -> int:
    """Grades the class in the folder and writes the report, as `make grade` and `make report` do; an exit status.

    secret: what inputs are drawn from; "" for one of the folder's own.
    """
    env = {name: value for name, value in os.environ.items() if name != VARIABLE} | (
        {VARIABLE: secret} if secret else {}
    )
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "course"), *filter(None, [env.get("PYTHONPATH")])])
    for words in (["autograder.grading", "submitted", *arguments], ["autograder.grading.pages.report"]):
        status = subprocess.run([sys.executable, "-m", *words], cwd=folder, env=env).returncode
        if status:
            return status
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status."""
    parser = argparse.ArgumentParser(prog="make rehearsal", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--unit", default="01-attention", choices=gradable_units(), metavar="UNIT")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "rehearsal", metavar="FOLDER")
    options, more = parser.parse_known_args(argv)
    folder = options.to.absolute()
    try:
        make(folder, options.unit)
    except OSError as error:
        print(f"rehearsal: {error}", file=sys.stderr)
        return 2
    status = grade(folder, more)
    if status:
        return status
    print(f"\nThree made-up students handed in {options.unit}. Open these in a browser:")
    for page in (folder / "report.html", *sorted(folder.glob(f"feedback/*/{options.unit}/*.html"))):
        print(f"  {page}")
    print("The points are in grades.csv beside them. All of it may be deleted.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
