"""Soft caps, applied before the mask."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, call
from autograder.reference import stability as ref

INF = math.inf


def _checked(cap):
    if cap <= 0:
        raise ValueError("cap must be positive")


def cap_by_tanh(x, cap):
    """As the formula stands."""
    _checked(cap)
    return cap * torch.tanh(x / cap)


def cap_by_exp(x, cap):
    """tanh from one exponential."""
    _checked(cap)
    return cap * (1 - 2 / (torch.exp(2 * x / cap) + 1))


def weights_by_exp(scores, cap, mask=None):
    """exp of the capped scores needs no shift for a modest cap; forbidden ones are multiplied away, then divided."""
    e = torch.exp(cap_by_exp(scores, cap))
    e = e if mask is None else e * mask
    return e / e.sum(-1, keepdim=True)


def cap_by_sigmoid(x, cap):
    """tanh(u) = 2σ(2u) − 1."""
    _checked(cap)
    return cap * (2 * torch.sigmoid(2 * x / cap) - 1)


def weights_builtin(scores, cap, mask=None):
    """masked_fill and softmax."""
    y = cap_by_sigmoid(scores, cap)
    return torch.softmax(y if mask is None else y.masked_fill(~mask, -INF), -1)


_MASK = torch.tensor([[True, False, True], [False, True, True]])
_CAPPED = lambda scores, cap, mask=None: Program().call(scores, cap, mask, fn="soft_capped_weights")
_OWN = ref.soft_capped_weights


MISTAKES = changes(
    (cap_by_tanh, weights_builtin),
    """
clamp: cap * torch.tanh(x / cap) → x.clamp(-cap, cap)
    This cuts off: beyond the cap the slope is 0 and nothing is learned. Use cap · tanh(x / cap).
not_divided: x / cap → x
    The slope at 0 is cap, so small scores are stretched. Divide x by cap inside tanh.
not_multiplied: cap * torch → torch
    The result lies between −1 and 1. Multiply by cap after tanh.
no_error: _checked(cap) →
    Right for positive caps. Raise a ValueError when cap <= 0, before dividing by it.
negative_allowed: _checked(cap) → if cap == 0: raise ValueError(cap)
    Right for a cap of 0 and above. A negative cap should raise a ValueError too: cap <= 0.
softsign: cap * torch.tanh(x / cap) → x / (1 + x.abs() / cap)
    x / (1 + |x|/cap) bends as well, but it reaches the cap more slowly. The formula is cap · tanh(x / cap).
multiplied_inside: cap * torch.tanh(x / cap) → torch.tanh(x * cap) / cap
    cap stands on the wrong sides: divide by it inside tanh, multiply by it outside.
over_queries: -INF), -1) → -INF), -2)
    The softmax runs over the queries. Each query shares its weight among the keys: dim=-1.
mask_ignored: y if mask is None else y.masked_fill(~mask, -INF) → y
    The mask is not used. Put -inf where it is False, between the cap and the softmax.
mask_first: y if mask is None else y.masked_fill(~mask, -INF) → y
; y = → scores = scores if mask is None else scores.masked_fill(~mask, -INF); y =
    Forbidden keys have the score −cap, and so some weight: the mask comes before the cap (tanh(-inf) is −1), or
    fills in −cap. Cap first, then put -inf.
mask_last: y if mask is None else y.masked_fill(~mask, -INF), -1) → y, -1) * (1 if mask is None else mask)
    The mask comes after the softmax, so rows no longer sum to 1. Put -inf between the cap and the softmax.
times_mask: y.masked_fill(~mask, -INF) → y * mask
    Forbidden scores became 0, and a score of 0 still gets weight. Put -inf in their place, between the cap and the
    softmax.
uncapped: y = cap_by_sigmoid(scores, cap) → y = scores
    The weights are those of the raw scores. Send the scores through soft_cap first.
no_softmax: torch.softmax(y if → (y if ; -INF), -1) → -INF))
    These are capped and masked scores. The weights are their softmax.
upside_down: ~mask → mask
    The mask is used upside down. True means may look: fill where it is False.
zero_allowed: _checked(cap) → if cap < 0: raise ValueError(cap)
    Right but for a cap of 0, by which x is divided. Raise a ValueError there too: cap <= 0.
assertion: _checked(cap) → assert cap > 0
    assert raises an AssertionError, and Python may be told to skip it. Write if cap <= 0: raise ValueError(…).
no_cap_at_zero: _checked(cap) → ; cap * torch.tanh(x / cap) → cap * torch.tanh(x / cap) if cap > 0 else x
    Right for positive caps. For others x comes back as it is: raise a ValueError when cap <= 0.
