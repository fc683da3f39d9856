"""Oracles: Hugging Face's DeepSeek-V3 attention, a loop over heads, the forward pass without a cache."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.reference.gqa import kv_bytes_per_token
from autograder.reference.kv_cache import ContiguousCache, run_in_chunks
from autograder.reference.masks import causal_mask, causal_mask_at
from autograder.reference.mla import LatentAttention, equivalent_groups, mla_bytes_per_token
from autograder.reference.rope import apply_rope
from autograder.reference.rope_scaling import yarn_frequencies, yarn_temperature
from tests.reference.hf_float64 import float64, randomize

SIZES = {"q_rank": 9, "kv_rank": 7, "nope_dim": 5, "rope_dim": 4, "v_dim": 3}
DOUBLE = torch.float64


def layer_and_input(seed=0, T=6):
    torch.manual_seed(seed)
    layer = randomize(LatentAttention(10, 3, **SIZES).double(), seed)
    return layer, torch.randn(2, T, 10, dtype=DOUBLE)


@pytest.mark.parametrize("rope", ["plain", "yarn"])
def test_latent_attention_equals_deepseek_v3_in_hugging_face(rope, oracle_report):
    from transformers import DeepseekV3Config
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import (
        DeepseekV3Attention,
        DeepseekV3RotaryEmbedding,
    )

    parameters = {"rope_type": "default", "rope_theta": 10000.0}
    extra = {}
    if rope == "yarn":
        parameters = {
            "rope_type": "yarn", "rope_theta": 10000.0, "factor": 40.0, "beta_fast": 32, "beta_slow": 1,
            "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 64,
        }  # fmt: skip
        extra["frequencies"] = yarn_frequencies(4, 10000.0, 40.0, 64, dtype=DOUBLE)
        extra["logit_factor"] = yarn_temperature(40.0) ** 2
    with float64():
        config = DeepseekV3Config(
            hidden_size=10, num_attention_heads=3, num_key_value_heads=3, q_lora_rank=9, kv_lora_rank=7,
            qk_nope_head_dim=5, qk_rope_head_dim=4, v_head_dim=3, rope_parameters=parameters,
            max_position_embeddings=64 * 40, attn_implementation="eager",
        )  # fmt: skip
        theirs = randomize(DeepseekV3Attention(config, 0))
        x = torch.randn(2, 6, 10)
        ids = torch.arange(3, 9)[None]
        additive = torch.zeros(6, 6).masked_fill(~causal_mask(6), -torch.inf)[None, None]
        expected, _ = theirs(x, DeepseekV3RotaryEmbedding(config)(x, ids), additive)
    names = {
        "q_a_proj": "q_down", "q_a_layernorm": "q_norm", "q_b_proj": "q_up", "kv_a_proj_with_mqa": "kv_down",
        "kv_a_layernorm": "kv_norm", "kv_b_proj": "kv_up", "o_proj": "o_proj",
    }  # fmt: skip
    ours = LatentAttention(10, 3, **SIZES, **extra).double()
    state = {f"{names[k.removesuffix('.weight')]}.weight": v for k, v in theirs.state_dict().items()}
    ours.load_state_dict(state)
    atol = 1e-12 if rope == "plain" else 1e-9
    for form in (ours.forward, ours.forward_absorbed):
        got = form(x, causal_mask(6), ids)
        oracle_report(f"latent attention ({rope}), Hugging Face", got, expected, rtol=0, atol=atol)


@given(st.integers(1, 8), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_absorbed_weights_identity(T, seed):
    layer, x = layer_and_input(seed, T)
    ids = torch.randint(0, 1000, (2, T), generator=torch.Generator().manual_seed(seed))
    expanded, absorbed = (f(x, causal_mask(T), ids) for f in (layer.forward, layer.forward_absorbed))
    torch.testing.assert_close(absorbed, expanded, rtol=1e-11, atol=1e-11)


def test_forward_equals_a_loop_over_heads():
    layer, x = layer_and_input()
    x, ids = x[:1], torch.arange(6)
    c = layer.kv_norm(layer.kv_down(x)[..., :7])[0]  # (T, kv_rank)
    k_rope = apply_rope(layer.kv_down(x)[..., 7:][:, None], ids)[0, 0]
    q = layer.q_up(layer.q_norm(layer.q_down(x)))[0].view(6, 3, 9)
    kv = layer.kv_up.weight.view(3, 5 + 3, 7)
    heads = []
    for h in range(3):
        k = torch.cat([c @ kv[h, :5].T, k_rope], dim=-1)
        q_rope = apply_rope(q[:, h, 5:][None, None], ids)[0, 0]
        scores = torch.cat([q[:, h, :5], q_rope], dim=-1) @ k.T / 9**0.5
        heads.append(scores.masked_fill(~causal_mask(6), -torch.inf).softmax(-1) @ (c @ kv[h, 5:].T))
    expected = torch.cat(heads, dim=-1) @ layer.o_proj.weight.T
    torch.testing.assert_close(layer(x, causal_mask(6), ids)[0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("plan", [[1] * 6, [2, 3, 1], [6]], ids=str)
def test_latent_cache_gives_the_full_forward(plan):
    layer, x = layer_and_input()
    full = layer(x, causal_mask(6), torch.arange(6))
    for prefill, decode in ((layer.forward, layer.forward), (layer.forward, layer.forward_absorbed)):
        cache = ContiguousCache(2, 1, 6, SIZES["kv_rank"], SIZES["rope_dim"], dtype=DOUBLE)

        def step(chunk, start, cache=cache, prefill=prefill, decode=decode):
            positions = torch.arange(start, start + chunk.shape[1])
            mask = causal_mask_at(positions, cache.key_positions(chunk.shape[1]))
            return (decode if start else prefill)(chunk, mask, positions, cache)

        with torch.no_grad():
            got = run_in_chunks(step, x, plan)
        torch.testing.assert_close(got, full, rtol=1e-11, atol=1e-11)


def test_cache_sizes():
    cache = ContiguousCache(1, 1, 10, 512, 64, dtype=torch.bfloat16)
    assert cache.nbytes == 10 * mla_bytes_per_token(1, 512, 64)
    assert mla_bytes_per_token(61, 512, 64) == 70_272
    assert equivalent_groups(512, 64, 128) == 2.25
    # 128 heads of keys and values of size 128 would take 57 times as much.
    assert kv_bytes_per_token(61, 128, 128) / mla_bytes_per_token(61, 512, 64) == pytest.approx(56.9, abs=0.1)


def test_half_precision_and_errors():
    layer, x = layer_and_input()
    full = layer(x, causal_mask(6), torch.arange(6))
    half = layer.bfloat16()(x.bfloat16(), causal_mask(6), torch.arange(6))
    assert half.dtype == torch.bfloat16 and layer.frequencies.dtype == DOUBLE
    assert (half.double() - full).abs().max() < 0.05 * full.abs().max()
    with pytest.raises(ValueError, match="position_ids"):
        layer(x.bfloat16())
