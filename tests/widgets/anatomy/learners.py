"""Parts of a model as learners write them: right, and wrong in known ways."""

import math

import torch
from torch import nn


def rms_norm(x, weight, eps=1e-6):
    return weight * x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def apply_rope_half(x, position_ids, base=10000.0):
    wide = torch.promote_types(x.dtype, torch.float32)
    theta = base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = position_ids[..., None] * theta.to(wide)
    angles = angles.unsqueeze(1) if position_ids.dim() == 2 else angles
    (a, b), cos, sin = x.chunk(2, -1), angles.cos(), angles.sin()
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


def causal_mask(T, S=None):
    S = T if S is None else S
    if T < 1 or S < T:
        raise ValueError(f"{T} queries need at least as many keys, not {S}")
    return torch.arange(S) <= torch.arange(S - T, S)[:, None]


def decoder_mask(real, T, window=None):
    return causal_mask(T, real.shape[1]) & real[:, None, None, :]


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ v
    weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0) @ v


def grouped_attention(q, k, v, mask=None):
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    return scaled_dot_product_attention(q, k, v, mask)


class GatedFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.activation = activation
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))


def pre_ln(x, sublayer, norm):
    return x + sublayer(norm(x))


# One part for each place.
RIGHT = {
    "rms_norm": rms_norm,
    "apply_rope_half": apply_rope_half,
    "causal_mask": causal_mask,
    "scaled_dot_product_attention": scaled_dot_product_attention,
    "GatedFeedForward": GatedFeedForward,
    "pre_ln": pre_ln,
}


def centered_norm(x, weight, eps=1e-6):
    """Subtracts the mean, as LayerNorm does."""
    return rms_norm(x - x.mean(-1, keepdim=True), weight, eps)


def unturned(x, position_ids, base=10000.0):
    return x


def leaking_mask(T, S=None):
    """Allows one token too many."""
    S = T if S is None else S
    return torch.arange(S) <= torch.arange(S - T, S)[:, None] + 1


def unscaled(q, k, v, mask=None):
    return scaled_dot_product_attention(q * math.sqrt(q.shape[-1]), k, v, mask)


class Swapped(GatedFeedForward):
    """Applies the activation to the wrong one of two matrices."""

    def forward(self, x):
        return self.down_proj(self.gate_proj(x) * self.activation(self.up_proj(x)))


def post_ln(x, sublayer, norm):
    return norm(x + sublayer(x))


# name → a wrong part for it
WRONG = {
    "rms_norm": centered_norm,
    "apply_rope_half": unturned,
    "causal_mask": leaking_mask,
    "scaled_dot_product_attention": unscaled,
    "GatedFeedForward": Swapped,
    "pre_ln": post_ln,
}
