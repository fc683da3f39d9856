"""Learned absolute positions: one trained vector per position. arXiv:1705.03122, BERT, GPT-2."""

import torch
from torch import Tensor, nn


class LearnedPositions(nn.Module):
    """A table ``weight`` (max_positions, d_model), drawn from N(0, 0.02²) as in BERT and GPT-2."""

    def __init__(self, max_positions: int, d_model: int):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(max_positions, d_model))

    def forward(self, position_ids: Tensor) -> Tensor:
        """Args: position_ids (...) integer. Returns: (..., d_model).

        Raises: ValueError for a position outside 0 … max_positions-1, where the table ends.
        """
        size = self.weight.shape[0]
        if position_ids.numel() and not 0 <= int(position_ids.min()) <= int(position_ids.max()) < size:
            # Checked here because a negative index would wrap around silently.
            raise ValueError(
                f"positions {int(position_ids.min())}..{int(position_ids.max())} do not fit a table "
                f"of {size} learned positions (0..{size - 1})"
            )
        return self.weight[position_ids]
