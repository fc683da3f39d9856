"""What several encodings use."""

import torch
from torch import Tensor

from autograder.reference.positions import t5_buckets as t5

# Many positions, for whoever finds a matrix by solving.
MANY = torch.linspace(-40, 40, 96, dtype=torch.float64)


def buckets_by_loop(
    relative_position: Tensor, bidirectional: bool = True, num_buckets: int = 32, max_distance: int = 128
) -> Tensor:
    """Number by number, with the starts of the buckets."""
    size = num_buckets // 2 if bidirectional else num_buckets
    starts = t5.t5_bucket_starts(size, max_distance)

    def one(r):
        n = abs(r) if bidirectional else max(-r, 0)
        bucket = max(b for b, start in enumerate(starts) if n >= start)
        return bucket + (size if bidirectional and r > 0 else 0)

    return torch.tensor([one(r) for r in relative_position.flatten().tolist()]).view(relative_position.shape)
