"""Oracles: per-element loops, Hugging Face's sliding-window mask, gradients, FLOP counts, a stopwatch."""

import itertools
import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from autograder.reference import sparse
from autograder.reference.attention import scaled_dot_product_attention
from autograder.reference.masks import causal_mask, dependence
from autograder.reference.sparse_gather import (
    block_gather_attention,
    gather_attention,
    local_attention,
    neighbor_index,
)

quick = settings(max_examples=40, deadline=None)


def gen(seed=0):
    return torch.Generator().manual_seed(seed)


def loop_mask(T, allowed):
    return torch.tensor([[bool(allowed(i, j)) for j in range(T)] for i in range(T)])


@given(st.integers(1, 14), st.integers(1, 9))
@quick
def test_patterns_equal_loops_and_counts_their_closed_forms(T, w):
    odd, stride = 2 * (w // 2) + 1, w
    strided, fixed = sparse.strided_masks(T, stride), sparse.fixed_masks(T, stride)
    cases = [
        (sparse.local_causal_mask(T, w), lambda i, j: i - w < j <= i),
        (sparse.local_symmetric_mask(T, odd), lambda i, j: abs(i - j) <= w // 2),
        (sparse.block_mask(T, w), lambda i, j: i // w == j // w),
        (strided[0], lambda i, j: max(0, i - stride + 1) <= j <= i),
        (strided[1], lambda i, j: j <= i and (i - j) % stride == 0),
        (fixed[0], lambda i, j: j <= i and i // stride == j // stride),
        (fixed[1], lambda i, j: j <= i and j % stride == stride - 1),
    ]
    for got, rule in cases:
        assert torch.equal(got, loop_mask(T, rule))
    assert sparse.scored_pairs(cases[0][0]) == sparse.local_causal_pairs(T, w)
    assert sparse.scored_pairs(cases[1][0]) == sparse.local_symmetric_pairs(T, odd)
    assert sparse.scored_pairs(cases[2][0]) == sparse.block_pairs(T, w)
    at = sparse.local_causal_mask_at(torch.arange(T // 2, T), torch.arange(T), w)
    assert torch.equal(at, cases[0][0][T // 2 :])


def test_window_includes_the_own_key():
    assert sparse.local_causal_mask(6, 3).sum(-1).tolist() == [1, 2, 3, 3, 3, 3]
    assert sparse.local_symmetric_mask(6, 3).sum(-1).tolist() == [2, 3, 3, 3, 3, 2]
    assert torch.equal(sparse.local_causal_mask(5, 1), torch.eye(5).bool())
    assert torch.equal(sparse.local_causal_mask(5, 9), causal_mask(5))


def test_local_causal_mask_equals_mistrals_in_hugging_face(oracle_report):
    from transformers import MistralConfig
    from transformers.masking_utils import create_sliding_window_causal_mask

    config = MistralConfig(
        hidden_size=8,
        num_attention_heads=2,
        num_key_value_heads=2,
        sliding_window=4,
        attn_implementation="eager",
    )
    additive = create_sliding_window_causal_mask(
        config=config, inputs_embeds=torch.zeros(1, 11, 8), attention_mask=None, past_key_values=None
    )
    oracle_report("local_causal_mask / Mistral", sparse.local_causal_mask(11, 4), additive[0, 0] == 0)


@pytest.mark.parametrize("window", [1, 3, 5])
def test_window_of_a_random_mistral_is_seen_in_its_attention_weights_and_its_gradients(window):
    """A tiny Mistral with random weights: its attention weights, and what its last token depends on across layers."""
    from transformers import MistralConfig, MistralModel

    torch.manual_seed(window)
    T, layers = 13, 3
    config = MistralConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=layers, num_attention_heads=2, num_key_value_heads=1,
        intermediate_size=8, sliding_window=window, attn_implementation="eager",
    )  # fmt: skip
    model = MistralModel(config).double().eval()
    x = torch.randn(1, T, 8, dtype=torch.float64, requires_grad=True)
    out = model(inputs_embeds=x, output_attentions=True, use_cache=False)
    mask = sparse.local_causal_mask(T, window)
    for weights in out.attentions:
        assert torch.equal(weights[0] > 0, mask.expand(2, T, T))
    (gradient,) = torch.autograd.grad(out.last_hidden_state[0, -1].square().sum(), x)
    depends = gradient[0].abs().amax(-1) > 0
    assert torch.equal(depends, sparse.reach([mask] * layers)[-1])
    assert depends.sum() == sparse.causal_reach(window, layers)


def test_sliding_and_full_layers_of_a_random_gemma_alternate_as_its_masks_do(oracle_report):
    from transformers import Gemma2Config, Gemma2Model

    torch.manual_seed(0)
    T, w = 11, 4
    config = Gemma2Config(
        vocab_size=20, hidden_size=8, num_hidden_layers=4, num_attention_heads=2, num_key_value_heads=1, head_dim=4,
        intermediate_size=8, sliding_window=w, attn_implementation="eager",
    )  # fmt: skip
    model = Gemma2Model(config).eval()
    out = model(torch.randint(3, 20, (1, T)), output_attentions=True, use_cache=False)
    for weights, mask in zip(out.attentions, sparse.interleaved_masks(T, 4, w, every=2), strict=True):
        oracle_report("interleaved_masks / Gemma 2", mask.expand(2, T, T), weights[0] > 0)


def test_longformer_and_global_tokens():
    mask = sparse.longformer_mask(9, 3, [0, 5])
    assert torch.equal(mask, loop_mask(9, lambda i, j: abs(i - j) <= 1 or {i, j} & {0, 5}))
    with pytest.raises(ValueError, match="0..8"):
        sparse.longformer_mask(9, 3, [9])


def test_longformer_mask_equals_hugging_faces_longformer_attention(oracle_report):
    """Their chunked sliding window with a global token, read off from the value vectors that arrive."""
    from transformers import LongformerConfig, LongformerModel

    torch.manual_seed(0)
    config = LongformerConfig(
        vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
        attention_window=[4], max_position_embeddings=40,
    )  # fmt: skip
    model = LongformerModel(config).eval()
    ids, is_global = torch.randint(2, 30, (1, 16)), torch.zeros(1, 16, dtype=torch.long)
    is_global[0, 3] = 1
    weights = model(ids, global_attention_mask=is_global, output_attentions=True)
    local = weights.attentions[0][0, 0]  # (T, 1 global + 5 window positions)
    got = torch.zeros(16, 16, dtype=torch.bool)
    for i in range(16):
        for slot in range(5):
            if 0 <= i + slot - 2 < 16:
                got[i, i + slot - 2] = bool(local[i, 1 + slot] > 0)
        got[i, 3] |= bool(local[i, 0] > 0)
    got[3] = weights.global_attentions[0][0, 0, 0] > 0
    oracle_report("longformer_mask / Longformer", sparse.longformer_mask(16, 5, [3]), got)


@given(st.integers(1, 30), st.integers(0, 5), st.integers(0, 10**6))
@quick
def test_random_mask_draws_that_many_allowed_keys(T, keys, seed):
    mask = sparse.random_mask(T, keys, gen(seed))
    assert mask.sum(-1).tolist() == [min(keys, T)] * T
    assert torch.equal(mask, sparse.random_mask(T, keys, gen(seed)))
    causal = sparse.random_mask(T, keys, gen(seed), allowed=causal_mask(T))
    assert not (causal & ~causal_mask(T)).any()
    assert causal.sum(-1).tolist() == [min(keys, i + 1) for i in range(T)]


def test_random_mask_is_uniform_and_depends_on_the_seed():
    total = sum(sparse.random_mask(8, 2, gen(s)).int() for s in range(400))
    assert total.min() > 65 and total.max() < 140  # 100 expected, one standard deviation is 8.7
    assert not torch.equal(sparse.random_mask(30, 3, gen(1)), sparse.random_mask(30, 3, gen(2)))


def test_smallest_draws_by_hand():
    draws = torch.tensor([[0.3, 0.1, 0.2], [0.5, 0.6, 0.4]])
    allowed = torch.tensor([[True, False, True], [True, True, True]])
    assert sparse.smallest_draws(draws, 1, allowed).int().tolist() == [[0, 0, 1], [0, 0, 1]]
    assert sparse.smallest_draws(draws, 3, allowed).tolist() == allowed.tolist()


@pytest.mark.parametrize("T", [64, 61])
def test_bigbird_parts(T):
    mask = sparse.bigbird_mask(T, 8, gen(), global_blocks=1, window=3, random=2)
    fixed = loop_mask(T, lambda i, j: abs(i // 8 - j // 8) <= 1 or i < 8 or j < 8)
    assert not (fixed & ~mask).any()
    extra = (mask & ~fixed)[::8, ::8].sum(-1)  # one row and column per block
    assert extra.tolist() == [0, 2, 2, 2, 2, 2, 2, 2]
    assert torch.equal(mask[::8, ::8].repeat_interleave(8, 0).repeat_interleave(8, 1)[:T, :T], mask)


@pytest.mark.parametrize("T, stride", [(16, 4), (17, 4), (30, 5), (9, 1)])
def test_two_hops_of_the_sparse_transformer_reach_every_earlier_position(T, stride):
    for masks in (sparse.strided_masks(T, stride), sparse.fixed_masks(T, stride)):
        assert torch.equal(sparse.reach(masks), causal_mask(T))
        if stride > 1:
            assert all(sparse.scored_pairs(m) < sparse.scored_pairs(causal_mask(T)) for m in masks)


def test_fixed_summary_widths():
    assert torch.equal(sparse.fixed_masks(12, 4, 2)[1], loop_mask(12, lambda i, j: j <= i and j % 4 in (2, 3)))
    with pytest.raises(ValueError, match="summary"):
        sparse.fixed_masks(12, 4, 5)


@pytest.mark.parametrize("w, n_layers", [(1, 3), (2, 1), (3, 2), (4, 3)])
def test_receptive_field_by_formula_by_boolean_powers_and_by_gradients(w, n_layers):
    T = 25
    x = torch.randn(T, 3, dtype=torch.float64)

    def stack(mask):
        def forward(x):
            for _ in range(n_layers):
                h = x[None, None]
                x = x + scaled_dot_product_attention(h, h, h, mask)[0, 0]
            return x

        return forward

    causal, symmetric = sparse.local_causal_mask(T, w), sparse.local_symmetric_mask(T, 2 * w - 1)
    for mask in (causal, symmetric):
        assert torch.equal(dependence(stack(mask), x) > 0, sparse.reach([mask] * n_layers))
    assert sparse.reach([causal] * n_layers)[-1].sum() == sparse.causal_reach(w, n_layers)
    assert sparse.reach([symmetric] * n_layers)[T // 2].sum() == sparse.symmetric_reach(w - 1, n_layers)


@given(st.integers(2, 6), st.integers(0, 24))
@quick
def test_layers_needed_is_the_first_depth_that_reaches(w, distance):
    mask, depth = sparse.local_causal_mask(25, w), sparse.layers_needed(w, distance)
    assert (sparse.reach([mask] * depth) if depth else torch.eye(25).bool())[24, 24 - distance]
    if depth:
        before = sparse.reach([mask] * (depth - 1)) if depth > 1 else torch.eye(25).bool()
        assert not before[24, 24 - distance]


def test_windows_of_one_key_reach_nothing():
    assert sparse.layers_needed(1, 0) == 0
    with pytest.raises(ValueError, match="never reach"):
        sparse.layers_needed(1, 1)


def test_residual_stack_depends_on_what_its_masks_reach():
    x = torch.randn(12, 3, dtype=torch.float64, generator=gen(1))
    layers = [sparse.local_causal_mask(12, 3), sparse.block_mask(12, 4), sparse.strided_masks(12, 5)[1]]
    got = dependence(lambda x: sparse.residual_stack(x, layers), x) > 0
    assert torch.equal(got, sparse.reach(layers)) and not torch.equal(got, sparse.reach(layers[::-1]))


def test_interleaved_layers_follow_command_a():
    assert sparse.interleaved_layers(5, 7) == [(7, True)] * 3 + [(None, False), (7, True)]
    assert sparse.interleaved_layers(2, 7, every=1) == [(None, False)] * 2


def test_interleaved_stack_reaches_everything_after_one_full_layer():
    T, w = 20, 3
    masks = sparse.interleaved_masks(T, 8, w)
    assert [sparse.scored_pairs(m) == T * (T + 1) // 2 for m in masks] == [False, False, False, True] * 2
    assert sparse.reach(masks[:3])[-1].sum() == sparse.causal_reach(w, 3)
    assert torch.equal(sparse.reach(masks[:4]), causal_mask(T))
    assert sparse.interleaved_cache_tokens(T, 8, w) == sum(int(m[-1].sum()) for m in masks)
    assert sparse.interleaved_cache_tokens(2, 8, w) == 16


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: sparse.local_causal_mask(4, 0), "w must be at least 1"),
        (lambda: sparse.local_symmetric_mask(4, 2), "odd"),
        (lambda: sparse.block_mask(4, 0), "block must be"),
        (lambda: sparse.strided_masks(4, 0), "stride must be"),
        (lambda: sparse.interleaved_masks(4, 2, 2, every=0), "every must be"),
    ],
)
def test_pattern_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# The forms that do less work


def tensors(T, B=2, H=2, D=4, Dv=3, dtype=torch.float64, seed=0):
    g = gen(seed)
    return [torch.randn(B, H, T, n, generator=g, dtype=dtype).requires_grad_() for n in (D, D, Dv)]


@given(st.integers(1, 23), st.integers(1, 25), st.integers(0, 10**6))
@quick
def test_local_attention_equals_masked_dense_attention(oracle_report, T, w, seed):
    q, k, v = tensors(T, seed=seed)
    dense = scaled_dot_product_attention(q, k, v, sparse.local_causal_mask(T, w))
    oracle_report("local_attention / masked dense", local_attention(q, k, v, w), dense)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_local_attention_gradients_and_dtypes(dtype):
    q, k, v = tensors(13, dtype=dtype)
    out = local_attention(q, k, v, 4)
    assert out.dtype == dtype
    weight = torch.randn(out.shape, generator=gen(9)).to(dtype)
    got = torch.autograd.grad((out * weight).sum(), (q, k, v))
    dense = scaled_dot_product_attention(q, k, v, sparse.local_causal_mask(13, 4))
    expected = torch.autograd.grad((dense * weight).sum(), (q, k, v))
    for a, b in zip(got, expected, strict=True):
        # bfloat16 keeps 8 bits; sums of a few terms lose a little more.
        torch.testing.assert_close(a, b, rtol=0.05, atol={torch.bfloat16: 0.05}.get(dtype, 1e-5))


@given(st.integers(1, 15), st.floats(0, 1), st.integers(0, 10**6))
@quick
def test_gather_attention_equals_masked_dense_attention_for_any_mask(oracle_report, T, share, seed):
    q, k, v = tensors(T, seed=seed)
    mask = torch.rand(T, T, generator=gen(seed)) < share  # rows may be empty
    index, valid = neighbor_index(mask)
    for i, (keys, ok) in enumerate(zip(index.tolist(), valid.tolist(), strict=True)):
        assert [j for j, real in zip(keys, ok, strict=True) if real] == mask[i].nonzero().flatten().tolist()
    got = gather_attention(q, k, v, index, valid)
    oracle_report("gather_attention / masked dense", got, scaled_dot_product_attention(q, k, v, mask))


@pytest.mark.parametrize("n, block", list(itertools.product([1, 2, 5], [1, 3])))
def test_block_gather_attention_equals_masked_dense_attention(oracle_report, n, block):
    q, k, v = tensors(n * block)
    blocks = torch.rand(n, n, generator=gen()) < 0.6
    mask = blocks.repeat_interleave(block, 0).repeat_interleave(block, 1)
    got = block_gather_attention(q, k, v, blocks, block)
    oracle_report("block_gather_attention / masked dense", got, scaled_dot_product_attention(q, k, v, mask))


def test_bigbird_by_gathered_blocks():
    q, k, v = tensors(48)
    mask = sparse.bigbird_mask(48, 4, gen(), global_blocks=0, random=2)
    got = block_gather_attention(q, k, v, mask[::4, ::4], 4)
    torch.testing.assert_close(got, scaled_dot_product_attention(q, k, v, mask), rtol=0, atol=1e-12)


def count_flops(f, *args):
    with FlopCounterMode(display=False) as counter:
        f(*args)
    return counter.get_total_flops()


def test_gathering_scores_fewer_pairs():
    T, w, D = 256, 16, 8
    q, k, v = (x.detach() for x in tensors(T, B=1, H=1, D=D, Dv=D))
    dense = count_flops(scaled_dot_product_attention, q, k, v, sparse.local_causal_mask(T, w))
    assert dense == 4 * T * T * D
    assert count_flops(local_attention, q, k, v, w) == 4 * T * (2 * w) * D
    index, valid = neighbor_index(sparse.local_causal_mask(T, w))
    assert count_flops(gather_attention, q, k, v, index, valid) == 4 * T * w * D
    blocks = sparse.block_mask(T, w)[::w, ::w]
    assert count_flops(block_gather_attention, q, k, v, blocks, w) == 4 * T * w * D


def test_local_attention_is_faster_than_masked_dense_at_4096():
    T, w = 4096, 64
    q, k, v = (x.detach() for x in tensors(T, B=1, H=1, D=32, Dv=32, dtype=torch.float32))
    mask = sparse.local_causal_mask(T, w)

    def best(f):
        times = []
        for _ in range(3):
            start = time.perf_counter()
            out = f()
            times.append(time.perf_counter() - start)
        return min(times), out

    dense_time, dense = best(lambda: scaled_dot_product_attention(q, k, v, mask))
    local_time, local = best(lambda: local_attention(q, k, v, w))
    torch.testing.assert_close(local, dense, rtol=1e-4, atol=1e-5)
    # 32 times fewer scores; a factor of 4 leaves room for a busy machine.
    assert local_time < dense_time / 4, (local_time, dense_time)


def test_gather_errors():
    q, k, v = tensors(6)
    with pytest.raises(ValueError, match="at least 1"):
        local_attention(q, k, v, 0)
    with pytest.raises(ValueError, match="must be"):
        local_attention(q, k[:, :, :5], v, 2)
    with pytest.raises(ValueError, match="T=6"):
        gather_attention(q, k, v, torch.zeros(5, 2, dtype=torch.long), torch.ones(5, 2).bool())
    with pytest.raises(ValueError, match="whole blocks"):
        block_gather_attention(q, k, v, torch.ones(2, 2).bool(), 4)
