"""QK-norm, and the bound that it gives."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
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


def _with_zeros(g: Source) -> Program:
    q = g.randn(2, 3, 4)
    q[1, 0] = 0
    return call(
        q, g.randn(2, 5, 4), g.uniform(4, low=0.5, high=2.0), g.uniform(4, low=2.5, high=4.0), grad=[0, 1, 2, 3]
    )


def _limit(q_gain: Tensor, k_gain: Tensor) -> Program:
    return Program().call(q_gain, k_gain, fn="qk_norm_bound")


EXERCISE = Exercise(
    id="stability.qk_norm",
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
            "double",
            "float64 vectors and another ε: the results are float64",
            lambda g: call(
                *(g.randn(*shape, dtype=torch.float64) for shape in ((2, 3, 4), (2, 5, 4), (4,), (4,))),
                eps=g.number(0.1, 0.9),
            ),
            weight=0.5,
        ),
        Case(
            "gradients",
            "gradients of vectors and gains; one query is all zeros, and its gradient is not NaN",
            _with_zeros,
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
            "The mean is subtracted, as in LayerNorm. RMSNorm only divides by the root of the mean square.",
        ),
        Mutant(
            "unit_length",
            (_UNIT, ref.qk_norm_bound),
            "The vectors have length 1. RMSNorm divides by the root of "
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
            "gain_first",
            (_normed(lambda x, gain, eps: _rms(x * gain, 1.0, eps)), ref.qk_norm_bound),
            "The gain is multiplied in first, and the root mean square divides it out again. Normalize, then multiply.",
        ),
        Mutant(
            "one_plus_gain",
            (_normed(lambda x, gain, eps: _rms(x, 1 + gain, eps)), ref.qk_norm_bound),
            "The vectors are multiplied by 1 + gain. Here the gain itself is the factor.",
        ),
        Mutant(
            "eps_fixed",
            (lambda q, k, q_gain, k_gain, eps=1e-6: ref.qk_norm(q, k, q_gain, k_gain), ref.qk_norm_bound),
            "ε stands in your code as a number. Use the argument eps, which may be another.",
        ),
        Mutant(
            "over_root",
            (ref.qk_norm, _bound(lambda a, b, D: a.abs().max() * b.abs().max() / D**0.5)),
            "The vectors are right. The bound is divided by √D: two lengths of √D give D, and D/√D = √D is a factor.",
        ),
        Mutant(
            "lengths_of_gains",
            (ref.qk_norm, _bound(lambda a, b, D: D**0.5 * a.norm() * b.norm())),
            "The vectors are right. The bound takes the lengths of the gains. Take the largest |g| of each.",
        ),
        Mutant(
            "queries_alone",
            (ref.qk_norm, _bound(lambda a, b, D: D**0.5 * a.abs().max())),
            "The vectors are right. The bound lacks the keys' gain: multiply by the largest |g| of k_gain too.",
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
        Mutant(
            "query_gain_twice",
            (lambda q, k, q_gain, k_gain, eps=1e-6: ref.qk_norm(q, k, q_gain, q_gain, eps), ref.qk_norm_bound),
            "The keys are multiplied by q_gain. Theirs is k_gain.",
        ),
        Mutant(
            "key_gain_twice",
            (lambda q, k, q_gain, k_gain, eps=1e-6: ref.qk_norm(q, k, k_gain, k_gain, eps), ref.qk_norm_bound),
            "The queries are multiplied by k_gain. Theirs is q_gain.",
        ),
        Mutant(
            "key_gain_missing",
            (lambda q, k, q_gain, k_gain, eps=1e-6: (_rms(q, q_gain, eps), _rms(k, 1.0, eps)), ref.qk_norm_bound),
            "The queries are right. The keys lack their gain: multiply them by k_gain.",
        ),
        Mutant(
            "query_gain_missing",
            (lambda q, k, q_gain, k_gain, eps=1e-6: (_rms(q, 1.0, eps), _rms(k, k_gain, eps)), ref.qk_norm_bound),
            "The keys are right. The queries lack their gain: multiply them by q_gain.",
        ),
        Mutant(
            "keys_only",
            (lambda q, k, q_gain, k_gain, eps=1e-6: (q, _rms(k, k_gain, eps)), ref.qk_norm_bound),
            "Only the keys are normalized, so large queries still make large scores. Normalize both.",
        ),
        Mutant(
            "keys_only_scaled",
            (lambda q, k, q_gain, k_gain, eps=1e-6: (_rms(q, q_gain, eps), k * k_gain), ref.qk_norm_bound),
            "The keys get their gain, but they are not divided by their root mean square. Normalize both.",
        ),
        Mutant(
            "both_gains",
            (
                lambda q, k, q_gain, k_gain, eps=1e-6: (_rms(q, q_gain * k_gain, eps), _rms(k, q_gain * k_gain, eps)),
                ref.qk_norm_bound,
            ),
            "Queries and keys get both gains. q_gain belongs to the queries alone, k_gain to the keys.",
        ),
        Mutant(
            "exchanged",
            (lambda q, k, q_gain, k_gain, eps=1e-6: ref.qk_norm(q, k, q_gain, k_gain, eps)[::-1], ref.qk_norm_bound),
            "The keys come first. Return the pair (q, k).",
        ),
        Mutant(
            "over_words",
            (
                _normed(lambda x, gain, eps: x * torch.rsqrt(x.square().mean(-2, keepdim=True) + eps) * gain),
                ref.qk_norm_bound,
            ),
            "The mean runs over the words. One vector lies along the last axis: mean(-1).",
        ),
        Mutant(
            "unit_length_eps_outside",
            (_normed(lambda x, gain, eps: x / (x.norm(dim=-1, keepdim=True) + eps) * gain), ref.qk_norm_bound),
            "The vectors have length 1, and ε is added to it. Divide by √(mean of the squares + ε), so that "
            "the length is √D.",
        ),
        Mutant(
            "unit_length_without_eps",
            (_normed(lambda x, gain, eps: torch.nn.functional.normalize(x, dim=-1) * gain), ref.qk_norm_bound),
            "The vectors have length 1, and eps is not used. Divide by √(mean of the squares + ε), so that "
            "the length is √D.",
        ),
        Mutant(
            "unit_length_nan",
            (_normed(lambda x, gain, eps: x / x.norm(dim=-1, keepdim=True) * gain), ref.qk_norm_bound),
            "The vectors have length 1, and zeros become NaN. Divide by √(mean of the squares + ε), so that "
            "the length is √D.",
        ),
        Mutant(
            "divided_again",
            (_normed(lambda x, gain, eps: _rms(x, gain, eps) / x.shape[-1] ** 0.5), ref.qk_norm_bound),
            "The normalized vectors are divided by √D as well. That comes later, with the score; here only "
            "the root mean square divides.",
        ),
        Mutant(
            "layer_norm_unbiased",
            (
                _normed(
                    lambda x, gain, eps: (
                        (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True) + eps) * gain
                    )
                ),
                ref.qk_norm_bound,
            ),
            "This is LayerNorm, by mean and variance. RMSNorm subtracts no mean, and takes the mean of the squares.",
        ),
        Mutant(
            "by_deviation",
            (_normed(lambda x, gain, eps: x * torch.rsqrt(x.var(-1, keepdim=True) + eps) * gain), ref.qk_norm_bound),
            "The variance divides, which is taken around the mean. RMSNorm takes the mean of the squares: "
            "(x**2).mean(-1).",
        ),
        Mutant(
            "by_deviation_biased",
            (
                _normed(lambda x, gain, eps: x * torch.rsqrt(x.var(-1, keepdim=True, correction=0) + eps) * gain),
                ref.qk_norm_bound,
            ),
            "The mean is subtracted before the squares are averaged. RMSNorm takes the mean of the squares "
            "of x itself.",
        ),
        Mutant(
            "mean_of_sizes",
            (_normed(lambda x, gain, eps: x / (x.abs().mean(-1, keepdim=True) + eps) * gain), ref.qk_norm_bound),
            "The vectors are divided by the mean of their sizes. Take the root of the mean of the squares.",
        ),
        Mutant(
            "times_rms",
            (
                _normed(lambda x, gain, eps: x * (x.square().mean(-1, keepdim=True) + eps).sqrt() * gain),
                ref.qk_norm_bound,
            ),
            "The vectors are multiplied by their root mean square. Divide by it: torch.rsqrt, not sqrt.",
        ),
        Mutant(
            "gain_divides",
            (_normed(lambda x, gain, eps: _rms(x, 1 / gain, eps)), ref.qk_norm_bound),
            "The gain divides. Multiply by it.",
        ),
        Mutant(
            "gain_added",
            (_normed(lambda x, gain, eps: _rms(x, 1.0, eps) + gain), ref.qk_norm_bound),
            "The gain is added. It multiplies.",
        ),
        Mutant(
            "keys_alone",
            (ref.qk_norm, _bound(lambda a, b, D: D**0.5 * b.abs().max())),
            "The vectors are right. The bound lacks the queries' gain: multiply by the largest |g| of q_gain too.",
        ),
        Mutant(
            "gains_added",
            (ref.qk_norm, _bound(lambda a, b, D: D**0.5 * (a.abs().max() + b.abs().max()))),
            "The vectors are right. The bound adds the two gains. Lengths multiply: √D · largest · largest.",
        ),
        Mutant(
            "average_gains",
            (ref.qk_norm, _bound(lambda a, b, D: D**0.5 * a.abs().mean() * b.abs().mean())),
            "The vectors are right. The bound takes average gains. Take the largest |g| of each.",
        ),
        Mutant(
            "sums_of_gains",
            (ref.qk_norm, _bound(lambda a, b, D: D**0.5 * a.abs().sum() * b.abs().sum())),
            "The vectors are right. The bound sums the gains. Take the largest |g| of each.",
        ),
        Mutant(
            "norms_over_root",
            (ref.qk_norm, _bound(lambda a, b, D: a.norm() * b.norm() / D**0.5)),
            "The vectors are right. The bound takes the lengths of the gains, over √D. Take √D times the "
            "largest |g| of each.",
        ),
        Mutant(
            "norms_alone",
            (ref.qk_norm, _bound(lambda a, b, D: a.norm() * b.norm())),
            "The vectors are right. The bound is the product of the gains' lengths. Take √D times the largest"
            " |g| of each.",
        ),
        Mutant(
            "over_d",
            (ref.qk_norm, _bound(lambda a, b, D: a.abs().max() * b.abs().max() / D)),
            "The vectors are right. The bound is divided by D: two lengths of √D give D, and D/√D = √D is a factor.",
        ),
        Mutant(
            "bound_as_tensor",
            (ref.qk_norm, lambda q_gain, k_gain: torch.tensor(ref.qk_norm_bound(q_gain, k_gain))),
            "The vectors are right, and so is the bound, but it is a tensor. A Python float is asked for: .item().",
        ),
    ],
)
