"""Attention that may be nothing: a learned logit in the denominator, and a gate on the result.

Sources: gpt-oss, 2025, arXiv:2508.10925 (a logit for each head); Miller 2023, "Attention is off by one" (a 1 in the
denominator); Gated attention, Qiu et al. 2025, arXiv:2505.06708 (sigmoid on the heads' result, used in Qwen3-Next).
"""

import math

import torch
from torch import Tensor


def sink_attention(q: Tensor, k: Tensor, v: Tensor, sink: Tensor, mask: Tensor | None = None) -> Tensor:
    """Attention whose softmax has one more entry, the head's sink, which takes weight and brings no value.

    Args: q (B, H, T, D), k (B, H, S, D), v (B, H, S, Dv), sink (H,), one floating dtype; mask boolean, broadcasts to
    (B, H, T, S), True = may look. The sink is neither divided by √D nor masked.
    Returns: (B, H, T, Dv); 0 for a query that may look nowhere.
    """
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    column = sink[:, None, None].expand(*scores.shape[:-1], 1)
    return torch.cat([scores, column], -1).softmax(-1)[..., :-1] @ v


def gated_output(attended: Tensor, x: Tensor, w_gate: Tensor) -> Tensor:
    """Joins the heads, and multiplies each number by a sigmoid that is computed from the layer's input.

    Args: attended (B, H, T, D), x (B, T, d_model), w_gate (H·D, d_model), one floating dtype.
    Returns: (B, T, H·D), what the output projection reads.
    """
    return attended.transpose(1, 2).flatten(2) * (x @ w_gate.T).sigmoid()
