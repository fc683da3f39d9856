"""The course's own solutions as submissions in this process, with some answers missing or replaced."""

import ast
import contextlib
import json
import re

from anatomy.program.units import grade_id

from autograder import ROOT
from autograder.grading.base.masters import master
from autograder.grading.judging.following import follow_through
from autograder.grading.judging.work import Work
from autograder.judge.drawing import student_key
from autograder.judge.trusted import judge_exercises

from .cheats.base import ATTENTION, find
from .conftest import InThisProcess

KEY = student_key("secret", "ada", ATTENTION)
SOFTMAX = "solve-attention-softmax"
MISSING = "pass\n"
UNWRITTEN = "def softmax(x, dim=-1):\n    raise NotImplementedError\n"
WRONG = "def softmax(x, dim=-1):\n    e = torch.exp(x - x.amax(dim=dim, keepdim=True))\n    return e / e.sum()\n"
FIRST = "attention.softmax", "attention.masked_softmax", "attention.scaled_dot_product"
DEPENDENT = "attention.masked_softmax", "attention.scaled_dot_product", "attention.multi_head"


def book(unit):
    return json.loads((ROOT / "solutions" / unit / f"{unit}.ipynb").read_text(encoding="utf-8"))


class Notebook(InThisProcess):
    """A unit's own solution with other answers to some exercises. Its state is reset before each question."""

    def __init__(self, unit, answers):
        solves = {grade_id(e, "solve"): source for e, source in answers.items()}
        names = {"__name__": "notebook"}
        for cell in book(unit)["cells"]:
            source, name = "".join(cell["source"]), cell["metadata"].get("nbgrader", {}).get("grade_id", "")
            if name.startswith("solve-") or "setup" in cell["metadata"].get("tags", []):
                # As in a kernel, a name that an answer lacks breaks a later cell only if that cell needs it at once.
                with contextlib.suppress(NameError) if solves else contextlib.nullcontext():
                    exec(solves.get(name, source), names)
            elif cell["cell_type"] == "code":  # the course's own: helpers are needed, plots are not
                for node in ast.parse(source).body:
                    if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef):
                        with contextlib.suppress(NameError):  # a default value that a plot defined
                            exec(compile(ast.Module([node], []), "notebook", "exec"), names)
        super().__init__(names)
        self.before, self.questions = dict(names), 0

    def ask(self, code, payload=b"", timeout=10.0, max_bytes=16 << 20):
        self.questions += 1
        self.functions.clear()
        self.functions.update(self.before)
        return super().ask(code, payload, timeout, max_bytes)


def own_verdicts(unit, answers, only=None):
    """(exercises, their verdicts without follow-through, the session that gave them). only: ids, to save time."""
    exercises = [e for e in master(unit).exercises if only is None or e.id in only]
    session = Notebook(unit, answers)
    return exercises, judge_exercises(exercises, session, KEY), session


def followed(unit, answers, only=None):
    """Follow-through of the unit's solution with other answers: {exercise: Followed}, {exercise: points before}."""
    exercises, verdicts, session = own_verdicts(unit, answers, only)
    found = follow_through(exercises, verdicts, session, KEY, Work())
    return found, {v.exercise: v.score for v in verdicts}


def submission(answer=None, rename=False):
    made = book(ATTENTION)
    cell = find(made, SOFTMAX)
    source = "".join(cell["source"])
    cell["source"] = re.sub(r"\bdef softmax\b", "def my_softmax", source) if rename else answer or source
    return json.dumps(made).encode()
