"""Notebooks in another language: only the text differs; what is not translated is in English and says so."""

import ast
import re

import nbformat
import pytest
from anatomy.app.build_stamp import is_as_built, sign
from anatomy.notebook import claims
from anatomy.program import units
from traitlets.config import Config
from traitlets.utils.importstring import import_item

from autograder import ROOT, exercises
from autograder.grading.book.course import load_course
from autograder.languages import catalogues, notebooks
from autograder.notebooks import wording
from autograder.notebooks.first_cell import FIRST_CELL
from autograder.notebooks.source import read_words, to_json

from .conftest import LANGUAGE, bracketed


def made(unit, lookup, **options):
    return notebooks.notebook(unit, LANGUAGE, lookup, **options)


def english(unit):
    return (ROOT / "course" / unit / f"{unit}.ipynb").read_bytes()


@pytest.mark.parametrize("unit", exercises.units())
def test_english_words_give_the_english_notebook_and_others_change_words_alone(unit):
    same = made(unit, lambda mark: mark.says, spelled=True)
    place = [c["id"] for c in same.cells].index(FIRST_CELL) + 1  # after the cell that installs the package
    first = same.cells.pop(place)
    assert first["id"] == notebooks.SPEAK and first.source.endswith(f'speak("{LANGUAGE}")')
    assert to_json(sign(same, unit)) == english(unit)

    other = made(unit, lambda mark: bracketed(mark.says))
    assert is_as_built(other) and "⟦" in other.cells[0].source
    assert other.cells.pop(place)["id"] == notebooks.SPEAK
    assert [c["id"] for c in other.cells] == [c["id"] for c in same.cells]
    stubs = 0
    for mine, theirs in zip(same.cells, other.cells, strict=True):
        marks, others = (c.metadata.get("nbgrader", {}) for c in (mine, theirs))
        assert {**marks, "checksum": ""} == {**others, "checksum": ""}
        if mine.cell_type == "code":
            assert code(mine.source) == code(theirs.source), mine["id"]
            stubs += "your code goes here" in theirs.source
            if marks.get("locked"):
                assert marks["checksum"] == others["checksum"]
    deciding = {cell for claim in units.load(unit)["claims"] for cell in claim["cells"]}
    assert deciding <= {claims.mark(c.source) for c in other.cells}, "claims are decided in any language"
    assert stubs and sum("⟦" in c.source for c in other.cells) > len(other.cells) / 2


def code(source):
    """The part that runs: the syntax tree without docstrings, or the source of a cell with magics."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return ast.dump(tree)


@pytest.mark.parametrize("unit", ["00-start-here", "01-attention"])
def test_what_is_not_translated_is_english_and_says_so(unit):
    def half(mark):
        return bracketed(mark.says) if len(mark.says) % 2 else None

    book = made(unit, half)
    text = "\n".join(c.source for c in book.cells if c.cell_type == "markdown")
    assert text.count('<div lang="en">') == text.count("<sup>EN</sup>\n\n</div>") > 10 and text.count("⟦") > 10
    assert "</div>\n\n<div" not in text, "one mark for paragraphs that stand together"
    for block in re.findall(r'<div lang="en">(.*?)</div>', text, re.S):
        assert "⟦" not in block or "{" in block or "**Time:**" in block, block
    nothing = made(unit, lambda mark: None)
    assert "<div" in nothing.cells[0].source
    first = [c for c in nothing.cells if c.cell_type == "code"][:2]
    assert [c.id for c in first] == [FIRST_CELL, notebooks.SPEAK] and not any("<div" in c.source for c in first)


def test_a_learners_catalogue_has_nothing_of_the_staffs(entries):
    for unit in exercises.units():
        book, _, _ = read_words(unit)
        answer = next(c for c in book.cells if c["id"] == f"written-{unit}"[:64])
        model, _, scheme = answer.source.partition("### BEGIN MARK SCHEME")
        known = "\n".join(e.english for e in entries[unit])
        secret = [s for s in re.split(r"(?<=[.:]) |\n", model + scheme) if len(s) > 40]
        assert secret and not [s for s in secret if s in known]
        solved = "\n".join(re.findall(r"BEGIN SOLUTION(.*?)### END", "\n".join(c.source for c in book.cells), re.S))
        comments = [c for c in re.findall(r"# (.{15,})", solved) if c not in english(unit).decode()]
        assert not [c for c in comments if c in known]


def test_numbers_of_recordings_are_filled_in_and_not_spelled():
    words = "{{loss_spike.clipping.better:word}} of {{loss_spike.seeds}}"
    marked = wording.line("u", words, "")
    from autograder.notebooks.numbers import fill

    spelled, counted = (
        wording.translated(marked, lambda m: m.says, lambda t, s=s: fill(t, spelled=s)) for s in (True, False)
    )
    assert not spelled[0].isdigit() and counted[0].isdigit() and "{{" not in counted


@pytest.mark.parametrize(
    "source, says",
    [
        ("# A title\n\nSome words.", ["A title", "Some words."]),
        ("## Two\nlines under it", ["Two", "lines under it"]),
        ("Before\n\n$$x = 1$$\n\nafter", ["Before", "after"]),
        ("Look:\n\n```\nno words here\n\nnor here\n```\n\nend", ["Look:", "end"]),
        ("<details>\n\nInside\n\n</details>", ["Inside"]),
    ],
)
def test_paragraphs_are_marked_and_the_rest_stays(source, says):
    marked = wording.paragraphs("u", source)
    assert [m.says for m in wording.marks(marked)] == says
    assert wording.english(marked) == source
    assert all(f"⟦{s}⟧" in wording.translated(marked, lambda m: bracketed(m.says)) for s in says)


def test_languages_and_units_that_there_are_not_are_told(capsys):
    assert notebooks.main(["xx", "--unit", "00-start-here"]) == 2
    assert "no catalogues of 'xx'. Languages: zh_CN" in capsys.readouterr().err
    assert notebooks.main(["zh_CN", "--unit", "99-nothing"]) == 2
    assert "There is no unit '99-nothing'" in capsys.readouterr().err
    assert catalogues.languages() == ["zh_CN"]


def test_nbgraders_release_is_in_the_language_of_the_class():
    """All steps of nbgrader_config.py but those that need nbgrader's database, on nbgrader's own source notebook."""
    unit = "00-start-here"
    steps = load_course(ROOT).config.GenerateAssignment.preprocessors
    assert steps[0] == "autograder.languages.notebooks.InLanguage"

    def handed_out(language):
        book, resources = nbformat.read(ROOT / "solutions" / unit / f"{unit}.ipynb", as_version=4), {}
        for step in steps:
            if not step.endswith("SaveCells"):
                book, resources = import_item(step)(config=Config(Class={"language": language})).preprocess(
                    book, resources
                )
        return to_json(book)

    assert handed_out("en") == english(unit)
    assert handed_out("zh_CN") == notebooks.outputs("zh_CN", [unit])[f"course/{unit}/{unit}.ipynb"]
