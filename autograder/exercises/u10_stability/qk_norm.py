"""QK-norm, and the bound that it gives."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import stability as ref


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


def _limit(q_gain: Tensor, k_gain: Tensor) -> Program:
    return Program().call(q_gain, k_gain, fn="qk_norm_bound")


EXERCISE = Exercise(
    id="stability.qk_norm",
    unit="10-stability",
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
