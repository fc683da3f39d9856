"""Known mistakes are named from the results of a learner's code, and a coincidence names nothing."""

import math
from dataclasses import dataclass

import pytest
import torch
from anatomy import evaluate
from anatomy.judge import fingerprint_match, judging, naming
from anatomy.judge.fingerprint_match import Likeness, error_likeness
from anatomy.program import records

from autograder import exercises
from autograder.judge import examples
from autograder.messages import hand_written, verdict_on, verdict_on_source


def mistakes(exercise_id, *functions):
    return [m.name for m in verdict_on(exercise_id, functions).mistakes]


def mutants(exercise_id):
    exercise = exercises.get(exercise_id)
    return [(exercise, m) for m in exercise.mutants]


def as_floats(function):
    """The same function, with 0-d tensors converted to Python numbers."""

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
@pytest.mark.parametrize(
    "spec, mutant",
    # Not mutants that don't return two numbers, or whose mistake is the form of the result.
    [m for m in mutants("ffn.paired_difference") if m[1].name not in ("tensors", "mean_only")],
    ids=lambda x: getattr(x, "name", ""),
)
def test_numbers_and_tensors_of_one_number_are_the_same_mistake(spec, mutant, change):
    assert evaluate(spec.id, change(mutant.fn)).mistakes[0].name == mutant.name


def test_a_tolerance_is_computed_only_for_an_answer_that_comes_close():
    """Nearly all answers differ from nearly all mistakes by much more than any tolerance."""
    record = examples.public_record(exercises.get("start.weighted_average"), "cpu")
    name = next(iter(record.mistakes))
    case = next(c for c in record.cases if c.outcomes[name][1])
    known = case.outcomes[name][1]
    key, tensor = next(iter(known.items()))
    loose = fingerprint_match.Loose(case, known)
    assert not loose.equal(tensor, tensor + 1)
    assert not loose._allowed
    assert loose.equal(tensor, tensor * (1 + 1e-7)) and loose.equal(tensor, tensor.clone())
    assert list(loose._allowed) == [key]


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
    return error_likeness([*known, ""], [*mine, ""], deliberate)


def loading(owner, name, size):
    """The error that torch raises for a weight of a different size."""
    told = f"size mismatch for {name}: copying a param with shape torch.Size([3]), the model's is torch.Size([{size}])."
    return "RuntimeError", f"Error(s) in loading state_dict for {owner}:\n\t{told}"


def lacking(*names):
    """The error that torch raises for missing names, which it lists in any order."""
    listed = ", ".join(f'"{name}.weight"' for name in names)
    return "RuntimeError", f"Error(s) in loading state_dict for A:\n\tMissing key(s) in state_dict: {listed}. "


@pytest.mark.parametrize(
    "known, mine, like",
    [
        (("ValueError", "no"), ("ValueError", "something else"), Likeness.ERROR),
        (("RuntimeError", "shape (3, 4) is odd"), ("RuntimeError", "shape (5, 6) is odd"), Likeness.ERROR),
        (("RuntimeError", "mat1 and mat2"), ("RuntimeError", "The size of tensor a"), Likeness.ACCIDENT),
        (("RuntimeError", "x"), ("IndexError", "x"), None),
        (
            ("RuntimeError", "Error(s) in loading state_dict for A: Missing"),
            ("RuntimeError", "Error(s) in loading state_dict for B: size mismatch"),
            Likeness.ACCIDENT,
        ),
        (loading("A", "a.weight", 4), loading("B", "a.weight", 4), Likeness.ERROR),
        (lacking("a", "b"), lacking("b", "a"), Likeness.ERROR),
        (loading("A", "a.weight", 4), loading("A", "a.weight", 5), Likeness.ACCIDENT),
        (loading("A", "a.weight", 4), loading("A", "b.weight", 4), Likeness.ACCIDENT),
    ],
)
def test_errors_are_alike_by_type_and_words(known, mine, like):
    assert likeness(known, mine) == like


