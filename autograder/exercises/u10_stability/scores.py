"""Two ways to bound attention scores: QK-norm and soft caps."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import stability as ref

UNIT = "10-stability"
INF = math.inf


# --- QK-norm -------------------------------------------------------------------------------------------------------
def qk_builtin(q, k, q_gain, k_gain, eps=1e-6):
    """PyTorch's rms_norm."""
    D = (q.shape[-1],)
    return torch.nn.functional.rms_norm(q, D, q_gain, eps), torch.nn.functional.rms_norm(k, D, k_gain, eps)


def bound_by_lengths(q_gain, k_gain):
    """Largest length of a query times largest length of a key, over √D."""
    D = len(q_gain)
    return float((D**0.5 * q_gain.abs().max()) * (D**0.5 * k_gain.abs().max()) / D**0.5)


def qk_by_hand(q, k, q_gain, k_gain, eps=1e-6):
    """Squares, mean, root, division."""
    out = []
    for x, gain in ((q, q_gain), (k, k_gain)):
        out.append(x / (torch.einsum("...d,...d->...", x, x) / x.shape[-1] + eps).sqrt().unsqueeze(-1) * gain)
    return out


def bound_by_lists(q_gain, k_gain):
    """Python numbers."""
    return math.sqrt(len(q_gain)) * max(map(abs, q_gain.tolist())) * max(map(abs, k_gain.tolist()))


def _normed(one):
    return lambda q, k, q_gain, k_gain, eps=1e-6: (one(q, q_gain, eps), one(k, k_gain, eps))


def _rms(x, gain, eps):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * gain


def _bound(form):
    return lambda q_gain, k_gain: float(form(q_gain, k_gain, q_gain.shape[-1]))


_LAYER = _normed(lambda x, gain, eps: _rms(x - x.mean(-1, keepdim=True), gain, eps))
_UNIT = _normed(lambda x, gain, eps: x / (x.square().sum(-1, keepdim=True) + eps).sqrt() * gain)
_WHOLE = _normed(lambda x, gain, eps: x * torch.rsqrt(x.square().mean((-2, -1), keepdim=True) + eps) * gain)
_NO_GAIN = _normed(lambda x, gain, eps: _rms(x, 1.0, eps))
_NO_EPS = _normed(lambda x, gain, eps: _rms(x, gain, 0.0))
_NO_KEEPDIM = _normed(lambda x, gain, eps: x * torch.rsqrt(x.square().mean(-1) + eps) * gain)
_MEAN_SQUARE = _normed(lambda x, gain, eps: x / (x.square().mean(-1, keepdim=True) + eps) * gain)
_EPS_OUT = _normed(lambda x, gain, eps: x / (x.square().mean(-1, keepdim=True).sqrt() + eps) * gain)


def _limit(q_gain, k_gain):
    return Program().call(q_gain, k_gain, fn="qk_norm_bound")


