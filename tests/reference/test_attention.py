"""Oracles: torch built-ins, nn.MultiheadAttention with copied weights, per-element loops, torch's own FLOP
counter, hand counts."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from autograder.reference import attention as ref
from tests.reference.draws import draw

FAST = settings(max_examples=25, deadline=None, derandomize=True)
sizes = st.integers(1, 7)


def loop_attention(q, k, v, mask):
    """One output element at a time, in Python floats."""
    T, D = q.shape
    S, Dv = v.shape
    out = torch.zeros(T, Dv, dtype=torch.float64)
    for i in range(T):
        scores = {j: sum(float(q[i, c] * k[j, c]) for c in range(D)) / D**0.5 for j in range(S) if mask[i, j]}
        peak = max(scores.values(), default=0.0)
        total = sum(math.exp(s - peak) for s in scores.values())
        for j, s in scores.items():
            for c in range(Dv):
                out[i, c] += math.exp(s - peak) / total * float(v[j, c])
    return out


# softmax


@FAST
@given(sizes, sizes, sizes, st.sampled_from([0, 1, 2, -1, -2]), st.integers(0, 99))
def test_softmax_equals_torch(oracle_report, a, b, c, dim, seed):
    x = 10 * draw(a, b, c, seed=seed)
    oracle_report("softmax / torch.softmax", ref.softmax(x, dim), torch.softmax(x, dim))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_softmax_keeps_dtype_and_precision(oracle_report, dtype):
    x = (5 * draw(4, 3000)).to(dtype)
    expected = torch.softmax(x.double(), -1).to(dtype)
    oracle_report("softmax / float64", ref.softmax(x), expected)


def test_softmax_survives_a_shift_of_1e4():
    x = draw(3, 5)
    shifted = ref.softmax(x + 1e4)
    assert torch.isfinite(shifted).all()
    torch.testing.assert_close(shifted, ref.softmax(x), rtol=1e-10, atol=0)  # 1e4 costs four digits
    assert torch.equal(ref.softmax(torch.tensor([0.0, 1e4])), torch.tensor([0.0, 1.0]))


def test_softmax_masked_entries_are_exactly_zero_and_full_rows_are_zeros():
    x = torch.tensor([[1.0, -math.inf, 2.0], [-math.inf] * 3])
    out = ref.softmax(x)
    e = math.exp(-1)
    expected = torch.tensor([[e / (1 + e), 0.0, 1 / (1 + e)], [0.0, 0.0, 0.0]])
    torch.testing.assert_close(out, expected)
    assert out[0, 1] == 0


def test_softmax_gradient_is_finite_and_zero_on_a_fully_masked_row():
    x = torch.tensor([[1.0, -math.inf, 2.0], [-math.inf] * 3], requires_grad=True)
    (ref.softmax(x) * torch.arange(3.0)).sum().backward()
    assert torch.isfinite(x.grad).all()
    assert (x.grad[1] == 0).all() and x.grad[0, 0] != 0


def test_softmax_gradient_equals_finite_differences():
    assert torch.autograd.gradcheck(ref.softmax, draw(3, 4).requires_grad_())


def test_softmax_of_an_empty_row_is_empty():
    assert ref.softmax(torch.zeros(2, 0)).shape == (2, 0)


# scaled dot products


@FAST
@given(sizes, sizes, sizes, sizes, sizes, sizes, st.integers(0, 99))
def test_sdpa_equals_torch(oracle_report, B, H, T, S, D, Dv, seed):
    q, k, v = (
        draw(B, H, T, D, seed=seed),
        9 * draw(B, H, S, D, seed=seed + 1),
        draw(B, H, S, Dv, seed=seed + 2),
    )
    mask = draw(B, 1, T, S, seed=seed + 3) > 0
    mask[..., 0] = True
    name = "attention / F.scaled_dot_product_attention"
    expected = F.scaled_dot_product_attention(q, k, v, mask)
    oracle_report(name, ref.scaled_dot_product_attention(q, k, v, mask), expected)
    expected = F.scaled_dot_product_attention(q, k, v)
    oracle_report(name, ref.scaled_dot_product_attention(q, k, v), expected)


@FAST
@given(sizes, sizes, sizes, sizes, st.integers(0, 99))
def test_sdpa_equals_a_loop_with_any_mask(oracle_report, T, S, D, Dv, seed):
    q, k, v = draw(T, D, seed=seed), draw(S, D, seed=seed + 1), draw(S, Dv, seed=seed + 2)
    mask = draw(T, S, seed=seed + 3) > 0.5  # fully masked rows occur
    got = ref.scaled_dot_product_attention(q, k, v, mask)
    oracle_report("attention / per-element loop", got, loop_attention(q, k, v, mask))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_sdpa_in_low_precision(oracle_report, dtype):
    q, k, v = (draw(2, 3, n, 16, seed=n).to(dtype) for n in (5, 11, 11))
    expected = F.scaled_dot_product_attention(q.double(), k.double(), v.double()).to(dtype)
    oracle_report("attention / float64", ref.scaled_dot_product_attention(q, k, v), expected)


def test_sdpa_pinned_value():
    # Scores 1 and 0 after scaling by 1/√4: weights σ(1) and 1 - σ(1).
    q, k = torch.tensor([[2.0, 0, 0, 0]]), torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    v = torch.tensor([[1.0, 0, 10], [0, 1, 10]])
    expected = torch.tensor([[0.7310586, 0.2689414, 10.0]])
    torch.testing.assert_close(ref.scaled_dot_product_attention(q, k, v), expected)


def test_sdpa_fully_masked_row_is_zero_and_has_no_nan_gradient():
    q, k, v = (draw(3, 4, seed=s).requires_grad_() for s in range(3))
    mask = torch.tensor([[True, False, True], [False] * 3, [True] * 3])
    out = ref.scaled_dot_product_attention(q, k, v, mask)
    assert (out[1] == 0).all() and (out[0] != 0).all()
    out.sum().backward()
    assert all(torch.isfinite(t.grad).all() for t in (q, k, v))
    assert (q.grad[1] == 0).all()


def test_logit_variance_is_d_before_and_1_after_scaling():
    for D in (16, 256):
        q, k = draw(2000, D, seed=1), draw(2000, D, seed=2)
        scores = ref.attention_scores(q, k)
        assert abs(float((q @ k.T).var()) / D - 1) < 0.05
        assert abs(float(scores.var()) - 1) < 0.05


@FAST
@given(st.integers(2, 9), st.integers(0, 99))
def test_attention_commutes_with_permutations(T, seed):
    layer = ref.MultiHeadAttention(12, 3).double()
    x = draw(2, T, 12, seed=seed)
    order = torch.randperm(T, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(layer(x[:, order]), layer(x)[:, order], rtol=1e-9, atol=1e-12)


def test_scores_are_not_symmetric():
    x, w_q, w_k = draw(5, 8), draw(8, 8, seed=1), draw(8, 8, seed=2)
    scores = ref.attention_scores(x @ w_q, x @ w_k)
    assert float((scores - scores.T).abs().max()) > 1


@pytest.mark.parametrize(
    "shapes, error, text",
    [
        (((3, 4), (5, 6), (5, 2), None), ValueError, "same head dim"),
        (((3, 4), (5, 4), (6, 2), None), ValueError, "same length S"),
        (((3, 4), (5, 4), (5, 2), (5, 3)), ValueError, r"mask \(5, 3\) does not broadcast"),
        (((3, 4), (5, 4), (5, 2), (2, 3, 5)), ValueError, r"mask \(2, 3, 5\) does not broadcast"),
    ],
)
def test_sdpa_errors(shapes, error, text):
    *tensors, mask = shapes
    mask = None if mask is None else torch.ones(mask, dtype=torch.bool)
    with pytest.raises(error, match=text):
        ref.scaled_dot_product_attention(*(torch.zeros(s) for s in tensors), mask)


def test_sdpa_refuses_a_mask_of_numbers():
    with pytest.raises(TypeError, match="boolean"):
        ref.scaled_dot_product_attention(*(torch.zeros(2, 2),) * 3, torch.zeros(2, 2))


# heads


@FAST
@given(sizes, sizes, sizes, sizes)
def test_split_and_merge_heads(B, T, H, D):
    x = draw(B, T, H * D)
    heads = ref.split_heads(x, H)
    assert heads.shape == (B, H, T, D)
    for h in range(H):
        assert torch.equal(heads[:, h], x[:, :, h * D : (h + 1) * D])
    assert torch.equal(ref.merge_heads(heads), x)


def test_split_heads_error():
    with pytest.raises(ValueError, match=r"d_model \(10\) must be divisible by a positive n_heads \(4\)"):
        ref.split_heads(torch.zeros(1, 2, 10), 4)


def torch_twin(layer, d_model, H, bias):
    """nn.MultiheadAttention with the same weights."""
    twin = nn.MultiheadAttention(d_model, H, bias=bias, batch_first=True, dtype=torch.float64)
    state = {"in_proj_weight": torch.cat([layer.q_proj.weight, layer.k_proj.weight, layer.v_proj.weight])}
    state["out_proj.weight"] = layer.o_proj.weight
    if bias:
        state["in_proj_bias"] = torch.cat([layer.q_proj.bias, layer.k_proj.bias, layer.v_proj.bias])
        state["out_proj.bias"] = layer.o_proj.bias
    twin.load_state_dict(state, strict=True)
    return twin


@pytest.mark.parametrize(
    "B, T, S, d_model, H, bias",
    [(1, 5, 5, 12, 3, True), (2, 7, 3, 12, 4, False), (3, 1, 6, 10, 1, True), (2, 6, 11, 8, 8, True)],
)
def test_multi_head_attention_equals_torch(oracle_report, B, T, S, d_model, H, bias):
    torch.manual_seed(0)
    layer = ref.MultiHeadAttention(d_model, H, bias).double()
    if bias:
        for p in layer.parameters():
            nn.init.normal_(p)
    twin = torch_twin(layer, d_model, H, bias)
    x, context = draw(B, T, d_model), draw(B, S, d_model, seed=1)
    name = "MultiHeadAttention / nn.MultiheadAttention"
    oracle_report(name, layer(x), twin(x, x, x)[0])
    oracle_report(name + ", cross", layer(x, context), twin(x, context, context)[0])
    lengths = torch.arange(B) % S + 1
    mask = ref.padding_mask(lengths, S)
    expected = twin(x, context, context, key_padding_mask=~mask[:, 0, 0])[0]
    oracle_report(name + ", padded", layer(x, context, mask), expected)
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    expected = twin(x, x, x, attn_mask=~causal)[0]
    oracle_report(name + ", causal", layer(x, mask=causal), expected)


def test_multi_head_attention_equals_a_loop_over_heads(oracle_report):
    torch.manual_seed(0)
    d_model, H, T = 12, 3, 5
    layer = ref.MultiHeadAttention(d_model, H).double()
    x = draw(1, T, d_model)
    mask = draw(T, T, seed=4) > -0.5
    q, k, v = (p(x)[0].detach() for p in (layer.q_proj, layer.k_proj, layer.v_proj))
    D = d_model // H
    cut = [slice(h * D, (h + 1) * D) for h in range(H)]
    joined = torch.cat([loop_attention(q[:, c], k[:, c], v[:, c], mask) for c in cut], dim=-1)
    oracle_report("MultiHeadAttention / loop over heads", layer(x, mask=mask)[0], layer.o_proj(joined))


def test_parameters_by_name():
    names = {n for n, _ in ref.MultiHeadAttention(8, 2, bias=False).named_parameters()}
    assert names == {f"{p}_proj.weight" for p in "qkvo"}


def test_multi_head_attention_errors():
    with pytest.raises(ValueError, match=r"d_model \(8\) must be divisible"):
        ref.MultiHeadAttention(8, 3)
    layer = ref.MultiHeadAttention(8, 2)
    with pytest.raises(ValueError, match="context must be"):
        layer(torch.zeros(2, 3, 8), torch.zeros(2, 3, 6))
    with pytest.raises(ValueError, match="ambiguous"):
        layer(torch.zeros(2, 3, 8), mask=torch.ones(2, 3, 3, dtype=torch.bool))


# padding


def test_padding_mask_values():
    mask = ref.padding_mask(torch.tensor([2, 0, 3]), 3)
    assert mask.shape == (3, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [False] * 3, [True] * 3]


@pytest.mark.parametrize("lengths", [torch.tensor([4]), torch.tensor([-1]), torch.tensor([[1]])])
def test_padding_mask_errors(lengths):
    with pytest.raises(ValueError, match="length"):
        ref.padding_mask(lengths, 3)


def test_contents_of_padded_keys_do_not_matter():
    torch.manual_seed(0)
    layer = ref.MultiHeadAttention(8, 2).double()
    x, context = draw(3, 4, 8), draw(3, 6, 8, seed=1)
    mask = ref.padding_mask(torch.tensor([6, 2, 0]), 6)
    other = torch.where(mask[:, 0, 0, :, None], context, 1e6)
    out = layer(x, context, mask)
    assert torch.equal(out, layer(x, other, mask))
    assert torch.isfinite(out).all()
    # A sequence without any key leaves only the output bias.
    torch.testing.assert_close(out[2], layer.o_proj.bias.expand(4, 8))


# cost


@pytest.mark.parametrize("d_model, bias", [(12, True), (12, False), (768, True)])
def test_attention_parameters_equal_a_real_layer(d_model, bias):
    with torch.device("meta"):
        layer = ref.MultiHeadAttention(d_model, 3 if d_model == 12 else 12, bias)
    assert ref.attention_parameters(d_model, bias) == sum(p.numel() for p in layer.parameters())


@pytest.mark.parametrize("B, T, S, d_model, H", [(1, 5, 5, 12, 3), (2, 7, 3, 12, 4), (3, 1, 9, 8, 1)])
def test_attention_flops_equal_torchs_flop_counter(B, T, S, d_model, H):
    layer = ref.MultiHeadAttention(d_model, H)
    with FlopCounterMode(display=False) as counter:
        layer(draw(B, T, d_model, dtype=torch.float32), draw(B, S, d_model, dtype=torch.float32))
    assert ref.attention_flops(B, T, S, d_model, H) == counter.get_total_flops()


def test_attention_flops_pinned():
    # One GPT-2 layer on 1024 tokens: 8·T·d² = 4.83 GFLOP and 4·T²·d = 3.22 GFLOP.
    assert ref.attention_flops(1, 1024, 1024, 768, 12) == 4_831_838_208 + 3_221_225_472


def test_counts_of_the_three_architectures():
    B, S, T, d, H = 2, 5, 7, 12, 3
    flops = ref.attention_flops
    encoder = ref.encoder_only_counts(4, B, T, d, H)
    assert encoder == (4, 4 * (4 * 144 + 48), 4 * flops(B, T, T, d, H), 4 * 49)
    decoder = ref.decoder_only_counts(4, B, T, d, H)
    assert decoder == (*encoder[:3], 4 * 28)
    both = ref.encoder_decoder_counts(3, 2, B, S, T, d, H, bias=False)
    assert both.blocks == 3 + 2 * 2
    assert both.parameters == 7 * 4 * 144
    assert both.flops == 3 * flops(B, S, S, d, H) + 2 * flops(B, T, T, d, H) + 2 * flops(B, T, S, d, H)
    assert both.allowed_pairs == 3 * 25 + 2 * 28 + 2 * 35


def test_encoder_decoder_parameters_equal_torchs_transformer():
    with torch.device("meta"):
        model = nn.Transformer(12, 2, 3, 2, dim_feedforward=8, batch_first=True)
    found = sum(p.numel() for n, p in model.named_parameters() if "attn" in n)
    assert ref.encoder_decoder_counts(3, 2, 1, 1, 1, 12, 3).parameters == found
