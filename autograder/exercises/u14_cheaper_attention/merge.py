"""Two partial results of attention, joined."""

import math
from typing import Any

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Ref, Source, call
from autograder.reference import online_softmax


def merge(out_a, lse_a, out_b, lse_b):
    """As in the solution."""
    lse = torch.logaddexp(lse_a, lse_b)
    safe = lse.masked_fill(lse == -math.inf, 0.0)
    a, b = (lse_a - safe).exp(), (lse_b - safe).exp()
    out = a[..., None] * out_a + b[..., None] * out_b
    return out, lse


def merge_by_softmax(out_a, lse_a, out_b, lse_b):
    """The two lse are scores of two values."""
    both = torch.stack([lse_a, lse_b], -1)
    weights = torch.where((both == -math.inf).all(-1, keepdim=True), torch.zeros_like(both), both.softmax(-1))
    return (weights[..., None] * torch.stack([out_a, out_b], -2)).sum(-2), both.logsumexp(-1)


MISTAKES = changes(
    merge,
    """
mean: a[..., None] * out_a + b[..., None] * out_b → (out_a + out_b) / 2
    Both parts count alike. A part weighs as much as its sum of exponentials: e to its lse, divided by e to the new
    lse.
lse_as_weights: (lse_a - safe).exp(), (lse_b - safe).exp() → lse_a / (lse_a + lse_b), lse_b / (lse_a + lse_b)
    The averages are weighted with the lse themselves. These are logarithms: weigh with e to the lse.
lse_added: return out, lse → return out, lse_a + lse_b
    The averages are right, but the lse are added. Sums of exponentials add up, not their logarithms: use
    torch.logaddexp.
lse_maximum: return out, lse → return out, torch.maximum(lse_a, lse_b)
    The averages are right, but the larger lse is returned. The union has both sums: ln(e^a + e^b), a little more than
    the larger one.
sum_returned: return out, lse → return out, lse.exp()
    The averages are right, but the sum itself is returned. Return its logarithm, which cannot overflow.
unshifted: torch.logaddexp(lse_a, lse_b) → (lse_a.exp() + lse_b.exp()).log()
    e to the lse overflows where it is large, and vanishes where it is very small. Subtract the larger lse first, or
    call torch.logaddexp.
exchanged: a[..., None] * out_a + b[..., None] * out_b → b[..., None] * out_a + a[..., None] * out_b
    The weights are exchanged: the lighter part counts more. out_a belongs to lse_a.
not_divided: safe = lse.masked_fill(lse == -math.inf, 0.0) → safe = torch.maximum(lse_a, lse_b).clamp(min=-1e30)
    The two weights don't sum to 1. Divide by both sums together: subtract the new lse, not only the larger of the
    two.
empty_nan: lse.masked_fill(lse == -math.inf, 0.0) → lse
    Where neither part saw a key, −∞ − (−∞) makes NaN. Subtract 0 there instead of the new lse.
sigmoids: (lse_a - safe).exp(), (lse_b - safe).exp() → (lse_a - safe).sigmoid(), (lse_b - safe).sigmoid()
    The weights are sigmoids of the differences, which do not sum to 1. They are exponentials: e to (lse − new lse).
ones_for_empty: return out, lse → return out, safe
    Where neither part saw a key, the lse returned is 0, as if the sum were 1. Return −∞ there, so that the next
    merger gives it no weight.
first_only: return out, lse → return a[..., None] * out_a, lse
    The lse is right, but the second part's average is left out. Add it, times its weight.
unweighted_sum: a[..., None] * out_a + b[..., None] * out_b → out_a + out_b
    The two averages are added without weights. Multiply each by its share of the new sum.
one_maximum: torch.logaddexp(lse_a, lse_b) → (lse_a - lse_b.max()).exp() + (lse_b - lse_b.max()).exp()
; safe = → lse = lse_b.max() + lse.log(); safe =
; == -math.inf, 0.0) → == -math.inf, 1e9)
    One maximum is subtracted for all queries, so where the lse are far below it every exponential vanishes. Each query
    needs a maximum of its own, the larger of its two lse.
wrong_axis: a[..., None] * out_a + b[..., None] * out_b → a.unsqueeze(0) * out_a + b.unsqueeze(0) * out_b
    The weights meet the wrong axis. There is one per query, (..., T), and it multiplies all Dv numbers: add an axis at
    the end.
""",
)


