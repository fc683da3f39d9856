"""Soft caps, applied before the mask."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import stability as ref

INF = math.inf


def _checked(cap):
    if cap <= 0:
        raise ValueError("cap must be positive")


def cap_by_exp(x, cap):
    """tanh from one exponential."""
    _checked(cap)
    return cap * (1 - 2 / (torch.exp(2 * x / cap) + 1))


def weights_by_exp(scores, cap, mask=None):
    """exp of the capped scores needs no shift for a modest cap; forbidden ones are multiplied away, then divided."""
    e = torch.exp(cap_by_exp(scores, cap) - cap)
    e = e if mask is None else e * mask
    return e / e.sum(-1, keepdim=True)


def cap_by_sigmoid(x, cap):
    """tanh(u) = 2σ(2u) − 1."""
    _checked(cap)
    return cap * (2 * torch.sigmoid(2 * x.double() / cap) - 1).to(x.dtype)


def weights_builtin(scores, cap, mask=None):
    """masked_fill and softmax."""
    y = cap_by_sigmoid(scores, cap)
    return torch.softmax(y if mask is None else y.masked_fill(~mask, -INF), -1)


def weights_mask_first(scores, cap, mask=None):
    scores = scores if mask is None else scores.masked_fill(~mask, -INF)
    return torch.softmax(ref.soft_cap(scores, cap), -1)


def weights_mask_last(scores, cap, mask=None):
    weights = torch.softmax(ref.soft_cap(scores, cap), -1)
    return weights if mask is None else weights * mask


def weights_times_mask(scores, cap, mask=None):
    capped = ref.soft_cap(scores, cap)
    return torch.softmax(capped if mask is None else capped * mask, -1)


def weights_uncapped(scores, cap, mask=None):
    return torch.softmax(scores if mask is None else scores.masked_fill(~mask, -INF), -1)


def capped_only(scores, cap, mask=None):
    capped = ref.soft_cap(scores, cap)
    return capped if mask is None else capped.masked_fill(~mask, -INF)


def weights_upside_down(scores, cap, mask=None):
    return weights_builtin(scores, cap, None if mask is None else ~mask)


def _plain_cap(form):
    def capped(x, cap):
        _checked(cap)
        return form(x, cap)

    return capped


_MASK = torch.tensor([[True, False, True], [False, True, True]])
_CAPPED = lambda scores, cap, mask=None: Program().call(scores, cap, mask, fn="soft_capped_weights")
_OWN = ref.soft_capped_weights

EXERCISE = Exercise(
    id="stability.soft_cap",
    unit="10-stability",
    title="Soft caps, before the mask",
    points=3,
    difficulty=2,
    minutes=12,
    signature="soft_cap(x, cap)",
    targets=("soft_cap", "soft_capped_weights"),
    reference=(ref.soft_cap, _OWN),
    alternatives=[(cap_by_exp, weights_by_exp), (cap_by_sigmoid, weights_builtin)],
    cases=[
        Case(
            "by hand",
            "cap 10: 0 stays 0, 10 becomes 10 · tanh 1 = 7.62, −1000 becomes −10",
            lambda g: call(torch.tensor([0.0, 10.0, -1000.0]), 10.0),
        ),
        Case(
            "slope",
            "the slope is 1 at 0 and almost 0 far out",
            lambda g: call(torch.tensor([0.0, 3.0, -40.0]), 4.0, grad=[0], cotangent=torch.ones(3)),
        ),
        Case(
            "weights", "weights of capped scores, without a mask", lambda g: _CAPPED(g.randn(2, 3, 4, scale=9.0), 5.0)
        ),
        Case(
            "mask",
            "forbidden keys get weight exactly 0, and each row sums to 1",
            lambda g: _CAPPED(g.randn(2, 3, scale=2.0), 1.5, _MASK),
            weight=2,
        ),
        Case("no cap", "a cap of 0 is a ValueError", lambda g: call(torch.tensor([1.0, 2.0]), 0.0)),
    ],
    mutants=[
        Mutant(
            "clamp",
            (_plain_cap(lambda x, c: x.clamp(-c, c)), _OWN),
            "This cuts off: beyond the cap the slope is 0 and nothing is learned. Use cap · tanh(x / cap).",
        ),
        Mutant(
            "not_divided",
            (_plain_cap(lambda x, c: c * torch.tanh(x)), _OWN),
            "The slope at 0 is cap, so small scores are stretched. Divide x by cap inside tanh.",
        ),
        Mutant(
            "not_multiplied",
            (_plain_cap(lambda x, c: torch.tanh(x / c)), _OWN),
            "The result lies between −1 and 1. Multiply by cap after tanh.",
        ),
        Mutant(
            "no_error",
            (lambda x, cap: cap * torch.tanh(x / cap), _OWN),
            "Right for positive caps. Raise a ValueError when cap <= 0, before dividing by it.",
        ),
        Mutant(
            "mask_first",
            (ref.soft_cap, weights_mask_first),
            "The mask comes before the cap, and tanh(-inf) is −1: forbidden keys get score −cap and some weight. "
            "Cap first, then mask.",
        ),
        Mutant(
            "mask_last",
            (ref.soft_cap, weights_mask_last),
            "The mask comes after the softmax, so rows no longer sum to 1. Put -inf between the cap and the softmax.",
        ),
        Mutant(
            "times_mask",
            (ref.soft_cap, weights_times_mask),
            "Forbidden scores became 0, and a score of 0 still gets weight. Put -inf in their place, between the "
            "cap and the softmax.",
        ),
        Mutant(
            "uncapped",
            (ref.soft_cap, weights_uncapped),
            "The weights are those of the raw scores. Send the scores through soft_cap first.",
        ),
        Mutant(
            "no_softmax",
            (ref.soft_cap, capped_only),
            "These are capped and masked scores. The weights are their softmax.",
        ),
        Mutant(
            "upside_down",
            (ref.soft_cap, weights_upside_down),
            "The mask is used upside down. True means may look: fill where it is False.",
        ),
    ],
)
