"""Softmax over any axis, stable for large scores."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference import attention as ref

INF = math.inf


def softmax(x, dim=-1):
    """Shifted by the largest score of each slice."""
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)


def by_logsumexp(x, dim=-1):
    """exp(x − logsumexp(x)), which needs no shift of its own."""
    return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))


def by_slices(x, dim=-1):
    """One slice at a time, with the axis moved to the end."""
    rows = x.movedim(dim, -1)
    flat = [(row - row.max()).exp() / (row - row.max()).exp().sum() for row in rows.reshape(-1, rows.shape[-1])]
    return torch.stack(flat).reshape(rows.shape).movedim(-1, dim)


MISTAKES = changes(
    softmax,
    """
no_shift: x - x.amax(dim=dim, keepdim=True) → x
    exp of a large score is infinite, and ∞/∞ is NaN. Subtract the largest score of the slice first: the factor it
    adds cancels in the ratio.
logarithm: e / e.sum(dim=dim, keepdim=True) → x - x.logsumexp(dim, True)
    These are the logarithms of the weights. Leave out the last logarithm: divide exp(x − max) by its sum.
largest_absolute: x.amax → x.abs().amax
    The largest absolute value is subtracted. Of a slice like −4000, −4001 that leaves only zeros, and 0/0: subtract
    the largest score itself.
global_shift: x.amax(dim=dim, keepdim=True) → x.max()
    One maximum is taken over the whole tensor, so slices far below it turn into 0/0. Take the maximum along dim,
    with keepdim=True.
mean_shift: x.amax → x.mean
    The mean is subtracted. A score far above the mean still overflows: subtract the maximum, so that the largest
    exponent is 0.
