"""A learner's notebooks: the released ones, with answers that were written from the text alone (benchmarks/answers)."""

import functools
import json

from anatomy.program.units import grade_id

from autograder import ROOT
from autograder.messages import read_answers

COMPLETE = (3, 5)  # choices of hand-written answers, one per exercise, that pass together


@functools.cache
def right_answers():
    """dict exercise → sources of its right answers, ordered by their authors' files."""
    found = {}
    for path in sorted((ROOT / "benchmarks" / "answers").glob("*.txt")):
        for answer in read_answers(path):
            if answer.right:
                found.setdefault(answer.exercise, []).append(answer.source.strip("\n"))
    return found


def answers(take=COMPLETE[0]):
    """dict exercise → source of one right answer."""
    return {exercise: sources[take % len(sources)] for exercise, sources in right_answers().items()}


def released(unit):
    """The unit's released notebook as plain data, with every source as one string."""
    book = json.loads((ROOT / "course" / unit / f"{unit}.ipynb").read_text(encoding="utf-8"))
    for cell in book["cells"]:
        cell["source"] = "".join(cell["source"])
    return book


def cell_of(book, name):
    """The cell with this nbgrader id."""
    return next(c for c in book["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == name)


def own_cell(source, name="own-1"):
    return {
        "cell_type": "code",
        "id": name,
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": source,
    }


def save(folder, unit, book):
    path = folder / unit / f"{unit}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(book, indent=1), encoding="utf-8")
    return path


def write_unit(folder, unit, sources):
    """Writes one notebook with these answers (dict exercise → source), else as released. Returns its path."""
    book = released(unit)
    for exercise, source in sources.items():
        cell_of(book, grade_id(exercise, "solve"))["source"] = source
    return save(folder, unit, book)


def write_folder(folder, units, take=COMPLETE[0], **others):
    """Writes solved notebooks of these units. others: exercise with "_" for "." → another answer, None for the stub."""
    solved = answers(take)
    changed = {name.replace("_", ".", 1): source for name, source in others.items()}
    for unit in units:
        text = json.loads((ROOT / "assets" / "units" / f"{unit}.json").read_text(encoding="utf-8"))
        wanted = {e["id"]: changed.get(e["id"], solved.get(e["id"])) for e in text["exercises"]}
        write_unit(folder, unit, {e: s for e, s in wanted.items() if s is not None})
    return folder
