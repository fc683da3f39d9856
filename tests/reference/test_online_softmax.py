"""Oracles: torch's softmax and attention with all scores at once, gradients by autograd."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.reference.attention import scaled_dot_product_attention
from autograder.reference.masks import causal_mask
from autograder.reference.online_softmax import attention_backward, attention_in_blocks, causal_in_tiles, merge

quick = settings(max_examples=40, deadline=None)
DOUBLE = torch.float64


def dense(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1).nan_to_num() @ v, scores.logsumexp(-1)


@given(st.integers(1, 5), st.integers(1, 9), st.integers(1, 12), st.floats(0, 1), st.integers(0, 10**6))
@quick
def test_blocks_equal_all_scores_at_once(T, S, block, keep, seed):
    g = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, 3, T, 4, generator=g, dtype=DOUBLE) * 5, torch.randn(2, 3, S, 4, generator=g, dtype=DOUBLE)
    v = torch.randn(2, 3, S, 5, generator=g, dtype=DOUBLE)
    for mask in (None, torch.rand(2, 1, T, S, generator=g) < keep):
        for ours, theirs in zip(attention_in_blocks(q, k, v, block, mask), dense(q, k, v, mask), strict=True):
            torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=1e-12)


@given(st.integers(1, 7), st.integers(0, 5), st.integers(1, 9), st.integers(0, 10**6))
@quick
def test_tiles_equal_a_causal_mask(T, past, block, seed):
    g = torch.Generator().manual_seed(seed)
    S = T + past
    q, k, v = (torch.randn(2, 2, n, 4, generator=g, dtype=DOUBLE) for n in (T, S, S))
    out, lse = causal_in_tiles(q, k, v, block)
    mask = causal_mask(T, S)
    torch.testing.assert_close(out, scaled_dot_product_attention(q, k, v, mask), atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(lse, dense(q, k, v, mask)[1], atol=1e-12, rtol=1e-12)


@given(st.lists(st.floats(-2000, 2000), min_size=1, max_size=4), st.lists(st.floats(-2000, 2000), max_size=4))
@quick
def test_merged_lse_equals_torch_s(a, b):
    first, second = (torch.tensor(x, dtype=DOUBLE) for x in (a, b))
    part = lambda x: (
        (x.softmax(-1) @ x)[None, None] if len(x) else torch.zeros(1, 1, dtype=DOUBLE),
        x.logsumexp(-1)[None],
    )
    out, lse = merge(*part(first), *part(second))
    both = torch.cat([first, second])
    torch.testing.assert_close(lse[0], both.logsumexp(-1))
    torch.testing.assert_close(out[0, 0], both.softmax(-1) @ both)


def test_merging_is_associative_and_nothing_stays_nothing():
    parts = [(torch.randn(3, 2, 4, dtype=DOUBLE), torch.randn(3, 2, dtype=DOUBLE)) for _ in range(3)]
    a, b, c = parts
    for ours, theirs in zip(merge(*merge(*a, *b), *c), merge(*a, *merge(*b, *c)), strict=True):
        torch.testing.assert_close(ours, theirs)
    nothing = torch.zeros(3, 2, 4, dtype=DOUBLE), torch.full((3, 2), -math.inf, dtype=DOUBLE)
    assert all(torch.equal(x, y) for x, y in zip(merge(*nothing, *nothing), nothing, strict=True))
    assert all(torch.equal(x, y) for x, y in zip(merge(*a, *nothing), a, strict=True))


def test_gradients_are_those_of_all_scores_at_once():
    q, k, v = (torch.randn(2, 5, 4, dtype=DOUBLE, requires_grad=True) for _ in range(3))
    mask = causal_mask(5)
    for ours in (lambda: attention_in_blocks(q, k, v, 2, mask), lambda: causal_in_tiles(q, k, v, 2)):
        found = torch.autograd.grad(sum(x.square().sum() for x in ours()), (q, k, v))
        right = torch.autograd.grad(sum(x.square().sum() for x in dense(q, k, v, mask)), (q, k, v))
        torch.testing.assert_close(found, right)


def test_errors():
    with pytest.raises(ValueError, match="at least one key"):
        attention_in_blocks(*torch.randn(3, 2, 4), block=0)


@pytest.mark.parametrize("block", [1, 3, 64])
def test_backward_by_recomputing_equals_autograd(block):
    q, k, v = (torch.randn(2, 3, n, 4, dtype=DOUBLE, requires_grad=True) for n in (5, 7, 7))
    out, lse = dense(q, k, v)
    d_out = torch.randn_like(out)
    right = torch.autograd.grad(out, (q, k, v), d_out)
    with torch.no_grad():
        found = attention_backward(q, k, v, out, lse, d_out, block)
    torch.testing.assert_close(found, right, atol=1e-12, rtol=1e-12)
