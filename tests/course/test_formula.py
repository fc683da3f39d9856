"""Formulas are written as SymPy writes them, but without SymPy, and briefly."""

import time

import pytest
import sympy
from anatomy.program.codec import encode
from anatomy.program.formula import CHARACTERS, text_of
from anatomy.program.symbolic import MAX_NODES, Expression, NotAnExpression, counterexample, to_tree

from autograder import exercises
from autograder.judge.drawing import draw_record

x, y, a = sympy.symbols("x y a", real=True)
USUAL = [
    *(x + 1, 1 - x, -x - 1, x - y, 2 * x / 3, -x / 2, x**2 + 4 * x * y + y**2, (x + y) ** 2, 1 / x, -1 / x**3, x**-2),
    *(sympy.sqrt(x**2 + y**2), 1 / sympy.sqrt(x), x ** (y + 1), (-2) ** x, x ** sympy.Rational(2, 3), -(x + y) * a),
    *(sympy.sin(a) * sympy.cos(a) * x, sympy.cos(2 * a) * x - sympy.sin(2 * a) * y, sympy.exp(x) * y, sympy.pi * x),
    *(x / (y * a), (x + y) / (x - y), 3 * (x + y), sympy.I * x, sympy.Abs(x) + sympy.log(y + 2), sympy.Integer(-3)),
    *(sympy.Rational(-2, 3), sympy.Matrix([[sympy.cos(a), -sympy.sin(a)], [sympy.sin(a), sympy.cos(a)]]), (x**y) ** a),
]


@pytest.mark.parametrize("value", USUAL, ids=str)
def test_as_sympy_writes_it(value):
    assert str(Expression(to_tree(value))) == str(value)


def test_all_formulas_of_the_course_are_written_as_sympy_writes_them():
    seen = 0
    for spec in (e for e in exercises.all_exercises() if e.unit == "06-rope"):
        for case in draw_record(spec).cases:
            for outcome, _ in case.outcomes.values():
                for result in outcome["results"]:
                    value = result.get("value")
                    if isinstance(value, dict) and "sympy" in value:
                        with sympy.evaluate(False):
                            wanted = str(Expression(value["sympy"]).to_sympy())
                        assert text_of(value["sympy"]) == wanted
                        seen += 1
    assert seen > 20


def test_sympy_is_not_asked(monkeypatch):
    def never(*_):
        raise AssertionError

    monkeypatch.setattr(sympy.printing.str.StrPrinter, "doprint", never)
    monkeypatch.setattr(Expression, "to_sympy", never)
    assert str(Expression(["Add", ["Symbol", "x"], ["Rational", "1", "2"]])) == "x + 1/2"


def test_a_long_formula_is_cut_and_costs_no_time():
    wide = ["Add", *[["Mul", ["Symbol", "x"], ["Rational", "0", "1"]]] * 1_300]
    deep = ["Symbol", "x"]
    for _ in range(58):
        deep = ["Pow", deep, ["Add", ["Rational", "9" * 30, "1"], ["Symbol", "y"]]]
    began = time.process_time()
    for tree in (wide, deep, ["Matrix", 60, 60, *[["Symbol", "x"]] * 3_600]):
        assert len(str(Expression(tree))) == CHARACTERS + 1
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize(
    "tree",
    [
        *(
            ["Pow", ["Symbol", "x"]],
            ["cos", ["Pi"], ["Pi"]],
            ["Rational", "²", "1"],
            ["Rational", "1_0", "1"],
            ["Add"],
            [],
        ),
        *(
            ["Rational", " 1", "1"],
            ["Rational", "1" * 31, "1"],
            ["Symbol", "x" * 41],
            ["?", "zoo"],
            ["Matrix", 0, 0],
            "x",
        ),
        *(["Matrix", 2, 2, ["Pi"]], ["Add", *[["Pi"]] * MAX_NODES], ["Float", "1"], ["Pi", ["Pi"]], None, {"Pi": 1}),
    ],
    ids=range(18),
)
def test_what_is_no_formula_is_refused(tree):
    with pytest.raises(NotAnExpression):
        Expression(tree)


def test_numbers_beyond_all_floats_are_a_difference_and_no_error():
    huge = Expression(["Mul", *[["Float", 10**19]] * 200])
    assert counterexample(huge, Expression(["Symbol", "x"]))[1] is not None
    far = Expression(["Add", ["Float", 1e308], ["Mul", ["ImaginaryUnit"], ["Float", 1e308]]])
    assert counterexample(far, Expression(["Symbol", "x"])) is not None


def test_what_cannot_be_sent_whole_is_named_and_not_cut_to_something_else():
    shared = x
    for _ in range(40):  # written out: a tree of 2**40 parts
        shared = sympy.Add(shared, shared, evaluate=False)
    for value in (sympy.Integer(10) ** 5_000, sympy.Rational(1, 10**30), shared):
        tree = encode(value, {})["sympy"]
        with pytest.raises(NotAnExpression, match=r"a number of more than 30 digits|too large"):
            Expression(tree)
