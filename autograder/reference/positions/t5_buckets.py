"""T5's relative position bias. Source: arXiv:1910.10683, section 2.1.

A scalar per head and bucket of distances is added to the scores. T5 does not divide scores by √D, and
all layers of a stack share one table.
"""

import torch
from torch import Tensor, nn

from autograder.reference.attention import attention_weights
from autograder.reference.positions.relative import relative_positions


def t5_bucket_starts(num_buckets: int, max_distance: int) -> list[int]:
    """First distance of each bucket, one direction: 0, 1, 2, … exact, then growing in equal ratios.

    The first half of the buckets hold one distance each; bucket E + b, E = num_buckets//2, starts at the
    first n with n/E >= (max_distance/E)^(b/(num_buckets - E)). Computed in integers, so that every device
    agrees. Raises: ValueError when there are fewer than 2 buckets or max_distance is not above E.
    """
    exact = num_buckets // 2
    wide = num_buckets - exact
    if exact < 1 or max_distance <= exact:
        raise ValueError(f"need 2 or more buckets and max_distance > {exact}, got {num_buckets}, {max_distance}")
    starts = list(range(exact))
    n = exact
    for b in range(wide):
        while n**wide < exact ** (wide - b) * max_distance**b:
            n += 1
        starts.append(n)
    return starts


def t5_relative_bucket(
    relative_position: Tensor, bidirectional: bool = True, num_buckets: int = 32, max_distance: int = 128
) -> Tensor:
    """Bucket of each relative position (key minus query).

    Bidirectional: half of the buckets for the past and the present, half for the future (key after
    query). Causal: all buckets for the past; a key in the future counts as distance 0 (mask it).
    Distances of max_distance and more share the last bucket.
    Args: relative_position (...) int64. Returns: (...) int64 in 0 … num_buckets-1.
    Raises: ValueError for sizes that leave no bucket.
    """
    per_direction = num_buckets // 2 if bidirectional else num_buckets
    starts = torch.tensor(t5_bucket_starts(per_direction, max_distance), device=relative_position.device)
    distance = relative_position.abs() if bidirectional else (-relative_position).clamp(min=0)
    bucket = torch.bucketize(distance, starts, right=True) - 1
    return bucket + per_direction * (relative_position > 0) if bidirectional else bucket


class T5RelativeBias(nn.Module):
    """One learned scalar per bucket and head: ``weight`` (num_buckets, H)."""

    def __init__(self, n_heads: int, bidirectional: bool = True, num_buckets: int = 32, max_distance: int = 128):
        super().__init__()
        self.bidirectional, self.num_buckets, self.max_distance = bidirectional, num_buckets, max_distance
        self.weight = nn.Parameter(torch.randn(num_buckets, n_heads))

    def forward(self, T: int, S: int, offset: int = 0) -> Tensor:
        """Bias for T queries, the first at position ``offset``, and S keys. Returns: (1, H, T, S)."""
        distance = relative_positions(T, S, offset, self.weight.device)
        bucket = t5_relative_bucket(distance, self.bidirectional, self.num_buckets, self.max_distance)
        return self.weight[bucket].permute(2, 0, 1)[None]


def t5_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax(q kᵀ + bias) v, unscaled.

    Args: q (B, H, T, D), k (B, H, S, D), v (B, H, S, Dv), bias broadcastable to (B, H, T, S), mask
    boolean, True = may attend. Returns: (B, H, T, Dv).
    """
    return attention_weights(q @ k.transpose(-2, -1) + bias, mask) @ v
