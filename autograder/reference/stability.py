"""Keeping logits finite and small: logsumexp, z-loss, QK-norm, soft caps, dropout.

Sources: z-loss, Chowdhery et al. 2022 (PaLM), arXiv:2204.02311, section 5; QK-norm, Henry et al. 2020,
arXiv:2010.04245, and Dehghani et al. 2023, arXiv:2302.05442; soft cap, Gemma 2, arXiv:2408.00118;
dropout, Srivastava et al. 2014 (JMLR 15).
"""

import math

import torch
from torch import Tensor

from autograder.reference.attention import attention_weights
from autograder.reference.norms import rms_norm


def _work(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))


def logsumexp(x: Tensor, dim: int = -1) -> Tensor:
    """log Σ exp(x) along ``dim`` without overflow: the largest entry is subtracted first.

    Args: x, any shape, floating; entries may be ±inf.
    Returns: the shape of x without ``dim``, same dtype; -inf where all entries are -inf.
    """
    work = _work(x)
    peak = work.detach().amax(dim=dim, keepdim=True)
    # inf - inf would be NaN; with the peak at 0, exp and log handle infinities correctly.
    peak = peak.masked_fill(peak.isinf(), 0.0)
    total = torch.exp(work - peak).sum(dim=dim, keepdim=True)
    return (torch.log(total) + peak).squeeze(dim).to(x.dtype)


def z_loss(logits: Tensor, coefficient: float = 1e-4) -> Tensor:
    """λ · mean(log² Z), Z = Σ exp(logits): pulls the softmax's normalizer toward 1.

    Args: logits (..., V); coefficient λ, 1e-4 in PaLM.
    Returns: scalar, float32 or float64.
    """
    return coefficient * logsumexp(_work(logits)).square().mean()


def z_loss_gradient(logits: Tensor, coefficient: float = 1e-4) -> Tensor:
    """∂ z_loss / ∂ logits = 2λ · log Z · softmax(logits) / N, N the number of rows. Shape of logits."""
    work = _work(logits)
    log_z = logsumexp(work).unsqueeze(-1)
    return 2 * coefficient * log_z * torch.exp(work - log_z) / log_z.numel()


def qk_norm(q: Tensor, k: Tensor, q_gain: Tensor, k_gain: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """RMS-normalize queries and keys over the head dimension, before RoPE and the dot product.

    Args: q (..., T, D), k (..., S, D); q_gain, k_gain (D,). Returns: the two, dtypes kept.
    """
    return _rms(q, q_gain, eps), _rms(k, k_gain, eps)


def _rms(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    # The gain is applied before the cast back, as in Gemma, so that half precision rounds once.
    return (rms_norm(_work(x), None, eps) * gain).to(x.dtype)


def qk_norm_bound(q_gain: Tensor, k_gain: Tensor) -> float:
    """Largest |q·k/√D| that qk_norm allows, whatever the weights before it: √D · max|g_q| · max|g_k|.

    A normalized vector has length at most √D · max|g|; the rest is the Cauchy-Schwarz inequality.
    """
    return math.sqrt(q_gain.shape[-1]) * float(q_gain.abs().max()) * float(k_gain.abs().max())


def soft_cap(x: Tensor, cap: float) -> Tensor:
    """cap · tanh(x / cap): |result| <= cap, slope 1 at 0, preserves order.

    Gemma 2 uses cap 50 on attention scores and 30 on output logits. Any dtype, elementwise; in exact
    arithmetic |result| < cap, but large results round to cap.
    Raises: ValueError when cap <= 0.
    """
    if cap <= 0:
        raise ValueError(f"cap must be positive, got {cap}")
    return cap * torch.tanh(x / cap)


def soft_capped_weights(scores: Tensor, cap: float, mask: Tensor | None = None) -> Tensor:
    """Attention weights of capped scores. The mask comes after the cap: tanh(-inf) would only give -cap.

    Args and errors as in attention_weights; scores (..., T, S) already scaled.
    """
    return attention_weights(soft_cap(scores, cap), mask)


def entropy(weights: Tensor) -> Tensor:
    """-Σ p log p over the last axis, in nats; 0 · log 0 = 0. Falls toward 0 as logits grow."""
    return torch.special.entr(weights).sum(-1)


def dropout_with(x: Tensor, keep: Tensor, p: float) -> Tensor:
    """Inverted dropout for a given pattern: kept entries are divided by 1 - p, the rest become 0.

    The mean over patterns is x itself, so that nothing needs to change at inference.

    Args: x any shape, floating; keep boolean, broadcastable to x; p, the probability of dropping.
    Raises: ValueError when p is outside [0, 1].
    """
    if not 0 <= p <= 1:
        raise ValueError(f"p must lie in [0, 1], got {p}")
    # p = 1 drops everything; 1/(1 - p) would turn the zeros into NaN.
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return torch.where(keep, x * scale, torch.zeros_like(x))


def dropout(x: Tensor, p: float, training: bool, generator: torch.Generator | None = None) -> Tensor:
    """Inverted dropout with a drawn pattern while training; x itself at inference.

    Args: generator, on x's device. Errors as in dropout_with.
    """
    if not training:
        return x
    keep = torch.rand(x.shape, device=x.device, generator=generator) >= p
    return dropout_with(x, keep, p)
