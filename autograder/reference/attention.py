"""Attention: softmax, scaled dot products, heads, padding, and the cost of a layer.

Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.

Mask polarity in this package: a boolean mask, True = this query may attend to this key.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from autograder.reference.masks import key_padding_mask, right_padded


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Softmax along ``dim``, shifted by the maximum so that large scores stay finite.

    Args: x, any shape, floating point; entries may be -inf (they get exactly 0).
    Returns: same shape and dtype as x; sums to 1 along ``dim``, except that a slice which is
    entirely -inf (or empty) gives zeros. float16 and bfloat16 are computed in float32 and cast back.
    """
    if x.shape[dim] == 0:
        return x.clone()
    # Half-precision sums run out of mantissa on long rows, so compute in float32.
    work = x.to(torch.promote_types(x.dtype, torch.float32))
    peak = work.detach().amax(dim=dim, keepdim=True)
    # A fully masked slice has peak -inf, and -inf - (-inf) would be NaN.
    peak = peak.masked_fill(peak == -math.inf, 0.0)
    weights = torch.exp(work - peak)
    total = weights.sum(dim=dim, keepdim=True)
    # total is 0 only for a fully masked slice: 0 / 1 keeps both the value and the gradient at 0.
    return (weights / total.masked_fill(total == 0, 1.0)).to(x.dtype)


def attention_scores(q: Tensor, k: Tensor) -> Tensor:
    """Scaled dot products q·k/√D.

    Args: q (..., T, D), k (..., S, D), same dtype.
    Returns: (..., T, S), same dtype.
    Raises: ValueError when the last sizes of q and k differ.
    """
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k need the same head dim, got q {tuple(q.shape)} and k {tuple(k.shape)}")
    # Scaling q rather than the product keeps float16 logits a factor √D further away from overflow.
    return (q / math.sqrt(q.shape[-1])) @ k.transpose(-2, -1)  # (..., T, S)


def _check_mask(mask: Tensor, scores: Tensor) -> None:
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be boolean (True = may attend), got {mask.dtype}")
    try:
        fits = torch.broadcast_shapes(mask.shape, scores.shape) == scores.shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(f"mask {tuple(mask.shape)} does not broadcast to scores {tuple(scores.shape)}")