last_axis: x.amax(dim=dim → x.amax(dim=-1 ; e.sum(dim=dim → e.sum(dim=-1
    The softmax runs over the last axis whatever dim says. Use dim in the maximum and in the sum.
one_sum: x.amax(dim=dim, keepdim=True) → x.max() ; e.sum(dim=dim, keepdim=True) → e.sum()
    The sum runs over the whole tensor, so all entries together sum to 1. Sum along dim only.
one_sum_own_peaks: e.sum(dim=dim, keepdim=True) → e.sum()
    The maximum is taken along dim, the sum over the whole tensor, so all entries together sum to 1. Sum along dim
    too.
lost_axis: e.sum(dim=dim, keepdim=True) → e.sum(dim=dim)
    The sum lost its axis, so the division lines up with the wrong slices. Sum with keepdim=True.
lost_both: x.amax(dim=dim, keepdim=True) → x.amax(dim=dim) ; e.sum(dim=dim, keepdim=True) → e.sum(dim=dim)
    The maximum and the sum lost their axis, so they line up with the wrong slices. Take both with keepdim=True.
lost_peak_axis: x.amax(dim=dim, keepdim=True) → x.amax(dim=dim)
    The maximum lost its axis, so the wrong one is subtracted. Take it with keepdim=True.
max_pair: x.amax → x.max
    x.max(dim=…) returns two tensors, the values and their places. Take its .values, or use x.amax.
unnormalized: e / e.sum(dim=dim, keepdim=True) → e
    These are the exponentials. Divide them by their sum along dim, so that each slice sums to 1.
clamped: x - x.amax(dim=dim, keepdim=True) → x.clamp(max=80)
    Large scores are cut off at a limit, so two that lie above it get the same weight. Only differences count:
    subtract the largest score of the slice instead.
clamped_below_too: x - x.amax(dim=dim, keepdim=True) → x.clamp(-80, 80)
    Scores are cut off at a limit above and below, so those beyond it become equal. Only differences count: subtract
    the largest score of the slice instead.
eps_in_sum: e.sum(dim=dim, keepdim=True) → (e.sum(dim=dim, keepdim=True) + 1e-8)
    Nearly right, but not to the digits of float64. Add no ε to the sum, which is 1 or more after the shift, and do
    not go through float32.
sum_last_axis: e.sum(dim=dim → e.sum(dim=-1
    The maximum is taken along dim, the sum over the last axis. Give dim to the sum too.
peak_last_axis: x.amax(dim=dim → x.amax(dim=-1
    The maximum is taken over the last axis, the sum along dim. Give dim to the maximum too, or the factors do not
    cancel.
first_axis: x.amax(dim=dim → x.amax(dim=0 ; e.sum(dim=dim → e.sum(dim=0
    The softmax runs over axis 0 whatever dim says. Use dim in the maximum and in the sum.
sign_flipped: x - x.amax(dim=dim, keepdim=True) → x.amax(dim=dim, keepdim=True) - x
    The sign is turned round: larger scores get smaller weights. Take exp(x − max), not exp(max − x).
divided_by_peak: x - x.amax → x / x.amax
    The scores are divided by the largest one, which changes their differences. Subtract it instead.
shift_outside: torch.exp(x - x.amax(dim=dim, keepdim=True)) → torch.exp(x) - x.amax(dim=dim, keepdim=True)
    The maximum is subtracted from the exponentials. Subtract it from the scores, inside: exp(x − max).
shift_above_only: e.sum( → torch.exp(x).sum(
    The numerator is shifted, the sum is not, so the factor does not cancel. Sum the shifted exponentials.
divided_by_scores: e.sum( → x.sum(
    The exponentials are divided by the sum of the scores. Divide them by the sum of the exponentials.
smallest_shift: x.amax → x.amin
    The smallest score is subtracted, so the largest exponent can still overflow. Subtract the largest one.
naive_logsumexp: x.amax(dim=dim, keepdim=True) → torch.exp(x).sum(dim=dim, keepdim=True).log()
; e / e.sum(dim=dim, keepdim=True) → e
    The logarithm comes after the sum of exponentials has overflowed or become 0. Subtract the largest score of the
    slice before exp.
nan_hidden: x - x.amax(dim=dim, keepdim=True) → x
; e / e.sum(dim=dim, keepdim=True) → (e / e.sum(dim=dim, keepdim=True)).nan_to_num(0.0)
    The NaN of an overflow is replaced by 0, and the weights are lost. Subtract the largest score of the slice
    first, so that nothing overflows.
averaged: e.sum → e.mean
    The exponentials are divided by their mean. Divide them by their sum, so that each slice sums to 1.
detached: e / e.sum(dim=dim, keepdim=True) → (e / e.sum(dim=dim, keepdim=True)).detach()
    The numbers are right, but no gradient can flow back: the result was cut off from x. Stay with torch operations
    on x itself, without NumPy, detach, .item() or torch.tensor(…).
sum_at_the_end: e.sum(dim=dim, keepdim=True) → e.sum(dim=dim).unsqueeze(-1)
    The lost axis of the sum is put back at the end, its place for dim=-1 only. Sum with keepdim=True.
both_at_the_end: x.amax(dim=dim, keepdim=True) → x.amax(dim=dim).unsqueeze(-1)
; e.sum(dim=dim, keepdim=True) → e.sum(dim=dim).unsqueeze(-1)
    The lost axes of maximum and sum are put back at the end, which is their place for dim=-1 only. Take both with
    keepdim=True.
base_two: torch.exp( → 2.0 ** (
    These are powers of 2. Softmax takes powers of e: torch.exp.
""",
)

EXERCISE = Exercise(
    id="attention.softmax",
    title="A softmax that survives large scores",
    points=2,
    difficulty=2,
    minutes=10,
    reference=ref.softmax,
    alternatives=[by_logsumexp, by_slices],
    forbidden=("softmax", "log_softmax", "softmin", "_softmax", "scaled_dot_product_attention"),
    forbidden_message="Use exp, a maximum, a sum and a division.",
    cases=[
        Case(
            "two rows",
            "scores ln 3 and 0 share the weight 3 to 1, and equal scores share it equally",
            lambda g: call(torch.tensor([[math.log(3), 0.0], [5.0, 5.0]])),
        ),
        Case("other axis", "with dim=0 it is the columns that sum to 1", lambda g: call(g.randn(3, 3), dim=0)),
        # x − logsumexp(x) is a right answer that loses digits where x is large: a step at 10000 is 0.001.
        Case(
            "shifted",
            "scores of 1001, 1002 and 1003 get the weights of 1, 2 and 3, and nothing overflows",
            lambda g: call(1000 + torch.tensor([[1.0, 2.0, 3.0]])),
            rtol=2e-3,
        ),
        Case(
            "far apart",
            "two rows whose sizes differ by 4000, and one row that spreads over 20000",
            lambda g: call(torch.tensor([[1.0, 2.0, 0.0], [-4000.0, -4001.0, -4002.0], [-1e4, 0.0, 1e4]])),
            rtol=2e-3,
        ),
        Case(
            "forbidden keys",
            "a score of minus infinity gets weight 0, exactly",
            lambda g: call(torch.where(torch.tensor([True, False, True, True, False]), g.randn(2, 5), -INF)),
        ),
        Case(
            "batch",
            "a float16 tensor of shape (2, 3, 4, 5) keeps its shape and dtype",
            lambda g: call(g.randn(2, 3, 4, 5, dtype=torch.float16), dim=-2),
        ),
        Case(
            "gradients",
            "gradients flow back through the softmax of float64 scores, and the weights are float64",
            lambda g: call(3 * g.randn(2, 3, 4, dtype=torch.float64), dim=1, grad=[0]),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
every case and text use an axis whose move is its own inverse: the order of two axes
    de528ec003 alternative by_slices, argument: x.movedim(dim, -1): arguments 1 and 2 swapped
    ee1c9995d4 alternative by_slices, argument: torch.stack(flat).reshape(rows.shape).movedim(-1, dim): arguments 1 an…
""",
)
