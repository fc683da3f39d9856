"""Values on request: what is sent, and how requests are read."""

import dataclasses
import json

import pytest
import torch

from autograder.grading.base.masters import master
from autograder.grading.judging.following import given_for
from autograder.judge import values
from autograder.judge.reply import MalformedReply
from autograder.judge.values import STOP, Call, Given, parse_calls, value_of


def call(args, tensors, name="softmax", **more):
    """A Call of the course's function with positional arguments, as trees."""
    tree = {"tuple": [{"tuple": args}, {"dict": []}]}
    made = Call("0" * 32, "1" * 32, name, None, None, tree, [], [], None, tensors)
    return dataclasses.replace(made, **more)


X = {"t0": torch.tensor([0.0, 1.0])}
ARGUMENT = [{"tensor": "t0"}]


def test_a_value_is_the_functions_and_a_refusal_is_a_name():
    given = Given(lambda x, n=1: x.exp() * n)
    entry, tensors = value_of(call(ARGUMENT, X), given)
    assert torch.equal(tensors[entry["tree"]["tensor"]], X["t0"].exp()) and entry["carries"] == []

    def refuses(x):
        raise ValueError("an inner name")

    assert value_of(call(ARGUMENT, X), Given(refuses, frozenset({"ValueError"}))) == ({"raises": "ValueError"}, {})
    assert value_of(call(ARGUMENT, X), Given(refuses)) == (STOP, {})


class ValueErrorOfOurs(ValueError):
    pass


ValueErrorOfOurs.__name__ = "ValueError"


def own_error(x):
    raise ValueErrorOfOurs


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.add_(1),
        lambda x: x + torch.rand(2),
        lambda x: object(),
        lambda x: lambda: x,
        lambda x: torch.zeros(1 << 40),
        lambda x: torch.zeros(3 << 20),
        own_error,
    ],
    ids=["writes", "draws", "object", "function", "too much memory", "too much to send", "error of our own"],
)
def test_what_must_not_go_out_stops_the_case(function):
    state = torch.get_rng_state()
    assert value_of(call(ARGUMENT, X), Given(function, frozenset({"ValueError"}))) == (STOP, {})
    assert torch.equal(X["t0"], torch.tensor([0.0, 1.0])) and torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize(
    "args",
    [
        [{"tensor": "t1"}],
        [{"sympy": ["Integer", "1"]}],
        [{"opaque": "object"}],
        [{"int": "9" * 400}],
        [{"fn": "softmax"}],
        [{"fn": "99"}],
        [{"ref": [0]}],
        [[0]],
        {"a": 1},
        [{"list": [{"list": [{"list": [0]}] * 200}] * 200}],
    ],
    ids=str,
)
def test_arguments_that_are_none_have_no_value(args):
    assert value_of(call(args, X), Given(lambda *a, **k: X["t0"])) == (STOP, {})


def test_gradients_are_those_of_the_function():
    given = Given(lambda x: (x * x, x.detach() * 2))
    wants = {"wrt": ["t0"]}
    entry, _ = value_of(call(ARGUMENT, X, **wants), given)
    assert len(entry["carries"]) == 1
    tensors = X | {"c0": torch.tensor([1.0, 10.0])}
    entry, parts = value_of(call(ARGUMENT, tensors, **wants, cotangents=["c0"]), given)
    assert torch.equal(parts[entry["gradients"][0]], torch.tensor([0.0, 20.0]))
    wrong = X | {"c0": torch.zeros(7)}
    assert value_of(call(ARGUMENT, wrong, **wants, cotangents=["c0"]), given) == (STOP, {})


def test_a_function_among_the_arguments_is_called_by_nobody_here():
    given, function = Given(lambda f, x: x + f(2 * x)), {"fn": "0"}
    entry, parts = value_of(call([function, *ARGUMENT], X), given)
    assert entry["function"] == 0
    (asked,) = parts.values()
    assert torch.equal(asked, 2 * X["t0"])
    answers = X | {"a0_0": torch.tensor([5.0, 5.0])}
    entry, parts = value_of(call([function, *ARGUMENT], answers, answers=[{"tensor": "a0_0"}]), given)
    assert entry["function"] is None and torch.equal(parts[entry["tree"]["tensor"]], torch.tensor([5.0, 6.0]))


def test_the_errors_that_go_out_are_those_that_the_exercises_ask_for():
    exercises = {e.id: e for e in master("06-rope").exercises}
    given = given_for([exercises["rope.rope_frequencies"]])
    assert given["rope_frequencies"].refusals == {"ValueError"}


def sent(listed, **tensors):
    from safetensors.torch import save

    return save({"_": torch.zeros(1)} | tensors, metadata={"wanted": json.dumps(listed)})


RIGHT = {"like": "1" * 32, "name": "softmax", "new": None, "state": None, "args": None}
RIGHT |= {"wrt": [], "answers": [], "cotangents": None}


def test_the_list_of_calls_is_read_as_an_enemys():
    used, calls = parse_calls(sent([["softmax"], {"0" * 32: RIGHT}]), {"softmax"})
    assert used == ["softmax"] and calls[0].name == "softmax"


@pytest.mark.parametrize(
    "listed",
    [
        None,
        {},
        [[], {}, []],
        [["relu"], {}],
        [[3], {}],
        [[], {"../x": RIGHT}],
        [[], {"0" * 32: RIGHT | {"name": "relu"}}],
        [[], {"0" * 32: RIGHT | {"more": 1}}],
        [[], {"0" * 32: RIGHT | {"wrt": "t0"}}],
        [[], {"0" * 32: RIGHT | {"wrt": ["t0"]}}],
        [[], {"0" * 32: RIGHT | {"like": "x"}}],
        [[], {"0" * 32: RIGHT | {"cotangents": [1]}}],
        [[], {"0" * 32: RIGHT | {"cotangents": ["_"] * 2_000}}],
        [[], {"0" * 32: RIGHT | {"answers": [0] * (values.MAX_ANSWERS + 1)}}],
        [[], {f"{i:032x}": RIGHT for i in range(values.MAX_CALLS + 1)}],
        [[], {"0" * 32: []}],
    ],
    ids=lambda listed: str(listed)[:60],
)
def test_a_list_of_another_form_is_refused(listed):
    with pytest.raises(MalformedReply):
        parse_calls(sent(listed), {"softmax"})


def test_bytes_that_are_no_list_are_refused():
    for data in (b"", b"\xff" * 100, (1 << 40).to_bytes(8, "little"), sent([[], {}])[:-2]):
        with pytest.raises(MalformedReply):
            parse_calls(data, {"softmax"})
