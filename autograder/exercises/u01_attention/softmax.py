"""Softmax over any axis, stable for large scores."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import attention as ref

INF = math.inf


def by_logsumexp(x, dim=-1):
    """exp(x − logsumexp(x)), which needs no shift of its own."""
    return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))


def by_slices(x, dim=-1):
    """One slice at a time, with the axis moved to the end."""
    rows = x.movedim(dim, -1)
    flat = [(row - row.max()).exp() / (row - row.max()).exp().sum() for row in rows.reshape(-1, rows.shape[-1])]
    return torch.stack(flat).reshape(rows.shape).movedim(-1, dim)


def no_shift(x, dim=-1):
    e = torch.exp(x)
    return e / e.sum(dim=dim, keepdim=True)


def global_shift(x, dim=-1):
    e = torch.exp(x - x.max())
    return e / e.sum(dim=dim, keepdim=True)


def mean_shift(x, dim=-1):
    e = torch.exp(x - x.mean(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)


def last_axis(x, dim=-1):
    return ref.softmax(x, -1)


def first_axis(x, dim=-1):
    e = torch.exp(x - x.amax(dim=0, keepdim=True))  # where a whole column is −∞, NaN
    return e / e.sum(dim=0, keepdim=True)


def one_sum(x, dim=-1):
    e = torch.exp(x - x.max())
    return e / e.sum()


def one_sum_own_peaks(x, dim=-1):
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return e / e.sum()


def lost_axis(x, dim=-1):
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim)


def lost_both(x, dim=-1):
    e = torch.exp(x - x.amax(dim=dim))
    return e / e.sum(dim=dim)


def lost_peak_axis(x, dim=-1):
    e = torch.exp(x - x.amax(dim=dim))
    return e / e.sum(dim=dim, keepdim=True)


def largest_absolute(x, dim=-1):
    e = torch.exp(x - x.abs().amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)


def max_pair(x, dim=-1):
    e = torch.exp(x - x.max(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)


def unnormalized(x, dim=-1):
    return torch.exp(x - x.amax(dim=dim, keepdim=True))


def clamped(x, dim=-1):
    e = torch.exp(x.clamp(max=80))
    return e / e.sum(dim=dim, keepdim=True)


def clamped_below_too(x, dim=-1):
    e = torch.exp(x.clamp(-80, 80))
    return e / e.sum(dim=dim, keepdim=True)


def eps_in_sum(x, dim=-1):
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return e / (e.sum(dim=dim, keepdim=True) + 1e-8)


def sum_last_axis(x, dim=-1):
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True)


def peak_last_axis(x, dim=-1):
    e = torch.exp(x - x.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)


def sign_flipped(x, dim=-1):
    e = torch.exp(x.amax(dim=dim, keepdim=True) - x)
    return e / e.sum(dim=dim, keepdim=True)


def divided_by_peak(x, dim=-1):
    e = torch.exp(x / x.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)


def shift_outside(x, dim=-1):
    e = torch.exp(x) - x.amax(dim=dim, keepdim=True)
    return e / e.sum(dim=dim, keepdim=True)


def shift_above_only(x, dim=-1):
    return torch.exp(x - x.amax(dim=dim, keepdim=True)) / torch.exp(x).sum(dim=dim, keepdim=True)


def divided_by_scores(x, dim=-1):
    return torch.exp(x - x.amax(dim=dim, keepdim=True)) / x.sum(dim=dim, keepdim=True)


def smallest_shift(x, dim=-1):
    e = torch.exp(x - x.amin(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)


def naive_logsumexp(x, dim=-1):
    return torch.exp(x - torch.exp(x).sum(dim=dim, keepdim=True).log())


def nan_hidden(x, dim=-1):
    return no_shift(x, dim).nan_to_num(0.0)


def averaged(x, dim=-1):
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return e / e.mean(dim=dim, keepdim=True)


def sum_at_the_end(x, dim=-1):
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim).unsqueeze(-1)


def both_at_the_end(x, dim=-1):
    e = torch.exp(x - x.amax(dim=dim).unsqueeze(-1))
    return e / e.sum(dim=dim).unsqueeze(-1)


def base_two(x, dim=-1):
    e = 2.0 ** (x - x.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)


EXERCISE = Exercise(
    id="attention.softmax",
    title="A softmax that survives large scores",
    points=2,
    difficulty=2,
    minutes=10,
    signature="softmax(x, dim=-1)",
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
    mutants=[
        Mutant(
            "no_shift",
            no_shift,
            "exp of a large score is infinite, and ∞/∞ is NaN. Subtract the largest score "
            "of the slice first: the factor it adds cancels in the ratio.",
        ),
        Mutant(
            "logarithm",
            lambda x, dim=-1: x - x.logsumexp(dim, True),
            "These are the logarithms of the weights. Leave out the last logarithm: divide exp(x − max) by its sum.",
        ),
        Mutant(
            "largest_absolute",
            largest_absolute,
            "The largest absolute value is subtracted. Of a slice like −4000, −4001 that leaves only zeros, and 0/0: "
            "subtract the largest score itself.",
        ),
        Mutant(
            "global_shift",
            global_shift,
            "One maximum is taken over the whole tensor, so slices far below it turn "
            "into 0/0. Take the maximum along dim, with keepdim=True.",
        ),
        Mutant(
            "mean_shift",
            mean_shift,
            "The mean is subtracted. A score far above the mean still overflows: subtract "
            "the maximum, so that the largest exponent is 0.",
        ),
        Mutant(
            "last_axis",
            last_axis,
            "The softmax runs over the last axis whatever dim says. Use dim in the maximum and in the sum.",
        ),
        Mutant(
            "one_sum",
            one_sum,
            "The sum runs over the whole tensor, so all entries together sum to 1. Sum along dim only.",
        ),
        Mutant(
            "one_sum_own_peaks",
            one_sum_own_peaks,
            "The maximum is taken along dim, the sum over the whole tensor, "
            "so all entries together sum to 1. Sum along dim too.",
        ),
        Mutant(
            "lost_axis",
            lost_axis,
            "The sum lost its axis, so the division lines up with the wrong slices. Sum with keepdim=True.",
        ),
        Mutant(
            "lost_both",
            lost_both,
            "The maximum and the sum lost their axis, so they line up with the wrong "
            "slices. Take both with keepdim=True.",
        ),
        Mutant(
            "lost_peak_axis",
            lost_peak_axis,
            "The maximum lost its axis, so the wrong one is subtracted. Take it with keepdim=True.",
        ),
        Mutant(
            "max_pair",
            max_pair,
            "x.max(dim=…) returns two tensors, the values and their places. Take its .values, or use x.amax.",
        ),
        Mutant(
            "unnormalized",
            unnormalized,
            "These are the exponentials. Divide them by their sum along dim, so that each slice sums to 1.",
        ),
        Mutant(
            "clamped",
            clamped,
            "Large scores are cut off at a limit, so two that lie above it get the same weight. Only differences "
            "count: subtract the largest score of the slice instead.",
        ),
        Mutant(
            "clamped_below_too",
            clamped_below_too,
            "Scores are cut off at a limit above and below, so those beyond it become equal. Only differences count: "
            "subtract the largest score of the slice instead.",
        ),
        Mutant(
            "eps_in_sum",
            eps_in_sum,
            "Nearly right, but not to the digits of float64. Add no ε to the sum, which is 1 or more after the shift, "
            "and do not go through float32.",
        ),
        Mutant(
            "sum_last_axis",
            sum_last_axis,
            "The maximum is taken along dim, the sum over the last axis. Give dim to the sum too.",
        ),
        Mutant(
            "peak_last_axis",
            peak_last_axis,
            "The maximum is taken over the last axis, the sum along dim. Give dim to the maximum too, or the factors "
            "do not cancel.",
        ),
        Mutant(
            "first_axis",
            first_axis,
            "The softmax runs over axis 0 whatever dim says. Use dim in the maximum and in the sum.",
        ),
        Mutant(
            "sign_flipped",
            sign_flipped,
            "The sign is turned round: larger scores get smaller weights. Take exp(x − max), not exp(max − x).",
        ),
        Mutant(
            "divided_by_peak",
            divided_by_peak,
            "The scores are divided by the largest one, which changes their differences. Subtract it instead.",
        ),
        Mutant(
            "shift_outside",
            shift_outside,
            "The maximum is subtracted from the exponentials. Subtract it from the scores, inside: exp(x − max).",
        ),
        Mutant(
            "shift_above_only",
            shift_above_only,
            "The numerator is shifted, the sum is not, so the factor does not cancel. Sum the shifted exponentials.",
        ),
        Mutant(
            "divided_by_scores",
            divided_by_scores,
            "The exponentials are divided by the sum of the scores. Divide them by the sum of the exponentials.",
        ),
        Mutant(
            "smallest_shift",
            smallest_shift,
            "The smallest score is subtracted, so the largest exponent can still overflow. Subtract the largest one.",
        ),
        Mutant(
            "naive_logsumexp",
            naive_logsumexp,
            "The logarithm comes after the sum of exponentials has overflowed or become 0. Subtract the largest score "
            "of the slice before exp.",
        ),
        Mutant(
            "nan_hidden",
            nan_hidden,
            "The NaN of an overflow is replaced by 0, and the weights are lost. Subtract the largest score of the "
            "slice first, so that nothing overflows.",
        ),
        Mutant(
            "averaged",
            averaged,
            "The exponentials are divided by their mean. Divide them by their sum, so that each slice sums to 1.",
        ),
        Mutant(
            "detached",
            lambda x, dim=-1: ref.softmax(x, dim).detach(),
            "The numbers are right, but no gradient can flow back: the result was cut off from x. Stay with torch "
            "operations on x itself, without NumPy, detach, .item() or torch.tensor(…).",
        ),
        Mutant(
            "sum_at_the_end",
            sum_at_the_end,
            "The lost axis of the sum is put back at the end, its place for dim=-1 only. Sum with keepdim=True.",
        ),
        Mutant(
            "both_at_the_end",
            both_at_the_end,
            "The lost axes of maximum and sum are put back at the end, which is their place for dim=-1 only. Take both "
            "with keepdim=True.",
        ),
        Mutant(
            "base_two",
            base_two,
            "These are powers of 2. Softmax takes powers of e: torch.exp.",
        ),
    ],
)
