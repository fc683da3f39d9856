"""Targets and signatures come from the texts' cells."""

import contextlib

import pytest

from autograder import exercises
from autograder.judge import stubs


@pytest.fixture
def text(monkeypatch, tmp_path):
    """Writes the texts of a course: what stands in the cell of ``toy.one``."""

    def write(cell):
        (tmp_path / "solutions").mkdir(exist_ok=True)
        (tmp_path / "solutions" / "00-toys.py").write_text(
            f'# %% [markdown] statement="toy.one"\n# Write it.\n\n# %% exercise="toy.one"\n{cell}\n'
            '# %% [markdown]\n# Text.\n\n# %% exercise="toy.two"\ndef two():\n    pass\n'
        )
        monkeypatch.setattr(stubs, "ROOT", tmp_path)
        stubs._cells.cache_clear()

    yield write
    stubs._cells.cache_clear()


@pytest.mark.parametrize(
    "cell, targets, signature",
    [
        ("def f(x, eps=1e-5, *, dim=-1):\n    pass", ("f",), "f(x, eps=1e-5, *, dim=-1)"),
        ("def f(x: int,\n      y: float = 2.50) -> int:\n    def g(z):\n        pass", ("f",), "f(x, y=2.50)"),
        ("import math\n\nLN2 = math.log(2)\n\ndef f():\n    pass\n\ndef g(x):\n    pass", ("f", "g"), "f()"),
        ("class Layer(Base):\n    def __init__(self, d, bias=True):\n        pass", ("Layer",), "Layer(d, bias=True)"),
        ("def f(*args, **kwargs):\n    pass", ("f",), "f(*args, **kwargs)"),
    ],
)
def test_they_are_as_the_cell_writes_them(text, cell, targets, signature):
    text(cell)
    assert stubs.asked_for("toy.one") == (targets, signature)
    assert stubs.asked_for("toy.two") == (("two",), "two()")


@pytest.mark.parametrize(
    "name, cell, says",
    [
        ("toy.three", "def f():\n    pass", "no text in solutions/ has the exercise toy.three: add its cell, or give"),
        ("toy.one", "def f(:\n    pass", "the cell of toy.one in its text is not Python"),
        ("toy.one", "x = 1", "the cell of toy.one in its text defines no function or class"),
        ("toy.one", "class Layer(Base):\n    pass", "toy.one: Layer has no __init__ in the text: give the signature"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(text, name, cell, says):
    text(cell)
    with pytest.raises(ValueError, match=says):
        stubs.asked_for(name)


def test_a_spec_repeats_neither_unless_it_differs():
    given = []
    for exercise in exercises.all_exercises():
        path, _ = exercises.place_of(exercise)
        if "    signature=" in path.read_text(encoding="utf-8"):
            given.append(exercise.id)
            with contextlib.suppress(ValueError):
                assert stubs.asked_for(exercise.id)[1] != exercise.signature, exercise.id
    assert len(given) < 10
