"""Absolute positions and table-free ones. Oracles: Hugging Face Marian, BERT and BLOOM, nn.RNN, loops.

Relative attention with tables is in test_positions_relative.py.
"""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from autograder.reference.attention import MultiHeadAttention, attention_weights, split_heads
from autograder.reference.positions import alibi, learned, recurrent, relative, sinusoidal, tupe
from autograder.reference.rope import interleaved_to_half_permutation
from tests.reference.draws import draw
from tests.reference.hf_float64 import float64

from . import hugging_face as hf

FAST = settings(max_examples=25, deadline=None, derandomize=True)
even = st.integers(1, 12).map(lambda n: 2 * n)


# relative positions


def test_relative_positions_pinned():
    assert relative.relative_positions(2, 3).tolist() == [[0, 1, 2], [-1, 0, 1]]
    assert relative.relative_positions(2, 3, offset=1).tolist() == [[-1, 0, 1], [-2, -1, 0]]


# sinusoids


@FAST
@given(st.integers(1, 9), even, st.sampled_from([10000.0, 50.0]))
def test_sinusoidal_table_equals_a_loop(oracle_report, T, d, base):
    expected = torch.tensor(
        [[(math.sin if f % 2 == 0 else math.cos)(p / base ** (2 * (f // 2) / d)) for f in range(d)] for p in range(T)],
        dtype=torch.float64,
    )
    got = sinusoidal.sinusoid(torch.arange(T, dtype=torch.float64), d, base)
    oracle_report("sinusoid / loop", got, expected)
    table = sinusoidal.sinusoidal_table(T, d, base)
    oracle_report("sinusoidal_table / loop", table, expected.float(), rtol=0, atol=1e-7)


@pytest.mark.parametrize("T, d", [(50, 32), (7, 10), (300, 512)])
def test_sinusoidal_table_equals_marian(oracle_report, T, d):
    expected = hf.MarianSinusoidalPositionalEmbedding(T, d).create_weight()
    got = sinusoidal.sinusoidal_table(T, d)[:, interleaved_to_half_permutation(d)]
    oracle_report("sinusoidal_table / Marian", got, expected, rtol=0, atol=1e-7)
    assert torch.equal(sinusoidal.sinusoid_half(torch.arange(T), d), got)


def test_sinusoidal_table_pinned():
    table = sinusoidal.sinusoidal_table(3, 4)
    assert table.dtype == torch.float32
    expected = torch.tensor(
        [[0, 1, 0, 1], [0.841471, 0.540302, 0.0099998, 0.99995], [0.909297, -0.416147, 0.0199987, 0.9998]]
    )
    torch.testing.assert_close(table, expected, rtol=0, atol=1e-6)


def test_sinusoid_of_negative_and_odd_sizes():
    there, back = (sinusoidal.sinusoid(torch.tensor([p]), 6)[0] for p in (5, -5))
    assert torch.equal(there[0::2], -back[0::2]) and torch.equal(there[1::2], back[1::2])
    with pytest.raises(ValueError, match="even"):
        sinusoidal.sinusoidal_table(3, 5)


@FAST
@given(st.integers(-40, 40), even)
def test_shift_is_one_linear_map(k, d):
    positions = torch.arange(-20, 60, dtype=torch.float64)
    table, shifted = sinusoidal.sinusoid(positions, d), sinusoidal.sinusoid(positions + k, d)
    matrix = sinusoidal.shift_matrix(k, d)
    torch.testing.assert_close(table @ matrix.T, shifted, rtol=0, atol=1e-12)
    torch.testing.assert_close(matrix @ matrix.T, torch.eye(d, dtype=torch.float64), rtol=0, atol=1e-12)
    if k:
        assert float((table @ matrix - shifted).abs().max()) > 1e-3  # the transpose shifts the other way


@FAST
@given(st.integers(0, 200), st.integers(-60, 60), even)
def test_position_product_knows_distance_but_not_direction(p, k, d):
    a, b = sinusoidal.sinusoid(torch.tensor([p, p + k], dtype=torch.float64), d)
    product = float(sinusoidal.position_product(torch.tensor(k), d))
    assert product == pytest.approx(float(a @ b), abs=1e-11)
    assert product == pytest.approx(float(sinusoidal.position_product(torch.tensor(-k), d)), abs=1e-11)


def test_projections_give_the_product_a_direction():
    w_q, w_k = draw(8, 8), draw(8, 8, seed=1)
    table = sinusoidal.sinusoid(torch.arange(20, dtype=torch.float64), 8)
    scores = (table @ w_q.T) @ (table @ w_k.T).T
    plain = table @ table.T
    torch.testing.assert_close(plain, plain.T)
    assert float((scores - scores.T).abs().max()) > 1


# learned


def test_learned_positions_equal_bert(oracle_report):
    theirs = hf.BertEmbeddings(
        hf.BertConfig(vocab_size=11, hidden_size=6, num_attention_heads=2, max_position_embeddings=9)
    ).eval()
    ours = learned.LearnedPositions(9, 6)
    ours.load_state_dict({"weight": theirs.position_embeddings.weight})
    words = theirs.word_embeddings(torch.tensor([[3, 3, 5, 1]])) + theirs.token_type_embeddings.weight[0]
    got = theirs.LayerNorm(words + ours(torch.arange(4)))
    oracle_report("LearnedPositions / BERT", got, theirs(torch.tensor([[3, 3, 5, 1]])))


def test_learned_positions_select_rows_by_id():
    table = learned.LearnedPositions(5, 3)
    ids = torch.tensor([[4, 0], [2, 2]])
    assert torch.equal(table(ids), table.weight[ids])
    table(ids).sum().backward()
    assert table.weight.grad[:, 0].tolist() == [1, 0, 2, 0, 1]
    assert table(torch.zeros(2, 0, dtype=torch.long)).shape == (2, 0, 3)


@pytest.mark.parametrize("ids", [[5], [0, 7], [-1, 2]])
def test_learned_positions_end(ids):
    with pytest.raises(ValueError, match=r"do not fit a table of 5 learned positions \(0..4\)"):
        learned.LearnedPositions(5, 3)(torch.tensor(ids))


# recurrent


@pytest.mark.parametrize("B, T, d", [(1, 1, 4), (3, 7, 5)])
def test_recurrent_positions_equal_torchs_rnn(oracle_report, B, T, d):
    torch.manual_seed(0)
    ours, rnn = recurrent.RecurrentPositions(d).double(), nn.RNN(d, d, batch_first=True, dtype=torch.float64)
    nn.init.normal_(ours.bias)
    rnn.load_state_dict(
        {
            "weight_ih_l0": ours.w_in,
            "weight_hh_l0": ours.w_rec,
            "bias_ih_l0": ours.bias,
            "bias_hh_l0": torch.zeros(d),
        }
    )
    x = draw(B, T, d)
    oracle_report("RecurrentPositions / nn.RNN", ours(x), x + rnn(x)[0])


def test_recurrent_positions_break_the_symmetry_of_attention():
    torch.manual_seed(0)
    layer, positions = MultiHeadAttention(8, 2).double(), recurrent.RecurrentPositions(8).double()
    x = draw(1, 1, 8).expand(1, 5, 8)  # the same word five times
    plain, placed = layer(x), layer(positions(x))
    torch.testing.assert_close(plain, plain[:, :1].expand_as(plain))
    assert float((placed[:, 1:] - placed[:, :-1]).abs().amin(dim=(0, 1, 2)).detach()) > 0


# ALiBi


@pytest.mark.parametrize("n_heads", [1, 2, 3, 5, 6, 7, 8, 12, 16, 20, 25, 32, 40, 71, 112])
def test_alibi_slopes_equal_bloom(oracle_report, n_heads):
    # BLOOM keeps only the slopes; position 1 of its bias is one slope per head.
    expected = hf.build_alibi_tensor(torch.ones(1, 2), n_heads, torch.float32)[:, 0, 1]
    # BLOOM multiplies a rounded float32 base up to n_heads times.
    oracle_report("alibi_slopes / BLOOM", alibi.alibi_slopes(n_heads), expected, rtol=2e-5, atol=0)


def test_alibi_slopes_pinned():
    eight = [2.0**-h for h in range(1, 9)]
    assert alibi.alibi_slopes(8).tolist() == eight
    extra = torch.tensor([2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5])
    torch.testing.assert_close(alibi.alibi_slopes(12), torch.cat([torch.tensor(eight), extra]))
    with pytest.raises(ValueError, match="positive"):
        alibi.alibi_slopes(0)


def test_alibi_bias_pinned():
    bias = alibi.alibi_bias(torch.tensor([0.5, 0.25]), 2, 4, offset=2)
    assert bias.tolist() == [
        [[-1, -0.5, 0, -0.5], [-1.5, -1, -0.5, 0]],
        [[-0.5, -0.25, 0, -0.25], [-0.75, -0.5, -0.25, 0]],
    ]


@pytest.mark.parametrize("B, T, H", [(1, 7, 4), (2, 6, 6)])
def test_alibi_attention_equals_bloom(oracle_report, B, T, H):
    torch.manual_seed(0)
    d = 4 * H
    theirs = hf.BloomAttention(hf.BloomConfig(hidden_size=d, n_head=H, hidden_dropout=0.0, attention_dropout=0.0), 0)
    theirs = theirs.double().eval()
    x, mask = draw(B, T, d), torch.ones(T, T, dtype=torch.bool).tril()
    fused = theirs.query_key_value(x).view(B, T, H, 3, 4)
    q, k, v = (fused[..., i, :].transpose(1, 2) for i in range(3))
    out = alibi.alibi_attention(q, k, v, alibi.alibi_slopes(H), mask)
    got = theirs.dense(out.transpose(1, 2).reshape(B, T, d))
    bias = hf.build_alibi_tensor(torch.ones(B, T), H, torch.float64)
    forbidden = torch.zeros(1, 1, T, T, dtype=x.dtype).masked_fill(~mask, torch.finfo(x.dtype).min)
    with float64():
        expected = theirs(x, torch.zeros_like(x), alibi=bias, attention_mask=forbidden)[0]
    # For head counts that are not powers of two, BLOOM multiplies a base that was rounded to float32.
    tolerance = {} if H & (H - 1) == 0 else {"rtol": 1e-5, "atol": 1e-6}
    oracle_report(f"alibi_attention of {H} heads / BLOOM", got, expected, **tolerance)


def test_alibi_is_a_soft_local_window():
    for slope in (0.5, 0.25, 2.0**-8):
        bias = alibi.alibi_bias(torch.tensor([slope], dtype=torch.float64), 1, 4000, offset=3999)[0]
        weights = attention_weights(bias)[0].flip(0)  # nearest first
        decay = math.exp(-slope)
        geometric = (1 - decay) * decay ** torch.arange(4000, dtype=torch.float64)
        torch.testing.assert_close(weights, geometric, rtol=1e-5, atol=1e-12)
        window = alibi.alibi_window(slope, 0.99)
        assert float(weights[:window].sum()) >= 0.99 > float(weights[: window - 1].sum())
    for share in (0.0, 1.0):
        with pytest.raises(ValueError, match="share"):
            alibi.alibi_window(0.5, share)


def test_alibi_bias_is_added_after_scaling():
    q, k, v = draw(1, 1, 1, 4), draw(1, 1, 3, 4, seed=1), torch.eye(3, dtype=torch.float64)[None, None]
    slope = torch.tensor([0.5], dtype=torch.float64)
    scores = (q @ k.transpose(-2, -1))[0, 0, 0] / 2 + torch.tensor([-1.0, -0.5, 0.0])
    got = alibi.alibi_attention(q, k, v, slope, offset=2)[0, 0, 0]
    torch.testing.assert_close(got, torch.softmax(scores, -1))


# TUPE


@FAST
@given(st.integers(1, 5), st.integers(1, 3), st.integers(1, 4), st.integers(0, 99))
def test_tupe_scores_equal_a_loop(oracle_report, T, H, D, seed):
    x, p = draw(2, T, H * D, seed=seed), draw(T, H * D, seed=seed + 1)
    w_q, w_k, u_q, u_k = (draw(H * D, H * D, seed=seed + 2 + i) for i in range(4))
    q, k = split_heads(x @ w_q, H), split_heads(x @ w_k, H)
    pos_q, pos_k = split_heads((p @ u_q)[None], H)[0], split_heads((p @ u_k)[None], H)[0]
    expected = torch.zeros(2, H, T, T, dtype=torch.float64)
    for b in range(2):
        for h in range(H):
            cut = slice(h * D, (h + 1) * D)
            for i in range(T):
                for j in range(T):
                    words = (x[b, i] @ w_q[:, cut]) @ (x[b, j] @ w_k[:, cut])
                    places = (p[i] @ u_q[:, cut]) @ (p[j] @ u_k[:, cut])
                    expected[b, h, i, j] = (words + places) / math.sqrt(2 * D)
    got = tupe.tupe_scores(q, k, tupe.tupe_position_scores(pos_q, pos_k))
    oracle_report("tupe_scores / loop", got, expected)


def test_tied_positions_have_cross_terms_that_untied_ones_lack():
    x, p, w_q, w_k = draw(1, 4, 6), draw(4, 6, seed=1), draw(6, 6, seed=2), draw(6, 6, seed=3)
    tied = ((x + p) @ w_q)[:, None] @ ((x + p) @ w_k)[:, None].transpose(-2, -1)
    cross = (x @ w_q) @ (p @ w_k).T + (p @ w_q) @ (x @ w_k).transpose(-2, -1)
    place = tupe.tupe_position_scores((p @ w_q)[None], (p @ w_k)[None])
    untied = tupe.tupe_scores((x @ w_q)[:, None], (x @ w_k)[:, None], place) * math.sqrt(12)
    torch.testing.assert_close(tied - untied, cross[:, None])


def test_untie_cls_pinned():
    scores = torch.arange(18.0).view(2, 3, 3)
    out = tupe.untie_cls(scores, torch.tensor([100.0, 200]), torch.tensor([-1.0, -2]))
    assert out.tolist() == [
        [[100, 100, 100], [-1, 4, 5], [-1, 7, 8]],
        [[200, 200, 200], [-2, 13, 14], [-2, 16, 17]],
    ]
    assert scores[0, 0, 0] == 0
