"""Every notebook follows the course's rules. (``tests/browser`` runs the notebooks with their solutions.)"""

import ast
import re
from statistics import median

import nbformat
import pytest
from anatomy.program import units
from anatomy.program.units import cell_id, core_minutes

from autograder import ROOT, exercises
from autograder.authoring.review import words
from autograder.notebooks.first_cell import FIRST_CELL

UNITS = exercises.units()


def source(unit):
    return nbformat.read(ROOT / "solutions" / unit / f"{unit}.ipynb", as_version=4)


@pytest.mark.parametrize("unit", UNITS)
def test_cells_are_short(unit):
    book = source(unit)
    lengths = [len(c.source.split("\n")) for c in book.cells if c.cell_type == "code"]
    assert median(lengths) <= 8 and max(lengths) <= 30, f"median {median(lengths)}, longest {max(lengths)}"
    long = [
        c.source[:60]
        for c in book.cells
        if c.cell_type == "markdown"
        and not c.id.startswith(("hint-", "questions", "written-"))
        and words(re.sub(r"\n\n\*Evidence: .*$", "", c.source)) > 100
    ]
    assert not long, f"text cells over 100 words: {long}"


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_has_its_parts(unit):
    text = "\n".join(c.source for c in source(unit).cells)
    assert "You will be able to" in text and "Prerequisites" in text
    assert re.search(r"\*\*Time:\*\*.*(minutes|hour)", text), "say how long it takes"
    for part in (
        "predict(",
        "reveal(",
        "Claim on trial",
        "Worked example",
        "Where this lives in real models",
        "progress(",
    ):
        assert part.lower() in text.lower(), f"{unit} lacks: {part}"
    assert f'quiz("{unit}")' in text and len(units.load(unit)["quizzes"]) >= 5 and "uzzle" in text
    assert "arxiv.org/abs/" in text


@pytest.mark.parametrize("unit", UNITS[1:])
def test_the_core_path_is_two_sittings_at_most(unit):
    """It takes 60 to 170 minutes, with reading; the unit's first cell states its time and that of the extensions."""
    text = units.load(unit)
    core = [e for e in text["exercises"] if not e["extension"]]
    more = [e for e in text["exercises"] if e["extension"]]
    minutes = core_minutes(text)
    assert 60 <= minutes <= 170, f"{minutes} minutes"
    said = source(unit).cells[0].source
    assert f"about {minutes} minutes for the core path ({len(core)} exercises)" in said
    assert (minutes > 100) == ("in two sittings with a break before section" in said)
    assert not more or f"more for the extensions ({len(more)} exercise" in said


@pytest.mark.parametrize("unit", UNITS)
def test_extensions_block_nothing(unit):
    """No cell of the core path uses a name that only an extension defines."""
    aside, core, extra, blocked = set(units.load(unit)["extension_cells"]), set(), set(), []
    for cell in (c for c in source(unit).cells if c.cell_type == "code"):
        bound, used = names_of(cell.source)
        if cell.id in aside:
            extra |= bound
        else:
            core |= bound
            blocked += [f"{n} in {cell.source[:50]!r}" for n in used & extra - core]
    assert not blocked, blocked


def names_of(code):
    """(names that a cell binds, names that it uses)."""
    bound, used = set(), set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound |= {(a.asname or a.name).split(".")[0] for a in node.names}
    return bound, used


