"""Decoding reads keys, values and latents in place, without copying the cache: checked by the profiled allocations."""

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from autograder.reference import gqa
from autograder.reference.attention import scaled_dot_product_attention
from autograder.reference.kv_cache import ContiguousCache
from autograder.reference.masks import causal_mask
from autograder.reference.mla import LatentAttention

B, H, G, S, D = 3, 8, 2, 500, 64


def allocated(call):
    """Bytes that the operations of ``call`` allocate, in total and in the largest one."""
    with torch.no_grad():
        call()  # warm-up, so that one-time setup is not counted
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
            call()
    sizes = [max(0, event.self_cpu_memory_usage) for event in seen.events()]
    return sum(sizes), max(sizes)


def full_cache(groups, width, other):
    """A cache with room for more tokens than it holds, so that it returns strided views."""
    cache = ContiguousCache(B, groups, S + 200, width, other)
    return cache, cache.append(torch.randn(B, groups, S, width), torch.randn(B, groups, S, other))


def broadcast(q, k, v, mask=None):
    """The same result by broadcasting over the group, which looks free of copies but is not."""
    groups = k.shape[1]
    return scaled_dot_product_attention(q.unflatten(1, (groups, -1)), k[:, :, None], v[:, :, None], mask).flatten(1, 2)


def by_repeat(q, k, v, mask=None):
    n = q.shape[1] // k.shape[1]
    return scaled_dot_product_attention(q, gqa.repeat_kv(k, n), gqa.repeat_kv(v, n), mask)


@pytest.mark.parametrize("T", [1, 4])
@pytest.mark.parametrize("masked", [False, True])
def test_grouped_attention_copies_no_keys(T, masked):
    _, (k, v) = full_cache(G, D, D)
    q, mask = torch.randn(B, H, T, D), causal_mask(T, S) if masked else None
    scores = B * H * T * S * 4
    total, largest = allocated(lambda: gqa.grouped_attention(q, k, v, mask))
    assert largest <= max(scores, q.nbytes) and total < 8 * scores + 4 * q.nbytes
    if T == 1:
        assert total < k.nbytes  # all operations together allocate less than one copy of the keys
    for wasteful in (broadcast, by_repeat):
        torch.testing.assert_close(wasteful(q, k, v, mask), gqa.grouped_attention(q, k, v, mask))
        _, copied = allocated(lambda wasteful=wasteful: wasteful(q, k, v, mask))
        assert copied >= H // G * k.nbytes, "the test sees copies"


def test_latent_attention_copies_no_latents():
    rank, rope = 256, 32
    layer = LatentAttention(40, H, q_rank=24, kv_rank=rank, nope_dim=16, rope_dim=rope, v_dim=16)
    cache, (c, _) = full_cache(1, rank, rope)
    x = torch.randn(B, 1, 40)

    def step(forward):
        cache.length = S - 1  # repeats the same step
        return forward(x, position_ids=torch.tensor([S - 1]), cache=cache)

    total, largest = allocated(lambda: step(layer.forward_absorbed))
    size = B * S * rank * 4
    assert largest <= B * H * S * 4 and total < size
    w_uk, _ = layer.up_matrices()
    assert largest < B * w_uk.nbytes, "the absorbed matrices are not copied for each sequence either"
    assert allocated(lambda: step(layer.forward))[1] >= size, "the expanded form writes keys of all heads"
    copying = lambda: torch.randn(B, H, 1, rank) @ c.transpose(-2, -1)
    assert allocated(copying)[1] >= H * size, "broadcasting would have copied the latents for each head"
