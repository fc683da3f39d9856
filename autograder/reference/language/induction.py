"""Measures induction heads: heads that attend to the token after an earlier occurrence of the current token.

Source: Olsson et al. 2022, "In-context Learning and Induction Heads", arXiv:2209.11895.
"""

import torch
from torch import Tensor


def induction_score(weights: Tensor, ids: Tensor) -> Tensor:
    """Attention of each head to the tokens that follow earlier occurrences of the current token.

    For position t, the weights on s + 1 are added for every s < t with ids[s] = ids[t]. The score is the mean over all
    t whose token has occurred before; 0 if there is none.

    Args: weights (H, T, T), query before key; ids (T,). Returns: (H,).
    """
    before = (ids[:, None] == ids).tril(-1)
    behind = torch.zeros_like(before)
    behind[:, 1:] = before[:, :-1]
    again = before.any(-1)
    if not again.any():
        return weights.new_zeros(len(weights))
    return (weights * behind).sum(-1)[:, again].mean(-1)
