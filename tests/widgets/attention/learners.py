"""Attention as learners write it: right, and wrong in known ways."""

import torch


def right_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1) @ v


def unscaled_attention(q, k, v, mask=None):
    return right_attention(q * q.shape[-1] ** 0.5, k, v, mask)


def columns_attention(q, k, v, mask=None):
    """Softmax over the queries."""
    return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, dim=-2) @ v


def zero_mask_attention(q, k, v, mask=None):
    """A forbidden score becomes 0 instead of −∞."""
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    return torch.softmax(scores if mask is None else scores.masked_fill(~mask, 0.0), dim=-1) @ v


def causal_always(q, k, v, mask=None):
    return right_attention(q, k, v, torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril())
