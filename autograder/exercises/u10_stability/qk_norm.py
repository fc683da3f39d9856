"""QK-norm, and the bound that it gives."""

import math

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import stability as ref


def qk_by_rsqrt(q, k, q_gain, k_gain, eps=1e-6):
    """One function inside for both."""

    def normed(x, gain):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * gain

    return normed(q, q_gain), normed(k, k_gain)


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


def _with_zeros(g: Source) -> Program:
    q = g.randn(2, 3, 4)
    q[1, 0] = 0
    return call(
        q, g.randn(2, 5, 4), g.uniform(4, low=0.5, high=2.0), g.uniform(4, low=2.5, high=4.0), grad=[0, 1, 2, 3]
    )


def _limit(q_gain: Tensor, k_gain: Tensor) -> Program:
    return Program().call(q_gain, k_gain, fn="qk_norm_bound")


MISTAKES = changes(
    (qk_by_rsqrt, ref.qk_norm_bound),
    """
layer_norm: return x * → x = x - x.mean(-1, keepdim=True); return x *
    The mean is subtracted, as in LayerNorm. RMSNorm only divides by the root of the mean square.
unit_length: .mean( → .sum(
    The vectors have length 1. RMSNorm divides by the root of the mean of the squares, so that the length is √D.
mean_square: * torch.rsqrt → /
    The vectors are divided by the mean of their squares. Take its root.
all_words: mean(-1 → mean((-2, -1)
    The mean runs over all tokens of a head. Each vector is divided by its own root mean square: last axis only.
no_keepdim: , keepdim=True →
    The mean square has lost its axis, so it divides along another one or does not fit. Use keepdim=True.
no_gain: * gain →
    The gains are missing. Multiply the normalized queries by q_gain and the keys by k_gain.
swapped: (q, q_gain), normed(k, k_gain) → (q, k_gain), normed(k, q_gain)
    The gains are swapped: q_gain belongs to the queries.
query_only: normed(k, k_gain) → k
    Only the queries are normalized, so large keys still make large scores. Normalize both.
no_eps: + eps →
    A vector of zeros becomes NaN. Add ε to the mean square before the root.
eps_outside: * torch.rsqrt → / ; keepdim=True) → keepdim=True).sqrt()
    ε is added after the root. Here it belongs inside: √(mean square + ε).
gain_first: return x * → x = x * gain; return x * ; eps) * gain → eps)
    The gain is multiplied in first, and the root mean square divides it out again. Normalize, then multiply.
one_plus_gain: * gain → * (1 + gain)
    The vectors are multiplied by 1 + gain. Here the gain itself is the factor.
eps_fixed: + eps → + 1e-6
    ε stands in your code as a number. Use the argument eps, which may be another.
over_root: math.sqrt(q_gain.shape[-1]) * → 1 / math.sqrt(q_gain.shape[-1]) *
    The vectors are right. The bound is divided by √D: two lengths of √D give D, and D/√D = √D is a factor.
lengths_of_gains: q_gain.abs().max() → q_gain.norm() ; k_gain.abs().max() → k_gain.norm()
    The vectors are right. The bound takes the lengths of the gains. Take the largest |g| of each.
queries_alone: * float(k_gain.abs().max()) →
    The vectors are right. The bound lacks the keys' gain: multiply by the largest |g| of k_gain too.
no_root: math.sqrt(q_gain.shape[-1]) * →
    The vectors are right. The bound lacks √D: two vectors of length √D have a product of at most D, and D/√D = √D.
times_d: math.sqrt(q_gain.shape[-1]) → q_gain.shape[-1]
    The vectors are right. D bounds q·k; the score is q·k/√D, so √D is left.
no_abs: q_gain.abs() → q_gain ; k_gain.abs() → k_gain
    The vectors are right. The bound ignores negative gains: take the largest |g|.
entrywise: float(q_gain.abs().max()) * float(k_gain.abs().max()) → float((q_gain * k_gain).abs().max())
    The vectors are right. Multiplying gains entry by entry assumes that nothing rotates q and k later. RoPE does:
    use the two largest lengths.
query_gain_twice: normed(k, k_gain) → normed(k, q_gain)
    The keys are multiplied by q_gain. Theirs is k_gain.
key_gain_twice: normed(q, q_gain) → normed(q, k_gain)
    The queries are multiplied by k_gain. Theirs is q_gain.
key_gain_missing: normed(k, k_gain) → normed(k, 1.0)
    The queries are right. The keys lack their gain: multiply them by k_gain.
query_gain_missing: normed(q, q_gain) → normed(q, 1.0)
    The keys are right. The queries lack their gain: multiply them by q_gain.
keys_only: normed(q, q_gain) → q
    Only the keys are normalized, so large queries still make large scores. Normalize both.
keys_only_scaled: normed(k, k_gain) → k * k_gain
    The keys get their gain, but they are not divided by their root mean square. Normalize both.
both_gains: (q, q_gain) → (q, q_gain * k_gain) ; (k, k_gain) → (k, q_gain * k_gain)
    Queries and keys get both gains. q_gain belongs to the queries alone, k_gain to the keys.
exchanged: normed(q, q_gain), normed(k, k_gain) → normed(k, k_gain), normed(q, q_gain)
    The keys come first. Return the pair (q, k).
over_words: mean(-1 → mean(-2
    The mean runs over the tokens. One vector lies along the last axis: mean(-1).
unit_length_eps_outside: * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) → / (x.norm(dim=-1, keepdim=True) + eps)
    The vectors have length 1, and ε is added to it. Divide by √(mean of the squares + ε), so that the length is √D.
unit_length_without_eps: * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) →
; return x → return torch.nn.functional.normalize(x, dim=-1)
    The vectors have length 1, and eps is not used. Divide by √(mean of the squares + ε), so that the length is √D.
unit_length_nan: * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) → / x.norm(dim=-1, keepdim=True)
    The vectors have length 1, and zeros become NaN. Divide by √(mean of the squares + ε), so that the length is √D.
divided_again: * gain → * gain / x.shape[-1] ** 0.5
    The normalized vectors are divided by √D as well. That comes later, with the score; here only the root mean
    square divides.
layer_norm_unbiased: x.square().mean → x.var ; return x * → return (x - x.mean(-1, keepdim=True)) *
    This is LayerNorm, by mean and variance. RMSNorm subtracts no mean, and takes the mean of the squares.
by_deviation: x.square().mean → x.var
    The variance divides, which is taken around the mean. RMSNorm takes the mean of the squares: (x**2).mean(-1).
by_deviation_biased: x.square().mean(-1, → x.var(-1, correction=0,
    The mean is subtracted before the squares are averaged. RMSNorm takes the mean of the squares of x itself.
mean_of_sizes: * torch.rsqrt → / ; x.square() → x.abs()
    The vectors are divided by the mean of their sizes. Take the root of the mean of the squares.
times_rms: torch.rsqrt → torch.sqrt
    The vectors are multiplied by their root mean square. Divide by it: torch.rsqrt, not sqrt.
gain_divides: * gain → / gain
    The gain divides. Multiply by it.
gain_added: * gain → + gain
    The gain is added. It multiplies.
keys_alone: * float(q_gain.abs().max()) →
    The vectors are right. The bound lacks the queries' gain: multiply by the largest |g| of q_gain too.
gains_added: float(q_gain.abs().max()) * → (float(q_gain.abs().max()) + ; k_gain.abs().max()) → k_gain.abs().max()))
    The vectors are right. The bound adds the two gains. Lengths multiply: √D · largest · largest.
average_gains: q_gain.abs().max() → q_gain.abs().mean() ; k_gain.abs().max() → k_gain.abs().mean()
    The vectors are right. The bound takes average gains. Take the largest |g| of each.
sums_of_gains: q_gain.abs().max() → q_gain.abs().sum() ; k_gain.abs().max() → k_gain.abs().sum()
    The vectors are right. The bound sums the gains. Take the largest |g| of each.
norms_over_root: math.sqrt(q_gain.shape[-1]) * → 1 / math.sqrt(q_gain.shape[-1]) * ; q_gain.abs().max() → q_gain.norm()
; k_gain.abs().max() → k_gain.norm()
    The vectors are right. The bound takes the lengths of the gains, over √D. Take √D times the largest |g| of each.
norms_alone: math.sqrt(q_gain.shape[-1]) * → ; q_gain.abs().max() → q_gain.norm() ; k_gain.abs().max() → k_gain.norm()
    The vectors are right. The bound is the product of the gains' lengths. Take √D times the largest |g| of each.
over_d: math.sqrt(q_gain.shape[-1]) * → 1 / q_gain.shape[-1] *
    The vectors are right. The bound is divided by D: two lengths of √D give D, and D/√D = √D is a factor.
bound_as_tensor: return math → return torch.tensor(math ; float(k_gain.abs().max()) → float(k_gain.abs().max()))
    The vectors are right, and so is the bound, but it is a tensor. A Python float is asked for: .item().
""",
)


EXERCISE = Exercise(
    id="stability.qk_norm",
    title="QK-norm and the bound it gives",
    points=3,
    difficulty=3,
    minutes=15,
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
    mutants=MISTAKES,
    equivalent="""
A gain has one axis: the last one is the first.
    03a8afa4fa solution, constant: -1 → 0 in q_gain.shape[-1]
""",
)
