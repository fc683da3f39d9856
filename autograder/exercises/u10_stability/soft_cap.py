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


def _negative_allowed(x, cap):
    if cap == 0:
        raise ValueError("cap must not be 0")
    return cap * torch.tanh(x / cap)


def weights_over_queries(scores, cap, mask=None):
    y = ref.soft_cap(scores, cap)
    return torch.softmax(y if mask is None else y.masked_fill(~mask, -INF), -2)


def weights_unmasked(scores, cap, mask=None):
    return torch.softmax(ref.soft_cap(scores, cap), -1)


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


def _zero_allowed(x, cap):
    if cap < 0:
        raise ValueError("cap must not be negative")
    return cap * torch.tanh(x / cap)


def _asserted(x, cap):
    assert cap > 0
    return cap * torch.tanh(x / cap)


EXERCISE = Exercise(
    id="stability.soft_cap",
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
            "negative_allowed",
            (_negative_allowed, _OWN),
            "Right for a cap of 0 and above. A negative cap should raise a ValueError too: cap <= 0.",
        ),
        Mutant(
            "softsign",
            (_plain_cap(lambda x, c: x / (1 + x.abs() / c)), _OWN),
            "x / (1 + |x|/cap) bends as well, but it reaches the cap more slowly. The formula is cap · tanh(x / cap).",
        ),
        Mutant(
            "multiplied_inside",
            (_plain_cap(lambda x, c: torch.tanh(x * c) / c), _OWN),
            "cap stands on the wrong sides: divide by it inside tanh, multiply by it outside.",
        ),
        Mutant(
            "over_queries",
            (ref.soft_cap, weights_over_queries),
            "The softmax runs over the queries. Each query shares its weight among the keys: dim=-1.",
        ),
        Mutant(
            "mask_ignored",
            (ref.soft_cap, weights_unmasked),
            "The mask is not used. Put -inf where it is False, between the cap and the softmax.",
        ),
        Mutant(
            "mask_first",
            (ref.soft_cap, weights_mask_first),
            "Forbidden keys have the score −cap, and so some weight: the mask comes before the cap (tanh(-inf) is −1), "
            "or fills in −cap. Cap first, then put -inf.",
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
        Mutant(
            "zero_allowed",
            (_zero_allowed, _OWN),
            "Right but for a cap of 0, by which x is divided. Raise a ValueError there too: cap <= 0.",
        ),
        Mutant(
            "assertion",
            (_asserted, _OWN),
            "assert raises an AssertionError, and Python may be told to skip it. Write if cap <= 0: raise "
            "ValueError(…).",
        ),
        Mutant(
            "no_cap_at_zero",
            (lambda x, cap: cap * torch.tanh(x / cap) if cap > 0 else x, _OWN),
            "Right for positive caps. For others x comes back as it is: raise a ValueError when cap <= 0.",
        ),
        Mutant(
            "tanh_alone",
            (_plain_cap(lambda x, c: c * torch.tanh(x) / c), _OWN),
            "cap cancels out, or is not used: this is tanh(x). Divide x by cap inside, multiply by cap outside.",
        ),
        Mutant(
            "fraction_turned",
            (_plain_cap(lambda x, c: c * torch.tanh(c / x)), _OWN),
            "The fraction inside tanh is upside down: x / cap.",
        ),
        Mutant(
            "multiplied_twice",
            (_plain_cap(lambda x, c: c * torch.tanh(x * c)), _OWN),
            "x is multiplied by cap inside tanh. Divide it: cap · tanh(x / cap).",
        ),
        Mutant(
            "divided_twice",
            (_plain_cap(lambda x, c: torch.tanh(x / c) / c), _OWN),
            "The result is divided by cap. Multiply: cap · tanh(x / cap).",
        ),
        Mutant(
            "sigmoid",
            (_plain_cap(lambda x, c: c * torch.sigmoid(x / c)), _OWN),
            "A sigmoid lies between 0 and 1, so 0 does not stay 0. The formula has tanh: cap · tanh(x / cap).",
        ),
        Mutant(
            "half_argument",
            (_plain_cap(lambda x, c: c * torch.tanh(x / (2 * c))), _OWN),
            "This is cap · tanh(x / (2·cap)), half as steep at 0. As a sigmoid it is cap · (2σ(2x/cap) − 1).",
        ),
        Mutant(
            "only_divided",
            (_plain_cap(lambda x, c: x / c), _OWN),
            "x is only divided by cap. The formula is cap · tanh(x / cap).",
        ),
        Mutant(
            "product_with_inf",
            (
                ref.soft_cap,
                lambda scores, cap, mask=None: torch.softmax(
                    ref.soft_cap(scores, cap) + (0 if mask is None else ~mask * -INF), -1
                ),
            ),
            "0 · (−∞) is NaN, so a product with -inf ruins the allowed scores as well. Fill in -inf: "
            "masked_fill(~mask, -math.inf).",
        ),
        Mutant(
            "mask_added",
            (
                ref.soft_cap,
                lambda scores, cap, mask=None: torch.softmax(
                    ref.soft_cap(scores, cap) + (0 if mask is None else mask), -1
                ),
            ),
            "The mask is added to the scores as 0 and 1. Put -inf where it is False, between the cap and the softmax.",
        ),
        Mutant(
            "capped_weights",
            (ref.soft_cap, lambda scores, cap, mask=None: ref.soft_cap(weights_uncapped(scores, cap, mask), cap)),
            "The cap comes after the softmax, on the weights. Cap the scores, then mask, then softmax.",
        ),
        Mutant(
            "over_first_axis",
            (
                ref.soft_cap,
                lambda scores, cap, mask=None: torch.softmax(
                    ref.soft_cap(scores, cap).masked_fill(torch.tensor(False) if mask is None else ~mask, -INF), 0
                ),
            ),
            "The softmax runs over the first axis. Each query shares its weight among the keys: dim=-1.",
        ),
        Mutant(
            "mask_required",
            (
                ref.soft_cap,
                lambda scores, cap, mask=None: torch.softmax(ref.soft_cap(scores, cap).masked_fill(~mask, -INF), -1),
            ),
            "Right with a mask. mask may be None, and ~None is an error: mask only if mask is not None.",
        ),
        Mutant(
            "log_weights",
            (
                ref.soft_cap,
                lambda scores, cap, mask=None: torch.log_softmax(
                    ref.soft_cap(scores, cap).masked_fill(torch.tensor(False) if mask is None else ~mask, -INF), -1
                ),
            ),
            "These are logarithms of the weights. The weights are asked for: softmax, not log_softmax.",
        ),
        Mutant(
            "over_everything",
            (
                ref.soft_cap,
                lambda scores, cap, mask=None: torch.softmax(
                    ref.soft_cap(scores, cap)
                    .masked_fill(torch.tensor(False) if mask is None else ~mask, -INF)
                    .flatten(),
                    0,
                ).view_as(scores),
            ),
            "The softmax runs over all entries at once. Each row sums to 1: dim=-1.",
        ),
        Mutant(
            "times_score",
            (_plain_cap(lambda x, c: x * torch.tanh(x / c)), _OWN),
            "tanh is multiplied by x, so a negative score becomes positive, and nothing holds a large one. tanh stays "
            "below 1: which factor keeps the result below the cap?",
        ),
        Mutant(
            "times_score_over_cap",
            (_plain_cap(lambda x, c: x / c * torch.tanh(x / c)), _OWN),
            "tanh is multiplied by x / cap, so a negative score becomes positive, and nothing holds a large one. tanh "
            "decides where the score lies between −1 and 1: stretch that by a constant.",
        ),
        Mutant(
            "arctangent",
            (_plain_cap(lambda x, c: c * torch.atan(x / c)), _OWN),
            "An arctangent ends at π/2, so scores pass the cap by more than half of it. The curve that ends at 1 is "
            "tanh.",
        ),
        Mutant(
            "cut_above",
            (_plain_cap(lambda x, c: x.clamp(max=c)), _OWN),
            "Only large positive scores are held, by a cut, and negative ones pass. A soft cap bends on both sides, "
            "and never ends in a corner.",
        ),
        Mutant(
            "unchanged",
            (_plain_cap(lambda x, c: x * 1.0), _OWN),
            "x comes back as it is: nothing is capped. Large scores have to come out near cap, small ones almost as "
            "they were.",
        ),
    ],
)
