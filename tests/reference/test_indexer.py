"""Oracles: Hugging Face's indexer of DeepSeek-V3.2, loops over heads and rows."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.reference.indexer import best_visible, block_choice, index_scores
from autograder.reference.masks import causal_mask
from autograder.reference.rope import apply_rope_half
from tests.reference.hf_float64 import float64, randomize

quick = settings(max_examples=40, deadline=None)


def test_scores_and_choice_equal_deepseek_v32_in_hugging_face(monkeypatch):
    from transformers import DeepseekV32Config
    from transformers.models.deepseek_v32.modeling_deepseek_v32 import DeepseekV32Indexer, DeepseekV32RotaryEmbedding

    seen = []
    topk = torch.Tensor.topk
    with float64():
        config = DeepseekV32Config(
            hidden_size=12, num_attention_heads=3, num_key_value_heads=3, q_lora_rank=9, kv_lora_rank=7,
            qk_nope_head_dim=5, qk_rope_head_dim=4, v_head_dim=3, index_topk=4, index_n_heads=8, index_head_dim=6,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        )  # fmt: skip
        theirs = randomize(DeepseekV32Indexer(config, 0))
        x, residual = torch.randn(2, 10, 12), torch.randn(2, 10, 9)
        ids = torch.arange(10)[None]
        additive = torch.zeros(10, 10).masked_fill(~causal_mask(10), -torch.inf)
        monkeypatch.setattr(torch.Tensor, "topk", lambda t, *a, **k: (seen.append(t), topk(t, *a, **k))[1])
        chosen = theirs(x, residual, DeepseekV32RotaryEmbedding(config)(x, ids), additive, ids)
        monkeypatch.undo()
        q = theirs.wq_b(residual).unflatten(-1, (8, 6)).transpose(1, 2)
        k = theirs.k_norm(theirs.wk(x))[:, None]
        q, k = (torch.cat([apply_rope_half(t[..., :4], ids[0]), t[..., 4:]], -1) for t in (q, k))
        weights = theirs.weights_proj(x) / math.sqrt(8 * 6)
        ours = index_scores(q.transpose(1, 2), k[:, 0], weights)
    expected = seen[-1]
    hidden = ~causal_mask(10)
    torch.testing.assert_close(
        ours.masked_fill(hidden, 0.0), expected.masked_fill(hidden, 0.0).double(), atol=1e-5, rtol=1e-5
    )
    mask = torch.zeros(2, 10, 10, dtype=torch.bool).scatter(-1, chosen.long(), True) & causal_mask(10)
    assert torch.equal(best_visible(ours, 4), mask)


@given(st.integers(1, 6), st.integers(0, 4), st.integers(1, 8), st.booleans(), st.integers(0, 10**6))
@quick
def test_choice_equals_python_s_stable_sort_and_never_looks_ahead(T, past, n, tied, seed):
    g = torch.Generator().manual_seed(seed)
    S = T + past
    scores = torch.randn(2, T, S, generator=g)
    scores = scores.relu() if tied else scores
    chosen = best_visible(scores, n)
    for b in range(2):
        for t in range(T):
            visible = range(past + t + 1)
            best = sorted(visible, key=lambda s: -scores[b, t, s].item())[:n]
            assert chosen[b, t].nonzero().flatten().tolist() == sorted(best)
    assert torch.equal(best_visible(scores[:, : T - 1, : S - 1], n), chosen[:, : T - 1, : S - 1]) or T == 1


def test_scores_equal_a_loop_over_heads():
    q, k, w = torch.randn(2, 3, 4, 5), torch.randn(2, 6, 5), torch.randn(2, 3, 4)
    right = sum(w[:, :, j, None] * torch.relu(q[:, :, j] @ k.mT) for j in range(4))
    torch.testing.assert_close(index_scores(q, k, w), right)


@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 4), st.integers(0, 10**6))
@quick
def test_block_choice_equals_a_loop_and_never_looks_ahead(T, block, n, seed):
    g = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, 1, 2, T, 3, generator=g, dtype=torch.float64)
    mask = block_choice(q, k, block, n)
    for h in range(2):
        means = [part.mean(0) for part in k[0, h].split(block)]
        for t in range(T):
            own = t // block
            best = sorted(range(own), key=lambda i: -(q[0, h, t] @ means[i]).item())[: n - 1]
            keys = [s for s in range(t + 1) if s // block in (*best, own)]
            assert mask[0, h, t].nonzero().flatten().tolist() == keys
    assert torch.equal(block_choice(q[:, :, :-1], k[:, :, :-1], block, n), mask[:, :, :-1, :-1]) or T == 1
