"""Gradients of a result that is not a single number: each entry gets a weight, and the weighted sum is one number."""

from collections.abc import Sequence

import torch
from torch import Tensor


def cotangent_of(t: Tensor) -> Tensor:
    """Weights for the entries of a result, all different, and the same on every machine."""
    return torch.cos(torch.arange(1.0, t.numel() + 1, dtype=torch.float64)).reshape(t.shape).to(t.device)


def weighted_sum(tensors: Sequence[Tensor], weights: Sequence[Tensor]) -> Tensor:
    """The weighted sum, whose gradients are those of the tensors with these cotangents. Given the cotangents,
    ``backward`` would import SymPy and 485 other modules to look at their shapes: a second of a learner's first check.

    Raises RuntimeError if a tensor and its weights differ in shape, as ``backward`` would.
    """
    for i, (t, w) in enumerate(zip(tensors, weights, strict=True)):
        if t.shape != w.shape:
            shapes = f"grad_output[{i}] has a shape of {w.shape} and output[{i}] has a shape of {t.shape}"
            raise RuntimeError(f"Mismatch in shape: {shapes}.")
    parts = [(w.to(t.dtype) * t).sum() for w, t in zip(weights, tensors, strict=True)]
    total: Tensor = sum(p.real if p.is_complex() else p for p in parts)  # type: ignore[assignment]
    return total
