"""Position schemes as learners write them: right, and wrong in known ways."""

import math

import torch
from torch import nn


def right_sinusoid(positions, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError(f"d_model must be even, got {d_model}")
    angles = positions[..., None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)


def cosine_only(positions, d_model, base=10000.0):
    angles = positions[..., None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angles.cos(), angles.cos()], -1).flatten(-2)


class LearnedPositions(nn.Module):
    def __init__(self, max_positions, d_model):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(max_positions, d_model))

    def forward(self, position_ids):
        if ((position_ids < 0) | (position_ids >= len(self.weight))).any():
            raise ValueError(f"there are positions 0 to {len(self.weight) - 1}, got {position_ids.tolist()}")
        return self.weight[position_ids]


def right_shaw(T, S, k, offset=0):
    return (torch.arange(S) - torch.arange(T)[:, None] - offset).clamp(-k, k) + k


def reversed_shaw(T, S, k, offset=0):
    """Query minus key."""
    return (torch.arange(T)[:, None] + offset - torch.arange(S)).clamp(-k, k) + k


def right_transformer_xl(q, k, r, u, v):
    T, S = q.shape[-2], k.shape[-2]
    at = torch.arange(S) - torch.arange(T)[:, None] + T - 1
    position = torch.einsum("bhtd,htsd->bhts", q + v[:, None], r[:, at])
    return ((q + u[:, None]) @ k.mT + position) / math.sqrt(q.shape[-1])


def right_buckets(relative_position, bidirectional=True, num_buckets=32, max_distance=128, to_whole=torch.floor):
    N = num_buckets // 2 if bidirectional else num_buckets
    E = N // 2
    n = relative_position.abs() if bidirectional else (-relative_position).clamp(min=0)
    share = torch.log(n.clamp(min=1) / E) / math.log(max_distance / E)
    far = (E + to_whole(share * (N - E)).long()).clamp(max=N - 1)
    bucket = torch.where(n < E, n, far)
    return bucket + N * (relative_position > 0) if bidirectional else bucket


def rounded_buckets(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    return right_buckets(relative_position, bidirectional, num_buckets, max_distance, torch.round)


def _deberta(qc, kc, kr, qr, turned):
    T, k = qc.shape[-2], kr.shape[-2] // 2
    delta = (torch.arange(T)[:, None] - torch.arange(T) + k).clamp(0, 2 * k - 1)
    c2p = torch.einsum("bhid,hijd->bhij", qc, kr[:, delta])
    p2c = torch.einsum("bhjd,hijd->bhij", kc, qr[:, delta.T if turned else delta])
    return (qc @ kc.mT + c2p + p2c) / math.sqrt(3 * qc.shape[-1])


def right_deberta(qc, kc, kr, qr):
    return _deberta(qc, kc, kr, qr, turned=True)


def deberta_as_released(qc, kc, kr, qr):
    """The third term reads δ(i, j), as in the released code."""
    return _deberta(qc, kc, kr, qr, turned=False)


def right_alibi(slopes, T, S, offset=0):
    return -slopes[:, None, None] * (torch.arange(S) - torch.arange(T)[:, None] - offset).abs()


POSITIONS = {
    "sinusoid": right_sinusoid,
    "LearnedPositions": LearnedPositions,
    "shaw_index": right_shaw,
    "transformer_xl_scores": right_transformer_xl,
    "t5_relative_bucket": right_buckets,
    "deberta_scores": right_deberta,
    "alibi_bias": right_alibi,
}
