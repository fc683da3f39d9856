"""Relative attention: Shaw, Transformer-XL, T5. Oracles: Hugging Face Wav2Vec2-BERT, XLNet and T5 with copied weights,
and loops over pairs."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.reference.attention import merge_heads, scaled_dot_product_attention, split_heads
from autograder.reference.positions import shaw, t5_buckets, transformer_xl
from tests.reference.draws import draw, seeded
from tests.reference.hf_float64 import float64

from . import hugging_face as hf

FAST = settings(max_examples=20, deadline=None, derandomize=True)
sizes = st.integers(1, 5)


# Shaw


def loop_shaw(q, k, v, rel_k, rel_v, mask, offset):
    B, H, T, D = q.shape
    S, Dv = v.shape[-2:]
    out = torch.zeros(B, H, T, Dv, dtype=torch.float64)
    row = lambda i, j, table: table[min(max(j - i - offset, -(len(table) // 2)), len(table) // 2) + len(table) // 2]
    for b in range(B):
        for h in range(H):
            for i in range(T):
                allowed = [j for j in range(S) if mask[i, j]]
                scores = [float(q[b, h, i] @ (k[b, h, j] + row(i, j, rel_k))) / math.sqrt(D) for j in allowed]
                total = sum(math.exp(s) for s in scores)
                for j, s in zip(allowed, scores, strict=True):
                    out[b, h, i] += math.exp(s) / total * (v[b, h, j] + row(i, j, rel_v))
    return out


@FAST
@given(
    sizes,
    sizes,
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 99),
)
def test_shaw_equals_a_loop_over_pairs(oracle_report, T, S, D, Dv, clip_k, clip_v, offset, seed):
    q, k, v = draw(2, 3, T, D, seed=seed), draw(2, 3, S, D, seed=seed + 1), draw(2, 3, S, Dv, seed=seed + 2)
    rel_k, rel_v = draw(2 * clip_k + 1, D, seed=seed + 3), draw(2 * clip_v + 1, Dv, seed=seed + 4)
    mask = draw(T, S, seed=seed + 5) > 0
    got = shaw.shaw_attention(q, k, v, rel_k, rel_v, mask, offset)
    oracle_report("shaw_attention / loop over pairs", got, loop_shaw(q, k, v, rel_k, rel_v, mask, offset))


def test_shaw_with_zero_values_table_equals_wav2vec2_bert(oracle_report):
    config = hf.Wav2Vec2BertConfig(
        hidden_size=12,
        num_attention_heads=3,
        position_embeddings_type="relative_key",
        left_max_position_embeddings=2,
        right_max_position_embeddings=2,
        attention_dropout=0.0,
    )
    config._attn_implementation = "eager"
    theirs = seeded(hf.Wav2Vec2BertSelfAttention(config))
    x = draw(2, 7, 12)
    q, k, v = (split_heads(p(x), 3) for p in (theirs.linear_q, theirs.linear_k, theirs.linear_v))
    out = shaw.shaw_attention(q, k, v, theirs.distance_embedding.weight, torch.zeros(5, 4, dtype=x.dtype))
    oracle_report("shaw on keys / Wav2Vec2-BERT", theirs.linear_out(merge_heads(out)), theirs(x)[0])


def test_shaw_index_pinned():
    assert shaw.shaw_index(3, 5, 2).tolist() == [[2, 3, 4, 4, 4], [1, 2, 3, 4, 4], [0, 1, 2, 3, 4]]
    assert shaw.shaw_index(1, 4, 1, offset=3).tolist() == [[0, 0, 0, 1]]


def test_shaw_with_empty_tables_is_plain_attention():
    q, k, v = draw(1, 2, 3, 4), draw(1, 2, 5, 4, seed=1), draw(1, 2, 5, 6, seed=2)
    zeros = torch.zeros(7, 4, dtype=q.dtype), torch.zeros(7, 6, dtype=q.dtype)
    torch.testing.assert_close(shaw.shaw_attention(q, k, v, *zeros), scaled_dot_product_attention(q, k, v))


def test_shaw_errors():
    with pytest.raises(ValueError, match="2K\\+1 rows"):
        shaw.shaw_scores(draw(1, 1, 2, 4), draw(1, 1, 2, 4), draw(6, 4))
    with pytest.raises(ValueError, match="negative"):
        shaw.shaw_index(2, 2, -1)


# Transformer-XL and XLNet


@FAST
@given(sizes, sizes, st.integers(1, 6), st.integers(0, 5), st.integers(0, 99))
def test_relative_shift_equals_gather_and_a_loop(B, H, T, memory, seed):
    S = T + memory
    x = draw(B, H, T, T + S - 1, seed=seed)
    shifted = transformer_xl.relative_shift(x)
    assert torch.equal(shifted, transformer_xl.relative_shift_by_gather(x))
    for i in range(T):
        for j in range(S):
            assert torch.equal(shifted[..., i, j], x[..., i, j - i + T - 1])


@FAST
@given(st.integers(1, 6), st.integers(0, 5), st.integers(0, 99))
def test_relative_shift_equals_xlnet(oracle_report, T, memory, seed):
    S = T + memory
    x = draw(2, 3, T, T + S, seed=seed)  # XLNet keeps one more distance, S, which is never used
    expected = hf.XLNetRelativeAttention.rel_shift_bnij(x, klen=S)
    oracle_report("relative_shift / XLNet", transformer_xl.relative_shift(x[..., 1:]), expected)


def test_relative_shift_pinned():
    # Columns are distances 2, 1, 0, -1, -2 from the query.
    x = torch.tensor([[2, 1, 0, -1, -2]] * 3)
    assert transformer_xl.relative_shift(x).tolist() == [[0, -1, -2], [1, 0, -1], [2, 1, 0]]
    with pytest.raises(ValueError, match="columns"):
        transformer_xl.relative_shift(torch.zeros(4, 3))


@FAST
@given(st.integers(1, 5), st.integers(0, 4), st.integers(1, 3), st.integers(1, 4), st.integers(0, 99))
def test_four_terms_equal_a_loop(oracle_report, T, memory, H, D, seed):
    S = T + memory
    q, k, r = (
        draw(2, H, T, D, seed=seed),
        draw(2, H, S, D, seed=seed + 1),
        draw(H, T + S - 1, D, seed=seed + 2),
    )
    u, v = draw(H, D, seed=seed + 3), draw(H, D, seed=seed + 4)
    expected = torch.zeros(2, H, T, S, dtype=torch.float64)
    for b in range(2):
        for h in range(H):
            for i in range(T):
                for j in range(S):
                    encoded = r[h, S - 1 - (memory + i - j)]  # row of distance memory + i - j
                    terms = (q[b, h, i] @ k[b, h, j], q[b, h, i] @ encoded, u[h] @ k[b, h, j], v[h] @ encoded)
                    expected[b, h, i, j] = sum(terms) / math.sqrt(D)
    oracle_report("transformer_xl_scores / loop", transformer_xl.transformer_xl_scores(q, k, r, u, v), expected)


@pytest.mark.parametrize("T, memory", [(5, 0), (5, 3), (1, 6)])
def test_layer_equals_xlnet(oracle_report, T, memory):
    d, H, S = 12, 3, T + memory
    config = hf.XLNetConfig(vocab_size=10, d_model=d, n_head=H, n_layer=1, d_inner=8, dropout=0.0)
    theirs = seeded(hf.XLNetRelativeAttention(config))
    ours = transformer_xl.TransformerXLAttention(d, H).double()
    names = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "r_proj": "r"}
    state = {f"{mine}.weight": getattr(theirs, other).reshape(d, d).T for mine, other in names.items()}
    state |= {"o_proj.weight": theirs.o.reshape(d, d), "u": theirs.r_w_bias, "v": theirs.r_r_bias}
    ours.load_state_dict(state, strict=True)
    x, mems = draw(2, T, d), draw(2, memory, d, seed=1)
    with float64():
        encoded = hf.XLNetModel(config).relative_positional_encoding(T, S, bsz=2)  # (T+S, B, d)
    mask = draw(T, S, seed=2) > -0.5
    mask[:, 0] = True
    forbidden = (~mask)[:, :, None, None].double().expand(T, S, 2, 1)
    time_first = mems.transpose(0, 1) if memory else None
    expected = theirs(x.transpose(0, 1), None, forbidden, None, encoded, None, mems=time_first)[0]
    got = theirs.layer_norm(ours(x, mems if memory else None, mask) + x)
    oracle_report("TransformerXLAttention / XLNet", got, expected.transpose(0, 1))


def test_memory_gets_no_gradient():
    layer, memory = transformer_xl.TransformerXLAttention(8, 2).double(), draw(1, 3, 8).requires_grad_()
    layer(draw(1, 2, 8), memory).sum().backward()
    assert memory.grad is None and layer.r_proj.weight.grad is not None
    with pytest.raises(ValueError, match="divisible"):
        transformer_xl.TransformerXLAttention(8, 3)
    with pytest.raises(ValueError, match="distances"):
        transformer_xl.transformer_xl_scores(
            *(torch.zeros(1, 1, 2, 2),) * 2, torch.zeros(1, 2, 2), torch.zeros(1, 2), torch.zeros(1, 2)
        )


# T5


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("buckets, distance", [(32, 128), (32, 256), (16, 64), (8, 20), (6, 33), (128, 1024)])
def test_buckets_equal_hugging_face(oracle_report, bidirectional, buckets, distance):
    position = torch.arange(-2000, 2001)
    expected = hf.T5Attention._relative_position_bucket(position, bidirectional, buckets, distance)
    got = t5_buckets.t5_relative_bucket(position, bidirectional, buckets, distance)
    oracle_report("t5_relative_bucket / T5", got, expected)


def test_buckets_pinned():
    past = -torch.arange(32)
    both = [*range(8), *[8] * 4, *[9] * 4, *[10] * 7, *[11] * 9]
    assert t5_buckets.t5_relative_bucket(past).tolist() == both
    assert t5_buckets.t5_relative_bucket(-past[1:]).tolist() == [16 + b for b in both[1:]]
    causal = [*range(16), *[16] * 3, *[17] * 2, *[18] * 3, *[19] * 3, *[20] * 4, 21]
    assert t5_buckets.t5_relative_bucket(past, bidirectional=False).tolist() == causal
    assert t5_buckets.t5_relative_bucket(-past, bidirectional=False).tolist() == [0] * 32
    far = torch.tensor([-127, -128, -10_000])
    assert t5_buckets.t5_relative_bucket(far).tolist() == [15] * 3


@pytest.mark.parametrize("arguments", [(True, 2, 128), (False, 1, 128), (True, 32, 8)])
def test_bucket_errors(arguments):
    with pytest.raises(ValueError, match="buckets"):
        t5_buckets.t5_relative_bucket(torch.arange(3), *arguments)


@pytest.mark.parametrize("decoder", [True, False])
@pytest.mark.parametrize("B, T", [(1, 20), (3, 7)])
def test_t5_attention_equals_hugging_face(oracle_report, decoder, B, T):
    H, D = 3, 5
    config = hf.T5Config(
        d_model=11,
        d_kv=D,
        num_heads=H,
        dropout_rate=0.0,
        is_decoder=decoder,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=16,
    )
    config._attn_implementation = "eager"
    theirs = seeded(hf.T5Attention(config, has_relative_attention_bias=True, layer_idx=0))
    table = t5_buckets.T5RelativeBias(H, not decoder, 8, 16).double()
    table.load_state_dict({"weight": theirs.relative_attention_bias.weight})
    x = draw(B, T, 11)
    mask = torch.ones(T, T, dtype=torch.bool).tril() if decoder else None
    added = None if mask is None else torch.where(mask, 0.0, -torch.inf).double()[None, None]
    q, k, v = (split_heads(p(x), H) for p in (theirs.q, theirs.k, theirs.v))
    got = theirs.o(merge_heads(t5_buckets.t5_attention(q, k, v, table(T, T), mask)))
    oracle_report("t5_attention / T5", got, theirs(x, mask=added)[0])


def test_bias_with_an_offset_is_a_row_of_the_full_one():
    table = t5_buckets.T5RelativeBias(2, bidirectional=False)
    full = table(9, 9)
    assert full.shape == (1, 2, 9, 9)
    assert torch.equal(table(2, 9, offset=7), full[:, :, 7:])
