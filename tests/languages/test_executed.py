"""The solved Chinese notebooks are run: none of their outputs has an English sentence that is not there on purpose."""

import html
import json
import re
import tomllib

import nbformat
from nbclient import NotebookClient

from autograder import ROOT, exercises
from autograder.languages import notebooks
from autograder.notebooks.source import read_unit

from ..conftest import every_one

CHINESE = "zh_CN"
USUAL = ("00-start-here", "06-rope")  # the others with --all: running a unit takes up to a minute
LIST = tomllib.loads((ROOT / "docs" / "english.zh_CN.toml").read_text(encoding="utf-8"))
WORDS = re.compile(r"(?:\b[A-Za-z][A-Za-z’'-]*[ ,:;]+){2,}[A-Za-z’'-]{2,}")
QUOTED = re.compile(r"“[^”]*”|<[^>]*>")  # Austen's words, and code


def pytest_generate_tests(metafunc):
    if "unit" in metafunc.fixturenames:
        metafunc.parametrize("unit", [u for u in exercises.units() if u in USUAL or every_one(metafunc.config)])


def test_a_solved_chinese_unit_runs_and_shows_no_english_sentence(unit, tmp_path, monkeypatch):
    """In a kernel of its own, as a learner runs it once all answers are written."""
    monkeypatch.setenv("ANATOMY_RUN_ALL", "1")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    book = notebooks.notebook(unit, CHINESE, notebooks.lookup_of(CHINESE, unit))
    answers = {c["id"]: c.source for c in read_unit(unit)[0].cells if c["id"].startswith("solve-")}
    for cell in book.cells:
        cell["source"] = answers.get(cell["id"], cell.source)
    NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = json.dumps([c.get("outputs", []) for c in book.cells], ensure_ascii=False)
    assert '"output_type": "error"' not in outputs and re.search("[\u4e00-\u9fff]", outputs)
    left = english_left(book)
    assert not left, f"{len(left)} sentences of a Chinese page are English:\n" + "\n".join(left)


def english_left(book):
    """Sentences of three English words or more that outputs show."""
    left = []
    for cell in book.cells:
        for output in cell.get("outputs", []):
            for text in shown(output):
                for known in (*LIST["phrases"], *LIST["printed"]):
                    text = text.replace(known, "·")
                left += [f"{cell['id']}: {text}"] if WORDS.search(QUOTED.sub(" ", text)) else []
    return left


def shown(output):
    """The texts of an output: lines that were printed, and what stands in the elements of a page."""
    yield from output.get("text", "").splitlines()
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