def attention_weights(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over keys with forbidden keys at exactly 0.

    Args: scores (..., T, S); mask boolean, True = may attend, broadcastable to (..., T, S).
    Returns: (..., T, S), same dtype; a fully masked row is zeros.
    Raises: TypeError when the mask is not boolean, ValueError when it does not broadcast.
    """
    if mask is not None:
        _check_mask(mask, scores)
        scores = scores.masked_fill(~mask, -math.inf)
    return softmax(scores, dim=-1)


def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax(q kᵀ/√D) v.

    Args: q (..., T, D), k (..., S, D), v (..., S, Dv), one dtype, leading sizes broadcastable;
    mask boolean, True = may attend, broadcastable to (..., T, S).
    Returns: (..., T, Dv), same dtype; a query with no allowed key gets zeros.
    Raises: ValueError when sizes do not fit together, TypeError when the mask is not boolean.
    """
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"k and v need the same length S, got k {tuple(k.shape)} and v {tuple(v.shape)}")
    return attention_weights(attention_scores(q, k), mask) @ v  # (..., T, Dv)


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """(B, T, d_model) -> (B, H, T, D) with D = d_model / H; head h takes features hD … (h+1)D-1.

    Raises: ValueError when d_model is not divisible by n_heads.
    """
    _check_heads(x.shape[-1], n_heads)
    B, T, d_model = x.shape
    return x.reshape(B, T, n_heads, d_model // n_heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """(B, H, T, D) -> (B, T, H·D), the inverse of split_heads."""
    B, H, T, D = x.shape
    return x.transpose(1, 2).reshape(B, T, H * D)


def _check_heads(d_model: int, n_heads: int) -> None:
    if n_heads < 1 or d_model % n_heads:
        raise ValueError(f"d_model ({d_model}) must be divisible by a positive n_heads ({n_heads})")


def padding_mask(lengths: Tensor, S: int) -> Tensor:
    """Mask that hides right padding from every query.

    Args: lengths (B,) integer, number of real keys per sequence; S, the padded length.
    Returns: (B, 1, 1, S) boolean, True = real key; broadcasts over heads and queries.
    Raises: ValueError when lengths is not one-dimensional or a length is outside 0..S.
    """
    return key_padding_mask(right_padded(lengths, S))


class MultiHeadAttention(nn.Module):
    """Multi-head attention with projections q_proj, k_proj, v_proj, o_proj (each d_model to d_model).

    Raises: ValueError when d_model is not divisible by n_heads.
    """

    def __init__(self, d_model: int, n_heads: int, bias: bool = True):
        super().__init__()
        _check_heads(d_model, n_heads)
        self.d_model, self.n_heads = d_model, n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x: Tensor, context: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Self-attention, or cross-attention when ``context`` is given.

        Args: x (B, T, d_model) gives the queries; context (B, S, d_model) gives keys and values;
        mask boolean, True = may attend, of shape (T, S) or broadcastable from four dimensions to
        (B, H, T, S).
        Returns: (B, T, d_model).
        Raises: ValueError for wrong sizes, or for a mask with three dimensions.
        """
        context = x if context is None else context
        for name, value in (("x", x), ("context", context)):
            if value.dim() != 3 or value.shape[-1] != self.d_model:
                raise ValueError(f"{name} must be (B, length, {self.d_model}), got {tuple(value.shape)}")
        if mask is not None and mask.dim() == 3:
            # Broadcasting would align B with the head axis, silently wrong whenever B == H.
            raise ValueError(f"mask {tuple(mask.shape)} is ambiguous; use (T, S) or (B, 1, T, S)")
        q = split_heads(self.q_proj(x), self.n_heads)  # (B, H, T, D)
        k = split_heads(self.k_proj(context), self.n_heads)  # (B, H, S, D)
        v = split_heads(self.v_proj(context), self.n_heads)  # (B, H, S, D)
        return self.o_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask)))


# Cost of a layer. Convention: one multiply-add = 2 FLOPs; softmax, scaling and biases are left out
# (they grow with T·S or T·d_model, without the factor d_model that the matrix products have).


def attention_parameters(d_model: int, bias: bool = True) -> int:
    """Parameters of one attention block: four d_model×d_model matrices, and four biases if ``bias``."""
    return 4 * d_model * d_model + (4 * d_model if bias else 0)


def attention_flops(B: int, T: int, S: int, d_model: int, H: int) -> int:
    """FLOPs of one forward pass of one attention block, T queries against S keys.

    q_proj and o_proj see T tokens, k_proj and v_proj see S; scores and weighted sum each cost
    2·B·T·S·d_model whatever the number of heads. All T·S pairs count: a mask alone saves nothing.
    Raises: ValueError when d_model is not divisible by H.
    """
    _check_heads(d_model, H)
    projections = 2 * B * (2 * T + 2 * S) * d_model * d_model
    pairs = 2 * (2 * B * T * S * d_model)
    return projections + pairs


class AttentionCounts(NamedTuple):
    """Attention blocks, their parameters, their forward FLOPs, and the (query, key) pairs a mask allows.

    allowed_pairs is for one sequence, summed over blocks; heads are not counted separately.
    """

    blocks: int
    parameters: int
    flops: int
    allowed_pairs: int


def encoder_only_counts(n_layers: int, B: int, T: int, d_model: int, H: int, bias: bool = True) -> AttentionCounts:
    """Attention cost of n_layers encoder layers (one bidirectional block each) on length T."""
    return AttentionCounts(
        n_layers,
        n_layers * attention_parameters(d_model, bias),
        n_layers * attention_flops(B, T, T, d_model, H),
        n_layers * T * T,
    )


def decoder_only_counts(n_layers: int, B: int, T: int, d_model: int, H: int, bias: bool = True) -> AttentionCounts:
    """Attention cost of n_layers decoder layers (one causal block each) on length T.

    Parameters and dense FLOPs equal the encoder's; only T(T+1)/2 of the T² pairs are allowed.
    """
    dense = encoder_only_counts(n_layers, B, T, d_model, H, bias)
    return dense._replace(allowed_pairs=n_layers * T * (T + 1) // 2)


def encoder_decoder_counts(
    n_encoder: int, n_decoder: int, B: int, S: int, T: int, d_model: int, H: int, bias: bool = True
) -> AttentionCounts:
    """Attention cost of an encoder on length S and a decoder on length T.

    Every decoder layer has two blocks: causal self-attention over T, and cross-attention from T to S.
    """
    encoder = encoder_only_counts(n_encoder, B, S, d_model, H, bias)
    decoder = decoder_only_counts(n_decoder, B, T, d_model, H, bias)
    cross = AttentionCounts(
        n_decoder,
        n_decoder * attention_parameters(d_model, bias),
        n_decoder * attention_flops(B, T, S, d_model, H),
        n_decoder * T * S,
    )
    return AttentionCounts(*(sum(column) for column in zip(encoder, decoder, cross, strict=True)))
