"""How much a head is an induction head: it looks for what came after the current token the last time.

Source: Olsson et al. 2022, "In-context Learning and Induction Heads", arXiv:2209.11895.
"""

import torch
from torch import Tensor


def induction_score(weights: Tensor, ids: Tensor) -> Tensor:
    """Attention of each head to the tokens that stand behind earlier occurrences of the current token.

    Position t with token ids[t] looks for every s < t with ids[s] = ids[t]; the weights that it gives to s + 1 are
    added. The score is the mean over all t whose token has come before; 0 where there is none.

    Args: weights (H, T, T), query before key; ids (T,). Returns: (H,).
    """
    before = (ids[:, None] == ids).tril(-1)
    behind = torch.zeros_like(before)
    behind[:, 1:] = before[:, :-1]
    again = before.any(-1)
    if not again.any():
        return weights.new_zeros(len(weights))
    return (weights * behind).sum(-1)[:, again].mean(-1)