tanh_alone: torch.tanh(x / cap) → torch.tanh(x) / cap
    cap cancels out, or is not used: this is tanh(x). Divide x by cap inside, multiply by cap outside.
fraction_turned: x / cap → cap / x
    The fraction inside tanh is upside down: x / cap.
multiplied_twice: x / cap → x * cap
    x is multiplied by cap inside tanh. Divide it: cap · tanh(x / cap).
divided_twice: cap * torch.tanh(x / cap) → torch.tanh(x / cap) / cap
    The result is divided by cap. Multiply: cap · tanh(x / cap).
sigmoid: torch.tanh → torch.sigmoid
    A sigmoid lies between 0 and 1, so 0 does not stay 0. The formula has tanh: cap · tanh(x / cap).
half_argument: x / cap → x / (2 * cap)
    This is cap · tanh(x / (2·cap)), half as steep at 0. As a sigmoid it is cap · (2σ(2x/cap) − 1).
only_divided: cap * torch.tanh(x / cap) → x / cap
    x is only divided by cap. The formula is cap · tanh(x / cap).
product_with_inf: y.masked_fill(~mask, -INF) → y + ~mask * -INF
    0 · (−∞) is NaN, so a product with -inf ruins the allowed scores as well. Fill in -inf: masked_fill(~mask,
    -math.inf).
mask_added: y.masked_fill(~mask, -INF) → y + mask
    The mask is added to the scores as 0 and 1. Put -inf where it is False, between the cap and the softmax.
capped_weights: y = cap_by_sigmoid(scores, cap) → y = scores ; return torch.softmax → return ref.soft_cap(torch.softmax
; -INF), -1) → -INF), -1), cap)
    The cap comes after the softmax, on the weights. Cap the scores, then mask, then softmax.
over_first_axis: -INF), -1) → -INF), 0)
    The softmax runs over the first axis. Each query shares its weight among the keys: dim=-1.
mask_required: y if mask is None else →
    Right with a mask. mask may be None, and ~None is an error: mask only if mask is not None.
log_weights: torch.softmax → torch.log_softmax
    These are logarithms of the weights. The weights are asked for: softmax, not log_softmax.
over_everything: softmax(y → softmax((y ; -INF), -1) → -INF)).flatten(), 0).view_as(scores)
    The softmax runs over all entries at once. Each row sums to 1: dim=-1.
times_score: cap * torch → x * torch
    tanh is multiplied by x, so a negative score becomes positive, and nothing holds a large one. tanh stays below
    1: which factor keeps the result below the cap?
times_score_over_cap: cap * torch → x / cap * torch
    tanh is multiplied by x / cap, so a negative score becomes positive, and nothing holds a large one. tanh decides
    where the score lies between −1 and 1: stretch that by a constant.
arctangent: torch.tanh → torch.atan
    An arctangent ends at π/2, so scores pass the cap by more than half of it. The curve that ends at 1 is tanh.
cut_above: cap * torch.tanh(x / cap) → x.clamp(max=cap)
    Only large positive scores are held, by a cut, and negative ones pass. A soft cap bends on both sides, and never
    ends in a corner.
unchanged: cap * torch.tanh(x / cap) → x * 1.0
    x comes back as it is: nothing is capped. Large scores have to come out near cap, small ones almost as they
    were.
""",
)


EXERCISE = Exercise(
    id="stability.soft_cap",
    title="Soft caps, before the mask",
    points=3,
    difficulty=2,
    minutes=12,
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
        Case(
            "small cap",
            "a cap below 1 and float64 input: the result is float64",
            lambda g: call(g.randn(3, 4, dtype=torch.float64), g.number(0.2, 0.9)),
            weight=0.5,
        ),
        Case(
            "double",
            "weights of float64 scores in a batch with one mask for all: the result is float64",
            lambda g: _CAPPED(g.randn(2, 3, 5, dtype=torch.float64), g.number(0.5, 3.0), g.mask(3, 5)),
            weight=0.5,
        ),
        Case(
            "gradients",
            "the gradient of the scores flows through softmax, mask and cap",
            lambda g: Program().call(g.randn(2, 2, 3, scale=2.0), 2.0, _MASK, fn="soft_capped_weights", grad=[0]),
        ),
        Case("no cap", "a cap of 0 is a ValueError", lambda g: call(torch.tensor([1.0, 2.0]), 0.0), weight=0.5),
        Case(
            "negative cap",
            "a cap below 0 is a ValueError",
            lambda g: call(torch.tensor([1.0, 2.0]), -g.number(0.1, 0.9)),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
)
