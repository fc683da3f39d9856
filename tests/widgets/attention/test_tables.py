"""Tier 1 of AttentionExplorer: tables, facts, mistakes."""

import math

import numpy as np
import pytest
from anatomy.widgets import (
    AttentionExplorer,
)
from anatomy.widgets.attention import TOLERANCE

from .learners import causal_always, columns_attention, right_attention, unscaled_attention, zero_mask_attention


def test_attention_weights_equal_a_loop():
    widget = AttentionExplorer(right_attention, sentence=2, head=3, scale="1/D", mask="causal")
    q, k = widget._inputs["q"][2, 3].double(), widget._inputs["k"][2, 3].double()
    for m in range(8):
        exponentials = [math.exp(float(q[m] @ k[n]) / 16) for n in range(m + 1)]
        expected = [e / sum(exponentials) for e in exponentials] + [0.0] * (7 - m)
        assert np.allclose(widget.weights()[m], expected, atol=1e-6)


def test_attention_scales_sharpen_and_flatten():
    largest = [AttentionExplorer(right_attention, scale=scale).weights().max() for scale in ("none", "1/√D", "1/D")]
    assert largest[0] > largest[1] > largest[2]


def test_attention_padding_is_never_read():
    widget = AttentionExplorer(right_attention, mask="padding", sentence=0)
    assert (widget.weights()[:, 6:] == 0).all() and (widget.weights()[:, :6] > 0).all()


@pytest.mark.parametrize(
    "fn, mask, broken",
    [
        (unscaled_attention, "none", {"reference"}),
        (columns_attention, "none", {"sum", "reference"}),
        (zero_mask_attention, "none", set()),
        (zero_mask_attention, "padding", {"masked", "reference"}),
        (zero_mask_attention, "causal", {"masked", "reference"}),
        (causal_always, "none", {"reference"}),
    ],
)
def test_attention_mistakes_show(fn, mask, broken):
    found = AttentionExplorer(fn, mask=mask).invariants()
    assert {k for k, v in found.items() if v > TOLERANCE} == broken
    assert all(found[name] > 0.01 for name in broken)
