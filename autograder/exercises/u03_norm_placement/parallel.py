"""Attention and feed-forward layer side by side, and their fused projection."""

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import residual as ref

from .shared import LAYER, RELU, RMS, SIN, SQUARE, TANH, pair


def parallel_of_sum(x, attention, ffn, norm):
    """Both branches as one sublayer of Pre-LN."""
    return ref.pre_ln(x, lambda h: attention(h) + ffn(h), norm)


def fuse_by_filling(w_q, w_k, w_v, w_up, w_o, w_down):
    """Empty matrices, filled block by block."""
    d, d_ff = w_q.shape[0], w_up.shape[0]
    w_in, w_out = w_q.new_empty(3 * d + d_ff, d), w_q.new_empty(d, d + d_ff)
    for i, w in enumerate((w_q, w_k, w_v)):
        w_in[i * d : (i + 1) * d] = w
    w_in[3 * d :] = w_up
    w_out[:, :d], w_out[:, d:] = w_o, w_down
    return w_in, w_out


def sequential(x, attention, ffn, norm):
    x = x + attention(norm(x))
    return x + ffn(norm(x))


def _as_parallel(rule):
    return lambda x, attention, ffn, norm: rule(x, attention, ffn, norm)


def _weights(g: Source, d: int, d_ff: int) -> list[Tensor]:
    return [g.randn(d, d) for _ in range(3)] + [g.randn(d_ff, d), g.randn(d, d), g.randn(d, d_ff)]


def _fuse(d: int, d_ff: int) -> Callable[[Source], Program]:
    return lambda g: call(*_weights(g, d, d_ff), fn="fuse")


def _one_by_one(g: Source) -> Program:
    return call(*(torch.tensor([[v]]) for v in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)), fn="fuse")


EXERCISE = Exercise(
    id="placement.parallel",
    unit="03-norm-placement",
    title="Both sublayers at once",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="parallel(x, attention, ffn, norm)",
    targets=("parallel", "fuse"),
    reference=(ref.parallel, ref.fuse),
    alternatives=[(parallel_of_sum, fuse_by_filling)],
    cases=[
        Case(
            "parallel by hand",
            "3 and 4 over their root mean square are 0.85 and 1.13; their squares, and they "
            "themselves (ReLU), are added to x",
            lambda g: call(pair(3.0, 4.0), SQUARE, RELU, RMS),
        ),
        Case(
            "parallel random",
            "2 sentences of 3 words, two different branches",
            lambda g: call(g.randn(2, 3, 5, scale=2.0), SIN, TANH, LAYER),
        ),
        Case(
            "parallel, RMSNorm", "another norm, B = 1", lambda g: call(g.randn(1, 4, 7, scale=3.0), TANH, SQUARE, RMS)
        ),
        Case("fuse by hand", "six 1×1 matrices: 1, 2, 3, 4 stand below each other, 5 and 6 side by side", _one_by_one),
        Case("fuse", "d = 4 and d_ff = 6: (18, 4) and (4, 10)", _fuse(4, 6)),
        Case("fuse square", "d_ff = d = 3, where a wrong axis raises no error", _fuse(3, 3)),
    ],
    mutants=[
        Mutant(
            "sequential",
            (sequential, ref.fuse),
            "The feed-forward branch reads what attention has already changed: that is Pre-LN. Here both branches "
            "read the same norm(x).",
        ),
        Mutant(
            "ffn_not_normed",
            (_as_parallel(lambda x, a, f, n: x + a(n(x)) + f(x)), ref.fuse),
            "The feed-forward branch reads x. Both branches share one normalized input, h = norm(x).",
        ),
        Mutant(
            "twice_x",
            (_as_parallel(lambda x, a, f, n: ref.pre_ln(x, a, n) + ref.pre_ln(x, f, n)), ref.fuse),
            "x is added twice, once per branch. There is one residual for both.",
        ),
        Mutant(
            "chained",
            (_as_parallel(lambda x, a, f, n: x + f(a(n(x)))), ref.fuse),
            "The feed-forward branch reads attention's output. Parallel branches do not see each other: add them.",
        ),
        Mutant(
            "no_residual",
            (_as_parallel(lambda x, a, f, n: a(n(x)) + f(n(x))), ref.fuse),
            "The residual is missing. Add x to the two branches.",
        ),
        Mutant(
            "from_normed",
            (_as_parallel(lambda x, a, f, n: n(x) + a(n(x)) + f(n(x))), ref.fuse),
            "The branches are added to norm(x). The residual path carries x itself.",
        ),
        Mutant(
            "no_norm",
            (_as_parallel(lambda x, a, f, n: x + a(x) + f(x)), ref.fuse),
            "norm is not used. Both branches read h = norm(x).",
        ),
        Mutant(
            "out_below",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([q, k, v, up]), torch.cat([o, down.T]))),
            "w_o and w_down stand below each other. They read different numbers and write to the same d, so their "
            "columns stand side by side (dim=1).",
        ),
        Mutant(
            "out_along_rows",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([q, k, v, up]), torch.cat([o, down]))),
            "torch.cat joins rows unless dim=1 is given. w_o (d, d) and w_down (d, d_ff) have equally many rows: "
            "join their columns.",
        ),
        Mutant(
            "out_exchanged",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([q, k, v, up]), torch.cat([down, o], 1))),
            "w_down comes before w_o. The attended values come first in the input of w_out, so w_o is first.",
        ),
        Mutant(
            "up_first",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([up, q, k, v]), torch.cat([o, down], 1))),
            "w_up comes first in w_in. The order asked for is q, k, v, up.",
        ),
        Mutant(
            "transposed",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([q, k, v, up]).T, torch.cat([o, down], 1).T)),
            "Both matrices are transposed. nn.Linear keeps weights as (out, in), and so does this exercise.",
        ),
    ],
)
