"""Clipping by the global norm."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import optim


def clip_by_cat(gradients, limit):
    """One long vector."""
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    return [g * min(1.0, limit / max(float(norm), 1e-30)) for g in gradients], norm


def clip_by_sum(gradients, limit):
    """Squares added up."""
    norm = torch.sqrt(sum((g**2).sum() for g in gradients))
    return ([g / norm * limit for g in gradients] if norm > limit else list(gradients)), norm


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


EXERCISE = Exercise(
    id="stability.clip",
    unit="10-stability",
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
            "divided_only",
            _clip(lambda gs, c, n: ([g / max(float(n), 1e-30) if n > c else g for g in gs], n)),
            "Clipped gradients have length 1. Multiply by limit, so that their joint length is the limit.",
        ),
    ],
)
