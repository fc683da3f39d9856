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


def max_pair(x, dim=-1):
    e = torch.exp(x - x.max(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)


def unnormalized(x, dim=-1):
    return torch.exp(x - x.amax(dim=dim, keepdim=True))


EXERCISE = Exercise(
    id="attention.softmax",
    unit="01-attention",
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
    ],
    mutants=[
        Mutant(
            "no_shift",
            no_shift,
            "exp of a large score is infinite, and ∞/∞ is NaN. Subtract the largest score "
            "of the slice first: the factor it adds cancels in the ratio.",
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
    ],
)
