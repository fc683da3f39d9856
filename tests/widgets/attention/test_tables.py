"""Tier 1 of AttentionExplorer: tables, facts, mistakes."""

import math

import numpy as np
import pytest
import torch
from anatomy.language import corpus, shipped
from anatomy.widgets import AttentionExplorer
from anatomy.widgets.attention import TOLERANCE

from autograder.recording.widgets.attention import TEXTS, Watched, tokens
from autograder.reference.assembly.decoder import Decoder

from .learners import causal_always, columns_attention, right_attention, unscaled_attention, zero_mask_attention


def test_attention_weights_equal_a_loop():
    widget = AttentionExplorer(right_attention, sentence=2, layer=1, head=3, scale="1/D", mask="causal")
    q, k = widget._inputs["q"][2, 7].double(), widget._inputs["k"][2, 7].double()
    for m in range(8):
        exponentials = [math.exp(float(q[m] @ k[n]) / 40) for n in range(m + 1)]
        expected = [e / sum(exponentials) for e in exponentials] + [0.0] * (7 - m)
        assert np.allclose(widget.weights()[m], expected, atol=1e-6)


def test_attention_scales_sharpen_and_flatten():
    """Mean entropy of all rows, which a scale moves one way."""
    fixed = {"mask": "none", "layer": 2}
    rows = [AttentionExplorer(right_attention, scale=scale, **fixed).weights() for scale in ("none", "1/√D", "1/D")]
    entropy = [-(w * np.log(np.maximum(w, 1e-300))).sum(-1).mean() for w in rows]
    assert entropy[0] < entropy[1] < entropy[2] <= math.log(8)


@pytest.fixture(scope="module")
def model():
    """The shipped model in the reference's decoder, whose attention layers keep what they were given."""
    configuration, weights = shipped.checkpoint()
    made = Decoder(configuration, attention=Watched)
    made.load_state_dict(weights)
    return made


def test_these_are_the_trained_models_own_queries_and_keys(model):
    """Rotated, head by head; the sentences are in the text that was held out and not in what it was trained on."""
    with torch.no_grad():
        model(tokens())
    inputs = AttentionExplorer()._inputs
    for layer, block in enumerate(model.blocks):
        q, k = block.attention.kept
        torch.testing.assert_close(inputs["q"][:, 4 * layer : 4 * layer + 4], q, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(inputs["k"][:, 4 * layer + 1], k[:, 0], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(inputs["k"][:, 4 * layer + 2], k[:, 1], rtol=1e-4, atol=1e-4)
    for text in TEXTS:
        assert text in corpus.held_out_text() and text not in corpus.training_text()


def test_padding_changes_no_token_before_it(model):
    """The filler stands behind the sentence, and the model looks back only."""
    ids = tokens()
    other = ids.clone()
    other[0, 6:] = 300
    with torch.no_grad():
        torch.testing.assert_close(model(ids)[0][0, :6], model(other)[0][0, :6])


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
        (right_attention, "causal", set()),
    ],
)
def test_attention_mistakes_show(fn, mask, broken):
    found = AttentionExplorer(fn, mask=mask).invariants()
    assert {k for k, v in found.items() if v > TOLERANCE} == broken
    assert all(found[name] > 0.01 for name in broken)
