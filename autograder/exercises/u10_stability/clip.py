"""Clipping by the global norm."""

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, call
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


def _clip(form):
    def wrong(gradients, limit):
        norm = torch.cat([g.flatten() for g in gradients]).norm()
        return form(gradients, limit, norm)

    return wrong


def _shrink(measure):
    def wrong(gradients, limit):
        norm = measure(gradients)
        return [g * min(1.0, limit / max(float(norm), 1e-30)) for g in gradients], norm

    return wrong


def _of_length(length: float, *gradients: Tensor) -> list[Tensor]:
    """The same directions with this joint length."""
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    return [g * (length / norm) for g in gradients]


EXERCISE = Exercise(
    id="stability.clip",
    title="Clipping by the global norm",
    points=2,
    difficulty=2,
    minutes=10,
    signature="clip_by_global_norm(gradients, limit)",
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
    mutants=[
        Mutant(
            "each",
            _clip(lambda gs, c, n: ([g * min(1.0, c / max(float(g.norm()), 1e-30)) for g in gs], n)),
            "Each tensor is clipped by its own length, which turns the direction of the step. Use one length and "
            "one factor for all.",
        ),
        Mutant(
            "values",
            _clip(lambda gs, c, n: ([g.clamp(-c, c) for g in gs], n)),
            "Single values are cut off, which turns the direction of the step. Multiply all gradients by one factor.",
        ),
        Mutant(
            "always",
            _clip(lambda gs, c, n: ([g * c / n for g in gs], n)),
            "Short gradients are stretched to the limit, and zeros become NaN. Change them only where the joint "
            "length is above it.",
        ),
        Mutant(
            "norm_after",
            _clip(lambda gs, c, n: ([g * min(1.0, c / max(float(n), 1e-30)) for g in gs], n.clamp(max=c))),
            "The gradients are right. Return the joint length before clipping, which is the one worth watching.",
        ),
        Mutant(
            "no_root",
            _shrink(lambda gs: sum((g**2).sum() for g in gs)),
            "The sum of the squares is used as the length. Take its square root.",
        ),
        Mutant(
            "sum_of_norms",
            _shrink(lambda gs: sum(g.norm() for g in gs)),
            "The lengths are added up. Lengths of parts combine by their squares: √(a² + b²).",
        ),
        Mutant(
            "largest",
            _shrink(lambda gs: max(g.norm() for g in gs)),
            "The length of the longest tensor stands for the joint length. All entries count: √(sum of all squares).",
        ),
        Mutant(
            "largest_entry",
            _shrink(lambda gs: max(g.abs().max() for g in gs)),
            "The largest entry is used as the length. The length is √(sum of all squares).",
        ),
        Mutant(
            "root_mean_square",
            _shrink(lambda gs: torch.cat([g.flatten() for g in gs]).square().mean().sqrt()),
            "The squares are averaged. A length adds them up: √(sum of all squares).",
        ),
        Mutant(
            "divided_only",
            _clip(lambda gs, c, n: ([g / max(float(n), 1e-30) if n > c else g for g in gs], n)),
            "Clipped gradients have length 1. Multiply by limit, so that their joint length is the limit.",
        ),
        Mutant(
            "stretched",
            _clip(lambda gs, c, n: ([g * (c / n if n > 0 else 1.0) for g in gs], n)),
            "Short gradients are stretched to the limit. Change them only where the joint length is above it.",
        ),
        Mutant(
            "zeros_nan",
            _clip(lambda gs, c, n: ([g / n * min(float(n), c) for g in gs], n)),
            "Right but for zeros: their length is 0, and 0/0 or 0·∞ is NaN. Divide by the larger of length "
            "and limit, which is never 0.",
        ),
        Mutant(
            "compared_squared",
            _clip(lambda gs, c, n: ([g * (c / n if n**2 > c else 1.0) for g in gs], n)),
            "The square of the length is compared with the limit. Take the root first, then compare.",
        ),
        Mutant(
            "factor_turned",
            _clip(lambda gs, c, n: ([g * n / c if n > c else g for g in gs], n)),
            "Long gradients grow: the factor is upside down. It is limit / norm.",
        ),
        Mutant(
            "larger_factor",
            _clip(lambda gs, c, n: ([g * max(1.0, c / max(float(n), 1e-30)) for g in gs], n)),
            "The factor is never below 1, so long gradients stay and short ones are stretched. Take the "
            "smaller of 1 and limit / norm.",
        ),
        Mutant(
            "exchanged",
            _clip(lambda gs, c, n: (n, [g * min(1.0, c / max(float(n), 1e-30)) for g in gs])),
            "The length comes first. Return the list of gradients, then the joint length.",
        ),
        Mutant(
            "length_missing",
            _clip(lambda gs, c, n: [g * min(1.0, c / max(float(n), 1e-30)) for g in gs]),
            "Only the gradients come back. Return the pair: the list, and the joint length before clipping.",
        ),
        Mutant(
            "unclipped",
            _clip(lambda gs, c, n: (gs, n)),
            "The length is right, and the gradients come back unchanged. Multiply them by limit / norm where "
            "norm is above the limit.",
        ),
        Mutant(
            "sum_of_sizes",
            _shrink(lambda gs: sum(g.abs().sum() for g in gs)),
            "The sizes of all entries are added up. A length is √(sum of all squares).",
        ),
        Mutant(
            "stacked",
            _shrink(lambda gs: torch.stack(gs).norm()),
            "torch.stack wants tensors of one shape. Gradients have all shapes: add up (g**2).sum() of each, "
            "then take the root.",
        ),
        Mutant(
            "not_flattened",
            _shrink(lambda gs: torch.cat(gs).norm()),
            "torch.cat wants tensors that fit together. Gradients have all shapes: add up (g**2).sum() of "
            "each, or flatten each first.",
        ),
        Mutant(
            "length_plus_millionth",
            _clip(lambda gs, c, n: ([g * torch.clamp(c / (n + 1e-6), max=1.0) for g in gs], n)),
            "A millionth is added to the length that divides, so clipped gradients end a little below the limit. Where "
            "the factor counts, the length is above the limit, and so never 0.",
        ),
        Mutant(
            "length_plus_tiny",
            _clip(lambda gs, c, n: ([g * torch.clamp(c / (n + 1e-8), max=1.0) for g in gs], n)),
            "A tiny number, 1e-8, is added to the length that divides, so clipped gradients end just below the limit. "
            "Where the factor counts, the length is above the limit, and so never 0.",
        ),
    ],
)
