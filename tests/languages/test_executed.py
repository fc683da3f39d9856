"""The solved Chinese notebooks are run: none of their outputs has an English sentence that is not there on purpose."""

import html
import json
import re
import tomllib

import nbformat
import pytest
from nbclient import NotebookClient

from autograder import ROOT, exercises
from autograder.languages import notebooks
from autograder.notebooks.source import read_unit

from ..conftest import every_one

CHINESE = "zh_CN"
USUAL = ("00-start-here", "02-normalization")
LIST = tomllib.loads((ROOT / "docs" / "english.zh_CN.toml").read_text(encoding="utf-8"))
RUN = re.compile(r"(?:\b[A-Za-z][A-Za-z’'-]*[ ,:;]+){2,}[A-Za-z’'-]{2,}")
WORD = re.compile(r"\b[a-z][a-z’'-]+")
VALUES = {"nan", "inf"}
ON_PURPOSE = re.compile("|".join([r"“[^”]*”|（[^）]*）|<[^>]*>", *map(re.escape, LIST["examples"]), *LIST["printed"]]))
WRITES = re.compile(rf"\b({'|'.join(LIST['writers'])})[(\[]")


@pytest.fixture(scope="module")
def solved_units(tmp_path_factory):
    """A folder with all solved Chinese notebooks, since later units take answers from earlier ones."""
    folder = tmp_path_factory.mktemp("solved")
    for unit in exercises.units():
        book = notebooks.notebook(unit, CHINESE, notebooks.lookup_of(CHINESE, unit))
        answers = {c["id"]: c.source for c in read_unit(unit)[0].cells if c["id"].startswith("solve-")}
        for cell in book.cells:
            cell["source"] = answers.get(cell["id"], cell.source)
        (folder / unit).mkdir()
        nbformat.write(book, folder / unit / f"{unit}.ipynb")
    return folder


@pytest.mark.xdist_group("executed")
@pytest.mark.parametrize("unit", exercises.units())
def test_a_solved_chinese_unit_runs_and_shows_no_english_sentence(unit, request, tmp_path, monkeypatch):
    """In a kernel of its own, as a learner runs it once all answers are written."""
    if unit not in USUAL and not every_one(request.config):
        pytest.skip("with --all or --unit: running it takes up to a minute")
    solved_units = request.getfixturevalue("solved_units")
    monkeypatch.setenv("ANATOMY_RUN_ALL", "1")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    book = nbformat.read(solved_units / unit / f"{unit}.ipynb", as_version=4)
    place = {"metadata": {"path": str(solved_units / unit)}}
    NotebookClient(book, timeout=300, kernel_name="python3", resources=place).execute()
    outputs = json.dumps([c.get("outputs", []) for c in book.cells], ensure_ascii=False)
    assert '"output_type": "error"' not in outputs and re.search("[\u4e00-\u9fff]", outputs)
    left = english_left(book)
    assert not left, f"{len(left)} sentences of a Chinese page are English:\n" + "\n".join(left)


def english_left(book):
    """Texts that outputs show with three English words in a row, two of them no names."""
    left = []
    for cell in book.cells:
        if cell.cell_type == "code" and not WRITES.search(cell.source):
            for text in (text for output in cell.get("outputs", []) for text in shown(output)):
                runs = RUN.findall(ON_PURPOSE.sub("·", text))
                left += [f"{cell['id']}: {text}"] if any(len({*WORD.findall(r)} - VALUES) > 1 for r in runs) else []
    return left


def shown(output):
    """The texts of an output: lines that were printed, and what stands in the elements of a page."""
    yield from output.get("text", "").splitlines()
    value = output.get("data", {}).get("text/plain", "")
    if value[:1] in "'{":  # of a cell's last line: other values have a page of their own
        yield value
    page = output.get("data", {}).get("text/html", "")
    for told in re.findall(r'(?:alt|aria-label)="([^"]+)"', page):
        page += f"<p>{told}</p>"
    page = re.sub(r"<(style|script|pre|code)\b.*?</\1>", " ", page, flags=re.S)
    yield from map(html.unescape, re.findall(r">([^<>]+)<", page))


def test_an_english_sentence_in_a_chinese_output_is_found():
    page = '<p>读作“one two three”</p><img alt="An old plot">'
    outputs = [
        nbformat.v4.new_output("display_data", data={"text/html": page}),
        nbformat.v4.new_output("stream", text="损失 2.5\nthe loss is large\n"),
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", id="c", outputs=outputs)])
    assert english_left(book) == ["c: An old plot", "c: the loss is large"]
