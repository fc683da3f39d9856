"""Functions as learners write them: right, unfinished, and wrong in known ways."""

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
    """One sign wrong: a shear, not a rotation."""
    a = angles(x, position_ids, base)
    e, o = x[..., 0::2], x[..., 1::2]
    return pairs(e * a.cos() + o * a.sin(), e * a.sin() + o * a.cos())


def backward_rope(x, position_ids, base=10000.0):
    """Both signs wrong: a rotation the other way round."""
    return right_rope(x, -position_ids, base)


def deaf_rope(x, position_ids, base=10000.0):
    """Ignores the position ids."""
    return right_rope(x, torch.arange(x.shape[-2])[None], base)


def right_average(values, weights):
    return (values * weights[:, None]).sum(0) / weights.sum()


def right_frequencies(D, base=10000.0):
    return torch.tensor(float(base)) ** (-torch.arange(0, D, 2) / D)


def half_exponent(D, base=10000.0):
    """The exponent −i/D instead of −2i/D."""
    return torch.tensor(float(base)) ** (-torch.arange(D // 2) / D)


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


def unfinished(*args, **kwargs):
    raise NotImplementedError("write me")
