"""Known mistakes are named from what a learner's code gives, and a coincidence names nothing."""

import math

import pytest
import torch
from anatomy import evaluate, judging, naming, records

from autograder import exercises
from autograder.messages import verdict_on, verdict_on_source


def mistakes(exercise_id, *functions):
    return [m.name for m in verdict_on(exercise_id, functions).mistakes]


def mutants(exercise_id):
    exercise = exercises.get(exercise_id)
    return [(exercise, m) for m in exercise.mutants]


def as_floats(function):
    """The same function, with 0-d tensors as Python numbers (and numbers as 0-d tensors the other way round)."""

    def plain(value):
        if isinstance(value, tuple):
            return tuple(map(plain, value))
        return value.item() if isinstance(value, torch.Tensor) and value.ndim == 0 else value

    def wrapped(a, b):
        return plain(function(a, b))

    return wrapped


def as_tensors(function):
    def wrapped(a, b):
        return tuple(v if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=torch.float64) for v in function(a, b))

    return wrapped


@pytest.mark.parametrize("change", [as_floats, as_tensors])
@pytest.mark.parametrize("spec, mutant", mutants("ffn.paired_difference"), ids=lambda x: getattr(x, "name", ""))
def test_numbers_and_tensors_of_one_number_are_the_same_mistake(spec, mutant, change):
    assert evaluate(spec.id, change(mutant.fn)).mistakes[0].name == mutant.name


def test_the_wording_of_an_error_does_not_matter():
    def other_words(cap_error):
        def soft_cap(x, cap):
            if cap <= 0:
                raise cap_error
            return cap * torch.tanh(x / cap)

        return soft_cap

    record = records.load("stability.soft_cap")
    error = next(c for c in record.cases if naming.expects_error(c))
    kind = error.outcomes["expected"][0]["results"][-1]["raises"][0]
    assert kind == "ValueError"
    right = exercises.get("stability.soft_cap").functions(exercises.get("stability.soft_cap").reference)
    assert verdict_on(record.id, [other_words(ValueError("nein")), right["soft_capped_weights"]]).passed


def likeness(known, mine, deliberate=frozenset({"ValueError"})):
    return naming.error_likeness([*known, ""], [*mine, ""], deliberate)


@pytest.mark.parametrize(
    "known, mine, like",
    [
        (("ValueError", "no"), ("ValueError", "something else"), naming.Likeness.ERROR),
        (("RuntimeError", "shape (3, 4) is odd"), ("RuntimeError", "shape (5, 6) is odd"), naming.Likeness.ERROR),
        (("RuntimeError", "mat1 and mat2"), ("RuntimeError", "The size of tensor a"), naming.Likeness.ACCIDENT),
        (("RuntimeError", "x"), ("IndexError", "x"), None),
        (
            ("RuntimeError", "Error(s) in loading state_dict for A: Missing"),
            ("RuntimeError", "Error(s) in loading state_dict for B: size mismatch"),
            naming.Likeness.ACCIDENT,
        ),
    ],
)
def test_errors_are_alike_by_type_and_words(known, mine, like):
    assert likeness(known, mine) == like


def test_an_error_alone_does_not_name_a_wrong_number():
    """``bits`` unchecked looks like every mistake without that check, also where the passed numbers rule it out."""
    source = """
def quantize(x, dim, bits=8):
    if not 2 <= bits <= 9:
        raise ValueError("bits")
    scale = x.abs().amax(dim=dim, keepdim=True) / (2 ** (bits - 1) - 1)
    safe = torch.where(scale == 0, torch.ones_like(scale), scale)
    return torch.round(x / safe).to(torch.int8), scale

def dequantize(codes, scale):
    return codes.float() * scale
"""
    verdict = verdict_on_source("cache.quantize", source)
    assert verdict.mistakes[0].name in ("generic.raises", "unchecked"), verdict.text()


def test_nan_alone_names_nothing_unless_all_cases_agree():
    def all_nan_for_masks(q, k, v, mask=None):
        right = exercises.get("attention.scaled_dot_product").reference
        out = right(q, k, v, mask)
        return out if mask is None else out * math.nan

    assert mistakes("attention.scaled_dot_product", all_nan_for_masks)[0].startswith("generic.")


def test_a_mistake_that_would_fail_a_passed_case_is_not_named():
    """From a real survey: the cache that wraps round writes at slot 0 in the last case only, not from the start."""
    from autograder.messages import examples

    wraps = next(v for title, _, v, _ in examples() if title == "wraps round")
    assert [m.name for m in wraps.mistakes] == ["starts_over"] and "starts over at slot 0" in wraps.mistakes[0].message


def test_any_outcome_is_judged_without_an_exception(exercise):
    record = records.load(exercise.id)
    for odd in (
        {},
        {"results": []},
        {"results": [None]},
        {"results": [{"value": {"tensor": "nowhere"}}]},
        None,
        3,
        {"results": [{"raises": ["ValueError"]}]},
        {"results": [{"raises": 3}] * 9, "used": [[], None]},
        {"missing": 3},
        {"signature": 3},
    ):
        verdict = judging.judge(record, [(odd, {})] * len(record.cases))
        assert not verdict.passed and verdict.score == 0 and verdict.mistakes and verdict.text()
