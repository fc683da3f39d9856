"""Oracles: Hugging Face's gated delta rule of Qwen3-Next, a sum over all pairs, the recurrences."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from autograder.reference import linear_attention as ref

quick = settings(max_examples=40, deadline=None)
DOUBLE = torch.float64


def drawn(T, seed=0, D=4, Dv=3):
    g = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, 2, 3, T, D, generator=g, dtype=DOUBLE)
    v = torch.randn(2, 3, T, Dv, generator=g, dtype=DOUBLE)
    decay, rate = torch.rand(2, 2, 3, T, generator=g, dtype=DOUBLE)
    return q, k, v, 0.1 + 0.9 * decay, rate, torch.randn(2, 3, D, Dv, generator=g, dtype=DOUBLE)


@pytest.mark.parametrize("way", ["recurrent", "chunk"])
@pytest.mark.parametrize("with_state", [False, True])
def test_delta_rule_equals_qwen3_next_in_hugging_face(way, with_state):
    from transformers.models.qwen3_next import modeling_qwen3_next as theirs

    q, k, v, decay, rate, state = (t.float() for t in drawn(11))
    state = state if with_state else None
    function = getattr(theirs, f"torch_{way}_gated_delta_rule")
    swap = lambda t: t.transpose(1, 2)
    expected, last = function(
        *map(swap, (q, k, v)), g=swap(decay.log()), beta=swap(rate), initial_state=state, output_final_state=True,
        use_qk_l2norm_in_kernel=True,
    )  # fmt: skip
    out, found = ref.delta_rule(F.normalize(q, dim=-1) / math.sqrt(q.shape[-1]), k, v, decay, rate, state)
    torch.testing.assert_close(out, swap(expected), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found, last, atol=1e-5, rtol=1e-5)


def test_linear_attention_equals_a_sum_over_pairs():
    q, k, v, decay, _, _ = drawn(6)
    right = torch.zeros_like(v)
    for t in range(6):
        for s in range(t + 1):
            kept = decay[..., s + 1 : t + 1].prod(-1)
            right[..., t, :] += ((q[..., t, :] * k[..., s, :]).sum(-1) * kept)[..., None] * v[..., s, :]
    torch.testing.assert_close(ref.linear_parallel(q, k, v, decay), right)
    torch.testing.assert_close(ref.linear_recurrent(q, k, v, decay)[0], right)


@given(st.integers(1, 9), st.integers(1, 12), st.booleans(), st.integers(0, 10**6))
@quick
def test_chunks_equal_the_recurrence(T, chunk, with_state, seed):
    q, k, v, decay, _, state = drawn(T, seed)
    state = state if with_state else None
    found, right = ref.linear_in_chunks(q, k, v, decay, chunk, state), ref.linear_recurrent(q, k, v, decay, state)
    for ours, theirs in zip(found, right, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_text_may_be_cut_anywhere():
    q, k, v, decay, rate, _ = drawn(8)
    whole, last = ref.delta_rule(q, k, v, decay, rate)
    cut = lambda part: [t[..., part, :] for t in (q, k, v)] + [t[..., part] for t in (decay, rate)]
    first, state = ref.delta_rule(*cut(slice(0, 5)))
    second, end = ref.delta_rule(*cut(slice(5, 8)), state)
    torch.testing.assert_close(torch.cat([first, second], -2), whole)
    torch.testing.assert_close(end, last)


def test_the_delta_rule_reads_back_the_newest_pair_and_pairs_at_right_angles():
    k, v = torch.linalg.qr(torch.randn(6, 6, dtype=DOUBLE))[0][None, None], torch.randn(1, 1, 6, 3, dtype=DOUBLE)
    one = torch.ones(1, 1, 6, dtype=DOUBLE)
    torch.testing.assert_close(k @ ref.delta_rule(k, k, v, one, one)[1], v)
    k, v, one = (
        torch.randn(1, 1, 40, 6, dtype=DOUBLE),
        torch.randn(1, 1, 40, 3, dtype=DOUBLE),
        one[..., :1].expand(1, 1, 40),
    )
    state = ref.delta_rule(k, k, v, one, one)[1]
    torch.testing.assert_close(F.normalize(k, dim=-1)[:, :, -1:] @ state, v[:, :, -1:])


def test_bytes():
    assert ref.state_bytes(32, 128, 128) == 2_097_152
    assert ref.hybrid_bytes(6, 3, 50, 8, 100) == 1200 and ref.hybrid_bytes(7, 3, 50, 8, 100) == 1300
