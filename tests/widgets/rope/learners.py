"""Rotations as learners write them: right, and wrong in known ways."""

import torch


def angles(x, position_ids, base):
    D = x.shape[-1]
    frequencies = base ** (-torch.arange(0, D, 2) / D)
    return position_ids[:, None, :, None] * frequencies


def pairs(even, odd):
    return torch.stack([even, odd], dim=-1).flatten(-2)


def right_rope(x, position_ids, base=10000.0):
    a = angles(x, position_ids, base)
    e, o = x[..., 0::2], x[..., 1::2]
    return pairs(e * a.cos() - o * a.sin(), e * a.sin() + o * a.cos())


def sign_rope(x, position_ids, base=10000.0):
    """Has one sign wrong: a shear, not a rotation."""
    a = angles(x, position_ids, base)
    e, o = x[..., 0::2], x[..., 1::2]
    return pairs(e * a.cos() + o * a.sin(), e * a.sin() + o * a.cos())


def backward_rope(x, position_ids, base=10000.0):
    """Has both signs wrong: a rotation in the opposite direction."""
    return right_rope(x, -position_ids, base)


def deaf_rope(x, position_ids, base=10000.0):
    """Ignores the position ids."""
    return right_rope(x, torch.arange(x.shape[-2])[None], base)


def half_rope(x, position_ids, base=10000.0):
    """Rotates feature i with feature i + D/2, as checkpoints in the other layout do."""
    a = angles(x, position_ids, base)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * a.cos() - second * a.sin(), first * a.sin() + second * a.cos()], dim=-1)


def right_frequencies(D, base=10000.0):
    return torch.tensor(float(base)) ** (-torch.arange(0, D, 2) / D)


def half_exponent(D, base=10000.0):
    """The exponent −i/D instead of −2i/D."""
    return torch.tensor(float(base)) ** (-torch.arange(D // 2) / D)