def _by_hand(g: Source) -> Program:
    lse = lambda x: torch.tensor([math.log(x)])
    return call(torch.tensor([[20.0]]), lse(2), torch.tensor([[60.0]]), lse(6))


def _parts(g: Source, *shape: int, shift: float | torch.Tensor = 0.0, dtype: torch.dtype = torch.float32) -> list[Any]:
    part = lambda: [g.randn(*shape, dtype=dtype), shift + g.randn(*shape[:-1], dtype=dtype)]
    return [*part(), *part()]


def _far(g: Source) -> Program:
    """The third call has queries of both kinds."""
    program = Program()
    for shift in (torch.tensor(1000.0), torch.tensor(-1000.0), torch.tensor([1000.0, -1000.0, 0.0, 1000.0])):
        program.call(*_parts(g, 2, 4, 3, shift=shift, dtype=torch.float64))
    return program


def _empty(g: Source) -> Program:
    out_a, lse_a, out_b, lse_b = _parts(g, 2, 6, 4)
    for out, lse, gone in ((out_a, lse_a, (1, 2)), (out_b, lse_b, (4,))):
        for t in gone:
            lse[:, t], out[:, t] = -math.inf, 0.0
    return call(out_a, lse_a, out_b, lse_b)


def _nothing(g: Source) -> Program:
    out_a, lse_a, out_b, lse_b = _parts(g, 2, 5, 3)
    for out, lse in ((out_a, lse_a), (out_b, lse_b)):
        lse[:, 1], out[:, 1] = -math.inf, 0.0
    return call(out_a, lse_a, out_b, lse_b)


def _three(g: Source) -> Program:
    out, lse = g.randn(2, 3, 4), g.randn(2, 3)
    return call(*_parts(g, 2, 3, 4)).call(Ref(0, 0), Ref(0, 1), out, lse)


EXERCISE = Exercise(
    id="tiles.merge",
    title="Two halves of a softmax",
    points=1,
    difficulty=2,
    minutes=6,
    reference=online_softmax.merge,
    alternatives=[merge, merge_by_softmax],
    cases=[
        Case("by hand", "averages 20 and 60 with sums 2 and 6 make 50, and the lse is ln 8", _by_hand),
        Case(
            "several heads",
            "two sentences, three heads, five queries",
            lambda g: call(*_parts(g, 2, 3, 5, 4)),
            weight=2,
        ),
        Case(
            "large and small",
            "lse of about 1,000, of about −1,000, and both in one call, in float64: nothing overflows or vanishes",
            _far,
            rtol=1e-9,  # a logarithm of 1,000 has lost three digits before it is subtracted
        ),
        Case("one part empty", "some queries saw no key in one of the parts: lse −∞ there, average 0", _empty),
        Case("both empty", "a query saw no key at all: 0 and −∞, not NaN", _nothing),
        Case("three parts", "the result is merged with a third part", _three),
        Case(
            "gradients",
            "in float64: gradients reach both averages and both lse",
            lambda g: call(*_parts(g, 3, 4, 2, dtype=torch.float64), grad=[0, 1, 2, 3]),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
logaddexp is symmetric
    0e2ba50bf9 solution, argument: torch.logaddexp(lse_a, lse_b): arguments 1 and 2 swapped
    c48993f97a alternative merge, argument: torch.logaddexp(lse_a, lse_b): arguments 1 and 2 swapped
e to −∞ is 0 whatever finite number is subtracted from it
    88e160f66a solution, constant: 0.0 → 1.0 in lse.masked_fill(lse == -math.inf, 0.0)
    c661dc26bf alternative merge, constant: 0.0 → 1.0 in lse.masked_fill(lse == -math.inf, 0.0)
a part without a key has the average 0, so its weight does not matter
    4a7114b91f alternative merge_by_softmax, call: (both == -math.inf).all(-1, keepdim=True) → both == -math.inf
    e279bed4ee alternative merge_by_softmax, name: zeros_like → ones_like in torch.zeros_like(both)
    ab6232b3e4 alternative merge_by_softmax, constant: -1 → 0 in (both == -math.inf).all(-1, keepdim=True)
""",
)
