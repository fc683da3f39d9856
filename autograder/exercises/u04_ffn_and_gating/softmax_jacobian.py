"""The Jacobian of softmax."""

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Source, call
from autograder.reference import activations as ref

from .shared import t


def jacobian_by_loop(p):
    """Entry by entry: p_i(δ_ij − p_j)."""
    n = p.shape[-1]
    rows = [torch.stack([p[..., i] * (int(i == j) - p[..., j]) for j in range(n)], -1) for i in range(n)]
    return torch.stack(rows, -2)


def one_row(p):
    """Right for a vector, mixes rows of a batch."""
    flat = p.reshape(-1, p.shape[-1])
    return torch.diag_embed(p) - flat.T @ flat


def probabilities(g: Source, *shape: int) -> Tensor:
    return torch.softmax(g.randn(*shape), -1)


EXERCISE = Exercise(
    id="activation.softmax_jacobian",
    unit="04-ffn-and-gating",
    title="The slope of softmax is a matrix",
    points=2,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="softmax_jacobian(p)",
    reference=ref.softmax_jacobian,
    alternatives=[
        jacobian_by_loop,
        lambda p: p[..., :, None] * (torch.eye(p.shape[-1], dtype=p.dtype) - p[..., None, :]),
    ],
    cases=[
        Case("two", "two entries of 0.5: 0.25 on the diagonal, −0.25 beside it", lambda g: call(t(0.5, 0.5))),
        Case("three", "unequal entries, and each row sums to 0", lambda g: call(t(0.7, 0.2, 0.1))),
        Case("sure", "one entry is 1: nothing moves any more, the matrix is 0", lambda g: call(t(1, 0, 0)), weight=0),
        Case(
            "batch", "six rows at once, each with its own matrix", lambda g: call(probabilities(g, 2, 3, 5)), weight=2
        ),
        Case("one row", "a batch of one row", lambda g: call(probabilities(g, 1, 4))),
    ],
    mutants=[
        Mutant(
            "diagonal_only",
            lambda p: torch.diag_embed(p * (1 - p)),
            "Only the diagonal is right. Raising one input also lowers the other outputs: −p_i·p_j.",
        ),
        Mutant(
            "no_diagonal",
            lambda p: -p[..., :, None] * p[..., None, :],
            "The diagonal lacks its + p_i: the matrix is diag(p) − p pᵀ.",
        ),
        Mutant(
            "plus",
            lambda p: torch.diag_embed(p) + p[..., :, None] * p[..., None, :],
            "The product p_i·p_j is subtracted: raising one input lowers the other outputs.",
        ),
        Mutant(
            "delta_forgotten",
            lambda p: p[..., :, None] * (1 - p[..., None, :]),
            "p_i(1 − p_j) holds on the diagonal only. Elsewhere the 1 is a 0.",
        ),
        Mutant(
            "sign",
            lambda p: p[..., :, None] * p[..., None, :] - torch.diag_embed(p),
            "Every entry has the wrong sign: it is diag(p) − p pᵀ.",
        ),
        Mutant(
            "rows_mixed",
            one_row,
            "The rows of a batch are mixed: pᵀp adds up over the batch. Use p[..., :, None] * p[..., None, :].",
        ),
        Mutant(
            "inner_product",
            lambda p: torch.diag_embed(p) - (p * p).sum(-1)[..., None, None],
            "p @ p.T of a vector is one number. Every pair is needed: p[..., :, None] * p[..., None, :].",
        ),
        Mutant(
            "identity",
            lambda p: torch.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :],
            "The diagonal has a 1 in place of p_i: torch.diag_embed(p), not the identity.",
        ),
    ],
)
