"""Attention and feed-forward layer side by side, and their fused projection."""

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
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


def _weights(g: Source, d: int, d_ff: int) -> list[Tensor]:
    return [g.randn(d, d) for _ in range(3)] + [g.randn(d_ff, d), g.randn(d, d), g.randn(d, d_ff)]


def _fuse(d: int, d_ff: int) -> Callable[[Source], Program]:
    return lambda g: call(*_weights(g, d, d_ff), fn="fuse")


def _one_by_one(g: Source) -> Program:
    return call(*(torch.tensor([[v]]) for v in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)), fn="fuse")


MISTAKES = changes(
    (ref.parallel, ref.fuse),
    """
sequential: return x + attention(h) + ffn(h) → x = x + attention(h); return x + ffn(norm(x))
    The feed-forward branch reads what attention has already changed: that is Pre-LN. Here both branches read the
    same norm(x).
ffn_not_normed: ffn(h) → ffn(x)
    The feed-forward branch reads x. Both branches share one normalized input, h = norm(x).
twice_x: + ffn(h) → + x + ffn(h)
    x is added twice, once per branch. There is one residual for both.
chained: attention(h) + ffn(h) → ffn(attention(h))
    The feed-forward branch reads attention's output. Parallel branches do not see each other: add them.
ffn_behind_attention: ffn(h) → ffn(attention(h))
    The feed-forward branch reads what attention gives. Both branches read the same h = norm(x), and neither sees
    the other.
ffn_on_both: ffn(h) → ffn(h + attention(h))
    The feed-forward branch reads h and attention's output together. It reads h = norm(x) alone.
branches_multiplied: attention(h) + ffn(h) → attention(h) * ffn(h)
    The branches are multiplied. Each adds to the stream: x + attention(h) + ffn(h).
halved: attention(h) + ffn(h) → (attention(h) + ffn(h)) / 2
    The mean of the two branches is added. Add both whole: x + attention(h) + ffn(h).
attention_not_normed: attention(h) → attention(x)
    The attention branch reads x. Both branches share one normalized input, h = norm(x).
post: x + attention(h) + ffn(h) → norm(x + attention(x) + ffn(x))
    The norm comes last, on the sum, as in Post-LN. Here it comes first: both branches read h = norm(x).
no_residual: x + attention(h) + ffn(h) → attention(h) + ffn(h)
    The residual is missing. Add x to the two branches.
from_normed: x + attention(h) + ffn(h) → h + attention(h) + ffn(h)
    The branches are added to norm(x). The residual path carries x itself.
no_norm: attention(h) + ffn(h) → attention(x) + ffn(x)
    norm is not used. Both branches read h = norm(x).
out_below: [w_o, w_down], dim=1 → [w_o, w_down.T]
    w_o and w_down stand below each other. They read different numbers and write to the same d, so their columns
    stand side by side (dim=1).
out_along_rows: [w_o, w_down], dim=1 → [w_o, w_down]
    torch.cat joins rows unless dim=1 is given. w_o (d, d) and w_down (d, d_ff) have equally many rows: join their
    columns.
out_exchanged: [w_o, w_down] → [w_down, w_o]
    w_down comes before w_o. The attended values come first in the input of w_out, so w_o is first.
keys_first: [w_q, w_k, w_v, w_up] → [w_k, w_q, w_v, w_up]
    w_k comes before w_q. The order asked for is q, k, v, up.
values_before_keys: [w_q, w_k, w_v, w_up] → [w_q, w_v, w_k, w_up]
    w_v comes before w_k. The order asked for is q, k, v, up.
out_first: [w_o, w_down], dim=1 → [w_q, w_k, w_v, w_up] ; [w_q, w_k, w_v, w_up]), → [w_o, w_down], dim=1),
    w_out comes first. fuse returns w_in, then w_out.
in_side_by_side: [w_q, w_k, w_v, w_up] → [w_q, w_k, w_v, w_up], dim=1
    The matrices of w_in stand side by side. They read the same x, so they stand below each other (dim=0).
up_turned: [w_q, w_k, w_v, w_up] → [w_q, w_k, w_v, w_up.T]
    w_up is transposed. It is (d_ff, d) already: as wide as the others.
up_first: [w_q, w_k, w_v, w_up] → [w_up, w_q, w_k, w_v]
    w_up comes first in w_in. The order asked for is q, k, v, up.
transposed: [w_q, w_k, w_v, w_up]) → [w_q, w_k, w_v, w_up]).T ; dim=1) → dim=1).T
    Both matrices are transposed. nn.Linear keeps weights as (out, in), and so does this exercise.
out_transposed: dim=1) → dim=1).T
    w_out is transposed. It maps d + d_ff numbers to d, stored as (out, in): (d, d + d_ff).
in_transposed: [w_q, w_k, w_v, w_up]) → [w_q, w_k, w_v, w_up]).T
    w_in is transposed. It maps d numbers to 3d + d_ff, stored as (out, in): (3d + d_ff, d).
up_left_out: [w_q, w_k, w_v, w_up] → [w_q, w_k, w_v]
    w_up is missing in w_in. It reads the same x as the other three: put it below them.
out_added: [w_o, w_down], dim=1) → [w_o, w_down.T]).T
    w_o lies transposed in w_out. Join the columns of w_o and w_down as they are, with dim=1.
down_turned: [w_o, w_down] → [w_o, w_down.T]
    w_down is transposed. It is (d, d_ff) already: as high as w_o.
values_first: [w_q, w_k, w_v, w_up] → [w_v, w_k, w_q, w_up]
    w_q and w_v have changed places. The order asked for is q, k, v, up.
attention_alone: attention(h) + ffn(h) → attention(h)
    ffn is not used. Both branches are added: x + attention(h) + ffn(h).
ffn_alone: attention(h) + ffn(h) → ffn(h)
    attention leaves no trace. Both branches are added: x + attention(h) + ffn(h).
normed_twice: ffn(h) → ffn(norm(h))
    The feed-forward branch reads norm(h). Both branches read the same h = norm(x).
branches_normed: attention(h) + ffn(h) → norm(attention(x)) + norm(ffn(x))
    The norm stands behind the branches. It stands before them: both read h = norm(x).
sum_normed: attention(h) + ffn(h) → norm(attention(x) + ffn(x))
    The sum of the branches is normalized. The norm stands before them: both read h = norm(x).
""",
)

EXERCISE = Exercise(
    id="placement.parallel",
    title="Both sublayers at once",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
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
            "2 sentences of 3 tokens, two different branches",
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
            "a stream in float64, one sentence of one token: so is what parallel makes of it",
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
    mutants=MISTAKES,
)
