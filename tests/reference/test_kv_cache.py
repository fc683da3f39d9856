"""Oracles: the full forward pass without a cache, Hugging Face's caches, dense attention, error bounds."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.reference import kv_cache
from autograder.reference.attention import scaled_dot_product_attention
from autograder.reference.gqa import RotaryAttention, kv_bytes_per_token, repeat_kv
from autograder.reference.masks import causal_mask, causal_mask_at
from autograder.reference.paged_cache import PagedCache, paged_attention
from autograder.reference.sparse import local_causal_mask, local_causal_mask_at

pytestmark = pytest.mark.usefixtures("no_grad")
quick = settings(max_examples=40, deadline=None)
DOUBLE = torch.float64
PLANS = [[1] * 11, [11], [2, 3, 1, 5], [4, 1, 1, 4, 1], [1, 10]]


@pytest.fixture(scope="module")
def no_grad():
    with torch.no_grad():
        yield


def compositions(T):
    return st.lists(st.integers(1, T), min_size=1, max_size=T).map(lambda sizes: trim(sizes, T))


def trim(sizes, T):
    plan = []
    for size in sizes:
        plan.append(min(size, T - sum(plan)))
        if sum(plan) == T:
            return plan
    return [*plan, T - sum(plan)]


def rotary_layer(seed=0, d_model=16, H=4, G=2):
    torch.manual_seed(seed)
    return RotaryAttention(d_model, H, G).double(), torch.randn(2, 11, d_model, dtype=DOUBLE)


def cached(layer, x, plan, cache, mask_at=causal_mask_at):
    def step(chunk, start):
        queries = torch.arange(start, start + chunk.shape[1])
        mask = mask_at(queries, cache.key_positions(chunk.shape[1]))
        return layer(chunk, mask, queries, cache)

    return kv_cache.run_in_chunks(step, x, plan)


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_contiguous_cache_gives_the_full_forward(plan, oracle_report):
    layer, x = rotary_layer()
    full = layer(x, causal_mask(11), torch.arange(11))
    got = cached(layer, x, plan, kv_cache.ContiguousCache(2, 2, 11, 4, dtype=DOUBLE))
    oracle_report("contiguous cache, full forward", got, full)


@given(compositions(11))
@quick
def test_contiguous_cache_for_random_plans(plan):
    layer, x = rotary_layer()
    full = layer(x, causal_mask(11), torch.arange(11))
    got = cached(layer, x, plan, kv_cache.ContiguousCache(2, 2, 13, 4, dtype=DOUBLE))
    torch.testing.assert_close(got, full, rtol=0, atol=1e-12)


def test_rope_without_the_offset_is_wrong():
    """Numbers each chunk from 0, the mistake that the position ids prevent."""
    layer, x = rotary_layer()
    full = layer(x, causal_mask(11), torch.arange(11))
    cache = kv_cache.ContiguousCache(2, 2, 11, 4, dtype=DOUBLE)
    mask = lambda chunk: causal_mask_at(torch.arange(cache.length, cache.length + 1), cache.key_positions(1))
    wrong = kv_cache.run_in_chunks(
        lambda chunk, start: layer(chunk, mask(chunk), torch.arange(chunk.shape[1]), cache), x, [1] * 11
    )
    assert (wrong - full).abs().max() > 1e-3


@given(st.integers(1, 13), compositions(11))
@quick
def test_rolling_cache_equals_the_masked_full_forward(window, plan):
    layer, x = rotary_layer()
    full = layer(x, local_causal_mask(11, window), torch.arange(11))
    cache = kv_cache.RollingCache(2, 2, window, 4, dtype=DOUBLE)
    mask_at = lambda queries, keys: local_causal_mask_at(queries, keys, window)
    torch.testing.assert_close(cached(layer, x, plan, cache, mask_at), full, rtol=0, atol=1e-12)
    assert cache.keys.shape[2] == window and cache.length == 11


def keys_and_values(T, seed=0, B=2, G=3, D=4):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(2, B, G, T, D, generator=g, dtype=DOUBLE)


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("window", [None, 3, 5, 20])
def test_caches_return_what_hugging_faces_return(plan, window):
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    keys, values = keys_and_values(11)
    theirs = DynamicLayer() if window is None else DynamicSlidingWindowLayer(sliding_window=window)
    ours = (
        kv_cache.ContiguousCache(2, 3, 11, 4, dtype=DOUBLE)
        if window is None
        else kv_cache.RollingCache(2, 3, window, 4, dtype=DOUBLE)
    )
    for start, stop in kv_cache.chunks(11, plan):
        chunk = keys[:, :, start:stop], values[:, :, start:stop]
        positions = ours.key_positions(stop - start)
        expected, got = theirs.update(*chunk), ours.append(*chunk)
        for a, b, source in zip(got, expected, (keys, values), strict=True):
            assert torch.equal(a, b)
            assert torch.equal(a, source[:, :, positions])


def test_cross_attention_cache_projects_once():
    calls = []

    def project(memory):
        calls.append(1)
        return memory[:, None] * 2, memory[:, None] * 3

    cache, memory = kv_cache.CrossAttentionCache(), torch.randn(2, 5, 4)
    for _ in range(4):
        keys, values = cache.get(memory, project)
        assert torch.equal(keys, memory[:, None] * 2) and torch.equal(values, memory[:, None] * 3)
    assert len(calls) == 1
    with pytest.raises(ValueError, match="belongs to a memory"):
        cache.get(memory[:, :4], project)


def test_cache_bytes_are_the_formula():
    tokens, layers = 7, 3
    caches = [kv_cache.ContiguousCache(1, 2, tokens, 8, dtype=torch.float16) for _ in range(layers)]
    assert sum(c.nbytes for c in caches) == tokens * kv_bytes_per_token(layers, 2, 8)
    assert kv_cache.RollingCache(1, 2, 4, 8, dtype=torch.float16).nbytes == 4 * kv_bytes_per_token(1, 2, 8)


@pytest.mark.parametrize("make", [kv_cache.ContiguousCache, kv_cache.QuantizedCache])
def test_cache_errors(make):
    cache = make(1, 2, 3, 4)
    k = torch.zeros(1, 2, 2, 4)
    cache.append(k, k)
    with pytest.raises(ValueError, match="holds 3 tokens, 4 are needed"):
        cache.append(k, k)
    with pytest.raises(ValueError, match=r"1, 2, T, 4"):
        cache.append(torch.zeros(1, 3, 1, 4), k)
    with pytest.raises(ValueError):
        cache.append(k[:, :, :1], k)
    assert cache.length == 2  # a rejected chunk leaves the cache unchanged


def test_chunk_plan_errors():
    for plan in ([2, 2], [3, 0, 2], []):
        with pytest.raises(ValueError, match="chunk plan"):
            list(kv_cache.chunks(5, plan))
    with pytest.raises(ValueError, match="window"):
        kv_cache.RollingCache(1, 1, 0, 4)


# Paged


def filled_pool(lengths, block=3, G=2, D=4, n_blocks=48, seed=0):
    """Sequences that grow in turns, a few tokens at a time, so that their blocks interleave in the pool."""
    g = torch.Generator().manual_seed(seed)
    cache = PagedCache(n_blocks, block, G, D, dtype=DOUBLE)
    data = {s: torch.randn(2, G, n, D, generator=g, dtype=DOUBLE) for s, n in enumerate(lengths)}
    for s in data:
        cache.open(s)
    for start in range(0, max(lengths, default=0), 2):
        for s, (k, v) in data.items():
            if start < k.shape[1]:
                cache.append(s, k[:, start : start + 2], v[:, start : start + 2])
    return cache, data


@given(st.lists(st.integers(0, 12), min_size=1, max_size=4), st.integers(1, 5))
@quick
def test_paged_cache_keeps_every_sequence_and_wastes_less_than_a_block_each(lengths, block):
    cache, data = filled_pool(lengths, block)
    for s, (k, v) in data.items():
        keys, values = cache.gather(s)
        assert torch.equal(keys, k) and torch.equal(values, v)
    assert cache.idle_slots == sum(-n % block for n in lengths) <= len(lengths) * (block - 1)
    used = sum(-(-n // block) for n in lengths)
    assert cache.free_blocks == 48 - used
    owned = [index for table in cache.tables.values() for index in table]
    assert len(set(owned)) == len(owned) == used


@given(st.lists(st.integers(0, 12), min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 3))
@quick
def test_paged_attention_equals_dense_attention_per_sequence(lengths, block, n):
    cache, data = filled_pool(lengths, block)
    q = torch.randn(len(lengths), 2 * n, 4, dtype=DOUBLE)
    got = paged_attention(q, cache, list(data))
    for s, (k, v) in data.items():
        dense = scaled_dot_product_attention(q[s][None, :, None], repeat_kv(k[None], n), repeat_kv(v[None], n))
        torch.testing.assert_close(got[s], dense[0, :, 0], rtol=0, atol=1e-12)


def test_online_softmax_survives_large_scores():
    cache, data = filled_pool([9])
    q = 1e4 * torch.randn(1, 2, 4, dtype=DOUBLE)
    k, v = data[0]
    dense = scaled_dot_product_attention(q[0][:, None], k, v)[:, 0]
    torch.testing.assert_close(paged_attention(q, cache, [0])[0], dense, rtol=0, atol=1e-12)


def test_forks_share_blocks_until_one_of_them_writes():
    cache, data = filled_pool([5])
    free = cache.free_blocks
    cache.fork(0, "child")
    assert cache.free_blocks == free and cache.tables["child"] == cache.tables[0]
    new = torch.ones(2, 1, 4, dtype=DOUBLE)
    cache.append("child", new, new)
    assert cache.free_blocks == free - 1  # the half-full last block was copied, the full one was not
    assert cache.tables["child"][0] == cache.tables[0][0] and cache.tables["child"][1] != cache.tables[0][1]
    assert torch.equal(cache.gather(0)[0], data[0][0])
    assert torch.equal(cache.gather("child")[0], torch.cat([data[0][0], new], dim=1))
    cache.append(0, 2 * new, 2 * new)  # the parent is now alone in its last block
    assert torch.equal(cache.gather("child")[0][:, -1:], new) and cache.free_blocks == free - 1
    cache.close(0)
    assert torch.equal(cache.gather("child")[0], torch.cat([data[0][0], new], dim=1))
    cache.close("child")
    assert cache.free_blocks == 48


def test_paged_cache_reuses_freed_blocks_without_fragmentation():
    """Opens and closes sequences in rounds: whatever the order, all 8 blocks stay usable."""
    cache = PagedCache(8, 2, 1, 3)
    token = torch.randn(1, 16, 3)
    for round_ in range(4):
        for s in range(4):
            cache.open(s)
            cache.append(s, token[:, : 3 + s % 2], token[:, : 3 + s % 2])
        assert cache.free_blocks == 0
        for s in sorted(range(4), key=lambda s: (s * 3 + round_) % 4):
            cache.close(s)
    cache.open("long")
    cache.append("long", token, token)
    assert torch.equal(cache.gather("long")[0], token)


def test_paged_cache_errors_leave_it_unchanged():
    cache = PagedCache(2, 2, 1, 3)
    k = torch.randn(1, 3, 3)
    cache.open("a")
    cache.append("a", k, k)
    with pytest.raises(MemoryError, match="1 blocks are needed, 0 are free"):
        cache.append("a", k, k)
    assert cache.lengths["a"] == 3 and torch.equal(cache.gather("a")[0], k)
    with pytest.raises(ValueError, match="exists already"):
        cache.open("a")
    with pytest.raises(ValueError, match="must be"):
        cache.append("a", k[:, :, :2], k[:, :, :2])
    with pytest.raises(KeyError):
        cache.append("b", k, k)
    with pytest.raises(ValueError, match="rows for"):
        paged_attention(torch.randn(2, 1, 3), cache, ["a"])
    with pytest.raises(ValueError, match="positive"):
        PagedCache(0, 2, 1, 3)


# Quantized


@given(st.integers(2, 8), st.sampled_from([-1, -2]), st.integers(0, 10**6))
@quick
def test_quantization_error_is_at_most_half_a_step(bits, dim, seed):
    x = torch.randn(2, 3, 5, 4, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)
    codes, scale = kv_cache.quantize(x, dim, bits)
    levels = 2 ** (bits - 1) - 1
    assert codes.dtype == torch.int8 and codes.abs().max() == levels
    error = (kv_cache.dequantize(codes, scale, DOUBLE) - x).abs()
    assert (error <= scale / 2 * (1 + 1e-12)).all()
    assert error.max() > 0


def test_quantize_equals_a_loop_and_keeps_zeros():
    x = torch.randn(3, 4)
    x[1] = 0
    codes, scale = kv_cache.quantize(x, -1)
    for i, j in itertools.product((0, 2), range(4)):
        assert codes[i, j] == round(float(x[i, j]) / (float(x[i].abs().max()) / 127))
    assert not codes[1].any() and not kv_cache.dequantize(codes, scale)[1].any()
    with pytest.raises(ValueError, match="2..8"):
        kv_cache.quantize(x, -1, bits=1)


def test_outlier_channels_want_a_scale_per_channel():
    keys = torch.randn(1, 2, 64, 16)
    keys[..., 3] *= 50

    def error(dim):
        # The outlier channel itself has large steps either way, so compare only the others.
        restored = kv_cache.dequantize(*kv_cache.quantize(keys, dim, bits=4))
        return float((restored - keys)[..., [c for c in range(16) if c != 3]].abs().mean())

    assert error(-2) < error(-1) / 3


@pytest.mark.parametrize("bits, worst", [(8, 0.01), (4, 0.2)])
def test_quantized_cache_is_close_and_small(bits, worst):
    layer, x = rotary_layer()
    full = layer(x, causal_mask(11), torch.arange(11))
    cache = kv_cache.QuantizedCache(2, 2, 11, 4, dtype=DOUBLE, bits=bits)
    got = cached(layer, x, [2, 3, 1, 5], cache)
    error = float((got - full).abs().max() / full.abs().max())
    assert 1e-5 < error < worst
    exact = cached(layer, x, [1] * 11, kv_cache.QuantizedCache(2, 2, 11, 4, dtype=DOUBLE, bits=bits))
    torch.testing.assert_close(exact, got)  # the stored values do not depend on the plan
    small = kv_cache.QuantizedCache(2, 2, 100, 128, dtype=torch.float16)
    large = kv_cache.ContiguousCache(2, 2, 100, 128, dtype=torch.float16)
    assert small.nbytes / large.nbytes == pytest.approx((128 + 4) / 256)
