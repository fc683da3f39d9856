"""Oracles: the dense difference, matrix rank, counted parameters, a model before and after merging."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from autograder.reference.lora import LoRALinear, add_lora, lora_parameters, merge_lora
from autograder.reference.models.decoder import parameter_count
from autograder.reference.models.llama import Llama, LlamaConfig

DOUBLE = torch.float64


def trained(d_in=6, d_out=5, r=2, alpha=3.0, bias=True):
    torch.manual_seed(0)
    layer = LoRALinear(nn.Linear(d_in, d_out, bias).to(DOUBLE), r, alpha)
    nn.init.normal_(layer.B)
    return layer


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.floats(0.1, 30), st.booleans())
@settings(max_examples=30, deadline=None)
def test_forward_equals_the_dense_difference_and_merging_changes_nothing(oracle_report, d_in, d_out, r, alpha, bias):
    r = min(r, d_in, d_out)
    layer, x = trained(d_in, d_out, r, alpha, bias), torch.randn(2, 3, d_in, dtype=DOUBLE)
    weight = layer.base.weight + alpha / r * layer.B @ layer.A
    expected = nn.functional.linear(x, weight, layer.base.bias)
    oracle_report("LoRALinear / F.linear of the sum", layer(x), expected)
    oracle_report("merged LoRALinear / F.linear of the sum", layer.merged()(x), expected)
    assert torch.linalg.matrix_rank(layer.difference()) == r
    trainable = sum(p.numel() for p in layer.parameters() if p.requires_grad)
    assert trainable == lora_parameters(d_in, d_out, r)


def test_starts_as_the_base_and_trains_only_the_difference():
    base = nn.Linear(6, 5)
    layer, x = LoRALinear(base, 2, 4.0), torch.randn(3, 6)
    assert torch.equal(layer(x), base(x)) and layer.A.any() and not layer.B.any()
    layer(x).square().sum().backward()
    assert base.weight.grad is None and base.bias.grad is None
    assert layer.B.grad.any() and not layer.A.grad.any()  # B = 0 hides A at the first step


def test_merging_leaves_the_base_alone():
    layer = trained()
    before = layer.base.weight.clone()
    layer.merged()
    assert torch.equal(layer.base.weight, before)


def test_lora_on_a_model_counts_and_merges():
    torch.manual_seed(0)
    c = LlamaConfig(20, 16, 3, 4, 2, 10)
    model, ids = Llama(c).double(), torch.randint(20, (2, 7))
    total, plain = parameter_count(model), model(ids)
    names = add_lora(model, {"q_proj", "v_proj"}, r=2, alpha=4)
    assert len(names) == 6 and names[0] == "blocks.0.attention.q_proj"
    assert torch.equal(model(ids), plain)
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert trainable == 3 * (lora_parameters(16, 16, 2) + lora_parameters(16, 8, 2))
    for module in model.modules():
        if isinstance(module, LoRALinear):
            nn.init.normal_(module.B)
    changed = model(ids)
    assert (changed - plain).abs().max() > 1e-3
    merge_lora(model)
    torch.testing.assert_close(model(ids), changed, rtol=1e-12, atol=1e-12)
    assert parameter_count(model) == total and not any(isinstance(m, LoRALinear) for m in model.modules())


def test_a_llama_7b_needs_0_06_percent():
    """r = 8 on q and v of all 32 layers: 4.2 million of 6.7 billion."""
    assert 32 * 2 * lora_parameters(4096, 4096, 8) == 4_194_304


def test_lora_errors():
    with pytest.raises(ValueError, match="1..5"):
        LoRALinear(nn.Linear(6, 5), 6, 1.0)
    with pytest.raises(ValueError, match="no linear layer"):
        add_lora(nn.Sequential(nn.Linear(2, 2)), {"q_proj"}, 1, 1.0)
