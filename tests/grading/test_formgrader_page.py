"""What the formgrader shows of a verdict: everything that the student reads, and no markup shown as text."""

import copy

import nbformat
import pytest
import torch
from anatomy.judge.verdict import Mistake, Verdict
from anatomy.notebook.checks import evaluate
from bs4 import BeautifulSoup
from nbconvert.exporters import HTMLExporter
from traitlets.config.loader import PyFileConfigLoader

from autograder import ROOT
from autograder.grading.judging.grade import score_outputs


def columns(x, dim=-1):
    return torch.exp(x) / torch.exp(x).sum(0)


def right(x, dim=-1):
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return torch.where(x.isneginf(), 0.0, e / e.sum(dim=dim, keepdim=True))


def shown(verdict):
    cell = nbformat.v4.new_code_cell("check()", outputs=score_outputs(verdict, ["A note."]))
    config = PyFileConfigLoader("nbgrader_config.py", str(ROOT)).load_config()
    page, _ = HTMLExporter(config=config).from_notebook_node(nbformat.v4.new_notebook(cells=[copy.deepcopy(cell)]))
    return BeautifulSoup(page, "html.parser").find("main")


@pytest.mark.parametrize("answer", [columns, right, torch.softmax, None])
def test_a_verdict_is_laid_out_and_whole(answer):
    gone = Verdict("attention.softmax", False, 0.0, 1.0, [Mistake("generic.missing", "Gone.")], [], 0.0)
    verdict = evaluate("attention.softmax", answer) if answer else gone
    page = shown(verdict)
    text = page.get_text()
    for mark in ("<p", "</p", "<t", "</t", "<details", "<summary", "<b>", "<div", "style="):
        assert mark not in text, text[max(0, text.find(mark) - 80) :][:200]
    said = verdict.html() + "A note."
    words = BeautifulSoup(said, "html.parser").get_text().split()
    assert len(words) > 3 and set("".join(words)) <= set("".join(text.split()))
    assert "".join(words) in "".join(text.split())
    assert len(page.select("pre")) >= said.count("<code style")
