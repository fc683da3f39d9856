"""Normalization: LayerNorm, RMSNorm, their gradients, the other norms by axes, and their costs.

Sources: arXiv:1607.06450 (LayerNorm), arXiv:1910.07467 (RMSNorm), arXiv:1502.03167 (BatchNorm),
arXiv:1607.08022 (InstanceNorm), arXiv:1803.08494 (GroupNorm).

Variances are biased (divided by the count), and ε is inside the root. float16 and bfloat16 inputs are
computed in float32: the square of 300 already overflows float16.
"""

import torch
from torch import Tensor, nn

from autograder.reference.intensity import Cost


def _upcast(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))


def normalize_over(x: Tensor, dims: tuple[int, ...], eps: float = 1e-5) -> Tensor:
    """(x - mean)/√(variance + eps) with both taken over ``dims``. Same shape and dtype as x."""
    work = _upcast(x)
    centered = work - work.mean(dim=dims, keepdim=True)
    variance = centered.square().mean(dim=dims, keepdim=True)
    return (centered * torch.rsqrt(variance + eps)).to(x.dtype)


def layer_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """LayerNorm over the last axis: γ·(x - μ)/√(σ² + ε) + β, one μ and σ² per token.

    Args: x (..., d); weight γ and bias β (d,) or None. Returns: same shape and dtype as x.
    Raises: ValueError when weight or bias is not of shape (d,).
    """
    _check_vectors(x, weight=weight, bias=bias)
    out = normalize_over(_upcast(x), (-1,), eps)
    # γ and β are applied before the cast back, so that half precision rounds once.
    if weight is not None:
        out = out * weight
    if bias is not None:
        out = out + bias
    return out.to(x.dtype)


def rms_norm(x: Tensor, weight: Tensor | None = None, eps: float = 1e-6) -> Tensor:
    """RMSNorm over the last axis: γ·x/√(mean(x²) + ε); no mean subtracted, no bias.

    Args: x (..., d); weight γ (d,) or None. Returns: same shape and dtype as x.
    Raises: ValueError when weight is not of shape (d,).
    """
    _check_vectors(x, weight=weight)
    work = _upcast(x)
    normed = work * torch.rsqrt(work.square().mean(dim=-1, keepdim=True) + eps)
    # LLaMA's order: cast back to the input dtype first, then γ. T5 does the same; Gemma multiplies first.
    normed = normed.to(x.dtype)
    return normed if weight is None else weight.to(x.dtype) * normed


def _check_vectors(x: Tensor, **vectors: Tensor | None) -> None:
    for name, vector in vectors.items():
        if vector is not None and vector.shape != x.shape[-1:]:
            raise ValueError(f"{name} must have shape ({x.shape[-1]},), got {tuple(vector.shape)}")


class LayerNorm(nn.Module):
    """LayerNorm with parameters weight (ones) and bias (zeros), both (d,)."""

    def __init__(self, d: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.weight, self.bias, self.eps)


class RMSNorm(nn.Module):
    """RMSNorm with one parameter, weight (ones), (d,)."""

    def __init__(self, d: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.weight, self.eps)


class GemmaRMSNorm(nn.Module):
    """RMSNorm as in Gemma: the parameter is γ - 1 (zeros), multiplied in float32 before the cast back."""

    def __init__(self, d: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(d))

    def forward(self, x: Tensor) -> Tensor:
        work = _upcast(x)
        return (rms_norm(work, None, self.eps) * (1 + _upcast(self.weight))).to(x.dtype)


def layer_norm_backward(grad: Tensor, x: Tensor, weight: Tensor, eps: float = 1e-5) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of layer_norm, derived by hand.

    With x̂ the normalized input and g = γ·grad: dx = (g - mean(g) - x̂·mean(g·x̂))/√(σ² + ε), which is
    orthogonal to the vector of ones, and to x̂ up to a term of order ε.
    Args: grad and x (..., d), weight (d,). Returns: dx (..., d), dweight (d,), dbias (d,).
    """
    centered = x - x.mean(dim=-1, keepdim=True)
    inverse_std = torch.rsqrt(centered.square().mean(dim=-1, keepdim=True) + eps)
    x_hat = centered * inverse_std
    g = grad * weight
    dx = inverse_std * (g - g.mean(dim=-1, keepdim=True) - x_hat * (g * x_hat).mean(dim=-1, keepdim=True))
    tokens = tuple(range(x.dim() - 1))
    return dx, _sum_over(grad * x_hat, tokens), _sum_over(grad, tokens)


def rms_norm_backward(grad: Tensor, x: Tensor, weight: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Gradients of rms_norm, derived by hand: as for LayerNorm without the mean(g) term.

    Args: grad and x (..., d), weight (d,). Returns: dx (..., d), dweight (d,).
    """
    inverse_rms = torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps)
    x_hat = x * inverse_rms
    g = grad * weight
    dx = inverse_rms * (g - x_hat * (g * x_hat).mean(dim=-1, keepdim=True))
    return dx, _sum_over(grad * x_hat, tuple(range(x.dim() - 1)))