def test_an_error_alone_does_not_name_a_wrong_number():
    """Unchecked ``bits`` look like every mistake without that check, even if passed cases rule the mistake out."""
    source = """
def quantize(x, dim, bits=8):
    if not 2 <= bits <= 9:
        raise ValueError("bits")
    scale = x.abs().amax(dim=dim, keepdim=True) / (2 ** (bits - 1) - 1)
    safe = torch.where(scale == 0, torch.ones_like(scale), scale)
    return torch.round(x / safe).to(torch.int8), scale

def dequantize(codes, scale):
    return codes.float() * scale.float()
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
    """From a real survey: the cache that wraps around writes at slot 0 in the last case only, not from the start."""
    (answer,) = [a for a in hand_written() if a.title == "wraps round"]
    wraps = verdict_on_source(answer.exercise, answer.source)
    assert [m.name for m in wraps.mistakes] == ["starts_over"] and "starts over at slot 0" in wraps.mistakes[0].message


# A toy exercise: tests of naming use given results instead of computed ones.
def toy(cases, learner):
    """The name of the mistake that explains all cases, or None.

    cases: for each case (right, {mistake: result}), with an entry ``of`` if its function is not ``f``. learner: one
    result per case. A result is a value, or an exception that is raised.
    """
    first = judged(cases, learner).mistakes[0]
    return None if first.name.startswith("generic.") or first.message.startswith("In ") else first.name


def judged(cases, learner):
    """The Verdict on a toy exercise; arguments as of ``toy``."""
    listed = []
    for i, (right, wrong) in enumerate(cases):
        wrong = dict(wrong)
        of = wrong.pop("of", "f")
        program = {"steps": [{"call": of, "on": None, "method": None, "args": {"list": []}, "kwargs": {"dict": []}}]}
        outcomes = {name: outcome(value) for name, value in {"expected": right, **wrong}.items()}
        listed.append(records.CaseRecord(f"case {i}", "shows a thing", 1.0, program, {}, outcomes, {}))
    names = sorted({n for _, wrong in cases for n in wrong})
    record = records.ExerciseRecord(
        "x.y", "u", "t", 1.0, ["f", "g"], "f()", [], "", {n: f"{n}." for n in names}, listed
    )
    return judging.judge(record, [outcome(v) for v in learner])


def outcome(value):
    from anatomy.program import codec

    tensors = {}
    if isinstance(value, Written):
        given, tensors = outcome(value.value)
        return given | {"mutated": ["argument 0"]}, tensors
    if isinstance(value, Exception):
        return {"results": [{"raises": [type(value).__name__, str(value), ""]}], "mutated": []}, {}
    return {"results": [{"value": codec.encode(value, tensors, prefix="o")}], "mutated": []}, tensors


@dataclass
class Written:
    """A result whose function has changed its input."""

    value: torch.Tensor


def row(*numbers):
    return torch.tensor(numbers)


RIGHT, WRONG, OTHER, THIRD = row(1.0, 2.5, 4.0), row(1.3, 2.9, 4.1), row(0.4, 7.7, 1.9), row(5.3, 0.2, 8.8)
REFUSED = ValueError("no")


def test_a_fingerprint_must_explain_every_failed_case_of_the_function():
    cases = [(RIGHT, {"a": WRONG}), (OTHER, {"a": WRONG})]
    assert toy(cases, [WRONG, WRONG]) == "a"
    assert toy(cases, [WRONG, RIGHT]) is None, "most of the failed cases are not all of them"


def test_one_of_two_mistakes_is_named_and_the_rest_said_to_remain():
    one, two = (RIGHT, {"a": WRONG, "b": RIGHT}), (OTHER, {"a": WRONG, "b": THIRD})
    both = THIRD + WRONG
    (told,) = judged([one, one, two], [WRONG, WRONG, both]).mistakes
    assert told.name == "a"
    assert told.message == "In 2 of the 3 cases that fail: a. In the others something else is wrong as well."


def test_a_mistake_is_no_part_of_an_answer_that_gives_the_same_by_chance():
    """In only one of many cases; in small results; if it would fail a passed case; if two mistakes fit."""
    one, two = (RIGHT, {"a": WRONG, "b": WRONG}), (OTHER, {"a": WRONG, "b": THIRD})
    both = THIRD + WRONG
    for cases, learner in (
        ([(RIGHT, {"a": WRONG}), two, two], [WRONG, both, both]),
        ([(2, {"a": 3}), two], [3, both]),
        ([(RIGHT, {"a": WRONG}), two, (OTHER, {"a": WRONG})], [WRONG, both, OTHER]),
        ([one, two], [WRONG, both]),
    ):
        assert judged(cases, learner).mistakes[0].name.startswith("generic."), learner


def test_a_mistake_is_named_without_its_writing_into_an_input_and_not_with_a_writing_of_its_own():
    assert toy([(RIGHT, {"a": Written(WRONG)})], [WRONG]) == "a"
    assert toy([(RIGHT, {"a": Written(WRONG)})], [Written(WRONG)]) == "a"
    assert toy([(RIGHT, {"a": WRONG})], [Written(WRONG)]) is None


def test_failed_cases_of_another_function_need_another_name():
    cases = [(RIGHT, {"a": WRONG, "b": RIGHT}), (OTHER, {"a": OTHER, "b": WRONG, "of": "g"})]
    assert toy(cases, [WRONG, OTHER * 3]) == "a"


def test_a_mistake_that_fails_where_the_learner_passes_is_another_one():
    cases = [(RIGHT, {"a": WRONG}), (OTHER, {"a": WRONG})]
    assert toy(cases, [WRONG, OTHER]) is None


def test_a_check_that_is_missing_as_well_hides_no_name():
    cases = [(RIGHT, {"a": WRONG}), (REFUSED, {"a": REFUSED})]
    assert toy(cases, [WRONG, RIGHT]) == "a"


def test_a_missing_check_is_named_only_where_all_else_agrees():
    """A check that is too lax is neither the mistake that checks nothing nor a mistake in the numbers."""
    cases = [(RIGHT, {"a": WRONG, "unchecked": RIGHT}), (REFUSED, {"a": WRONG, "unchecked": WRONG})]
    cases.append((REFUSED, {"a": WRONG, "unchecked": WRONG}))
    assert toy(cases, [RIGHT, WRONG, WRONG]) == "unchecked"
    assert toy(cases, [RIGHT, WRONG, REFUSED]) is None


def test_one_small_number_names_nothing_and_two_do():
    one, two = (2, {"a": 3}), (7, {"a": 12})
    assert toy([one], [3]) is None and toy([one, two], [3, 12]) == "a"
    assert toy([(True, {"a": False})], [False]) is None
    assert toy([(4.1, {"a": 3.7312})], [3.7312]) == "a", "nobody gets such a number by chance"


def test_twice_the_right_numbers_are_not_enough_beside_a_case_that_differs():
    cases = [(RIGHT, {"a": 2 * RIGHT}), (REFUSED, {"a": REFUSED})]
    assert toy(cases, [2 * RIGHT, REFUSED]) == "a"
    assert toy(cases, [2 * RIGHT, RIGHT]) is None, "a count that is 2 here, or a missing check beside it"


def test_nan_names_only_where_every_case_agrees():
    nan = row(math.nan, math.nan, math.nan)
    assert toy([(RIGHT, {"a": nan}), (OTHER, {"a": OTHER})], [nan, OTHER]) == "a"
    assert toy([(RIGHT, {"a": nan}), (REFUSED, {"a": REFUSED})], [nan, OTHER]) is None


def test_two_mistakes_with_one_fingerprint_are_not_told_apart():
    cases = [(RIGHT, {"a": WRONG, "b": WRONG}), (REFUSED, {"a": REFUSED, "b": OTHER})]
    assert toy(cases, [WRONG, REFUSED]) == "a", "the one that agrees in more cases"
    assert toy(cases, [WRONG, OTHER]) == "b"
    cases.append((OTHER, {"a": OTHER, "b": WRONG, "of": "g"}))
    assert toy(cases, [WRONG, TypeError("odd"), REFUSED]) is None
    same = [(RIGHT, {"a": WRONG, "b": WRONG})]
    assert toy(same, [WRONG]) == "a", "alike in all cases: the one that is listed first"


def test_an_error_of_torch_names_only_where_every_case_agrees():
    error = RuntimeError("The size of tensor a (3) must match the size of tensor b (4)")
    other = RuntimeError("The size of tensor a (5) must match the size of tensor b (2)")
    assert toy([(RIGHT, {"a": error}), (OTHER, {"a": OTHER})], [other, OTHER]) == "a"
    assert toy([(RIGHT, {"a": error}), (REFUSED, {"a": REFUSED})], [other, OTHER]) is None


@pytest.mark.parametrize(
    "pairs, weight",
    [
        ([], "NOTHING"),
        ([(1.0, math.inf)], "NOTHING"),
        ([(2.0, 3.0)], "CHANCE"),
        ([(2.0, 300.0)], "LITTLE"),
        ([(2.5, 3.75)], "LITTLE"),
        ([(1.5, 3.0), (2.5, 5.0)], "LITTLE"),
        ([(1.5, 0.0), (2.5, 0.0)], "LITTLE"),
        ([(1.0, 2.0), (2.0, 5.0), (3.0, 4.0)], "MUCH"),
        ([(1.5, 1.7), (2.5, 5.3)], "MUCH"),
    ],
)
def test_what_wrong_numbers_weigh(pairs, weight):
    assert naming.weight_of(pairs).name == weight


def test_a_result_that_is_cut_off_is_told_from_one_that_is_not():
    def carried(*flags):
        result, tensors = outcome((RIGHT, OTHER))
        result["results"][0] |= {"grads": {"dict": []}, "carries": list(flags)}
        return result, tensors

    program = {"steps": [{"call": "f", "on": None, "method": None, "args": {"list": []}, "kwargs": {"dict": []}}]}
    outcomes = {"expected": carried(True, True), "first_cut": carried(False, True), "second_cut": carried(True, False)}
    case = records.CaseRecord("c", "shows a thing", 1.0, program, {}, outcomes, {})
    listed = {"first_cut": "First.", "second_cut": "Second."}
    record = records.ExerciseRecord("x.y", "u", "t", 1.0, ["f"], "f()", [], "", listed, [case])
    for name, flags in (("first_cut", (False, True)), ("second_cut", (True, False))):
        assert judging.judge(record, [carried(*flags)]).mistakes[0].name == name
    assert judging.judge(record, [carried(False, False)]).mistakes[0].name == "generic.gradient"


def test_what_another_function_makes_of_a_wrong_result_is_its_own():
    """``f`` is wrong as in the mistake; ``g``, called next, is wrong in its own way."""
    call = {"on": None, "method": None, "args": {"list": []}, "kwargs": {"dict": []}}
    program = {"steps": [call | {"call": "f"}, call | {"call": "g"}]}

    def both(first, second):
        from anatomy.program import codec

        tensors = {}
        trees = [codec.encode(v, tensors, prefix="o") for v in (first, second)]
        return {"results": [{"value": t} for t in trees], "mutated": []}, tensors

    outcomes = {"expected": both(RIGHT, OTHER), "a": both(WRONG, OTHER)}
    case = records.CaseRecord("c", "shows a thing", 1.0, program, {}, outcomes, {})
    record = records.ExerciseRecord("x.y", "u", "t", 1.0, ["f", "g"], "f()", [], "", {"a": "A."}, [case])
    assert judging.judge(record, [both(WRONG, 3 * OTHER)]).mistakes[0].name == "a"
    assert judging.judge(record, [both(RIGHT, WRONG)]).mistakes[0].name.startswith("generic.")