QK_NORM = Exercise(
    id="stability.qk_norm",
    unit=UNIT,
    title="QK-norm and the bound it gives",
    points=3,
    difficulty=3,
    minutes=15,
    signature="qk_norm(q, k, q_gain, k_gain, eps=1e-6)",
    targets=("qk_norm", "qk_norm_bound"),
    reference=(ref.qk_norm, ref.qk_norm_bound),
    alternatives=[(qk_builtin, bound_by_lengths), (qk_by_hand, bound_by_lists)],
    cases=[
        Case(
            "by hand",
            "(3, 3, 3, 3) becomes (1, 1, 1, 1) and (0, 0, 0, 8) becomes (0, 0, 0, 2), each times its gain",
            lambda g: call(
                torch.full((1, 4), 3.0),
                torch.tensor([[0.0, 0.0, 0.0, 8.0]]),
                torch.tensor([1.0, 1.0, 1.0, 2.0]),
                torch.tensor([3.0, 1.0, 1.0, 1.0]),
            ),
        ),
        Case(
            "heads",
            "two sentences, three heads, four queries, five keys",
            lambda g: call(
                5 + g.randn(2, 3, 4, 6),
                g.randn(2, 3, 5, 6, scale=30.0),
                g.uniform(6, low=0.5, high=2.0),
                g.uniform(6, low=2.5, high=4.0),
            ),
        ),
        Case(
            "tiny",
            "vectors of size 0.001 and 0, where ε inside the root matters",
            lambda g: call(
                torch.tensor([[1e-3, -1e-3], [0.0, 0.0]]),
                torch.tensor([[2e-3, 0.0]]),
                torch.ones(2),
                torch.full((2,), 2.0),
            ),
        ),
        Case(
            "bound by hand",
            "four entries, gains of at most 2 and 3: scores up to √4 · 2 · 3 = 12",
            lambda g: _limit(torch.tensor([1.0, 1.0, 1.0, 2.0]), torch.tensor([3.0, 1.0, 1.0, 1.0])),
        ),
        Case(
            "negative gain",
            "a gain of −5 stretches as much as one of 5",
            lambda g: _limit(torch.tensor([1.0, -5.0, 2.0]), torch.tensor([0.5, 1.0, -2.0])),
        ),
        Case(
            "bound",
            "drawn gains of a head with six entries",
            lambda g: _limit(g.uniform(6, low=0.5, high=2.0), g.uniform(6, low=2.5, high=4.0)),
        ),
    ],
    mutants=[
        Mutant(
            "layer_norm",
            (_LAYER, ref.qk_norm_bound),
            "The mean is subtracted, as in LayerNorm. RMS-norm only divides by the root of the mean square.",
        ),
        Mutant(
            "unit_length",
            (_UNIT, ref.qk_norm_bound),
            "The vectors have length 1. RMS-norm divides by the root of "
            "the mean of the squares, so that the length is √D.",
        ),
        Mutant(
            "mean_square",
            (_MEAN_SQUARE, ref.qk_norm_bound),
            "The vectors are divided by the mean of their squares. Take its root.",
        ),
        Mutant(
            "all_words",
            (_WHOLE, ref.qk_norm_bound),
            "The mean runs over all words of a head. Each vector is "
            "divided by its own root mean square: last axis only.",
        ),
        Mutant(
            "no_keepdim",
            (_NO_KEEPDIM, ref.qk_norm_bound),
            "The mean square has lost its axis, so it divides along another one or does not fit. Use keepdim=True.",
        ),
        Mutant(
            "no_gain",
            (_NO_GAIN, ref.qk_norm_bound),
            "The gains are missing. Multiply the normalized queries by q_gain and the keys by k_gain.",
        ),
        Mutant(
            "swapped",
            (lambda q, k, q_gain, k_gain, eps=1e-6: ref.qk_norm(q, k, k_gain, q_gain, eps), ref.qk_norm_bound),
            "The gains are swapped: q_gain belongs to the queries.",
        ),
        Mutant(
            "query_only",
            (lambda q, k, q_gain, k_gain, eps=1e-6: (_rms(q, q_gain, eps), k), ref.qk_norm_bound),
            "Only the queries are normalized, so large keys still make large scores. Normalize both.",
        ),
        Mutant(
            "no_eps",
            (_NO_EPS, ref.qk_norm_bound),
            "A vector of zeros becomes NaN. Add ε to the mean square before the root.",
        ),
        Mutant(
            "eps_outside",
            (_EPS_OUT, ref.qk_norm_bound),
            "ε is added after the root. Here it belongs inside: √(mean square + ε).",
        ),
        Mutant(
            "no_root",
            (ref.qk_norm, _bound(lambda a, b, D: a.abs().max() * b.abs().max())),
            "The vectors are right. The bound lacks √D: two vectors of length √D have a product of at most D, and "
            "D/√D = √D.",
        ),
        Mutant(
            "times_d",
            (ref.qk_norm, _bound(lambda a, b, D: D * a.abs().max() * b.abs().max())),
            "The vectors are right. D bounds q·k; the score is q·k/√D, so √D is left.",
        ),
        Mutant(
            "no_abs",
            (ref.qk_norm, _bound(lambda a, b, D: D**0.5 * a.max() * b.max())),
            "The vectors are right. The bound ignores negative gains: take the largest |g|.",
        ),
        Mutant(
            "entrywise",
            (ref.qk_norm, _bound(lambda a, b, D: D**0.5 * (a * b).abs().max())),
            "The vectors are right. Multiplying gains entry by entry assumes that nothing rotates q and k later. "
            "RoPE does: use the two largest lengths.",
        ),
    ],
)


# --- soft cap ------------------------------------------------------------------------------------------------------
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

SOFT_CAP = Exercise(
    id="stability.soft_cap",
    unit=UNIT,
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

EXERCISES = [QK_NORM, SOFT_CAP]
