"""The calls that an answer can make are read from its source: evasions are found, right answers are not held."""

import ast
import inspect
import re
import textwrap
import time

import nbformat
import pytest

from autograder import ROOT
from autograder.grading.base.masters import MARK, gradable_units, master
from autograder.grading.source.calls import read_calls
from autograder.messages import hand_written

from .calls_read import BANNED, EVASIONS, PLAYING, RIGHT, findings, notebook_with, solved


@pytest.mark.parametrize("evasion", EVASIONS, ids=lambda e: f"{e.exercise}-{e.title}"[:70])
def test_an_evasion_is_seen_from_its_source(evasion):
    found = findings(evasion.exercise, evasion.source, *evasion.own)
    assert found and found[0].line >= 1 and found[0].cell


@pytest.mark.parametrize("answer", RIGHT, ids=lambda a: f"{a.exercise}-{a.title}"[:70])
def test_a_right_answer_is_not_held(answer):
    assert findings(answer.exercise, answer.source, *answer.own) == []


@pytest.mark.parametrize("cell", [entry.source for entry in PLAYING], ids=range(len(PLAYING)))
def test_a_cell_that_only_plays_holds_nothing(cell):
    for unit in gradable_units():
        calls = read_calls(notebook_with(solved(unit), [cell]))
        for e in master(unit).exercises:
            if e.forbidden:
                assert calls.findings(e.targets, e.forbidden) == [], e.id


OWN = (
    "def softmax(x, dim=-1):\n    e = (x - x.amax(dim, keepdim=True)).exp()\n    return e / e.sum(dim, keepdim=True)\n"
)
THEIRS = "def softmax(x, dim=-1):\n    return torch.softmax(x, dim)\n"
ATTENTION = "def attend(q, k, v):\n    return softmax(q @ k.mT) @ v\n"
IMPORT, STAR = "from torch.nn.functional import softmax\n", "from torch.nn.functional import *\n"
BOUND, CHECK = "softmax = torch.softmax\n", "check"


def at_the_end(*sources):
    """A notebook with the setup cell and these; the source CHECK makes a cell the check instead of an answer."""
    cells = [(f"c{i}", {"role": "check" if s == CHECK else "answer"}, s) for i, s in enumerate([SETUP, *sources])]
    return notebook_with(cells)


@pytest.mark.parametrize(
    "cells",
    [(IMPORT, OWN), (STAR, OWN), (IMPORT + OWN,), (IMPORT, "x = 1", OWN, ATTENTION), (OWN, IMPORT, OWN, ATTENTION)],
)
def test_what_a_definition_overrides_is_no_accusation(cells):
    calls = read_calls(at_the_end(*cells))
    assert calls.findings(("softmax",), ("softmax",)) == []
    assert calls.findings(("attend",), ("softmax",)) == []


@pytest.mark.parametrize(
    "cells, failed",
    [
        ((IMPORT, "1 / 0\n" + OWN), ("c2",)),  # the definition was never reached
        ((IMPORT, OWN, IMPORT), ()),
        ((OWN, STAR), ()),
        ((IMPORT, "ours = softmax", OWN, "softmax = ours"), ()),
        ((OWN, BOUND), ()),
        ((IMPORT, OWN + "del softmax\n" + IMPORT), ()),
        ((OWN, "def again():\n    global softmax\n    softmax = torch.softmax\nagain()"), ()),
    ],
)
def test_what_may_be_the_library_s_is_seen(cells, failed):
    found = read_calls(at_the_end(*cells), failed).findings(("softmax",), ("softmax",))
    assert found


@pytest.mark.parametrize(
    "before, after, seen",
    [
        ((OWN,), (BOUND,), False),
        ((OWN,), (IMPORT,), False),
        ((OWN,), ("softmax = torch.nn.Softmax(-1)", "softmax(torch.ones(2))"), False),
        ((OWN, BOUND), (OWN,), True),
        ((THEIRS,), (OWN,), True),
    ],
)
def test_what_stands_below_a_check_does_not_count_there(before, after, seen):
    book = at_the_end(*before, CHECK, *after)
    check = next(c.id for c in book.cells if c.source == CHECK)
    found = read_calls(book, (), check, read_calls(book)).findings(("softmax",), ("softmax",))
    assert bool(found) == seen, found


def test_a_name_with_two_values_is_never_certain():
    book = at_the_end("if torch.cuda.is_available():\n    " + IMPORT + "else:\n    softmax = abs\n", ATTENTION)
    found = read_calls(book).findings(("attend",), ("softmax",))
    assert found and not any(f.forbidden for f in found)


SETUP = "import math\nimport torch\nfrom torch import nn, Tensor\nimport torch.nn.functional as F\nINF = math.inf\n"


def implementations():
    """Parameters (exercise, function) of the references and alternatives, for exercises with forbidden built-ins."""
    for e in BANNED.values():
        for number, one in enumerate([e.reference, *e.alternatives]):
            for f in one if isinstance(one, tuple) else (one,):
                yield pytest.param(e, f, id=f"{e.id}-{number}-{f.__name__}")


