"""Clipping by the global norm."""

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference import optim


def clip_by_cat(gradients, limit):
    """One long vector."""
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    factor = 1.0 if norm <= limit else limit / norm
    return [g * factor for g in gradients], norm


def clip_by_sum(gradients, limit):
    """Squares added up."""
    norm = torch.sqrt(sum(torch.sum(g * g) for g in gradients))
    return [g / torch.clamp(norm / limit, min=1) for g in gradients], norm


def _of_length(length: float, *gradients: Tensor) -> list[Tensor]:
    """The same directions with this joint length."""
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    return [g * (length / norm) for g in gradients]


MISTAKES = changes(
    clip_by_cat,
    """
each: g * factor → g * torch.clamp(limit / g.norm(), max=1.0)
    Each tensor is clipped by its own length, which turns the direction of the step. Use one length and one factor
    for all.
values: g * factor → g.clamp(-limit, limit)
    Single values are cut off, which turns the direction of the step. Multiply all gradients by one factor.
always: g * factor → g * limit / norm
    Short gradients are stretched to the limit, and zeros become NaN. Change them only where the joint length is
    above it.
norm_after: gradients], norm → gradients], norm.clamp(max=limit)
    The gradients are right. Return the joint length before clipping, which is the one worth watching.
no_root: torch.cat([g.flatten() for g in gradients]).norm() → sum((g**2).sum() for g in gradients)
    The sum of the squares is used as the length. Take its square root.
sum_of_norms: torch.cat([g.flatten() for g in gradients]).norm() → sum(g.norm() for g in gradients)
    The lengths are added up. Lengths of parts combine by their squares: √(a² + b²).
largest: torch.cat([g.flatten() for g in gradients]).norm() → max(g.norm() for g in gradients)
    The length of the longest tensor stands for the joint length. All entries count: √(sum of all squares).
largest_entry: torch.cat([g.flatten() for g in gradients]).norm() → max(g.abs().max() for g in gradients)
    The largest entry is used as the length. The length is √(sum of all squares).
root_mean_square: .norm() → .square().mean().sqrt()
    The squares are averaged. A length adds them up: √(sum of all squares).
divided_only: g * factor → g / norm if norm > limit else g
    Clipped gradients have length 1. Multiply by limit, so that their joint length is the limit.
stretched: 1.0 if norm <= limit else limit / norm → limit / norm if norm > 0 else 1.0
    Short gradients are stretched to the limit. Change them only where the joint length is above it.
zeros_nan: g * factor → g / norm * min(float(norm), limit)
    Right but for zeros: their length is 0, and 0/0 or 0·∞ is NaN. Divide by the larger of length and limit, which
    is never 0.
compared_squared: norm <= limit → norm**2 <= limit
    The square of the length is compared with the limit. Take the root first, then compare.
factor_turned: limit / norm → norm / limit
    Long gradients grow: the factor is upside down. It is limit / norm.
larger_factor: 1.0 if norm <= limit else limit / norm → max(1.0, limit / norm.clamp(min=1e-30))
    The factor is never below 1, so long gradients stay and short ones are stretched. Take the smaller of 1 and
    limit / norm.
exchanged: return [g * factor for g in gradients], norm → return norm, [g * factor for g in gradients]
    The length comes first. Return the list of gradients, then the joint length.
length_missing: gradients], norm → gradients]
    Only the gradients come back. Return the pair: the list, and the joint length before clipping.
unclipped: [g * factor for g in gradients] → gradients
    The length is right, and the gradients come back unchanged. Multiply them by limit / norm where norm is above
    the limit.
sum_of_sizes: torch.cat([g.flatten() for g in gradients]).norm() → sum(g.abs().sum() for g in gradients)
    The sizes of all entries are added up. A length is √(sum of all squares).
stacked: torch.cat([g.flatten() for g in gradients]) → torch.stack(gradients)
    torch.stack wants tensors of one shape. Gradients have all shapes: add up (g**2).sum() of each, then take the
    root.
not_flattened: torch.cat([g.flatten() for g in gradients]) → torch.cat(gradients)
    torch.cat wants tensors that fit together. Gradients have all shapes: add up (g**2).sum() of each, or flatten
    each first.
length_plus_millionth: 1.0 if norm <= limit else limit / norm → torch.clamp(limit / (norm + 1e-6), max=1.0)
    A millionth is added to the length that divides, so clipped gradients end a little below the limit. Where the
    factor counts, the length is above the limit, and so never 0.
length_plus_tiny: 1.0 if norm <= limit else limit / norm → torch.clamp(limit / (norm + 1e-8), max=1.0)
    A tiny number, 1e-8, is added to the length that divides, so clipped gradients end just below the limit. Where
    the factor counts, the length is above the limit, and so never 0.
""",
)


EXERCISE = Exercise(
    id="stability.clip",
    title="Clipping by the global norm",
    points=2,
    difficulty=2,
    minutes=10,
    reference=optim.clip_by_global_norm,
    alternatives=[clip_by_cat, clip_by_sum],
    cases=[
        Case(
            "by hand",
            "gradients 3 and 4 have joint length 5; with limit 1 they become 0.6 and 0.8",
            lambda g: call([torch.tensor([3.0]), torch.tensor([4.0])], 1.0),
        ),
        Case(
            "shapes",
            "a matrix, a vector and a number",
            lambda g: call([3 * g.randn(3, 4), g.randn(5), torch.tensor(2.0)], 0.5),
        ),
        Case(
            "short",
            "a joint length below the limit changes nothing",
            lambda g: call([torch.tensor([0.3, 0.0]), torch.tensor([[0.4]])], 2.0),
        ),
        Case(
            "just above",
            "a joint length 10 % above the limit of 2",
            lambda g: call(_of_length(2.2, g.randn(2, 3), g.randn(4)), 2.0),
        ),
        Case(
            "just below",
            "a joint length 10 % below the limit of 2 changes nothing, although it is above 1",
            lambda g: call(_of_length(1.8, g.randn(2, 3), g.randn(4)), 2.0),
        ),
        Case(
            "double",
            "float64 gradients and another limit: all results are float64",
            lambda g: call([g.randn(2, 3, dtype=torch.float64), g.randn(4, dtype=torch.float64)], g.number(0.1, 0.9)),
            weight=0.5,
        ),
        Case("zero", "gradients of zero stay zero", lambda g: call([torch.zeros(2), torch.zeros(1)], 1.0)),
    ],
    mutants=MISTAKES,
    unasked="""
gradients are clipped after the backward pass, outside of the graph
    gradient of clip_by_global_norm
""",
    equivalent="""
Gradients are clipped outside of the graph: nobody trains through them.
    fb40edd612 alternative clip_by_cat, result: return ([g * factor for g in gradients], norm): result detach
At the limit the factor limit / norm is 1: both branches change nothing.
    16d116737d alternative clip_by_cat, compare: norm <= limit → norm < limit
""",
)
