"""InfoNCE: pick the matching partner among all partners of the batch.

loss = -mean_i log( exp(s_ii/τ) / Σ_j exp(s_ij/τ) ), s_ij the cosine of query i and key j. Every other
key of the batch is a negative.

Sources: van den Oord et al. 2018, arXiv:1807.03748; both directions, Radford et al. 2021, arXiv:2103.00020.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def similarity(queries: Tensor, keys: Tensor) -> Tensor:
    """Cosines (B, B) of queries (B, d) and keys (B, d); a zero vector has cosine 0 with everything.

    Raises: ValueError when the shapes differ or are not two-dimensional.
    """
    if queries.dim() != 2 or queries.shape != keys.shape:
        raise ValueError(f"queries and keys must both be (B, d), got {queries.shape} and {keys.shape}")
    # Norms of half-precision vectors overflow early: 300 squared is beyond float16.
    work = torch.promote_types(queries.dtype, torch.float32)
    return F.normalize(queries.to(work), dim=-1) @ F.normalize(keys.to(work), dim=-1).T


def info_nce(queries: Tensor, keys: Tensor, temperature: float = 0.07) -> Tensor:
    """Mean cross-entropy of each query's own key among the batch, in nats.

    Args: queries, keys (B, d); row i of both belong together.
    Returns: scalar, float32 or float64: log B for indistinguishable keys, near 0 for separated ones.
    Raises: ValueError for a temperature <= 0, or for shapes as in similarity.
    """
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    logits = similarity(queries, keys) / temperature
    return F.cross_entropy(logits, torch.arange(len(logits), device=logits.device))


def symmetric_info_nce(a: Tensor, b: Tensor, temperature: float = 0.07) -> Tensor:
    """CLIP's loss: the mean of choosing b given a and a given b. Arguments and errors as in info_nce."""
    return (info_nce(a, b, temperature) + info_nce(b, a, temperature)) / 2


def mutual_information_bound(loss: float, batch: int) -> float:
    """log B - loss: a lower bound, in nats, on the mutual information of the two views.

    It never exceeds log B, however informative the views are, hence the large batches.
    """
    return math.log(batch) - loss
