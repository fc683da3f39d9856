"""Random inputs and weights that several oracle tests share; each is drawn from its own seed."""

import torch
from torch import nn

from . import hugging_face as hf


def draw(*shape, seed=0, dtype=torch.float64):
    """Normal numbers, drawn in the requested dtype."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def draw_ids(*shape, seed=0, high=500):
    """Position ids with offsets, gaps and repeats."""
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(seed))


def seeded(module, scale=0.5, seed=0):
    """The module in float64 with all parameters redrawn: new norms are all ones, which would hide mistakes."""
    torch.manual_seed(seed)
    for p in module.parameters():
        nn.init.normal_(p, std=scale)
    return module.double().eval()


def llama_config(head_dim=16, max_positions=2048, **parameters):
    """A LLaMA of four heads; ``parameters`` are those of its rotary embedding."""
    parameters = {"rope_type": "default", "rope_theta": 10000.0, **parameters}
    return hf.LlamaConfig(
        hidden_size=4 * head_dim,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=head_dim,
        max_position_embeddings=max_positions,
        rope_parameters=parameters,
    )
