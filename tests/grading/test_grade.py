"""One submission from bytes to verdicts: the order in which cells count, and what a hang, a crash or a flood costs."""

import json
import math
import os
import re
import subprocess
import sys
import time
from dataclasses import replace

import nbformat
import pytest
import torch
from anatomy.program.records import load
from nbgrader.utils import determine_grade

from autograder import ROOT, exercises
from autograder.grading.base.masters import MARK, gradable_units, master, source_notebook_path
from autograder.grading.book.standing import Standing
from autograder.grading.intake.rebuild import read_submission, rebuild
from autograder.grading.judging import contained, grade, sessions
from autograder.grading.judging.execution import order_matters
from autograder.grading.judging.results import GradedNotebook
from autograder.grading.judging.submitted import Submitted, of_bytes
from autograder.grading.pages import feedback
from autograder.grading.source.signs import evades_ban, signs_of
from autograder.judge import drawing, examples, trusted
from autograder.judge.drawing import draw_record, student_key
from autograder.notebooks.first_cell import FIRST_CELL
from autograder.sandbox import SandboxedSession, Zygote
from autograder.sandbox.disposable import Budget

from .cheats.base import ATTENTION, SOLVE, SOLVE_SOFTMAX, START, code_cell, find, insert_before, released

RIGHT = "def weighted_average(values, weights):\n    return weights @ values / weights.sum()\n"
KEY = student_key("secret", "ada", START)


def graded(book, sandbox, unit=START) -> GradedNotebook:
    return grade.grade(of_bytes(json.dumps(book).encode(), unit, "ada", KEY), sandbox)


def with_answer(source, *before, after=()):
    book = released()
    find(book, SOLVE)["source"] = source
    for cell in before:
        insert_before(book, SOLVE, code_cell(cell))
    book["cells"] += [code_cell(c) for c in after]
    return book


# Refuses to import these modules, and leaves no name behind. (An ImportError could be passed over.)
REFUSE = """__import__("sys").meta_path.insert(0, type("Refused", (), {{"find_spec": staticmethod(
    lambda name, *_: (_ for _ in ()).throw(RuntimeError({why!r})) if name in {names!r} else None)}}))
"""
UNKNOWN = "a slow import that sessions.NEEDED_BY does not list for this unit"


@pytest.fixture(scope="module")
def lean(sandbox):
    """unit → function that opens a sandbox in which only those slow modules that it needs can be imported."""
    slow = {module for modules in sessions.NEEDED_BY.values() for module in modules}
    with Zygote(sessions.WARM, python_path=[str(sessions.COURSE)]) as zygote:

        def opened(unit):
            session = SandboxedSession(zygote, sessions.LIMITS, seed=sessions.SEED)
            assert session.execute(REFUSE.format(names=slow - {*sessions.NEEDED_BY.get(unit, ())}, why=UNKNOWN)).ok
            return session

        yield lambda unit: lambda: opened(unit)


def test_what_a_unit_is_not_known_to_need_is_refused(lean):
    with lean("00-start-here")() as session:
        assert session.execute("import sympy").error_text == UNKNOWN


