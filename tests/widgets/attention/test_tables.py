"""Tier 1 of AttentionExplorer: tables, facts, mistakes."""

import math

import numpy as np
import pytest
import torch
import traitlets as t
from anatomy.language import corpus, shipped
from anatomy.widgets import AttentionExplorer
from anatomy.widgets.attention import REACH, TOLERANCE, nudged

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
    """The mean entropy of all rows grows with the divisor."""
    fixed = {"mask": "none", "layer": 2}
    rows = [AttentionExplorer(right_attention, scale=scale, **fixed).weights() for scale in ("none", "1/√D", "1/D")]
    entropy = [-(w * np.log(np.maximum(w, 1e-300))).sum(-1).mean() for w in rows]
    assert entropy[0] < entropy[1] < entropy[2] <= math.log(8)


@pytest.fixture(scope="module")
def model():
    """The shipped model in the reference's decoder, whose attention layers keep their inputs."""
    configuration, weights = shipped.checkpoint()
    made = Decoder(configuration, attention=Watched)
    made.load_state_dict(weights)
    return made


def test_these_are_the_trained_models_own_queries_and_keys(model):
    """Rotated, head by head; the sentences are from the held-out text and not in the training text."""
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
    """The padding is after the sentence, and the model only looks back."""
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


def moved_softmax(widget):
    """(8, 8) weights in float64, with the score moved in the row of the query."""
    head = 4 * widget.layer + widget.head
    q, k = (widget._inputs[name][widget.sentence, head].double() for name in "qk")
    scores = q @ k.T / {"none": 1, "1/√D": math.sqrt(40), "1/D": 40}[widget.scale]
    scores[widget.query, widget.moved] += widget.nudge / 10
    if widget.mask == "causal":
        scores = scores.masked_fill(torch.ones(8, 8).triu(1) > 0, -torch.inf)
    return torch.softmax(scores, -1).numpy()


@pytest.mark.parametrize("nudge", [-REACH, -7, 0, 1, 20, REACH])
@pytest.mark.parametrize("scale, mask", [("1/√D", "causal"), ("1/D", "none"), ("none", "causal")])
def test_a_moved_score_gives_the_softmax_of_the_moved_scores(nudge, scale, mask):
    for sentence, query, moved in ((0, 4, 4), (1, 6, 0), (2, 7, 5)):
        widget = AttentionExplorer(
            right_attention, sentence=sentence, query=query, scale=scale, mask=mask, moved=moved, nudge=nudge
        )
        assert np.allclose(widget.weights(), moved_softmax(widget), atol=2e-6)


def test_a_learners_own_row_is_moved_and_no_other():
    """In a wrong function's row, too, all weights except the moved one change by the same factor."""
    before = AttentionExplorer(unscaled_attention).weights()
    after = AttentionExplorer(unscaled_attention, moved=2, nudge=15).weights()
    ratio = after[4, 1:5] / before[4, 1:5]
    assert ratio[1] / ratio[0] == pytest.approx(math.exp(1.5)) and np.ptp(ratio[[0, 2, 3]]) < 1e-12
    assert after[4].sum() == pytest.approx(before[4].sum())
    others = [m for m in range(8) if m != 4]
    assert (after[others] == before[others]).all()
    assert nudged(before[4], 2, 0.0) == pytest.approx(before[4])


def test_a_masked_score_stays_minus_infinity():
    widget = AttentionExplorer(right_attention, moved=6, nudge=40)
    assert widget.delta() == 0 and (widget.weights() == AttentionExplorer(right_attention).weights()).all()
    assert "“<pad>” (token 6) is masked: its score stays −∞" in widget.words
    widget.query = 7  # which may attend to that token
    assert widget.delta() == 4 and "The score of “<pad>” (token 6) is moved by +4.0." in widget.words


def test_words_and_figure_say_what_is_moved():
    widget = AttentionExplorer(right_attention, moved=4, nudge=-12)
    weight = widget.weights()[4, 4]
    assert f"well {weight:.2f}" in widget.words and "The score of “well” (token 4) is moved by −1.2." in widget.words
    assert "moved" not in AttentionExplorer(right_attention, moved=4).words
    heat, bars = widget.figure().axes
    assert f"{weight:.2f}" in [text.get_text() for text in heat.texts]
    widths = [bar.get_width() for bar in bars.patches]
    plain = AttentionExplorer(right_attention)
    assert widths == pytest.approx([*widget.weights()[4], *plain.weights()[4]])
    assert (
        "score of “well” −1.2" in bars.get_title(loc="left") + bars.get_title()
        and len(plain.figure().axes[1].patches) == 8
    )


@pytest.mark.parametrize("state", [{"moved": -2}, {"moved": 8}, {"nudge": REACH + 1}, {"nudge": -REACH - 1}])
def test_no_other_key_and_no_further(state):
    with pytest.raises(t.TraitError):
        AttentionExplorer(right_attention, **state)
