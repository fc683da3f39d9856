"""Relative positions, shared by every encoding that uses distances."""

import torch
from torch import Tensor


def relative_positions(T: int, S: int, offset: int = 0, device: torch.device | str | None = None) -> Tensor:
    """Key position minus query position, j - (i + offset).

    ``offset`` is the position of the first query when keys start at 0: S - T with a cache or a memory.
    Returns: (T, S) int64; negative for keys in the past.
    """
    queries = torch.arange(T, device=device) + offset
    return torch.arange(S, device=device) - queries[:, None]
