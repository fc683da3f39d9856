"""Oracles: per-element loops, torch's causal_lower_right bias, Hugging Face's mask builders, gradients."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention as torch_attention

from autograder.reference import masks
from autograder.reference.attention import MultiHeadAttention, scaled_dot_product_attention


def loop_mask(T, S, allowed):
    return torch.tensor([[allowed(i, j) for j in range(S)] for i in range(T)], dtype=torch.bool)


@given(st.integers(1, 9), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_rectangular_causal_mask_equals_a_loop(T, past):
    S = T + past
    assert torch.equal(masks.causal_mask(T, S), loop_mask(T, S, lambda i, j: j <= i + S - T))
    assert torch.equal(masks.causal_mask(T, S), masks.causal_mask_at(torch.arange(past, S), torch.arange(S)))


@pytest.mark.parametrize("T, S", [(1, 1), (1, 7), (3, 3), (5, 8)])
def test_rectangular_causal_mask_equals_torch_lower_right(oracle_report, T, S):
    from torch.nn.attention.bias import causal_lower_right  # loads torch's compiler: more than a second

    q, k, v = (torch.randn(1, 2, n, 4, dtype=torch.float64) for n in (T, S, S))
    expected = torch_attention(q, k, v, attn_mask=causal_lower_right(T, S))
    got = scaled_dot_product_attention(q, k, v, masks.causal_mask(T, S))
    oracle_report("rectangular causal_mask / causal_lower_right", got, expected)


def test_causal_mask_pinned():
    assert masks.causal_mask(2, 4).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]


@pytest.mark.parametrize("T, S", [(0, 3), (4, 3), (0, 0)])
def test_causal_mask_rejects_queries_before_the_first_key(T, S):
    with pytest.raises(ValueError, match="1 <= T <= S"):
        masks.causal_mask(T, S)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.integers(6, 8))
@settings(max_examples=40, deadline=None)
def test_padding_sides_and_positions_equal_loops(lengths, T):
    right, left = (f(torch.tensor(lengths), T) for f in (masks.right_padded, masks.left_padded))
    for b, n in enumerate(lengths):
        assert right[b].tolist() == [j < n for j in range(T)]
        assert left[b].tolist() == [j >= T - n for j in range(T)]
        for real in (right, left):
            assert masks.position_ids(real)[b][real[b]].tolist() == list(range(n))
            row = masks.causal_padding_mask(real)[b, 0]
            expected = loop_mask(T, T, lambda i, j, real=real, b=b: j <= i and bool(real[b, j]))
            assert torch.equal(row, expected)
            assert torch.equal(masks.causal_padding_mask(real, T=2)[b, 0], expected[-2:])


def test_padding_errors():
    with pytest.raises(ValueError, match="0..3"):
        masks.right_padded(torch.tensor([4]), 3)
    with pytest.raises(ValueError, match=r"shape \(B,\)"):
        masks.left_padded(torch.tensor(2), 3)
    with pytest.raises(ValueError, match="boolean"):
        masks.causal_padding_mask(torch.ones(2, 3))


def test_left_and_right_padding_give_each_sequence_its_own_result():
    """The oracle is the unpadded sequence run alone."""
    torch.manual_seed(0)
    layer = MultiHeadAttention(6, 2).double()
    lengths, T = [5, 2, 1], 5
    sequences = [torch.randn(n, 6, dtype=torch.float64) for n in lengths]
    for side in (masks.right_padded, masks.left_padded):
        real = side(torch.tensor(lengths), T)
        x = torch.full((3, T, 6), 1e3, dtype=torch.float64)  # the values of padding must not matter
        for b, sequence in enumerate(sequences):
            x[b, real[b]] = sequence
        out = layer(x, mask=masks.causal_padding_mask(real))
        assert torch.isfinite(out).all()
        for b, sequence in enumerate(sequences):
            alone = layer(sequence[None], mask=masks.causal_mask(lengths[b]))[0]
            torch.testing.assert_close(out[b, real[b]], alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("side", [masks.right_padded, masks.left_padded])
def test_causal_padding_mask_equals_hugging_face(oracle_report, side):
    from transformers import LlamaConfig
    from transformers.masking_utils import create_causal_mask

    real = side(torch.tensor([6, 4, 1]), 6)
    config = LlamaConfig(hidden_size=8, num_attention_heads=2, attn_implementation="eager")
    additive = create_causal_mask(
        config=config,
        inputs_embeds=torch.zeros(3, 6, 8),
        attention_mask=real.long(),
        past_key_values=None,
    )
    ours = masks.causal_padding_mask(real)
    rows = ours.any(-1, keepdim=True).expand_as(ours)  # Hugging Face may open rows of padded queries
    oracle_report("causal_padding_mask / LLaMA", ours[rows], (additive == 0)[rows])


def test_additive_form_keeps_the_polarity():
    additive = masks.to_additive(masks.causal_mask(3))
    assert additive[0].tolist() == [0.0, float("-inf"), float("-inf")]
    scores = torch.randn(3, 3)
    direct = scores.masked_fill(~masks.causal_mask(3), float("-inf")).softmax(-1)
    torch.testing.assert_close((scores + additive).softmax(-1), direct)
    assert masks.to_additive(masks.causal_mask(3), torch.float16).dtype == torch.float16


@given(st.integers(1, 8), st.data())
@settings(max_examples=40, deadline=None)
def test_prefix_lm_mask_equals_a_loop(T, data):
    prefixes = data.draw(st.lists(st.integers(0, T), min_size=1, max_size=3))
    batched = masks.prefix_lm_mask(T, torch.tensor(prefixes))
    assert batched.shape == (len(prefixes), 1, T, T)
    for b, p in enumerate(prefixes):
        expected = loop_mask(T, T, lambda i, j, p=p: j <= i or j < p)
        assert torch.equal(masks.prefix_lm_mask(T, p), expected)
        assert torch.equal(batched[b, 0], expected)


def test_prefix_lm_extremes_and_errors():
    assert torch.equal(masks.prefix_lm_mask(5, 0), masks.causal_mask(5))
    assert masks.prefix_lm_mask(5, 5).all()
    for bad in (-1, 6, torch.tensor([6])):
        with pytest.raises(ValueError, match="0..5"):
            masks.prefix_lm_mask(5, bad)


@pytest.mark.parametrize("source, target", list(itertools.product([0, 1, 3], [1, 2, 4])))
def test_unilm_masks_equal_loops(source, target):
    T = source + target
    rules = {
        "bidirectional": lambda i, j: True,
        "left-to-right": lambda i, j: j <= i,
        "right-to-left": lambda i, j: j >= i,
        "sequence-to-sequence": lambda i, j: j < source if i < source else j <= i,
    }
    assert set(rules) == set(masks.UNILM_OBJECTIVES)
    for objective, rule in rules.items():
        assert torch.equal(masks.unilm_mask(objective, source, target), loop_mask(T, T, rule)), objective


def test_unilm_errors():
    with pytest.raises(ValueError, match="objective must be one of"):
        masks.unilm_mask("causal", 2, 2)
    with pytest.raises(ValueError, match="negative"):
        masks.unilm_mask("bidirectional", -1, 2)


def test_glm_mask_blocks():
    mask = masks.glm_mask(3, 4)
    assert mask[:3, :3].all() and not mask[:3, 3:].any() and mask[3:, :3].all()
    assert torch.equal(mask[3:, 3:], masks.causal_mask(4))


def test_dependence_of_a_causal_layer_is_zero_above_and_nonzero_below_the_diagonal():
    torch.manual_seed(1)
    layer = MultiHeadAttention(4, 2).double()
    x = torch.randn(5, 4, dtype=torch.float64)

    def run(mask):
        return masks.dependence(lambda x: layer(x[None], mask=mask)[0], x)

    assert torch.equal(run(masks.causal_mask(5)) > 0, masks.causal_mask(5))
    assert (run(masks.unilm_mask("bidirectional", 2, 3)) > 0).all()  # the leak of a bidirectional model
    assert torch.equal(run(masks.glm_mask(2, 3)) > 0, masks.glm_mask(2, 3))


def test_dependence_is_the_jacobian_of_a_known_map():
    weights = torch.tensor([[0.0, 2.0], [-3.0, 0.5]])
    torch.testing.assert_close(masks.dependence(lambda x: weights @ x, torch.randn(2, 3)), weights.abs())
    with pytest.raises(ValueError, match="keep the length"):
        masks.dependence(lambda x: x[:1], torch.randn(2, 3))
