"""BERT's masked language modeling, with static masks (BERT) or fresh ones each epoch (RoBERTa).

15 % of the ordinary tokens are selected. Of these, 80 % become [MASK], 10 % a random token and 10 %
are unchanged; the loss is computed on all selected tokens and no others.

Sources: Devlin et al. 2018, arXiv:1810.04805; Liu et al. 2019, arXiv:1907.11692.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

IGNORE = -100
"""Label of a position that the loss leaves out; also the default of torch.nn.functional.cross_entropy."""


class MaskedTokens(NamedTuple):
    """inputs (B, T) int64 with corrupted tokens, labels (B, T) int64: the original or IGNORE."""

    inputs: Tensor
    labels: Tensor


def select_independent(u: Tensor, special: Tensor, rate: float = 0.15) -> Tensor:
    """Select each ordinary token independently when its draw is below ``rate`` (like RoBERTa's code).

    Args: u (B, T) uniform in [0, 1); special (B, T) boolean, tokens never selected ([CLS], [SEP], padding).
    Returns: (B, T) boolean. Raises: ValueError when rate is outside [0, 1].
    """
    _check_rate(rate)
    return (u < rate) & ~special


def select_exact(u: Tensor, special: Tensor, rate: float = 0.15) -> Tensor:
    """Select round(rate · n) of a row's n ordinary tokens, at least one: those with the smallest draws.

    Rounding is to even, as in BERT's data script. Arguments and result as in select_independent; in a row
    without ordinary tokens, none is selected.
    """
    _check_rate(rate)
    ordinary = (~special).sum(-1)
    count = torch.round(rate * ordinary.double()).long().clamp(min=1).minimum(ordinary)
    rank = u.masked_fill(special, 2.0).argsort(dim=-1, stable=True).argsort(dim=-1)  # 0 for the smallest draw
    return rank < count[:, None]


def _check_rate(rate: float) -> None:
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must lie in [0, 1], got {rate}")


def mask_tokens(ids: Tensor, selected: Tensor, u_action: Tensor, random_ids: Tensor, mask_id: int) -> MaskedTokens:
    """Apply the 80/10/10 rule to the selected tokens.

    Args: ids (B, T) int64; selected (B, T) boolean; u_action (B, T) uniform: below 0.8 the token
    becomes mask_id, from 0.8 to below 0.9 it becomes random_ids (B, T), from 0.9 it stays.
    Raises: ValueError when the shapes differ.
    """
    if not ids.shape == selected.shape == u_action.shape == random_ids.shape:
        shapes = [tuple(t.shape) for t in (ids, selected, u_action, random_ids)]
        raise ValueError(f"ids, selected, u_action and random_ids need one shape, got {shapes}")
    inputs = torch.where(selected & (u_action < 0.8), mask_id, ids)
    inputs = torch.where(selected & (u_action >= 0.8) & (u_action < 0.9), random_ids, inputs)
    return MaskedTokens(inputs, torch.where(selected, ids, IGNORE))


def sample_mlm(
    ids: Tensor,
    special: Tensor,
    mask_id: int,
    vocab_size: int,
    generator: torch.Generator,
    rate: float = 0.15,
) -> MaskedTokens:
    """Draw a mask with select_independent. Args: ids, special (B, T); generator, on the CPU."""
    u = torch.rand(2, *ids.shape, generator=generator, dtype=torch.float64).to(ids.device)
    random_ids = torch.randint(vocab_size, ids.shape, generator=generator).to(ids.device)
    return mask_tokens(ids, select_independent(u[0], special, rate), u[1], random_ids, mask_id)


def static_mlm(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, seed: int, epoch: int, copies: int = 10
) -> MaskedTokens:
    """BERT: the data was masked ``copies`` times in advance, and epochs cycle through the copies."""
    return dynamic_mlm(ids, special, mask_id, vocab_size, seed, epoch % copies)


def dynamic_mlm(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, seed: int, epoch: int) -> MaskedTokens:
    """RoBERTa: every epoch draws a new mask; the same seed and epoch give the same mask again."""
    # One generator per (seed, epoch); the odd factor keeps neighboring seeds from sharing epochs.
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    return sample_mlm(ids, special, mask_id, vocab_size, generator)


def masked_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy over the positions whose label is not IGNORE, in nats.

    Args: logits (..., V) floating; labels (...) int64. Half precision is summed in float32.
    Returns: scalar; 0 when no position counts, so that an unlucky batch does not turn weights into NaN.
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    total = F.cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=IGNORE, reduction="sum")
    return total / (labels != IGNORE).sum().clamp(min=1)
