"""Softmax under a mask, with rows that may look at nothing."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Source, call
from autograder.reference import attention as ref

INF = math.inf


def zero_after(scores, mask=None):
    """NaN rows replaced after the softmax; masked_fill keeps NaN out of the gradient."""
    return torch.softmax(scores.masked_fill(~mask, -INF), -1).nan_to_num(0.0)


def by_exp(scores, mask):
    """Shift by the largest allowed score, multiply by the mask, divide by a sum that is never 0."""
    peak = torch.where(mask, scores, torch.full_like(scores, -INF)).amax(-1, keepdim=True)
    peak = torch.where(peak.isfinite(), peak, torch.zeros_like(peak))
    e = torch.where(
        mask, torch.exp(torch.where(mask, scores - peak, torch.zeros_like(scores))), torch.zeros_like(scores)
    )
    total = e.sum(-1, keepdim=True)
    return e / torch.where(total == 0, torch.ones_like(total), total)


def minus_inf_only(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -INF), -1)


def large_negative(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -1e9), -1)


def multiplied_after(scores, mask):
    return torch.softmax(scores, -1) * mask


def zero_scores(scores, mask):
    return torch.softmax(scores * mask, -1)


def shifted_first(scores, mask):
    e = torch.exp(scores - scores.amax(-1, keepdim=True)) * mask
    return e / e.sum(-1, keepdim=True).clamp_min(1e-30)


def added_bias(scores, mask):
    bias = torch.zeros(mask.shape).masked_fill(~mask, -INF)
    return torch.softmax(scores + bias, -1).nan_to_num(0.0)


def upside_down(scores, mask):
    return ref.attention_weights(scores, ~mask)


def _with_empty_row(g: Source, *shape: int) -> Tensor:
    mask = g.mask(*shape)
    mask[..., -1] = False
    mask[..., 1, :] = False
    return mask


EXERCISE = Exercise(
    id="attention.masked_softmax",
    unit="01-attention",
    title="Rows that may look at nothing",
    points=2,
    difficulty=3,
    minutes=12,
    signature="masked_softmax(scores, mask)",
    reference=ref.attention_weights,
    alternatives=[zero_after, by_exp],
    cases=[
        Case(
            "by hand",
            "scores ln 3, 0 and 9, the last one forbidden: weights 3/4, 1/4 and 0",
            lambda g: call(torch.tensor([[math.log(3), 0.0, 9.0]]), torch.tensor([[True, True, False]])),
        ),
        Case(
            "empty row",
            "the second of two rows may look at nothing: zeros, not NaN and not 1/3 each",
            lambda g: call(
                torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]),
                torch.tensor([[True, True, False], [False, False, False]]),
            ),
        ),
        Case(
            "large forbidden",
            "a forbidden score of 10000 does not disturb its neighbors",
            lambda g: call(torch.tensor([[0.5, 1e4, 1.5, -0.5]]), torch.tensor([[True, False, True, True]])),
        ),
        Case(
            "per key",
            "a (B, 1, 1, S) mask on (B, H, T, S) scores, one of the sentences empty",
            lambda g: call(g.randn(3, 2, 4, 5), (torch.arange(5) < torch.tensor([3, 0, 5])[:, None])[:, None, None]),
        ),
        Case(
            "gradient",
            "no NaN in the gradient either, with an empty row among the others",
            lambda g: call(g.randn(3, 4), _with_empty_row(g, 3, 4), grad=[0], cotangent=g.randn(3, 4)),
        ),
    ],
    mutants=[
        Mutant(
            "minus_inf_only",
            minus_inf_only,
            "A row of minus infinities is 0/0 in the softmax: NaN. Rows where mask has no True need zeros in their "
            "place.",
        ),
        Mutant(
            "large_negative",
            large_negative,
            "A row filled with -1e9 has equal scores, so the padding gets equal weights. Use -inf, and zeros where "
            "nothing is allowed.",
        ),
        Mutant(
            "multiplied_after",
            multiplied_after,
            "Forbidden weights are removed after the softmax, so the others no longer sum to 1. Mask the scores "
            "before it.",
        ),
        Mutant(
            "zero_scores",
            zero_scores,
            "Multiplying scores by the mask makes forbidden ones 0, and exp(0) = 1 gets weight. Fill them with -inf.",
        ),
        Mutant(
            "shifted_first",
            shifted_first,
            "The largest score is taken over forbidden keys too, so a large one pushes the allowed ones to 0. Mask "
            "first, then shift.",
        ),
        Mutant(
            "added_bias",
            added_bias,
            "The values are right, but a gradient flows through the NaN of the empty row and spoils it. Fill the "
            "scores with masked_fill instead of adding -inf.",
        ),
        Mutant(
            "upside_down",
            upside_down,
            "The mask is used upside down. True means may look: the False entries get weight 0.",
        ),
    ],
)
