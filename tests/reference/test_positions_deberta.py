"""DeBERTa. Oracles: Hugging Face DeBERTa v1 and v2 with copied weights, and loops over pairs."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.reference.attention import merge_heads, split_heads
from autograder.reference.positions import deberta
from tests.reference.draws import draw, seeded
from tests.reference.hf_float64 import float64

from . import hugging_face as hf

FAST = settings(max_examples=20, deadline=None, derandomize=True)


def loop_deberta(qc, kc, kr, qr, p2c_from):
    """Scores in loops. p2c_from gives the pair whose δ picks the query row: paper (j, i), released code (i, j)."""
    B, H, T, D = qc.shape
    two_k = kr.shape[-2]
    delta = lambda a, b: min(max(a - b + two_k // 2, 0), two_k - 1)
    out = torch.zeros(B, H, T, T, dtype=torch.float64)
    for b in range(B):
        for h in range(H):
            for i in range(T):
                for j in range(T):
                    c2c = qc[b, h, i] @ kc[b, h, j]
                    c2p = qc[b, h, i] @ kr[h, delta(i, j)]
                    p2c = kc[b, h, j] @ qr[h, delta(*p2c_from(i, j))]
                    out[b, h, i, j] = (c2c + c2p + p2c) / math.sqrt(3 * D)
    return out


def draw_deberta(T, k, H=2, D=3, seed=0):
    shapes = (2, H, T, D), (2, H, T, D), (H, 2 * k, D), (H, 2 * k, D)
    return [draw(*shape, seed=seed + i) for i, shape in enumerate(shapes)]


@FAST
@given(st.integers(1, 7), st.integers(1, 5), st.integers(0, 99))
def test_deberta_scores_equal_loops(oracle_report, T, k, seed):
    tensors = draw_deberta(T, k, seed=seed)
    paper = loop_deberta(*tensors, lambda i, j: (j, i))
    oracle_report("deberta_scores / loop of the paper", deberta.deberta_scores(*tensors), paper)
    released = loop_deberta(*tensors, lambda i, j: (i, j))
    got = deberta.deberta_scores_released(*tensors)
    oracle_report("deberta_scores_released / loop", got, released)


def test_deberta_index_pinned():
    assert deberta.deberta_index(4, 2).tolist() == [[2, 1, 0, 0], [3, 2, 1, 0], [3, 3, 2, 1], [3, 3, 3, 2]]
    with pytest.raises(ValueError, match="positive"):
        deberta.deberta_index(3, 0)
    with pytest.raises(ValueError, match="2k rows"):
        deberta.deberta_scores(*(torch.zeros(1, 1, 2, 2),) * 2, *(torch.zeros(1, 3, 2),) * 2)


@FAST
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_paper_and_released_code_differ_by_a_reversed_table(T, k, seed):
    qc, kc, kr, qr = draw_deberta(T, k, seed=seed)
    paper = deberta.deberta_scores(qc, kc, kr, qr)
    released = deberta.deberta_scores_released(qc, kc, kr, deberta.released_query_table(qr))
    same = torch.isclose(paper, released, rtol=1e-10, atol=1e-12)
    distance = torch.arange(T)[:, None] - torch.arange(T)
    assert same[..., distance < k].all()
    if T > k:
        assert not same[..., distance >= k].any()


def v2_layer(d, H, k):
    config = hf.DebertaV2Config(
        hidden_size=d,
        num_attention_heads=H,
        relative_attention=True,
        max_relative_positions=k,
        position_buckets=-1,
        pos_att_type=["c2p", "p2c"],
        share_att_key=False,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return seeded(hf.deberta_v2.DisentangledSelfAttention(config))


@pytest.mark.parametrize("B, T, k", [(1, 7, 3), (3, 5, 8), (2, 9, 2)])
def test_disentangled_attention_equals_deberta_v2(oracle_report, B, T, k):
    d, H = 12, 3
    theirs, ours = v2_layer(d, H, k), deberta.DisentangledAttention(d, H).double()
    names = {
        "q_proj": "query_proj",
        "k_proj": "key_proj",
        "v_proj": "value_proj",
        "pos_k_proj": "pos_key_proj",
        "pos_q_proj": "pos_query_proj",
    }
    state = {
        f"{mine}.{part}": getattr(getattr(theirs, other), part)
        for mine, other in names.items()
        for part in ("weight", "bias")
    }
    state |= {"o_proj.weight": torch.eye(d), "o_proj.bias": torch.zeros(d)}  # theirs projects in another module
    ours.load_state_dict(state, strict=True)
    x, table = draw(B, T, d), draw(2 * k, d, seed=1)
    lengths = torch.arange(T) < T - 1
    mask = (lengths[:, None] & lengths)[None, None].expand(B, 1, T, T)
    relative = hf.deberta_v2.build_relative_position(x, x)
    with float64():
        expected = theirs(x, mask, relative_pos=relative, rel_embeddings=table)[0]
    got = ours(x, table, mask)
    # A fully masked row is zeros here and uniform there; compare the rows of real tokens.
    oracle_report("DisentangledAttention / DeBERTa-v2", got[:, lengths], expected[:, lengths])
    everything = torch.ones(B, 1, T, T, dtype=torch.bool)
    with float64():
        expected = theirs(x, everything, relative_pos=relative, rel_embeddings=table)[0]
    oracle_report("DisentangledAttention / DeBERTa-v2", ours(x, table), expected)


def test_scores_equal_deberta_v1(oracle_report):
    d, H, k, T = 12, 3, 8, 6
    config = hf.DebertaConfig(
        hidden_size=d,
        num_attention_heads=H,
        relative_attention=True,
        max_relative_positions=k,
        pos_att_type=["c2p", "p2c"],
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    theirs = seeded(hf.deberta_v1.DisentangledSelfAttention(config))
    x, table = draw(2, T, d), draw(2 * k, d, seed=1)
    # v1 stores q, k, v of one head next to each other, and has no key bias.
    q, key, v = theirs.in_proj(x).view(2, T, H, 3 * d // H).transpose(1, 2).chunk(3, dim=-1)
    q = q + theirs.q_bias.view(H, 1, -1)
    v = v + theirs.v_bias.view(H, 1, -1)
    kr, qr = (split_heads(p(table)[None], H)[0] for p in (theirs.pos_proj, theirs.pos_q_proj))
    got = merge_heads(torch.softmax(deberta.deberta_scores_released(q, key, kr, qr), -1) @ v)
    relative = hf.deberta_v1.build_relative_position(x, x)
    mask = torch.ones(2, 1, T, T)
    with float64():
        expected = theirs(x, mask, relative_pos=relative, rel_embeddings=table)[0]
    oracle_report("deberta_scores_released / DeBERTa v1", got, expected)


def test_the_papers_p2c_index_is_not_the_released_one():
    """Decides claim 29: the two readings of the third term differ, and the released code uses (i, j)."""
    theirs = v2_layer(12, 3, 4)
    x, table = draw(1, 6, 12), draw(8, 12, seed=1)
    qc, kc = (split_heads(p(x), 3) for p in (theirs.query_proj, theirs.key_proj))
    kr, qr = (split_heads(p(table)[None], 3)[0] for p in (theirs.pos_key_proj, theirs.pos_query_proj))
    relative = hf.deberta_v2.build_relative_position(x, x)
    _, weights = theirs(x, torch.ones(1, 1, 6, 6), True, relative_pos=relative, rel_embeddings=table)
    off = lambda scores: float((torch.softmax(scores, -1) - weights).abs().max().detach())
    assert off(deberta.deberta_scores_released(qc, kc, kr, qr)) < 1e-6
    assert off(deberta.deberta_scores(qc, kc, kr, qr)) > 0.1


def test_without_positions_the_scale_still_counts_three_terms():
    qc, kc, kr, qr = draw_deberta(4, 3)
    zeros = torch.zeros_like(kr)
    expected = qc @ kc.transpose(-2, -1) / math.sqrt(9)
    torch.testing.assert_close(deberta.deberta_scores(qc, kc, zeros, zeros), expected)
    with pytest.raises(ValueError, match="divisible"):
        deberta.DisentangledAttention(8, 3)


def test_enhanced_mask_decoder_query_adds_absolute_positions():
    hidden, absolute = draw(2, 3, 4), draw(3, 4, seed=1)
    out = deberta.enhanced_mask_decoder_query(hidden, absolute)
    for t in range(3):
        assert torch.equal(out[1, t], hidden[1, t] + absolute[t])