@pytest.mark.parametrize("spec, function", implementations())
def test_references_and_alternatives_are_not_held(spec, function):
    name, module = function.__name__, inspect.getmodule(function)
    tree, setup, kept, ours = ast.parse(inspect.getsource(module)), SETUP, [], "ref"
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and (
            statement.level or re.match("autograder|anatomy", statement.module or "")
        ):
            setup += "".join(f"def {a.asname or a.name}(*a, **k): pass\n" for a in statement.names)
            ours += "".join(f"|{a.asname or a.name}" for a in statement.names)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            setup += ast.unparse(statement) + "\n"
        elif not re.search(
            r"EXERCISE|\btype\(\"|setattr\(projection|_Wrong|MUTANT", ast.unparse(statement).replace("'", '"')
        ):
            kept.append(ast.unparse(statement))
    ours = rf"\b(?:{ours})\.(\w+)"
    source = re.sub(ours, r"\1", "\n".join(kept))
    if f"def {name}(" not in source and f"class {name}(" not in source:  # a lambda, or returned by another function
        line = inspect.getsource(function).strip().rstrip(",")
        line = line[line.index("lambda") :] if "lambda" in line else line
        name, source = (
            "target",
            f"{source}\ntarget = {line}" if "lambda" in line else f"{source}\n{textwrap.dedent(line)}",
        )
        name = name if "lambda" in line else function.__name__
    courses = re.findall(ours, "\n".join(kept))
    setup += "".join(f"def {c}(*a, **k): pass\n" for c in set(courses) - {name})
    try:
        book = notebook_of(setup, source)
    except SyntaxError:
        pytest.skip("part of a longer expression")
    assert book.findings((name,), spec.forbidden) == []


def notebook_of(setup, *answers):
    book = nbformat.v4.new_notebook()
    for role, source in [("setup", setup), *(("answer", a) for a in answers)]:
        ast.parse(source)
        cell = nbformat.v4.new_code_cell(source)
        cell["id"], cell.metadata[MARK] = f"cell-{len(book.cells)}", {"role": role, "exercise": ""}
        book.cells.append(cell)
    return read_calls(book)


WRONG = [
    pytest.param(a.exercise, a.source, id=f"{a.exercise}-{a.title}") for a in hand_written() if a.exercise in BANNED
]


@pytest.mark.parametrize("name, source", WRONG)
def test_ordinary_wrong_answers_are_no_evasions(name, source):
    assert findings(name, source) == []


@pytest.mark.parametrize("unit", gradable_units())
def test_solved_notebooks_hold_nothing(unit):
    calls = read_calls(notebook_with(solved(unit)))
    for exercise in master(unit).exercises:
        if exercise.forbidden:
            assert calls.findings(exercise.targets, exercise.forbidden) == []
    assert not calls.unread


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "1+" * 60_000 + "1",
        "x = " + "(" * 90 + ")" * 90,
        "x = y" + ".a" * 50_000,
        "x = [" + "f(" * 80 + ")" * 80 + "]",
        "x = " + "lambda: " * 300 + "0",
        "s = 'a'\n" + "s = s + s\n" * 2_000 + "getattr(torch, s)",
        "s = 'a' * 99 * 99 * 99 * 99\ngetattr(torch, s)",
        "s = '%9999999d' % 3\ngetattr(torch, s)",
        "s = f'{3:9999999}'\ngetattr(torch, s)",
        "a = b\nb = a\na.c",
        "x = [" + "torch.exp, " * 12_000 + "]",
        "\n".join(f"a{i} = a{i - 1} if x else a{i - 2}" for i in range(2, 600)) + "\na599.exp",
        "\n".join("if x:" if not i else " " * i + "if x:" for i in range(90)) + "\n" + " " * 90 + "pass",
        "x = 1" + "\\\n" * 50_000,
        "\x00",
        "\ud800",
    ],
    ids=range(16),
)
def test_hostile_source_costs_little(source):
    cell = source[:200_000]
    began = time.process_time()
    found = findings("attention.softmax", cell, cell)
    assert time.process_time() - began < 5
    if "getattr(torch, s)" in source or "1+1+1" in source:
        assert found


def test_what_a_finding_says():
    (one, *_) = findings("attention.softmax", "def softmax(x, dim=-1):\n    return torch.special.softmax(x, dim)\n")
    assert (one.name, one.line, one.forbidden) == ("torch.special.softmax", 2, True)
    assert one.evidence == "return torch.special.softmax(x, dim)" and one.where.endswith("softmax, line 2")
    (one, *_) = findings("stability.logsumexp", "def logsumexp(x, dim):\n    return torch.logaddexp2(x, x)\n")
    assert not one.forbidden


def test_there_are_enough_of_them():
    assert len(EVASIONS) >= 200 and len(RIGHT) >= 60 and len(PLAYING) >= 15
    assert {e.exercise for e in RIGHT} == set(BANNED)
    told = f"({len(EVASIONS)} evasions, {len(RIGHT)} right answers, {len(PLAYING)} ways to play beside one)"
    assert told in (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
