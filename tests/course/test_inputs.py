"""What a function is given belongs to its caller: tensors, and lists and dicts that hold them."""

import copy

import pytest
import torch
from anatomy import runner

from autograder.judge.spec import Program, Ref


def changed(function, *args, **kwargs):
    """What the outcome says was changed."""
    program = Program().call(*args, **kwargs)
    outcome, _ = runner.run_program(program.finish("f"), program.tensors, {"f": function})
    assert "raises" not in outcome["results"][0], outcome
    return outcome["mutated"]


def give():
    return [torch.arange(3.0), torch.ones(2)], {"a": [1, 2], "b": {"c": 0.5}, "nan": float("nan")}


def rebuilt(tensors, options):
    tensors, options = list(tensors), copy.deepcopy(options)
    tensors.append(options.pop("a"))
    return None


def item(tensors, options):
    tensors[1] = tensors[1] * 1
    return None


def deep(tensors, options):
    options["b"]["c"] += 1
    return None


def key_order(tensors, options):
    options["a"] = options.pop("a")
    return None


def as_int(tensors, options):
    options["b"]["c"] = 1 if options["b"]["c"] == 0.5 else 0.5
    return None


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda tensors, options: None, []),
        (rebuilt, []),
        (lambda tensors, options: tensors.pop(), ["the list"]),
        (lambda tensors, options: tensors.reverse(), ["the list"]),
        (item, ["the list"]),
        (lambda tensors, options: options["a"].append(3), ["the list"]),
        (lambda tensors, options: options["a"].sort(reverse=True), ["the list"]),
        (lambda tensors, options: options.update(d=1), ["the dict"]),
        (lambda tensors, options: options.pop("nan") and None, ["the dict"]),
        (deep, ["the dict"]),
        (key_order, ["the dict"]),
        (as_int, ["the dict"]),
        (lambda tensors, options: (tensors.clear(), options.clear()), ["the dict", "the list"]),
    ],
)
def test_a_list_or_a_dict_that_was_given_is_left_as_it_is(function, expected):
    assert changed(function, *give()) == expected
    tensors, options = give()
    assert changed(function, tensors, options=options) == expected


def test_a_tensor_inside_one_is_a_tensor_that_was_given():
    (name,) = changed(lambda tensors, options: tensors[0].add_(1), *give())
    assert name not in ("the list", "the dict")


def test_what_an_earlier_call_returned_may_grow():
    """A cache that is handed on belongs to the learner's code."""

    def grow(cache):
        return [cache] if isinstance(cache, int) else cache.append(3)

    program = Program().call(1).call(Ref(0))
    outcome, _ = runner.run_program(program.finish("f"), program.tensors, {"f": grow})
    assert [r["value"] for r in outcome["results"]] == [{"list": [1]}, None] and outcome["mutated"] == []
