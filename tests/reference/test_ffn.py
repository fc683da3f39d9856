"""Oracles: Hugging Face MLPs and torch's TransformerEncoderLayer with copied weights, loops, meta models."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from autograder.reference import activations, ffn
from tests.reference.draws import draw, seeded

from . import hugging_face as hf

FAST = settings(max_examples=20, deadline=None, derandomize=True)


def test_gated_equals_llama(oracle_report):
    theirs = seeded(hf.LlamaMLP(hf.LlamaConfig(hidden_size=12, intermediate_size=31, num_attention_heads=3)))
    ours = ffn.GatedFeedForward(12, 31).double()
    ours.load_state_dict(theirs.state_dict(), strict=True)  # the same names
    x = draw(2, 5, 12)
    oracle_report("SwiGLU / LlamaMLP", ours(x), theirs(x))


def test_gated_gelu_equals_t5_v11(oracle_report):
    theirs = seeded(hf.T5DenseGatedActDense(hf.T5Config(d_model=12, d_ff=20, feed_forward_proj="gated-gelu")))
    ours = ffn.GatedFeedForward(12, 20, activations.gelu_tanh).double()
    names = {"gate_proj": "wi_0", "up_proj": "wi_1", "down_proj": "wo"}
    state = theirs.state_dict()
    ours.load_state_dict({f"{mine}.weight": state[f"{other}.weight"] for mine, other in names.items()})
    x = draw(1, 7, 12)
    oracle_report("GeGLU / T5 v1.1", ours(x), theirs(x))


def test_plain_relu_equals_t5(oracle_report):
    theirs = seeded(hf.T5DenseActDense(hf.T5Config(d_model=12, d_ff=20)))
    ours = ffn.FeedForward(12, 20, bias=False).double()
    state = theirs.state_dict()
    ours.load_state_dict({"up_proj.weight": state["wi.weight"], "down_proj.weight": state["wo.weight"]})
    x = draw(2, 3, 12)
    oracle_report("FeedForward / T5", ours(x), theirs(x))


def test_plain_gelu_equals_gpt2(oracle_report):
    theirs = seeded(hf.GPT2MLP(40, hf.GPT2Config(n_embd=10, n_head=2, resid_pdrop=0.0)))
    ours = ffn.FeedForward(10, 40, activations.gelu_tanh).double()
    state = theirs.state_dict()  # Conv1D stores (in, out)
    ours.load_state_dict(
        {
            "up_proj.weight": state["c_fc.weight"].T,
            "up_proj.bias": state["c_fc.bias"],
            "down_proj.weight": state["c_proj.weight"].T,
            "down_proj.bias": state["c_proj.bias"],
        }
    )
    x = draw(2, 3, 10)
    oracle_report("FeedForward / GPT-2", ours(x), theirs(x))


@FAST
@given(st.integers(1, 6), st.integers(1, 9), st.sampled_from(sorted(ffn.GATED_VARIANTS)), st.integers(0, 99))
def test_gated_variants_equal_a_loop(oracle_report, d_model, d_ff, name, seed):
    activation = ffn.GATED_VARIANTS[name]
    layer = seeded(ffn.GatedFeedForward(d_model, d_ff, activation, bias=True), seed=seed)
    x = draw(d_model, seed=seed)
    value = {k: v.detach() for k, v in layer.state_dict().items()}
    out = value["down_proj.bias"].clone()
    for unit in range(d_ff):
        gate, up = (
            sum(value[f"{p}.weight"][unit, c] * x[c] for c in range(d_model)) + value[f"{p}.bias"][unit]
            for p in ("gate_proj", "up_proj")
        )
        for c in range(d_model):
            out[c] += value["down_proj.weight"][c, unit] * activation(gate) * up
    oracle_report("gated variants / loop over units", layer(x), out)


def test_every_variant_is_named():
    assert set(ffn.GATED_VARIANTS) == {"glu", "reglu", "geglu", "swiglu", "bilinear"}


def test_glu_equals_torchs_glu(oracle_report):
    layer = seeded(ffn.GatedFeedForward(5, 8, ffn.GATED_VARIANTS["glu"]))
    x = draw(3, 5)
    # F.glu takes the gate second.
    hidden = nn.functional.glu(torch.cat([layer.up_proj(x), layer.gate_proj(x)], dim=-1))
    oracle_report("GLU / F.glu", layer(x), layer.down_proj(hidden))


def test_only_the_gate_branch_is_activated():
    layer = seeded(ffn.GatedFeedForward(4, 6))
    swapped = seeded(ffn.GatedFeedForward(4, 6))
    swapped.gate_proj, swapped.up_proj = layer.up_proj, layer.gate_proj
    swapped.down_proj = layer.down_proj
    x = draw(3, 4)
    assert (layer(x) - swapped(x)).abs().max() > 0.1
    layer.activation = swapped.activation = activations.identity  # bilinear is symmetric
    torch.testing.assert_close(layer(x), swapped(x))


def test_gate_of_one_leaves_a_linear_map():
    layer = seeded(ffn.GatedFeedForward(4, 6, torch.ones_like))
    x, y = draw(3, 4), draw(3, 4, seed=1)
    torch.testing.assert_close(layer(2 * x - y), 2 * layer(x) - layer(y))
    torch.testing.assert_close(layer(x), x @ layer.up_proj.weight.T @ layer.down_proj.weight.T)


def test_bilinear_layer_scales_with_the_square():
    layer = seeded(ffn.GatedFeedForward(4, 6, activations.identity))
    x = draw(3, 4)
    torch.testing.assert_close(layer(3 * x), 9 * layer(x))


def test_feed_forward_acts_on_each_position_alone():
    x = draw(2, 5, 4)
    for layer in (seeded(ffn.GatedFeedForward(4, 6)), seeded(ffn.FeedForward(4, 6))):
        torch.testing.assert_close(layer(x)[1, 3], layer(x[1, 3]))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("d_model, d_ff", [(3, 7), (768, 3072)])
def test_parameter_counts_equal_real_layers(d_model, d_ff, bias):
    with torch.device("meta"):
        plain, gated = (
            ffn.FeedForward(d_model, d_ff, bias=bias),
            ffn.GatedFeedForward(d_model, d_ff, bias=bias),
        )
    count = lambda module: sum(p.numel() for p in module.parameters())
    assert ffn.ffn_parameters(d_model, d_ff, bias) == count(plain)
    assert ffn.gated_ffn_parameters(d_model, d_ff, bias) == count(gated)


@pytest.mark.parametrize("layer, matrices", [(ffn.FeedForward(6, 10), 2), (ffn.GatedFeedForward(6, 10), 3)])
def test_flops_equal_torchs_flop_counter(layer, matrices):
    with FlopCounterMode(display=False) as counter:
        layer(torch.zeros(2, 7, 6))
    assert ffn.ffn_flops(14, 6, 10, matrices) == counter.get_total_flops()


def test_matched_hidden_size_pinned():
    assert ffn.matched_hidden_size(4096) == 10922
    assert ffn.matched_hidden_size(4096, 256) == 11008
    assert ffn.matched_hidden_size(5120, 256) == 13824  # LLaMA-13B
    assert ffn.matched_hidden_size(6656, 256) == 17920  # LLaMA-33B
    assert ffn.matched_hidden_size(8192, 256) == 22016  # LLaMA-65B
    for arguments in ((0, 1), (8, 0)):
        with pytest.raises(ValueError, match="positive"):
            ffn.matched_hidden_size(*arguments)


@FAST
@given(st.integers(1, 5000), st.integers(1, 512))
def test_matched_hidden_size_matches(d_model, multiple):
    width = ffn.matched_hidden_size(d_model, multiple)
    assert width % multiple == 0
    assert 8 * d_model // 3 <= width < 8 * d_model // 3 + multiple
    exact = ffn.matched_hidden_size(d_model)
    plain, gated = (ffn.ffn_parameters(d_model, 4 * d_model, False), ffn.gated_ffn_parameters(d_model, exact))
    assert 0 <= plain - gated < 3 * d_model


def test_dead_units_and_saturation():
    hidden = torch.tensor([[[0.0, 1, 0], [0, 0, 0]], [[0, 2, -1], [0, 0, 0]]])
    assert ffn.dead_units(hidden).tolist() == [True, False, False]
    gate = torch.tensor([0.01, 0.5, 0.96, 0.94])
    assert float(ffn.gate_saturation(gate)) == 0.5
    assert float(ffn.gate_saturation(gate, margin=0.1)) == 0.75
