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
    d, d_ff = len(w_q), len(w_up)
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


_fused = lambda made: (ref.parallel, lambda q, k, v, up, o, down: made(q, k, v, up, o, down))
_in = lambda q, k, v, up: torch.cat([q, k, v, up])


EXERCISE = Exercise(
    id="placement.parallel",
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
        Case(
            "parallel float64",
            "a stream in float64, one sentence of one word: so is what parallel makes of it",
            lambda g: call(g.randn(1, 1, 6, dtype=torch.float64), SIN, TANH, RMS),
            weight=0.5,
        ),
        Case(
            "fuse float64",
            "matrices in float64, with d_ff smaller than d, give matrices in float64",
            lambda g: call(*(w.double() / 3 for w in _weights(g, 5, 2)), fn="fuse"),
            weight=0.5,
        ),
        Case(
            "parallel gradient",
            "the gradient of x through both branches and the norm that they share",
            lambda g: call(g.randn(2, 3, 4, scale=2.0), SIN, SQUARE, LAYER, grad=[0]),
            weight=0.5,
        ),
        Case(
            "fuse gradients",
            "the two fused matrices pass gradients on to all six",
            lambda g: call(*_weights(g, 2, 3), fn="fuse", grad=range(6)),
            weight=0.5,
        ),
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
            "ffn_behind_attention",
            (_as_parallel(lambda x, a, f, n: x + a(n(x)) + f(a(n(x)))), ref.fuse),
            "The feed-forward branch reads what attention gives. Both branches read the same h = norm(x), and neither "
            "sees the other.",
        ),
        Mutant(
            "ffn_on_both",
            (_as_parallel(lambda x, a, f, n: x + a(n(x)) + f(n(x) + a(n(x)))), ref.fuse),
            "The feed-forward branch reads h and attention's output together. It reads h = norm(x) alone.",
        ),
        Mutant(
            "branches_multiplied",
            (_as_parallel(lambda x, a, f, n: x + a(n(x)) * f(n(x))), ref.fuse),
            "The branches are multiplied. Each adds to the stream: x + attention(h) + ffn(h).",
        ),
        Mutant(
            "halved",
            (_as_parallel(lambda x, a, f, n: x + (a(n(x)) + f(n(x))) / 2), ref.fuse),
            "The mean of the two branches is added. Add both whole: x + attention(h) + ffn(h).",
        ),
        Mutant(
            "attention_not_normed",
            (_as_parallel(lambda x, a, f, n: x + a(x) + f(n(x))), ref.fuse),
            "The attention branch reads x. Both branches share one normalized input, h = norm(x).",
        ),
        Mutant(
            "post",
            (_as_parallel(lambda x, a, f, n: n(x + a(x) + f(x))), ref.fuse),
            "The norm comes last, on the sum, as in Post-LN. Here it comes first: both branches read h = norm(x).",
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
            "keys_first",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([k, q, v, up]), torch.cat([o, down], 1))),
            "w_k comes before w_q. The order asked for is q, k, v, up.",
        ),
        Mutant(
            "values_before_keys",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([q, v, k, up]), torch.cat([o, down], 1))),
            "w_v comes before w_k. The order asked for is q, k, v, up.",
        ),
        Mutant(
            "out_first",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([o, down], 1), torch.cat([q, k, v, up]))),
            "w_out comes first. fuse returns w_in, then w_out.",
        ),
        Mutant(
            "in_side_by_side",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([q, k, v, up], 1), torch.cat([o, down], 1))),
            "The matrices of w_in stand side by side. They read the same x, so they stand below each other (dim=0).",
        ),
        Mutant(
            "up_turned",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([q, k, v, up.T]), torch.cat([o, down], 1))),
            "w_up is transposed. It is (d_ff, d) already: as wide as the others.",
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
        Mutant(
            "out_transposed",
            _fused(lambda q, k, v, up, o, down: (_in(q, k, v, up), torch.cat([o, down], 1).T)),
            "w_out is transposed. It maps d + d_ff numbers to d, stored as (out, in): (d, d + d_ff).",
        ),
        Mutant(
            "in_transposed",
            _fused(lambda q, k, v, up, o, down: (_in(q, k, v, up).T, torch.cat([o, down], 1))),
            "w_in is transposed. It maps d numbers to 3d + d_ff, stored as (out, in): (3d + d_ff, d).",
        ),
        Mutant(
            "up_left_out",
            _fused(lambda q, k, v, up, o, down: (torch.cat([q, k, v]), torch.cat([o, down], 1))),
            "w_up is missing in w_in. It reads the same x as the other three: put it below them.",
        ),
        Mutant(
            "out_added",
            _fused(lambda q, k, v, up, o, down: (_in(q, k, v, up), torch.cat([o, down.T]).T)),
            "w_o lies transposed in w_out. Join the columns of w_o and w_down as they are, with dim=1.",
        ),
        Mutant(
            "down_turned",
            _fused(lambda q, k, v, up, o, down: (_in(q, k, v, up), torch.cat([o, down.T], 1))),
            "w_down is transposed. It is (d, d_ff) already: as high as w_o.",
        ),
        Mutant(
            "values_first",
            _fused(lambda q, k, v, up, o, down: (_in(v, k, q, up), torch.cat([o, down], 1))),
            "w_q and w_v have changed places. The order asked for is q, k, v, up.",
        ),
        Mutant(
            "attention_alone",
            (_as_parallel(lambda x, a, f, n: x + a(n(x))), ref.fuse),
            "ffn is not used. Both branches are added: x + attention(h) + ffn(h).",
        ),
        Mutant(
            "ffn_alone",
            (_as_parallel(lambda x, a, f, n: x + f(n(x))), ref.fuse),
            "attention leaves no trace. Both branches are added: x + attention(h) + ffn(h).",
        ),
        Mutant(
            "normed_twice",
            (_as_parallel(lambda x, a, f, n: x + a(n(x)) + f(n(n(x)))), ref.fuse),
            "The feed-forward branch reads norm(h). Both branches read the same h = norm(x).",
        ),
        Mutant(
            "branches_normed",
            (_as_parallel(lambda x, a, f, n: x + n(a(x)) + n(f(x))), ref.fuse),
            "The norm stands behind the branches. It stands before them: both read h = norm(x).",
        ),
        Mutant(
            "sum_normed",
            (_as_parallel(lambda x, a, f, n: x + n(a(x) + f(x))), ref.fuse),
            "The sum of the branches is normalized. The norm stands before them: both read h = norm(x).",
        ),
    ],
)