@pytest.mark.parametrize("unit", UNITS)
def test_answers_are_folded_away_and_nothing_else_is(unit):
    for path in (ROOT / "solutions" / unit / f"{unit}.ipynb", ROOT / "course" / unit / f"{unit}.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.id == FIRST_CELL:
                continue  # does nothing on the learner's own computer; tested in tests/elsewhere/
            holds = cell.cell_type == "code" and re.search(r"^reveal\(", cell.source, flags=re.M)
            assert bool(holds) == cell.metadata.get("jupyter", {}).get("source_hidden", False), cell.source
            if holds:  # JupyterLab still shows the first line
                first = cell.source.split("\n")[0]
                assert re.fullmatch(r'reveal\("[\w.]+",', first), first


@pytest.mark.parametrize("unit", UNITS)
def test_questions_can_be_read_without_a_kernel_and_tell_no_answer(unit):
    book = nbformat.read(ROOT / "course" / unit / f"{unit}.ipynb", as_version=4)
    cells, text = {c.id: c for c in book.cells}, units.load(unit)
    for prediction in text["predictions"]:
        asked, call = (cells[cell_id(kind, prediction["id"])].source for kind in ("ask", "predict"))
        shown = asked.replace("\\", "")
        assert prediction["question"] in shown and all(o in shown for o in prediction["options"])
        assert call == f'predict("{prediction["id"]}")'
        ids = [c.id for c in book.cells]
        gap = ids.index(cell_id("reveal", prediction["id"])) - ids.index(cell_id("predict", prediction["id"]))
        assert gap >= 1 and (gap == 1) == prediction["adjacent"]
    shown = cells["questions"].source.replace("\\", "")
    for quiz in text["quizzes"]:
        assert quiz["question"] in shown and all(c["text"] in shown for c in quiz["choices"])
        assert not any(c["why"] in shown for c in quiz["choices"])
    assert cells["quiz"].source == f'quiz("{unit}")'


@pytest.mark.parametrize("unit", UNITS)
def test_a_hint_can_be_seen_only_when_the_one_before_is_open(unit):
    hints = [c.source for c in source(unit).cells if c.id.startswith("hint-")]
    assert len(hints) == len(units.load(unit)["exercises"])
    for text in hints:
        places = [text.index(f"<summary>Hint {n}:") for n in (1, 2, 3)]
        assert places == sorted(places) and text.count("<details>") == 3
        assert "</details>" not in text[: places[2]] and text.endswith("</details>\n</details>\n</details>")


@pytest.mark.parametrize("unit", UNITS)
def test_a_stub_gives_nothing_away(unit):
    """Its error only names the exercise; the statement says what to write, and the hints say how."""
    book = nbformat.read(ROOT / "course" / unit / f"{unit}.ipynb", as_version=4)
    stubs = [c.source for c in book.cells if c.id.startswith("solve-")]
    for text in stubs:
        if re.match(r"parts\.bring\([^()]*\)", text):
            continue  # the answer is code of earlier units, and this line fetches the learner's
        said = re.findall(r"raise NotImplementedError\((.*)\)", text)
        assert said and all(re.fullmatch(r'"[a-z_]+\.[a-z0-9_]+: your code goes here"', s) for s in said), said


@pytest.mark.parametrize("unit", UNITS)
def test_images_have_alt_text_and_nothing_comes_from_elsewhere(unit):
    for cell in source(unit).cells:
        if cell.cell_type == "markdown":
            assert not re.search(r"!\[\]\(", cell.source), "an image without alt text"
            assert not re.search(r"!\[[^\]]*\]\(https?:", cell.source), "an image from the network"
            assert "<img" not in cell.source or 'alt="' in cell.source
        else:
            assert not re.search(r"urlopen|requests\.|wget|from_pretrained|load_dataset", cell.source)
            assert "plt.show()" not in cell.source, "show figures with described(...), which carries alt text"


@pytest.mark.parametrize("unit", UNITS)
def test_nothing_hangs_on_an_answer_before_the_first_check(unit):
    """Until then the released notebook equals the solved one. (``tests/exercises`` tests the stubs.)"""
    released = nbformat.read(ROOT / "course" / unit / f"{unit}.ipynb", as_version=4)
    at = next(i for i, c in enumerate(released.cells) if c.id.startswith("solve-"))
    for mine, solved in zip(released.cells[:at], source(unit).cells[:at], strict=True):
        assert (mine.id, mine.cell_type, mine.source) == (solved.id, solved.cell_type, solved.source)
    between = [c.id for c in released.cells[at + 1 :] if c.cell_type == "code"]
    assert between[0].startswith("check-"), f"{between[0]} stands between the first answer and its check"
