"""The written question of a unit: it asks for reasons, which no check can judge; has a model answer and a rubric.

An author writes two consecutive cells on the core path::

    # %% [markdown] written="question"
    # Why …? Predict …, and explain.
    #
    # - what a good answer names: two to four items
    # %% [markdown] written="answer" points=3
    # The model answer.
    #
    # ### BEGIN MARK SCHEME
    # - 2 points: …
    # - 1 point: …
    # - No point: common but wrong answers.
    # ### END MARK SCHEME

In the release, an invitation to write replaces the second cell, with the items folded below it. Model answer and
rubric stay in ``solutions/``; the formgrader shows them beside the student's answer (``grading/pages/rubric.py``).
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import nbformat
from anatomy.program.units import cell_id
from nbformat import NotebookNode

from . import wording
from .cells import TextError

STUB = wording.WRITE_HERE
MINUTES = 5  # to answer it; shown to learners separately, so not part of the core path's time
POINTS, ITEMS = range(2, 5), range(2, 5)
BEGIN, END = "### BEGIN MARK SCHEME", "### END MARK SCHEME"
_SCHEME = re.compile(rf"\A(?P<answer>.*?)^{BEGIN}$(?P<scheme>.*)^{END}$\s*\Z", re.M | re.S)
_HOW = (
    "*Three to eight sentences, about {minutes} minutes. No check judges them: write first, then compare with the list \
below.*"
)
_QUESTION = f"""## {wording.said("In your own words")}

{{question}}

{wording.said(_HOW, minutes=MINUTES)}"""
_COMPARE = f"""<details><summary>{wording.said("To compare: what a good answer names")}</summary>

{{items}}

</details>"""


def question_cells(unit: str, source: str) -> tuple[NotebookNode, NotebookNode]:
    """(the question as learners read it, the folded list to put after their answer).

    Raises TextError unless two to four items follow the question.
    """
    question, _, items = source.partition("\n- ")
    count = items.count("\n- ") + 1 if items else 0
    if count not in ITEMS or not question.strip():
        raise TextError(
            f'written="question" is a question and below it a list of {ITEMS[0]} to {ITEMS[-1]} things that a good '
            f'answer names, each beginning with "- "; found {count}'
        )
    question, items = wording.paragraphs(unit, question.strip()), wording.paragraphs(unit, f"- {items.strip()}")
    asked = nbformat.v4.new_markdown_cell(_QUESTION.replace("{question}", question))
    compare = nbformat.v4.new_markdown_cell(_COMPARE.replace("{items}", items))
    return (
        _named(asked, cell_id("say", f"written-{unit}")),
        _named(compare, cell_id("compare", f"written-{unit}")),
    )


def answer_cell(unit: str, source: str, points: int) -> NotebookNode:
    """The cell that learners write in, containing the model answer and the rubric.

    Raises TextError if one of these is missing, ``points`` is out of range, or the rubric's points differ from it.
    """
    found = _SCHEME.match(source)
    if points not in POINTS:
        raise TextError(f'written="answer" says points={POINTS[0]} to {POINTS[-1]}: what the whole answer is worth')
    if not found or not found["answer"].strip():
        raise TextError(f'written="answer" is the model answer, then "{BEGIN}", the rubric and "{END}"')
    given = sum(int(n) for n in re.findall(r"^- (\d) points?: ", found["scheme"], re.M))
    if given != points:
        raise TextError(f'the rubric\'s lines ("- 1 point: …") give {given} points, and the question has {points}')
    cell = nbformat.v4.new_markdown_cell(source)
    cell.metadata["nbgrader"] = {
        "cell_type": "markdown",
        "grade": True,
        "grade_id": cell_id("written", unit),
        "locked": False,
        "points": points,
        "schema_version": 3,
        "solution": True,
        "task": False,
    }
    return _named(cell, cell_id("written", unit))


def points_of(cells: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """grade_id → points of the written questions of a notebook."""
    marks = [c["metadata"]["nbgrader"] for c in cells if is_written(c)]
    return {m["grade_id"]: float(m["points"]) for m in marks}


def is_written(cell: Mapping[str, Any]) -> bool:
    """Whether a cell of the course's own notebooks is for a written answer."""
    marks = cell["metadata"].get("nbgrader") or {}
    return cell["cell_type"] == "markdown" and bool(marks.get("grade") and marks.get("solution"))


def parts_of(source: str) -> tuple[str, str]:
    """(model answer, rubric) of the cell in ``solutions/``, both as Markdown."""
    found = _SCHEME.match(source)
    return (found["answer"].strip(), found["scheme"].strip()) if found else (source.strip(), "")


def _named(cell: NotebookNode, name: str) -> NotebookNode:
    cell["id"] = name
    cell.metadata["fixed_id"] = True
    return cell
