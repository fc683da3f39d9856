"""A function's arguments belong to its caller: tensors, and lists and dicts that hold them."""

import copy

import pytest
import torch
from anatomy.program import codec, runner, torch_settings

from autograder.judge.spec import Program, Ref


def changed(function, *args, **kwargs):
    """The arguments that the outcome lists as changed."""
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


def default_device(tensors, options):
    torch.set_default_device("meta")


def default_dtype(tensors, options):
    torch.set_default_dtype(torch.float64)


@pytest.mark.parametrize(
    "function, kind, instead",
    [
        (default_device, "the default device", "a block under torch.device(…)"),
        (default_dtype, "the default dtype", "dtype=…"),
    ],
)
def test_torchs_settings_are_left_as_they_are(function, kind, instead):
    assert changed(function, *give()) == [kind]
    assert torch.empty(0).device.type == "cpu" and torch.empty(0).dtype == torch.float32
    said = torch_settings.advice(["argument 0", kind])
    assert kind in said and instead in said and torch_settings.advice(["the dict"]) is None


@pytest.mark.parametrize("inside", [torch.device("meta"), torch.no_grad()])
def test_a_setting_that_ends_with_its_block_is_none_of_the_judges(inside):
    def function(tensors, options):
        with inside:
            return torch.ones(2)

    assert changed(function, *give()) == []


def test_a_tensor_inside_one_is_a_tensor_that_was_given():
    (name,) = changed(lambda tensors, options: tensors[0].add_(1), *give())
    assert name not in ("the list", "the dict")


def test_what_an_earlier_call_returned_may_grow():
    """A cache that is passed from call to call belongs to the learner's code."""

    def grow(cache):
        return [cache] if isinstance(cache, int) else cache.append(3)

    program = Program().call(1).call(Ref(0))
    outcome, _ = runner.run_program(program.finish("f"), program.tensors, {"f": grow})
    assert [r["value"] for r in outcome["results"]] == [{"list": [1]}, None] and outcome["mutated"] == []


@pytest.mark.parametrize("calls", [2, 3])
def test_what_a_later_call_writes_into_a_result_was_not_there_when_it_was_returned(calls):
    buffer = torch.zeros(2)
    program = Program()
    for _ in range(calls):
        program.call(torch.ones(2))
    outcome, tensors = runner.run_program(program.finish("f"), program.tensors, {"f": buffer.add_})
    returned = [codec.decode(r["value"], tensors).tolist() for r in outcome["results"]]
    assert returned == [[n, n] for n in range(1, calls + 1)]
