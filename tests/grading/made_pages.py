"""A class report and a feedback page with everything that they can contain, made without grading anything."""

from anatomy.judge.verdict import CaseResult, Mistake, Verdict
from anatomy.program.units import grade_id

from autograder.grading.base.inert import as_text
from autograder.grading.base.masters import MARK, master
from autograder.grading.base.notes import Note
from autograder.grading.book.gradebook import GradebookWriter
from autograder.grading.book.standing import Standing
from autograder.grading.judging.results import GradedNotebook, Held
from autograder.grading.pages import feedback, report, similar
from autograder.grading.source.signs import Sign
from autograder.notebooks import written

from .cheats.base import ATTENTION

LONG = "x = " + " + ".join(f"value_{i}" for i in range(60))  # wider than any page
SPECS = master(ATTENTION).exercises


def _verdict(spec, passed):
    cases = [CaseResult("small", "two rows of three numbers", True, 1.0, 1.0)]
    if passed:
        return Verdict(spec.id, True, spec.points, spec.points, [], cases, 0.1)
    wrong = CaseResult(
        "odd", "a single row", False, 0.0, 1.0, "the result has another shape", f"f({LONG})", "[[0.25]]", "[0.25]"
    )
    said = [
        Mistake("no_scaling", "The scores are not divided by √D."),
        Mistake("generic.factor", "All is 2 × as large"),
    ]
    return Verdict(spec.id, False, 0.0, spec.points, said, [*cases, wrong], 0.1)


def submission(student="ada", wrong=()):
    """A submission of unit 01, with notes, signs and held points; the exercises numbered in ``wrong`` failed."""
    book = master(ATTENTION).notebook.copy()
    book.cells = [cell.copy() for cell in book.cells]
    own = [c for c in book.cells if c.cell_type == "code" and not c.metadata.get("nbgrader")][:2]
    for cell in book.cells:
        role = "written" if written.is_written(cell) else "extra" if cell in own else "demo"
        cell.metadata = cell.metadata.copy()
        cell.metadata[MARK] = {"role": role}
        if role == "written":
            cell.source = as_text(f"The weights sum to 1.\n\n```python\n{LONG}\n```")
        elif role == "extra":
            cell.source = LONG
    last = SPECS[-1].id
    return GradedNotebook(
        student,
        ATTENTION,
        [_verdict(spec, i not in wrong) for i, spec in enumerate(SPECS)],
        notes=[Note("renamed", "The notebook had another name."), Note("late", "A cell was added.", SPECS[0].id)],
        signs=[Sign("patching", LONG, "solve, line 3"), Sign("processes", "os._exit(0)", "solve, line 4")],
        notebook=book,
        tries={spec.id: 3 for spec in SPECS},
        held=[Held(last, 1.0, "torch.softmax", LONG, "solve, line 2")],
        followed={SPECS[1].id: 0.0},
    )


def feedback_page():
    """HTML of a student's page: passed and failed exercises, comments, an instructor's points, lateness."""
    graded = submission(wrong=(0, 2))
    failed = next(v for v in graded.verdicts if not v.passed)
    failed.mistakes[0].message += f" Your code raised NameError: {'a_long_name_' * 12}."
    points = {grade_id(v.exercise): v.score for v in graded.verdicts}
    first = grade_id(graded.verdicts[0].exercise)
    standing = Standing(
        points={**points, first: 0.5},
        most={grade_id(v.exercise): v.max_score for v in graded.verdicts},
        decided=frozenset({first}),
        comments={first: "Say **what** changes in `dim`, and see [the notes](https://example.org)."},
        penalty=0.5,
        late=86_400.0,
    )
    return feedback.page(graded, standing)


def report_page(folder):
    """HTML of a class report on three students; its gradebook is in ``folder``."""
    with GradebookWriter(f"sqlite:///{folder}/gradebook.db", "transformer-anatomy") as writer:
        for i, (student, wrong) in enumerate({"ada": (), "bob": (0, 2), "eve-with-a-rather-long-name": (0,)}.items()):
            writer.write(submission(student, wrong), f"{i:064x}", "v")
        rows, results = report.summarize(writer.results())
    alike = similar.Pair(("ada", "bob"), (SPECS[0].id, SPECS[1].id), 3, 0.9, 8.0, ("my_helper", "# as in the book"))
    return report.page(
        rows,
        results,
        link=lambda result: f"feedback/{result['student']}.html",
        absent={ATTENTION: ["zoe"]},
        unstored=[("zed", "99-nothing", "no_unit", "There is no unit 99-nothing.")],
        hints="".join(similar.section({ATTENTION: [alike]})),
    )
