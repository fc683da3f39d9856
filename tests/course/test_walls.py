"""The wall between the learner's wing (course/, assets/) and the staff wing (solutions/, autograder/)."""

import ast
import importlib
import json
import re
import subprocess
from pathlib import Path

import pytest
from anatomy import evaluate

from autograder import ROOT, exercises
from tests.imports import Imports

# Each room imports only rooms listed before it; the learner's package has its own rooms.
LEARNERS = """system program judge progress figures notebook models language experiments atlas drawings widgets app
    parts drill""".split()
GRADING = "base source intake judging book pages workers nbgrader".split()
TOP = ("__init__", "__main__", "cost", "elsewhere", "moved", "plots", "toys")  # imported by notebooks and systems
ORDER = """anatomy chromium sandbox judge reference exercises settings notebooks messages mutation recording grading
    classes languages measured build authoring course_table site course_uses""".split()
RELEASED = sorted((ROOT / "course").glob("*/*.ipynb"))
SOURCES = sorted((ROOT / "solutions").glob("*/*.ipynb"))


def code_cells(path):
    return [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]


def text_of(cell):
    return "".join(cell["source"])


def solution_lines(path):
    """Lines inside solution regions of a source notebook that are long enough to identify them."""
    lines = set()
    for cell in code_cells(path):
        for region in re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", text_of(cell), re.S):
            lines |= {line.strip() for line in region.split("\n") if len(line.strip()) >= 30}
    return lines


@pytest.fixture(scope="module")
def stated():
    """dict file → files that its import statements name, for the learners' and the staff's code without tests."""
    read = Imports(ROOT)
    return {path: read.stated(path) for path in read.files if path.startswith(("autograder/", "course/"))}


def within(folder, path):
    """A file's room in ``folder``: ``judge`` for ``course/anatomy/judge/naming.py``, "" for a file at the top."""
    inner = path.removeprefix(folder)
    return inner.split("/")[0] if "/" in inner else ""


def room_of(path):
    """``judge`` for ``autograder/judge/spec.py``; None for ``autograder/__init__.py``."""
    if path.startswith("course/"):
        return "anatomy"
    name = path.split("/")[1].removesuffix(".py")
    return None if name == "__init__" else name


def test_imports_point_one_way(stated):
    place = {room: at for at, room in enumerate(ORDER)} | {None: -1}
    assert set(map(room_of, stated)) == set(place)
    assert all(stated[f"autograder/{name}"] for name in ("notebooks/source.py", "site/build.py"))
    back = [(a, b) for a in stated for b in stated[a] if b in stated and place[room_of(b)] > place[room_of(a)]]
    assert not back


@pytest.mark.parametrize("folder, order", [("course/anatomy/", LEARNERS), ("autograder/grading/", GRADING)])
def test_rooms_of_a_package_import_one_way(stated, folder, order):
    files = {p for p in stated if p.startswith(folder)}
    assert {within(folder, p) for p in files} == {"", *order}
    place = {room: at for at, room in enumerate(order)}
    pairs = [(a, b) for a in files for b in stated[a] & files if within(folder, a) and within(folder, b)]
    assert len(pairs) > 100 and not [p for p in pairs if place[within(folder, p[1])] > place[within(folder, p[0])]]


def test_files_of_the_top_only_say_where_something_is(stated):
    """Notebooks import them; rooms import only ``__init__`` from the top, for the version."""
    top = {p for p in stated if p.startswith("course/anatomy/") and not within("course/anatomy/", p)}
    assert {Path(p).stem for p in top} == {*TOP}
    named = {b for a in stated if a.startswith("course/anatomy/") and a not in top for b in stated[a] & top}
    assert named == {"course/anatomy/__init__.py"}


def test_no_two_files_import_each_other(stated):
    assert not [(a, b) for a in stated for b in stated[a] if b > a and a in stated.get(b, ())]


def test_there_is_something_to_guard():
    assert len(RELEASED) >= 3 and len(SOURCES) >= 3
    assert any(solution_lines(p) for p in SOURCES), "no solution text found: is the pattern stale?"


