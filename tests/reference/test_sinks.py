"""Oracles: Hugging Face's gpt-oss (sink) and Qwen3-Next (gate), merging with an empty part."""

import math
from types import SimpleNamespace

import torch

from autograder.reference.masks import causal_mask
from autograder.reference.online_softmax import attention_in_blocks, merge
from autograder.reference.sinks import gated_output, sink_attention
from tests.reference.hf_float64 import float64, randomize


def test_sink_attention_equals_gpt_oss_in_hugging_face():
    from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

    q, k, v, sinks = torch.randn(2, 4, 5, 8), torch.randn(2, 2, 7, 8), torch.randn(2, 2, 7, 8), torch.randn(4)
    module = SimpleNamespace(num_key_value_groups=2, sinks=sinks, training=False)
    mask = causal_mask(5, 7)
    additive = torch.zeros(5, 7).masked_fill(~mask, -torch.inf)
    expected, _ = eager_attention_forward(module, q, k, v, additive, scaling=1 / math.sqrt(8))
    ours = sink_attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1), sinks, mask)
    torch.testing.assert_close(ours, expected.transpose(1, 2), atol=1e-6, rtol=1e-5)


def test_a_sink_is_a_merger_with_a_part_that_has_no_value():
    q, k, v, sinks = *torch.randn(3, 2, 4, 6, 8, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    out, lse = attention_in_blocks(q, k, v, 4, causal_mask(6))
    merged, _ = merge(out, lse, torch.zeros_like(out), sinks[:, None].expand_as(lse))
    torch.testing.assert_close(sink_attention(q, k, v, sinks, causal_mask(6)), merged)


def test_gated_output_equals_qwen3_next_in_hugging_face(monkeypatch):
    from transformers import Qwen3NextConfig
    from transformers.models.qwen3_next import modeling_qwen3_next as theirs

    with float64():
        config = Qwen3NextConfig(
            hidden_size=10, num_attention_heads=3, num_key_value_heads=3, head_dim=4, num_hidden_layers=1,
            attn_implementation="eager",
        )  # fmt: skip
        layer = randomize(theirs.Qwen3NextAttention(config, 0))
        attended, x = torch.randn(2, 5, 3, 4), torch.randn(2, 5, 10)
        monkeypatch.setattr(theirs, "eager_attention_forward", lambda *a, **k: (attended, None))
        ids = torch.arange(5)[None]
        expected, _ = layer(x, theirs.Qwen3NextRotaryEmbedding(config)(x, ids), None)
        w_gate = layer.q_proj.weight.unflatten(0, (3, 8))[:, 4:].flatten(0, 1)
        ours = layer.o_proj(gated_output(attended.transpose(1, 2), x, w_gate))
    torch.testing.assert_close(ours, expected, atol=1e-10, rtol=1e-10)