@pytest.mark.parametrize("unit", gradable_units())
def test_the_solved_notebook_gets_full_marks_and_the_released_one_none(unit, lean, monkeypatch):
    """In a third of the grader's time: a slower or busy machine must not cost a learner points. No submission waits for
    a slow import that it doesn't need, or that is not known: then the grader makes it once."""
    sandbox = lean(unit)
    whole = Budget()
    monkeypatch.setattr(contained, "BUDGET", Budget(whole.step_seconds / 3, whole.cpu_seconds // 3))
    key = student_key("secret", "ada", unit)
    data = (ROOT / "solutions" / unit / f"{unit}.ipynb").read_bytes()
    solved = contained.grade(of_bytes(data, unit, "ada", key), sandbox)
    assert all(v.passed for v in solved.verdicts), [v.text() for v in solved.verdicts if not v.passed]
    assert solved.score == sum(e.points for e in master(unit).exercises) and solved.max_score == master(unit).points
    assert not solved.signs and not solved.notes
    blank = contained.grade(of_bytes(json.dumps(released(unit)).encode(), unit, "ada", key), sandbox)
    assert blank.score == 0
    first = {v.exercise: v.mistakes[0] for v in blank.verdicts}
    stubs = {name for name, mistake in first.items() if mistake.name == "generic.not_written"}
    for mistake in (first[name] for name in first.keys() - stubs):  # an answer that calls an unwritten one
        needed = re.search(r"uses your answer to ([a-z_]+\.[a-z0-9_]+), which is not written", mistake.message)
        assert mistake.name == "generic.needs_another" and needed and needed[1] in stubs, mistake


@pytest.mark.parametrize("capability", ["default", "avx2"])
def test_known_mistakes_are_read_and_not_run_on_every_processor(capability):
    """Running the known mistakes of a whole model takes longer than a child of the grader may run."""
    script = (
        "from autograder import exercises\nfrom autograder.judge.examples import public_record\n"
        "for e in exercises.of_unit('11-assembly') + exercises.of_unit('09-sparse-attention'):\n"
        "    for c in public_record(e).cases:\n"
        "        missing = {m.name for m in e.mutants} - c.outcomes.keys()\n"
        "        assert c.is_large or not missing, (e.id, c.name, missing)\n"
    )
    paths = os.pathsep.join([str(ROOT), str(ROOT / "course")])
    env = {**os.environ, "ATEN_CPU_CAPABILITY": capability, "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_inputs_of_another_draw_are_not_taken_for_the_recorded_ones():
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    assert drawing._nearly(x, torch.nextafter(x, x + 1)) and drawing._nearly(x * math.nan, x * math.nan)
    for other in (x + 1e-3, x.double(), x[:2], x.flip(0)):
        assert not drawing._nearly(x, other)


def test_examples_that_would_be_drawn_alike_are_read_and_nothing_runs_for_them(monkeypatch):
    """That is half of the start of grading in unit 11. A case with another recording is drawn."""
    exercise = exercises.get("attention.softmax")
    drawn = draw_record(exercise, with_mutants=False)
    ran = []
    run = drawing.runner.run_program
    monkeypatch.setattr(drawing.runner, "run_program", lambda *given: ran.append(1) or run(*given))
    monkeypatch.setattr(examples, "_public", {})
    read = examples.public_record(exercise)
    assert not ran and [c.name for c in read.cases] == [c.name for c in drawn.cases]
    assert all(c.outcomes.keys() > {"expected"} for c in read.cases), "the known mistakes come with them"
    changed = [replace(load(exercise.id).cases[0], weight=7.0), *load(exercise.id).cases[1:]]
    monkeypatch.setattr(examples, "load", lambda _id: replace(load(_id), cases=changed))
    monkeypatch.setattr(examples, "_public", {})
    assert examples.public_record(exercise).cases[0].weight == drawn.cases[0].weight and ran


def test_naming_a_mistake_on_fresh_inputs_has_an_end():
    """Each of a whole model's known mistakes is a model to run: as many as fit are tried, the others are left out."""
    exercise = exercises.get("assembly.decoder")
    record = draw_record(exercise, b"ada", with_mutants=False, graded=True)
    began = time.process_time()
    assert trusted._run_mutants(record, exercise, "cpu", seconds=0.5)
    assert time.process_time() - began < 4
    tried = [set(c.outcomes) for c in record.cases if not c.is_large]
    assert 1 < len(tried[0]) < len(exercise.mutants) and all(names == tried[0] for names in tried)


def test_a_regrade_gives_the_same_result(sandbox):
    book = with_answer("import torch\ndef weighted_average(values, weights):\n    return values[0] + torch.rand(1)")
    first, second = graded(book, sandbox), graded(book, sandbox)
    for a, b in zip(first.verdicts, second.verdicts, strict=True):
        assert (a.score, a.text()) == (b.score, b.text())


def test_nbgrader_reads_the_score_that_the_judge_gave(sandbox):
    for source, want in ((RIGHT, 1.0), ("def weighted_average(values, weights):\n    return 0", 0.0)):
        notebook = graded(with_answer(source), sandbox).notebook
        check = next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade"))
        assert determine_grade(check) == (want, 1.0)


def test_the_words_are_those_of_the_instant_check(sandbox):
    result = graded(with_answer("def weighted_average(values, weights):\n    return weights @ values"), sandbox)
    from anatomy import evaluate

    instant = evaluate("start.weighted_average", lambda values, weights: weights @ values)
    assert result.verdicts[0].html() == instant.html() and result.verdicts[0].text() == instant.text()
    assert instant.html() in feedback.page(result)


def test_a_helper_in_a_cell_of_ones_own(sandbox):
    answer = "def weighted_average(values, weights):\n    return total(values, weights) / weights.sum()"
    helper = "def total(v, w):\n    return w @ v"
    assert graded(with_answer(answer, helper), sandbox).score == 1
    below = graded(with_answer(answer, after=[helper]), sandbox)
    assert below.score == 1, "cells may have been run in another order"


def test_a_name_that_is_bound_twice_counts_as_it_was_at_the_check(sandbox):
    answer = "def weighted_average(values, weights):\n    return total(values, weights) / weights.sum()"
    good, bad = "def total(v, w):\n    return w @ v", "def total(v, w):\n    return v"
    assert graded(with_answer(answer, good, after=[bad]), sandbox).score == 1
    assert graded(with_answer(answer, bad, after=[good]), sandbox).score == 0
    assert graded(with_answer(RIGHT, after=["def weighted_average(v, w):\n    return 0"]), sandbox).score == 1


CHECK = object()


def cells_of(*sources):
    """Code cells with these sources; CHECK stands for a check."""
    of_role = lambda role: {MARK: {"role": role}}
    return [
        nbformat.v4.new_code_cell("check(…)", metadata=of_role("check"))
        if source is CHECK
        else nbformat.v4.new_code_cell(source, metadata=of_role("extra"))
        for source in sources
    ]


def test_order_matters_only_for_names_that_functions_use():
    use = "def f():\n    return x"
    assert not order_matters(cells_of("x = 1", CHECK, "x = 2", "def f(x):\n    return x"))
    assert order_matters(cells_of("x = 1", use, CHECK, "x = 2"))
    assert not order_matters(cells_of("import torch", CHECK, "import torch", "def f():\n    return torch.pi"))
    assert not order_matters(cells_of("%time x = 1", CHECK, "!ls", "y = 2"))
    assert order_matters(cells_of("def f(:"))
    assert order_matters(cells_of("f = 1", CHECK, "f = 2"), {"f"})


def test_a_stand_in_that_no_check_saw_makes_no_order():
    """Unit 11 defines one for each part that is brought: asking its checks one by one cost seconds."""
    use = "def f():\n    return x"
    assert not order_matters(cells_of(CHECK, "x = 1", "x = 2", use, CHECK, CHECK))
    assert order_matters(cells_of("x = 1", CHECK, "y = 2", "x = 2", use, CHECK))
    assert order_matters(cells_of("x = 1", "x = 2", use, CHECK, "x = 3"))


@pytest.mark.parametrize("unit", exercises.units())
def test_no_unit_is_asked_step_by_step_because_of_the_course(unit):
    """Step by step, unit 11 took three times as long for every student, solved or not."""
    notebook = rebuild(source_notebook_path(unit).read_bytes(), unit).notebook
    assert not order_matters(notebook.cells, {t for e in exercises.of_unit(unit) for t in e.targets})


@pytest.mark.parametrize(
    "cell",
    [
        "while True:\n    pass",
        "import os\nos._exit(1)",
        "raise ValueError('mine')",
        "def broken(:",
        "import sys\nsys.exit(0)",
        "print('x' * 10**8)",
    ],
)
def test_a_cell_that_goes_wrong_costs_itself_alone(cell, sandbox, impatient):
    result = graded(with_answer(RIGHT, cell), sandbox)
    assert result.score == 1
    odd = next(c for c in result.notebook.cells if c.source == cell)
    output = result.outputs[odd.id]
    assert output.error or "cut by the grader" in output.text
    assert len(output.text) < 100_000


@pytest.mark.parametrize(
    "body, name",
    [("while True:\n        pass", "generic.timeout"), ("__import__('os')._exit(1)", "generic.process_ended")],
)
def test_an_exercise_that_ends_the_process_costs_that_exercise_alone(body, name, sandbox, impatient):
    book = json.loads((ROOT / "solutions" / ATTENTION / f"{ATTENTION}.ipynb").read_text())
    find(book, SOLVE_SOFTMAX)["source"] = f"import torch\ndef softmax(x, dim=-1):\n    {body}\n"
    result = graded(book, sandbox, ATTENTION)
    zero = [v for v in result.verdicts if not v.passed]
    assert zero[0].exercise == "attention.softmax" and zero[0].mistakes[0].name == name
    # Exercises whose own solution calls softmax fail with it; all others keep their points.
    assert result.score >= result.max_score / 2
    assert "resources" in {s.technique for s in result.signs}


def test_an_answer_cell_that_does_not_parse_is_explained(sandbox):
    result = graded(with_answer("def weighted_average(values, weights)\n    return 0"), sandbox)
    assert result.verdicts[0].mistakes[0].name == "generic.cell_raised"
    assert "SyntaxError" in result.verdicts[0].mistakes[0].message


def test_an_absent_answer_is_explained(sandbox):
    book = released()
    book["cells"].remove(find(book, SOLVE))
    result = graded(book, sandbox)
    assert result.score == 0 and result.verdicts[0].mistakes[0].name == "generic.cell_missing"
    assert "not in the submission" in feedback.page(result)


@pytest.mark.parametrize(
    "source, name",
    [
        ("weighted_average = 3", "generic.signature"),
        ("def weighted_average(a):\n    return a", "generic.signature"),
        (
            "def weighted_average(values, weights):\n    return (weights @ values / weights.sum()).half()",
            "generic.dtype",
        ),
        ("def weighted_average(values, weights):\n    return values[0] * float('nan')", "generic.nan"),
        ("def weighted_average(values, weights):\n    return [1, 2]", "generic.type"),
        (
            "def weighted_average(values, weights):\n    return (weights @ values / weights.sum()).numpy()",
            "generic.type",
        ),
        ("def average(values, weights):\n    return weights @ values / weights.sum()", "generic.missing"),
        ("def weighted_average(values, weights):\n    values *= 0\n    return values[0]", None),
    ],
)
def test_wrong_kinds_of_answers_are_named(source, name, sandbox):
    verdict = graded(with_answer(source), sandbox).verdicts[0]
    assert verdict.score == 0 and verdict.mistakes
    if name:
        assert verdict.mistakes[0].name == name, verdict.text()


def test_a_name_is_written_as_it_is_written_in_code(sandbox):
    shown = graded(with_answer("def average(v, w):\n    return v"), sandbox).verdicts[0].text()
    assert "no weighted_average" in shown and "Weighted_average" not in shown
    shown = graded(with_answer("1 / 0\n" + RIGHT), sandbox).verdicts[0].text()
    assert "ZeroDivisionError" in shown and "renamed" not in shown


def test_a_broken_file_is_explained_once_and_no_case_is_called_failing(sandbox):
    page = feedback.page(
        grade.grade(of_bytes(b"PK", ATTENTION, "ada", KEY), sandbox),
        Standing(comments={"solve-attention-softmax": "See me."}),
    )
    assert page.count("cannot be read as JSON") == 1 and "Smallest failing case" not in page
    assert "See me." in page and page.count("<h2") == 1 and page.count("not graded") == len(master(ATTENTION).exercises)


def test_pages_show_two_decimals(sandbox):
    result = graded(with_answer(RIGHT), sandbox)
    assert "0.67 of 1 point" in feedback.page(result, Standing(points={"check-start-weighted_average": 2 / 3}))


def test_a_file_that_is_not_there(tmp_path, sandbox):
    read = lambda: rebuild(read_submission(tmp_path / "no.ipynb"), START)
    result = grade.grade(Submitted(START, "ada", KEY, read), sandbox)
    assert result.score == 0 and result.max_score == 1 and result.problem[0] == "submission.missing"
    assert "no file" in feedback.page(result)


def test_student_text_cannot_become_html(sandbox):
    script = "<script>alert(1)</script>"
    book = with_answer(
        f"# {script}\nprint({script!r})\ndef weighted_average(values, weights):\n    raise ValueError({script!r})",
        f"{script!r}",
    )
    page = feedback.page(graded(book, sandbox), Standing(comments={SOLVE: script}, penalty=0.5))
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "Taken off for a late submission: 0.5 points." in page


@pytest.mark.parametrize(
    "line, evades",
    [
        ("exit()", False),
        ("from types import SimpleNamespace", False),
        ("from types import FunctionType", True),
        ("import gc", True),
    ],
)
def test_what_could_hide_a_forbidden_built_in(line, evades):
    assert bool(evades_ban(signs_of(line, "cell"))) is evades


def test_a_wrong_answer_that_raises_where_it_should_is_no_sign_of_cheating(sandbox):
    book = json.loads((ROOT / "solutions" / ATTENTION / f"{ATTENTION}.ipynb").read_text())
    cell = find(book, "solve-attention-split_heads")
    head, _, _ = "".join(cell["source"]).rpartition("return ")
    cell["source"] = head + "return None"
    result = graded(book, sandbox, ATTENTION)
    assert "generic.examples_alone" in {m.name for v in result.verdicts for m in v.mistakes}, "the case to be tested"
    assert not result.signs


def test_honest_sources_carry_no_signs():
    for path in sorted((ROOT / "solutions").glob("*/*.ipynb")):
        for cell in json.loads(path.read_text())["cells"]:
            if cell["cell_type"] == "code" and cell["id"] != FIRST_CELL:  # the first cell never runs while grading
                assert not signs_of("".join(cell["source"]), cell["id"]), path.name
