"""Comparing numbers to which no tolerance applies, infinities and NaN, and formulas that a message must not reveal."""

import math

import pytest
import torch
from anatomy.judge.compare import difference
from anatomy.program.symbolic import Expression

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.complex64])
@pytest.mark.parametrize(
    ("expected", "got", "equal"),
    [
        ([1.0, -INF], [1.0, -INF], True),
        ([1.0, NAN], [1.0, NAN], True),
        ([1.0, -INF], [1.0, 0.0], False),
        ([1.0, -INF], [1.0, INF], False),
        ([1.0, -INF], [1.0, -1e4], False),
        ([1.0, -INF], [1.0, NAN], False),
        ([1.0, 2.0], [1.0, INF], False),
        ([1.0, NAN], [1.0, 2.0], False),
    ],
)
def test_an_infinity_equals_only_itself(expected, got, equal, dtype):
    expected, got = torch.tensor(expected, dtype=dtype), torch.tensor(got, dtype=dtype)
    assert (difference(expected, got, {id(expected): 1e-3}) is None) is equal


@pytest.mark.parametrize(("got", "equal"), [(INF, True), (-INF, False), (1e300, False), (NAN, False)])
def test_a_plain_number_too(got, equal):
    assert (difference(INF, got) is None) is equal


def test_none_in_place_of_a_result_and_inside_one():
    assert difference(1.0, None).sentence == "the result is None: is a return missing?"
    assert difference([1.0, 2.0], [1.0, None]).sentence.endswith("is None, expected a float")


@pytest.mark.parametrize("expected", [2.5, 3, True])
def test_a_tensor_of_one_number_is_no_number(expected):
    found = difference(expected, torch.tensor(expected))
    assert found.kind == "type" and "is a tensor of shape ()" in found.sentence
    assert difference([expected], [torch.tensor(expected)]).kind == "type"


def test_what_differs_by_rounding_is_shown_with_its_digits():
    expected = torch.tensor([1.0, 1 / 3], dtype=torch.float64)
    found = difference(expected, expected.float().double())
    assert (found.expected, found.got) == ("[1] = 0.33333333333333331", "[1] = 0.3333333432674408")
    found = difference(expected, expected + 1)
    assert (found.expected, found.got) == ("[1, 0.3333]", "[2, 1.333]")


FORMULA = ["Mul", ["Symbol", "q"], ["cos", ["Symbol", "theta"]]]
MATRIX = ["Matrix", 1, 2, ["Symbol", "q"], ["cos", ["Symbol", "theta"]]]


@pytest.mark.parametrize("asked, kind", [(FORMULA, "a SymPy expression"), (MATRIX, "a SymPy matrix of 1 × 2")])
@pytest.mark.parametrize(
    "got", ["q*cos(theta)", None, [1], 1, torch.ones(2), Expression(["Matrix", 1, 1, ["Symbol", "q"]])], ids=str
)
def test_a_wrong_kind_does_not_earn_the_formula(asked, kind, got):
    found = difference(Expression(asked), got)
    if found.kind == "expression":  # a number counts as an expression too
        assert found.expected.startswith("at q=") and "cos" not in found.expected
    else:
        assert found.expected == kind
    assert "cos(theta)" not in found.sentence + found.expected


def test_two_formulas_are_shown_at_the_point_at_which_they_differ():
    found = difference(Expression(MATRIX), Expression([*MATRIX[:4], ["Symbol", "theta"]]))
    formula, value = found.got.split("\n")
    assert formula == "Matrix([[q, theta]])"
    assert value.startswith("at q=") and found.expected.startswith(value.split(":")[0] + ": [")
