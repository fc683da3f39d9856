"""Caches against the full forward for drawn chunk plans, offsets, left padding, windows and group sizes.

Oracles: the layer without any cache, sequences run alone, Hugging Face's Mistral with its own caches and masks.
"""

import functools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.reference.gqa import RotaryAttention, grouped_attention
from autograder.reference.kv_cache import ContiguousCache, RollingCache, chunks
from autograder.reference.masks import causal_mask_at, left_padded, position_ids
from autograder.reference.mla import LatentAttention
from autograder.reference.paged_cache import PagedCache, paged_attention
from autograder.reference.sparse import local_causal_mask_at
from tests.reference.hf_float64 import float64, randomize
from tests.reference.test_kv_cache import compositions
from tests.reference.test_models import ATOL, VOCAB, mistral, pair

DOUBLE, T, B, WIDTH = torch.float64, 11, 3, 16
quick = settings(max_examples=60, deadline=None)
plans = compositions(T)
lengths = st.lists(st.integers(1, T), min_size=B, max_size=B)
windows = st.one_of(st.none(), st.integers(1, T + 2))


def mask_of(window, queries, keys, real):
    mask = causal_mask_at(queries, keys) if window is None else local_causal_mask_at(queries, keys, window)
    return mask & real[:, None, None, keys]


def run(forward, x, real, plan, cache, window, offset):
    """Runs x chunk by chunk through a cache: masks compare slots (padding included), positions count real tokens."""
    out = []
    for start, stop in chunks(T, plan):
        queries, keys = torch.arange(start, stop), cache.key_positions(stop - start)
        positions = position_ids(real[:, :stop])[:, start:] + offset
        out.append(forward(x[:, start:stop], mask_of(window, queries, keys, real), positions, cache))
    return torch.cat(out, dim=1)


@functools.lru_cache
def rotary(G):
    torch.manual_seed(G)
    return RotaryAttention(WIDTH, 4, G, base=50.0).double(), torch.randn(B, T, WIDTH, dtype=DOUBLE)


@given(plans, lengths, windows, st.sampled_from([1, 2, 4]), st.integers(0, 5000))
@quick
def test_cached_rotary_attention_is_the_full_forward(plan, lengths, window, G, offset):
    """RoPE is relative, so the offset of the whole text must not matter: the full forward starts at 0."""
    layer, x = rotary(G)
    real = left_padded(torch.tensor(lengths), T)
    slots = torch.arange(T)
    with torch.no_grad():
        full = layer(x, mask_of(window, slots, slots, real), position_ids(real))
        make = ContiguousCache if window is None else RollingCache
        cache = make(B, G, T if window is None else window, 4, dtype=DOUBLE)
        got = run(layer, x, real, plan, cache, window, offset)
    torch.testing.assert_close(got[real], full[real], rtol=0, atol=1e-9)
    if window is not None:
        assert cache.keys.shape[2] == window, "the store never grows"


@given(plans, lengths, st.integers(0, 5000), st.booleans())
@quick
def test_cached_latent_attention_is_the_full_forward(plan, lengths, offset, absorbed):
    torch.manual_seed(0)
    layer = randomize(LatentAttention(10, 3, q_rank=9, kv_rank=7, nope_dim=5, rope_dim=4, v_dim=3).double())
    x, slots = torch.randn(B, T, 10, dtype=DOUBLE), torch.arange(T)
    real = left_padded(torch.tensor(lengths), T)
    forward = layer.forward_absorbed if absorbed else layer.forward
    with torch.no_grad():
        full = layer(x, mask_of(None, slots, slots, real), position_ids(real))
        got = run(forward, x, real, plan, ContiguousCache(B, 1, T, 7, 4, dtype=DOUBLE), None, offset)
    torch.testing.assert_close(got[real], full[real], rtol=0, atol=1e-9)


@given(plans, lengths, st.integers(1, 5), st.sampled_from([1, 2, 4]))
@quick
def test_pages_without_padding_are_the_left_padded_batch(plan, lengths, block, G):
    """Each sequence is alone in its pages and appended by the plan; each prefix is read back and attended to."""
    g = torch.Generator().manual_seed(1)
    q = torch.randn(B, 4, T, 4, generator=g, dtype=DOUBLE)
    k, v = torch.randn(2, B, G, T, 4, generator=g, dtype=DOUBLE)
    real, slots = left_padded(torch.tensor(lengths), T), torch.arange(T)
    full = grouped_attention(q, k, v, mask_of(None, slots, slots, real))
    cache = PagedCache(B * T, block, G, 4, dtype=DOUBLE)
    for b in range(B):
        cache.open(b)
    for start, stop in chunks(T, plan):
        for b in range(B):
            new = real[b, start:stop]
            cache.append(b, k[b, :, start:stop][:, new], v[b, :, start:stop][:, new])
            assert torch.equal(cache.gather(b)[0], k[b, :, :stop][:, real[b, :stop]])
        got = paged_attention(q[:, :, stop - 1], cache, range(B))
        keep = real[:, stop - 1]
        torch.testing.assert_close(got[keep], full[keep, :, stop - 1], rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def mistrals():
    with float64():
        theirs, ours = pair(mistral)
        return theirs, ours, theirs.config.sliding_window


@given(plan=plans, lengths=st.lists(st.integers(1, T), min_size=2, max_size=2), seed=st.integers(0, 99))
@settings(max_examples=12, deadline=None)
def test_mistral_in_chunks_equals_hugging_face_in_the_same_chunks(mistrals, plan, lengths, seed):
    """Compares the logits, and the mask that each side builds over the keys that its own cache returns."""
    from transformers import DynamicCache
    from transformers.masking_utils import create_sliding_window_causal_mask

    theirs, ours, window = mistrals
    ids = torch.randint(1, VOCAB, (2, T), generator=torch.Generator().manual_seed(seed))
    real = left_padded(torch.tensor(lengths), T)
    their_cache, caches = DynamicCache(config=theirs.config), ours.new_caches(2, T)
    for start, stop in chunks(T, plan):
        seen, positions = real[:, :stop], position_ids(real[:, :stop])[:, start:]
        their_mask = create_sliding_window_causal_mask(
            theirs.config,
            torch.zeros(2, stop - start, 1),
            seen.long(),
            their_cache,
            position_ids=positions,
        )
        our_mask = mask_of(window, torch.arange(start, stop), caches[0].key_positions(stop - start), real)
        assert torch.equal(their_mask == 0, our_mask.expand_as(their_mask))
        with float64():
            expected = theirs(
                ids[:, start:stop], attention_mask=seen.long(), position_ids=positions, past_key_values=their_cache
            ).logits
            got = ours(ids[:, start:stop], seen, caches)
        keep = real[:, start:stop]
        torch.testing.assert_close(got[keep], expected[keep], rtol=0, atol=ATOL * float(expected.abs().max()))
