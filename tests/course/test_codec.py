"""Any value that a learner returns can be sent: as it is, or as the name of its type."""

import sys

import numpy as np
import pytest
import torch
from anatomy.notebook import checks
from anatomy.program import codec
from anatomy.program.codec import MAX_KEYS, MAX_NODES, MalformedTree, Memory, Opaque, decode, encode


class Raises:
    def __getattr__(self, name):
        raise RuntimeError(name)


class OddDict(dict):
    def items(self):
        raise RuntimeError


NAMED = {
    "an integer that Python does not print": (10**5_000, "number of more than 400 digits"),
    "a long list": ([0] * 21_000, f"list of more than {MAX_NODES} values"),
    "lists in lists": ([[0] * 500] * 500, f"list of more than {MAX_NODES} values"),
    "a long set": (set(range(21_000)), f"set of more than {MAX_NODES} values"),
    "a tensor without values": (torch.empty(2, device="meta"), "tensor without values (device meta)"),
    "a quantized tensor": (torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8), "quantized tensor"),
    "a sparse tensor that would be too large": (
        torch.sparse_coo_tensor(torch.zeros(2, 1, dtype=torch.long), torch.ones(1), (10**6, 10**6)),
        "sparse tensor of shape (1000000, 1000000)",
    ),
    "an object that raises": (Raises(), "Raises"),
    "a dictionary that raises": (OddDict(a=1), "OddDict"),
    "numpy's longest number": (np.longdouble(1), "longdouble"),
    "a name of any length": (type("N" * 9_000, (), {})(), "N" * 80),
}


@pytest.mark.parametrize("kind", NAMED)
def test_what_cannot_be_sent_is_named(kind):
    value, name = NAMED[kind]
    tensors = {}
    tree = encode([value, 1] if kind != "lists in lists" and "long" not in kind else value, tensors)
    found = decode(tree, tensors)
    found = found[0] if isinstance(found, list) else found
    assert isinstance(found, Opaque) and found.type_name in (name, name[:79] + "…") and not tensors


@pytest.mark.parametrize(
    "value", [[1j] * 6_000, [0.5] * 19_000, 10**399, -(10**399), {(1, "a"): [None]}, {str(i): i for i in range(500)}]
)
def test_what_is_sent_comes_back(value):
    assert decode(encode(value, {}), {}) == value


def test_tensors_of_a_value_that_is_too_large_are_not_sent():
    tensors = {"t0": torch.ones(1)}
    assert "opaque" in encode([torch.ones(1)] * 21_000, tensors) and list(tensors) == ["t0"]
    assert encode(torch.ones(1), tensors) == {"tensor": "t1"}


@pytest.mark.parametrize(
    "tree, words",
    [
        ({"dict": [[str(i), i] for i in range(MAX_KEYS + 1)]}, "more than 500 keys"),
        ({"dict": [[{"tuple": [1] * 9}, 1]]}, "unusable keys"),
        ({"dict": [[{"list": []}, 1]]}, "unusable keys"),
        ({"dict": [1]}, "no values"),
        ({"int": "²"}, "unknown kind"),
        ({"complex": ["1+2j", 0]}, "not a complex"),
        ({"complex_tensor": "b"}, "not a complex"),
        ([[0] * 9_000] * 9, "not a value: list"),
        ({"list": [0] * (MAX_NODES + 1)}, "too large"),
    ],
    ids=range(9),
)
def test_what_does_not_follow_the_grammar_is_refused(tree, words):
    with pytest.raises(MalformedTree, match=words):
        decode(tree, {"b": torch.ones(1, 2, dtype=torch.bfloat16)})


def test_a_tree_is_worked_out_once(monkeypatch):
    seen = []
    real = codec.decode
    monkeypatch.setattr(codec, "decode", lambda *a: seen.append(a) or real(*a))
    memory, good, bad = Memory(), {"list": [1]}, {"x": 1}
    one, other = {"t": torch.ones(1)}, {"t": torch.zeros(1)}
    assert memory.value(good, one) is memory.value(good, one)
    assert memory.value({"tensor": "t"}, one) == 1 and memory.value({"tensor": "t"}, other) == 0
    for _ in range(2):
        with pytest.raises(MalformedTree):
            memory.value(bad, one)
    assert len(seen) == 4


def test_a_learner_who_returns_them_reads_what_came_back():
    for value, words in (
        (10**5_000, "a number of more than 400 digits"),
        ([0.0] * 30_000, "a list of more than 20000"),
    ):
        verdict = checks.evaluate("start.weighted_average", lambda values, weights, value=value: value)
        assert words in verdict.text() and "Your code raised" not in verdict.text()
    assert sys.get_int_max_str_digits() <= 5_000, "what this is about"


def test_a_complex_tensor_starts_where_torch_computes_with_it():
    """In a file, pairs of float64 start at any multiple of 8 bytes, and complex128 arithmetic crashes at some."""
    pairs = torch.arange(9.0, dtype=torch.float64)[1:].reshape(4, 2)
    assert pairs.data_ptr() % 16 == 8
    found = decode({"complex_tensor": "a"}, {"a": pairs})
    assert found.data_ptr() % 16 == 0 and (found - found).abs().max() == 0
