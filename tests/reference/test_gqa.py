"""Oracles: per-head loops, torch's attention with enable_gqa, Hugging Face's repeat_kv, FLOP counts."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention as torch_attention
from torch.utils.flop_counter import FlopCounterMode

from autograder.reference import gqa, intensity
from autograder.reference.attention import MultiHeadAttention, scaled_dot_product_attention
from autograder.reference.masks import causal_mask

from . import hugging_face as hf

quick = settings(max_examples=40, deadline=None)


def test_repeat_kv_equals_repeat_interleave_and_hugging_face():
    x = torch.randn(2, 3, 5, 4)
    for n in (1, 2, 3):
        assert torch.equal(gqa.repeat_kv(x, n), x.repeat_interleave(n, dim=1))
        assert torch.equal(gqa.repeat_kv(x, n), hf.repeat_kv(x, n))
    assert not torch.equal(gqa.repeat_kv(x, 2), x.repeat(1, 2, 1, 1))  # the tiled mistake
    with pytest.raises(ValueError, match="at least 1"):
        gqa.repeat_kv(x, 0)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 6), st.integers(0, 4), st.integers(0, 10**6))
@quick
def test_grouped_attention_equals_repeated_and_a_loop_over_heads(G, n, T, past, seed):
    g = torch.Generator().manual_seed(seed)
    S, D, Dv = T + past, 4, 3
    q = torch.randn(2, G * n, T, D, generator=g, dtype=torch.float64)
    k = torch.randn(2, G, S, D, generator=g, dtype=torch.float64)
    v = torch.randn(2, G, S, Dv, generator=g, dtype=torch.float64)
    for mask in (None, causal_mask(T, S), torch.rand(2, 1, T, S, generator=g) < 0.7,
                 torch.rand(2, G * n, T, S, generator=g) < 0.7):  # fmt: skip
        got = gqa.grouped_attention(q, k, v, mask)
        repeated = scaled_dot_product_attention(q, gqa.repeat_kv(k, n), gqa.repeat_kv(v, n), mask)
        torch.testing.assert_close(got, repeated, rtol=0, atol=1e-13)
        for h in range(G * n):
            row = mask if mask is None or mask.dim() == 2 else mask[:, min(h, mask.shape[1] - 1)]
            alone = scaled_dot_product_attention(q[:, h], k[:, h // n], v[:, h // n], row)
            torch.testing.assert_close(got[:, h], alone, rtol=0, atol=1e-13)


def test_grouped_attention_equals_torch_enable_gqa(oracle_report):
    q, k, v = (torch.randn(2, n, 7, 8, dtype=torch.float64) for n in (6, 2, 2))
    expected = torch_attention(q, k, v, is_causal=True, enable_gqa=True)
    oracle_report("grouped attention, torch", gqa.grouped_attention(q, k, v, causal_mask(7)), expected)


def test_g_equal_h_is_multi_head_attention():
    torch.manual_seed(0)
    mha = MultiHeadAttention(12, 4).double()
    layer = gqa.GroupedQueryAttention(12, 4, 4, qkv_bias=True, out_bias=True).double()
    layer.load_state_dict(mha.state_dict())
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    torch.testing.assert_close(layer(x, causal_mask(5)), mha(x, mask=causal_mask(5)))


def test_mqa_shares_one_key_head():
    layer = gqa.GroupedQueryAttention(12, 4, 1)
    assert layer.k_proj.weight.shape == (3, 12) and layer.v_proj.weight.shape == (3, 12)
    assert gqa.GroupedQueryAttention(10, 4, 2, head_dim=6).o_proj.weight.shape == (10, 24)


def test_mean_pool_equals_a_loop():
    H, G, D, d = 6, 2, 3, 5
    weight, bias = torch.randn(H * D, d), torch.randn(H * D)
    pooled, pooled_bias = gqa.mean_pool_heads(weight, H, G), gqa.mean_pool_heads(bias, H, G)
    for group, i in itertools.product(range(G), range(D)):
        rows = [(group * (H // G) + member) * D + i for member in range(H // G)]
        torch.testing.assert_close(pooled[group * D + i], weight[rows].mean(0))
        torch.testing.assert_close(pooled_bias[group * D + i], bias[rows].mean())
    assert torch.equal(gqa.mean_pool_heads(weight, H, H), weight)


def test_conversion_is_exact_for_equal_heads_and_an_average_otherwise():
    torch.manual_seed(0)
    layer = gqa.RotaryAttention(16, 4, 4, qkv_bias=True, base=50.0).double()
    x, ids = torch.randn(2, 5, 16, dtype=torch.float64), torch.arange(5)
    different = gqa.convert_to_gqa(layer, 2)
    assert (different(x, causal_mask(5), ids) - layer(x, causal_mask(5), ids)).abs().max() > 1e-3
    with torch.no_grad():
        for projection in (layer.k_proj, layer.v_proj):
            for tensor in (projection.weight, projection.bias):
                per_head = tensor.unflatten(0, (4, 4))
                per_head[1], per_head[3] = per_head[0], per_head[2]
    same = gqa.convert_to_gqa(layer, 2)
    assert same.k_proj.weight.shape == (8, 16) and same.n_kv_heads == 2 and layer.n_kv_heads == 4
    torch.testing.assert_close(same(x, causal_mask(5), ids), layer(x, causal_mask(5), ids))


def test_gqa_errors():
    with pytest.raises(ValueError, match="positive multiple"):
        gqa.GroupedQueryAttention(12, 4, 3)
    with pytest.raises(ValueError, match="divisible"):
        gqa.GroupedQueryAttention(10, 4, 2)
    with pytest.raises(ValueError, match="position_ids"):
        gqa.RotaryAttention(8, 2, 1)(torch.randn(1, 3, 8))
    with pytest.raises(ValueError, match="rows"):
        gqa.mean_pool_heads(torch.randn(7, 3), 2, 1)


# Memory


@pytest.mark.parametrize(
    "model, shape, expected",
    [
        ("LLaMA-2-7B", (32, 32, 128), 524_288),
        ("LLaMA-2-70B", (80, 8, 128), 327_680),
        ("Llama-3-8B", (32, 8, 128), 131_072),
        ("ChatGLM2-6B", (28, 2, 128), 28_672),
    ],
)
def test_bytes_per_token_of_real_models(model, shape, expected):
    assert gqa.kv_bytes_per_token(*shape) == expected, model


def test_notes_figures_for_an_mha_llama_7b():
    per_layer = gqa.kv_bytes_per_token(1, 32, 128)
    per_token = gqa.kv_bytes_per_token(32, 32, 128)
    assert (per_layer, per_token, per_token * 8192) == (16 * 2**10, 512 * 2**10, 4 * 2**30)


def test_users_that_fit():
    """80 GiB of memory, Llama-3-8B in bfloat16, 8192 tokens per user taking 1 GiB each."""
    weights, GiB = 2 * 8_030_261_248, 2**30
    assert gqa.users_that_fit(80 * GiB, weights, 131_072, 8192) == (80 * GiB - weights) // GiB == 65
    assert gqa.users_that_fit(80 * GiB, weights, 131_072, 8192, reserve_bytes=10 * GiB) == 55
    assert gqa.users_that_fit(GiB, weights, 131_072, 8192) == 0
    with pytest.raises(ValueError, match="positive"):
        gqa.users_that_fit(GiB, 0, 0, 10)


def test_encoder_decoder_cache_grows_with_the_input():
    small, large = (gqa.encoder_decoder_cache_bytes(6, 8, 64, s, 10) for s in (100, 200))
    assert large - small == 100 * 2 * 6 * 8 * 64 * 2


# Intensity


def count_flops(f, *args):
    with FlopCounterMode(display=False) as counter:
        f(*args)
    return counter.get_total_flops()


@pytest.mark.parametrize("B, T, S, H, G, D", [(1, 1, 9, 4, 4, 8), (2, 5, 7, 6, 2, 4), (3, 4, 4, 2, 1, 8)])
def test_costs_equal_counted_flops_and_summed_bytes(B, T, S, H, G, D):
    q, k, v = (torch.randn(B, h, n, D).half() for h, n in ((H, T), (G, S), (G, S)))
    cost = intensity.attention_cost(B, T, S, H, G, D)
    assert cost.flops == count_flops(gqa.grouped_attention, q, k, v)
    assert cost.bytes == sum(t.nbytes for t in (q, k, v, gqa.grouped_attention(q, k, v)))
    x, linear = torch.randn(B * T, 6), torch.nn.Linear(6, 10, bias=False)
    cost = intensity.linear_cost(B * T, 6, 10, itemsize=4)
    assert cost == (count_flops(linear, x), x.nbytes + linear.weight.nbytes + linear(x).nbytes)


def test_decoder_layer_cost_equals_counted_flops():
    from autograder.reference.ffn import GatedFeedForward

    B, T, d, H, G, d_ff = 2, 6, 16, 4, 2, 24
    attention, ffn = gqa.GroupedQueryAttention(d, H, G), GatedFeedForward(d, d_ff)
    x = torch.randn(B, T, d)
    flops = count_flops(lambda: ffn(attention(x)))
    assert intensity.decoder_layer_cost(B, T, T, d, H, G, d // H, d_ff).flops == flops


def test_decode_intensity_is_the_group_size_whatever_the_batch():
    for B, (H, G) in itertools.product((1, 64), ((32, 32), (32, 8), (32, 1))):
        decode = intensity.attention_cost(B, 1, 10**6, H, G, 128)
        assert decode.intensity == pytest.approx(H / G, rel=1e-4)
    assert intensity.linear_cost(8, 4096, 4096).intensity == pytest.approx(8, rel=0.01)
    prefill = intensity.decoder_layer_cost(1, 4096, 4096, 4096, 32, 32, 128, 11008)
    assert prefill.intensity > 500 > 50 > intensity.decoder_layer_cost(1, 1, 4096, 4096, 32, 32, 128, 11008).intensity


def test_roofline():
    peak, bandwidth = 1e15, 2e12
    assert intensity.ridge_point(peak, bandwidth) == 500
    assert intensity.attainable_flops(1, peak, bandwidth) == 2e12
    assert intensity.attainable_flops(1e4, peak, bandwidth) == peak
    for cost in (intensity.Cost(10**9, 10**9), intensity.Cost(10**15, 10**9)):
        seconds = intensity.roofline_seconds(cost, peak, bandwidth)
        assert cost.flops / seconds == pytest.approx(intensity.attainable_flops(cost.intensity, peak, bandwidth))
