"""Disentangled attention. Source: DeBERTa, arXiv:2006.03654, section 3.1.

score(i, j) = (Qc_i·Kc_j + Qc_i·Kr_δ(i,j) + Kc_j·Qr_δ')/√(3D): content to content, content to position,
position to content. The fourth product, position to position, is left out.

The paper's equation has δ' = δ(j, i). The authors' code and Hugging Face's use δ' = δ(i, j), which trained
checkpoints therefore need. Both are here; they differ by reading the query table backward.
"""

import math

import torch
from torch import Tensor, nn

from autograder.reference.attention import attention_weights, merge_heads, split_heads
from autograder.reference.positions.relative import relative_positions


def deberta_index(T: int, k: int, device: torch.device | str | None = None) -> Tensor:
    """δ(i, j): i - j + k, clamped to 0 … 2k-1 (so that i - j = k - 1 and beyond share the last row).

    Returns: (T, T) int64. Raises: ValueError when k < 1.
    """
    if k < 1:
        raise ValueError(f"the maximum relative distance k must be positive, got {k}")
    return (k - relative_positions(T, T, 0, device)).clamp(0, 2 * k - 1)


def _content_and_key_terms(qc: Tensor, kc: Tensor, kr: Tensor) -> tuple[Tensor, Tensor]:
    if kr.shape[-2] % 2:
        raise ValueError(f"the position tables need 2k rows, got {kr.shape[-2]}")
    delta = deberta_index(qc.shape[-2], kr.shape[-2] // 2, qc.device)  # (T, T), rows i, columns j
    scores = qc @ kc.transpose(-2, -1)
    c2p = (qc @ kr.transpose(-2, -1)).gather(-1, delta.expand_as(scores))
    return scores + c2p, delta


def deberta_scores(qc: Tensor, kc: Tensor, kr: Tensor, qr: Tensor) -> Tensor:
    """Scores with the paper's p2c term, Kc_j·Qr_δ(j,i).

    Args: qc, kc (B, H, T, D) from content; kr, qr (H, 2k, D) from the 2k relative embeddings.
    Returns: (B, H, T, T). Raises: ValueError when the tables have an odd number of rows.
    """
    two_terms, delta = _content_and_key_terms(qc, kc, kr)
    p2c = (kc @ qr.transpose(-2, -1)).gather(-1, delta.expand_as(two_terms))  # rows j, columns i: δ(j, i)
    return (two_terms + p2c.transpose(-2, -1)) / math.sqrt(3 * qc.shape[-1])


def deberta_scores_released(qc: Tensor, kc: Tensor, kr: Tensor, qr: Tensor) -> Tensor:
    """Scores with the p2c term of the released code, Kc_j·Qr_δ(i,j). Arguments as in deberta_scores."""
    two_terms, delta = _content_and_key_terms(qc, kc, kr)
    by_key = (kc @ qr.transpose(-2, -1)).gather(-1, delta.T.expand_as(two_terms))  # [j, i] -> δ(i, j)
    return (two_terms + by_key.transpose(-2, -1)) / math.sqrt(3 * qc.shape[-1])


class DisentangledAttention(nn.Module):
    """Multi-head disentangled attention, with the released code's index.

    Parameters: q_proj, k_proj, v_proj, o_proj, pos_k_proj, pos_q_proj, each d_model to d_model with bias.
    The relative embeddings (2k, d_model) are an argument: all layers share one table.
    Raises: ValueError when d_model is not divisible by n_heads.
    """

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model ({d_model}) must be divisible by n_heads ({n_heads})")
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.o_proj = nn.Linear(d_model, d_model)
        self.pos_k_proj = nn.Linear(d_model, d_model)
        self.pos_q_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, relative: Tensor, mask: Tensor | None = None) -> Tensor:
        """Args: x (B, T, d_model); relative (2k, d_model); mask boolean, True = may attend,
        broadcastable to (B, H, T, T). Returns: (B, T, d_model).
        """
        qc, kc, v = (split_heads(p(x), self.n_heads) for p in (self.q_proj, self.k_proj, self.v_proj))
        kr, qr = (split_heads(p(relative[None]), self.n_heads)[0] for p in (self.pos_k_proj, self.pos_q_proj))
        weights = attention_weights(deberta_scores_released(qc, kc, kr, qr), mask)
        return self.o_proj(merge_heads(weights @ v))


def enhanced_mask_decoder_query(hidden: Tensor, absolute: Tensor) -> Tensor:
    """Input of the enhanced mask decoder's queries: absolute positions enter only here, at the top.

    The last layers take queries from hidden + absolute, keys and values from ``hidden``. arXiv:2006.03654,
    section 3.2.
    Args: hidden (B, T, d_model), absolute (T, d_model). Returns: (B, T, d_model).
    """
    return hidden + absolute


def released_query_table(qr: Tensor) -> Tensor:
    """Query table read backward, so that deberta_scores_released gives the same as deberta_scores with qr.

    δ(j, i) = 2k - δ(i, j) whenever |i - j| < k, and for the far future; pairs with i - j >= k read row 1
    instead of row 0. Hence exact up to length k.
    Args and returns: (..., 2k, D).
    """
    rows = qr.shape[-2]
    source = (rows - torch.arange(rows, device=qr.device)).clamp(max=rows - 1)
    return qr[..., source, :]