def test_learner_code_imports_nothing_from_the_staff():
    for path in sorted((ROOT / "course").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            staff = {n.split(".")[0] for n in names} & {"autograder", "solutions", "tests"}
            assert not staff, f"{path.name} imports {staff}"


def test_learner_package_runs_where_the_staff_wing_does_not_exist(tmp_path):
    """Imports it from a copy of only course/ and assets/, with everything else out of reach."""
    subprocess.run(["cp", "-r", str(ROOT / "course"), str(ROOT / "assets"), str(tmp_path)], check=True)
    code = (
        "import sys; sys.path = [p for p in sys.path if 'site-packages' in p or 'lib/python' in p]; "
        f"sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f)]; "
        f"sys.path.insert(0, {str(tmp_path / 'course')!r}); "
        "import anatomy, anatomy.widgets, importlib.util; "
        f"assert anatomy.__file__.startswith({str(tmp_path)!r}), anatomy.__file__; "
        "v = anatomy.evaluate('start.weighted_average', lambda values, weights: weights @ values / weights.sum()); "
        "assert v.passed, v.text(); assert 'autograder' not in sys.modules"
    )
    import sys

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", RELEASED, ids=lambda p: p.stem)
def test_released_notebooks_hold_no_solution(path):
    text = "\n".join(text_of(c) for c in json.loads(path.read_text())["cells"])
    for marker in ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN", "autograder."):
        assert marker not in text, f"{marker} in {path.name}"
    source = ROOT / "solutions" / path.parent.name / path.name
    if not source.exists():
        return
    answers = {text_of(c) for c in code_cells(source) if "BEGIN SOLUTION" in text_of(c)}
    released = [text_of(c) for c in code_cells(path)]
    # A line that the source also shows outside its solution regions (in prose or a worked example) is no secret.
    shown = "\n".join(
        re.sub(r"### BEGIN SOLUTION\n.*?### END SOLUTION", "", text_of(c), flags=re.S)
        for c in json.loads(source.read_text())["cells"]
    )
    leaked = [line for line in solution_lines(source) if line not in shown and any(line in r for r in released)]
    assert answers and not leaked, leaked


@pytest.mark.parametrize("path", RELEASED + SOURCES, ids=lambda p: f"{p.parts[-3]}-{p.stem}")
def test_committed_notebooks_have_no_outputs_and_no_widget_state(path):
    book = json.loads(path.read_text())
    assert "widgets" not in book["metadata"], "saved widget state destroys the PNG fallback"
    for cell in code_cells(path):
        assert cell["outputs"] == [] and cell["execution_count"] is None


def namesakes():
    """Yields (file, exercise, name) for each definition of the package whose name an exercise asks for."""
    asked = {(t, e.id) for e in exercises.all_exercises() for t in e.targets}
    assert {"apply_rope", "scaled_dot_product_attention"} <= {t for t, _ in asked}
    for path in sorted((ROOT / "course" / "anatomy").rglob("*.py")):
        defined = {n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        yield from ((path, exercise, name) for name, exercise in sorted(asked) if name in defined)


def test_nothing_that_learners_write_stands_in_the_learner_wing():
    """Names like ``train`` and ``merge`` are common: code with an answer's name must not pass as the answer."""
    for path, exercise, name in namesakes():
        parts = path.relative_to(ROOT / "course").with_suffix("").parts
        module = importlib.import_module(".".join(p for p in parts if p != "__init__"))
        spec = exercises.get(exercise)
        references = spec.reference if isinstance(spec.reference, tuple) else (spec.reference,)
        others = dict(zip(spec.targets, references, strict=True))
        verdict = evaluate(exercise, *(others | {name: getattr(module, name)}).values())
        assert not verdict.passed, f"{path.relative_to(ROOT)} defines {name}, which solves {exercise}"


def test_an_answer_in_the_learner_wing_would_be_found():
    """Runs the check above on a function that does solve its exercise."""
    spec = exercises.get("rope.apply_rope")
    assert evaluate("rope.apply_rope", spec.reference).passed