def _sum_over(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    return x.sum(dim=dims) if dims else x  # an empty tuple would mean "all axes" to torch


# The same computation over other axes. Axes are given for images (N, C, H, W) and for text (B, T, d),
# where the feature axis d takes the role of the channels C.

NORM_AXES: dict[str, dict[str, tuple[int, ...]]] = {
    "batch": {"NCHW": (0, 2, 3), "BTd": (0, 1)},
    "layer": {"NCHW": (1, 2, 3), "BTd": (2,)},
    "instance": {"NCHW": (2, 3), "BTd": (1,)},
}
"""Norm -> layout -> axes reduced. In text, LayerNorm is per token: d only, not (T, d)."""


def batch_norm(x: Tensor, channel_dim: int = 1, eps: float = 1e-5) -> Tensor:
    """BatchNorm with the statistics of this batch: over all axes except the channels."""
    channel_dim %= x.dim()
    return normalize_over(x, tuple(axis for axis in range(x.dim()) if axis != channel_dim), eps)


def batch_norm_inference(x: Tensor, mean: Tensor, variance: Tensor, eps: float = 1e-5) -> Tensor:
    """BatchNorm with stored statistics, channels on axis 1: the only norm here that has such a mode.

    Args: x (N, C, ...); mean and variance (C,). Returns: same shape and dtype as x.
    """
    shape = (-1,) + (1,) * (x.dim() - 2)
    out = (_upcast(x) - mean.view(shape)) * torch.rsqrt(_upcast(variance).view(shape) + eps)
    return out.to(x.dtype)


def instance_norm(x: Tensor, eps: float = 1e-5) -> Tensor:
    """InstanceNorm: per sample and channel. x (N, C, ...) with at least one more axis."""
    return normalize_over(x, tuple(range(2, x.dim())), eps)


def group_norm(x: Tensor, groups: int, eps: float = 1e-5) -> Tensor:
    """GroupNorm: per sample and group of C/groups neighboring channels. x (N, C, ...).

    One group is LayerNorm over (C, ...), C groups are InstanceNorm.
    Raises: ValueError when C is not divisible by groups.
    """
    if groups < 1 or x.shape[1] % groups:
        raise ValueError(f"{x.shape[1]} channels cannot be split into {groups} groups")
    grouped = x.unflatten(1, (groups, -1))  # (N, groups, C/groups, ...)
    return normalize_over(grouped, tuple(range(2, grouped.dim())), eps).flatten(1, 2)


def layer_norm_cost(tokens: int, d: int, itemsize: int, reads: int = 1) -> Cost:
    """LayerNorm with γ and β over ``tokens`` rows of length d.

    FLOPs per element: 1 for the sum, 1 to center, 2 for square and sum, 1 to scale, 2 for γ and β; per
    row: 2 divisions by d, ε, root, reciprocal (5). Bytes: x read ``reads`` times, y written, γ and β read
    once. reads = 1 when a fused kernel keeps the row on chip; 3 when each pass (mean, variance, output)
    goes to memory.
    """
    return Cost(tokens * (7 * d + 5), ((reads + 1) * tokens * d + 2 * d) * itemsize)


def rms_norm_cost(tokens: int, d: int, itemsize: int, reads: int = 1) -> Cost:
    """RMSNorm with γ. FLOPs per element: 2 for square and sum, 1 to scale, 1 for γ; per row 4.

    reads = 1 for a fused kernel, 2 when each pass goes to memory. A fused kernel moves only d entries (β)
    fewer than LayerNorm's, so the two take the same time whatever the FLOPs are.
    """
    return Cost(tokens * (4 * d + 4), ((reads + 1) * tokens * d + d) * itemsize)
