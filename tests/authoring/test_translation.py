"""CONTRIBUTING's section "A language": a unit's text in Chinese builds to the same exercises, and slips are told."""

import json

import pytest

from autograder import ROOT
from autograder.authoring import translation

from .clone import Clone

ORIGINAL = (ROOT / "docs/examples/unit/solutions/90-sampling.py").read_text(encoding="utf-8")
CHINESE = (ROOT / "docs/examples/language/solutions/90-sampling.py").read_text(encoding="utf-8")


def test_the_example_differs_in_words_alone():
    assert ORIGINAL != CHINESE and translation.differences(ORIGINAL, CHINESE) == []


@pytest.mark.parametrize(
    "old, new, says",
    [
        ("`ValueError`", "ValueError", "the code `ValueError` is missing"),
        (r"除数 $\tau$", r"除数 $t$", r"the formula $\tau$ is missing"),
        ("{{unit.time}}", "十分钟", "the placeholder {{unit.time}} is missing"),
        ("https://arxiv.org/abs/1503.02531", "https://arxiv.org/abs/1503.02532", "the link https://arxiv.org/abs/1503"),
        ("# 3. `return", "# `return", "the item 3. is missing"),
        ("- 1 point: 顺序", "- 1 分：顺序", "the points - 1 point: is missing"),
        ("### END MARK SCHEME", "### 结束", "the edge ### END MARK SCHEME is missing"),
        ("scores / 100", "scores / 10", "the code differs"),
        ('"sampling.p1"', '"采样.p1"', "the code differs"),
        ("(True, ", "(False, ", "the code differs"),
        ("temperature <= 0", "temperature < 0", "the code differs"),
        ('evidence="exact"', 'evidence="argued"', 'a markdown cell evidence="argued" stands for'),
        ("if temperature <= 0:", "if temperature <= 0", "is no Python: expected ':'"),
        ('# %%\nprogress("90-sampling")\n\n', "", "cells instead of"),
    ],
)
def test_a_slip_is_told_with_its_cell(old, new, says):
    assert old in CHINESE
    found = translation.differences(ORIGINAL, CHINESE.replace(old, new, 1))
    assert any(says in sentence for sentence in found), found


def test_command_line(tmp_path, capsys):
    good = str(ROOT / "docs/examples/unit/solutions/90-sampling.py")
    assert translation.main([good, good]) == 0 and "Nothing but words differs" in capsys.readouterr().out
    assert translation.main([good, str(tmp_path / "none.py")]) == 2 and "none.py" in capsys.readouterr().err


def test_it_builds_to_the_same_exercises(tmp_path):
    made = Clone(tmp_path)
    made.take("unit")
    made.take("language")
    made.python("-m", "autograder.build", "--unit", "90-sampling")
    cells = json.loads((made / "course/90-sampling/90-sampling.ipynb").read_text(encoding="utf-8"))["cells"]
    stub = next(c for c in cells if c["id"] == "solve-sampling-tempered")
    assert "由分数得到各 token 的概率" in "".join(stub["source"]) and stub["metadata"]["nbgrader"]["grade_id"]
    text = json.loads((made / "assets/units/90-sampling.json").read_text(encoding="utf-8"))
    assert [sum(c["right"] for c in q["choices"]) for q in text["quizzes"]] == [1] * 5
    assert text["predictions"][0]["options"][1] == "各三分之一"
