"""Oracle: Hugging Face's DeepSeek-V3 attention; the text cut anywhere."""

import pytest
import torch

from autograder.reference.latent_step import LatentAttention, rotate_pairs
from autograder.reference.masks import causal_mask
from autograder.reference.rope import apply_rope
from tests.reference.hf_float64 import float64, randomize

SIZES = {"q_rank": 9, "kv_rank": 7, "nope": 5, "rope": 4, "v_dim": 3}
NAMES = {
    "q_a_proj": "q_down", "q_a_layernorm": "q_norm", "q_b_proj": "q_up", "kv_a_proj_with_mqa": "kv_down",
    "kv_a_layernorm": "kv_norm", "kv_b_proj": "kv_up", "o_proj": "o_proj",
}  # fmt: skip


def in_chunks(layer, x, plan):
    past, out = None, []
    for chunk in x.split(plan, 1):
        result, past = layer(chunk, past)
        out.append(result)
    return torch.cat(out, 1), past


@pytest.mark.parametrize("plan", [[6], [1] * 6, [3, 2, 1]])
def test_equals_deepseek_v3_in_hugging_face(plan):
    from transformers import DeepseekV3Config
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention, DeepseekV3RotaryEmbedding

    with float64():
        config = DeepseekV3Config(
            hidden_size=10, num_attention_heads=3, num_key_value_heads=3, q_lora_rank=9, kv_lora_rank=7,
            qk_nope_head_dim=5, qk_rope_head_dim=4, v_head_dim=3, attn_implementation="eager",
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        )  # fmt: skip
        theirs = randomize(DeepseekV3Attention(config, 0))
        x, ids = torch.randn(2, 6, 10), torch.arange(6)[None]
        additive = torch.zeros(6, 6).masked_fill(~causal_mask(6), -torch.inf)[None, None]
        expected, _ = theirs(x, DeepseekV3RotaryEmbedding(config)(x, ids), additive)
        ours = LatentAttention(10, 3, **SIZES)
        state = {f"{NAMES[k.removesuffix('.weight')]}.weight": v for k, v in theirs.state_dict().items()}
        ours.load_state_dict(state)
        found, (c, k_rope) = in_chunks(ours, x, plan)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)  # angles are float32
    assert c.shape == (2, 6, 7) and k_rope.shape == (2, 6, 4)


def test_pairs_of_neighbors_turn_as_in_unit_06():
    x, at = torch.randn(2, 3, 5, 8), torch.tensor([0, 3, 4, 9, 100])
    torch.testing.assert_close(rotate_pairs(x, at), apply_rope(x, at), atol=1e-4, rtol=1e-4)
