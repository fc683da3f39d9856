"""A small exercise with answers, for tests of the search for survivors."""

import ast
import operator
from pathlib import Path

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.mutation.changes import Code
from autograder.mutation.subjects import Subject

CLIPPED = """
def clipped(x, low=0.0, high=1.0):
    if low > high:
        raise ValueError("low lies above high")
    return x.clamp(low, high)
"""


def clipped(x, low=0.0, high=1.0):
    if low > high:
        raise ValueError("low lies above high")
    return x.clamp(low, high)


CASES = {
    "default": lambda g: call(torch.tensor([-1.0, 0.5, 3.0])),
    "borders": lambda g: call(g.randn(9, scale=5.0), low=-0.75, high=1.25),
    "equal": lambda g: call(g.randn(4), low=0.5, high=0.5),
    "wrong": lambda g: call(g.randn(4), low=0.5, high=0.25),
    "wide": lambda g: call(g.uniform(6, low=-0.7, high=0.7).double() / 3, low=-1.0, high=0.75),
    "gradient": lambda g: call(g.randn(6), low=-0.5, high=0.75, grad=[0]),
}


def exercise(*without):
    """The exercise, without some of its cases."""
    cases = [Case(name, f"what the case {name} shows", build) for name, build in CASES.items() if name not in without]
    wrong = Mutant("nothing", lambda x, low=0.0, high=1.0: x, "Nothing is clipped: entries below low become low.")
    return Exercise(
        id="toy.clipped",
        unit="00-start-here",
        title="Clipped",
        points=1,
        difficulty=1,
        minutes=1,
        signature="clipped(x, low=0.0, high=1.0)",
        reference=clipped,
        cases=cases,
        mutants=[wrong],
        alternatives=[clipped],
    )


def answer(asked, source=CLIPPED, name="solution"):
    """Source text as an answer."""
    code = Code(ast.parse(source).body, lambda node, _: True)
    return Subject(asked, name, code, {"torch": torch}, operator.itemgetter("clipped"), Path(__file__))
