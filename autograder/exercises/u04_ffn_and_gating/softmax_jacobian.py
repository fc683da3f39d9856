"""The Jacobian of softmax."""

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Source, call
from autograder.reference import activations as ref

from .shared import t


def jacobian_by_loop(p):
    """Entry by entry: p_i(δ_ij − p_j)."""
    n = p.shape[-1]
    rows = [torch.stack([p[..., i] * (1.0 * (i == j) - p[..., j]) for j in range(n)], -1) for i in range(n)]
    return torch.stack(rows, -2)


def always_float32(p):
    """Right for float32, and for nothing else."""
    return ref.softmax_jacobian(p).float()


def one_row(p):
    """Right for a vector, mixes rows of a batch."""
    flat = p.reshape(-1, p.shape[-1])
    return torch.diag_embed(p) - flat.T @ flat


def probabilities(g: Source, *shape: int) -> Tensor:
    return torch.softmax(g.randn(*shape), -1)


EXERCISE = Exercise(
    id="activation.softmax_jacobian",
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
        Case(
            "float64",
            "four rows in float64, so the matrices are in float64",
            lambda g: call(torch.softmax(g.randn(4, 3).double() / 3, -1)),
        ),
        Case(
            "bfloat16",
            "four rows in bfloat16, so the matrices are in bfloat16",
            lambda g: call(torch.softmax(g.randn(4, 6, scale=3.0), -1).bfloat16()),
            weight=0.5,
        ),
        Case(
            "gradient",
            "the gradient of the probabilities: each stands in a whole row and a whole column",
            lambda g: call(probabilities(g, 2, 4), grad=[0]),
        ),
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
            "float32",
            always_float32,
            "The matrix is float32 whatever comes in. Keep the dtype of p: torch.diag_embed(p), or eye and zeros with "
            "dtype=p.dtype.",
        ),
        Mutant(
            "diag_of_batch",
            lambda p: torch.diag(p) - torch.outer(p, p),
            "torch.diag and torch.outer take one row. For a batch use torch.diag_embed(p) and "
            "p[..., :, None] * p[..., None, :].",
        ),
        Mutant(
            "row_index_twice",
            lambda p: torch.diag_embed(p) - p[..., :, None] ** 2 * torch.ones_like(p)[..., None, :],
            "Each row holds p_i² throughout. Entry (i, j) needs p_i·p_j: p[..., :, None] * p[..., None, :].",
        ),
        Mutant(
            "square_diagonal",
            lambda p: torch.diag_embed(p * p) - p[..., :, None] * p[..., None, :],
            "The diagonal holds p_i² before the subtraction. It holds p_i: torch.diag_embed(p).",
        ),
        Mutant(
            "one_minus_everywhere",
            lambda p: torch.diag_embed(p) - p[..., :, None] * (1 - p[..., None, :]),
            "Beside the diagonal the entries are −p_i·p_j, without a 1 − p_j.",
        ),
        Mutant(
            "softmax_again",
            lambda p: ref.softmax_jacobian(torch.softmax(p, -1)),
            "p is a softmax's output already. Do not apply softmax to it again.",
        ),
        Mutant(
            "inner_product",
            lambda p: torch.diag_embed(p) - (p * p).sum(-1)[..., None, None],
            "p @ p.T of a vector is one number. Every pair is needed: p[..., :, None] * p[..., None, :].",
        ),
        Mutant(
            "identity",
            lambda p: torch.eye(p.shape[-1], dtype=p.dtype) - p[..., :, None] * p[..., None, :],
            "The diagonal has a 1 in place of p_i: torch.diag_embed(p), not the identity.",
        ),
        Mutant(
            "identity_float32",
            lambda p: torch.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :],
            "torch.eye puts a 1 on the diagonal, in float32, in place of p_i in the dtype of p: torch.diag_embed(p).",
        ),
        Mutant(
            "diagonal_overwritten",
            lambda p: torch.diag_embed(p + p * p) - p[..., :, None] * p[..., None, :],
            "Right beside the diagonal. On it stands p_i alone: there p_i² is subtracted too, which gives "
            "p_i(1 − p_i).",
        ),
        Mutant(
            "rows_in_one_axis",
            lambda p: ref.softmax_jacobian(p.reshape(-1, p.shape[-1])),
            "All rows stand in one axis in front, even where p has none. Keep the axes of p: (..., n) gives "
            "(..., n, n).",
        ),
        Mutant(
            "beside_plus",
            lambda p: torch.diag_embed(p - 2 * p * p) + p[..., :, None] * p[..., None, :],
            "The diagonal is right; beside it the signs are not. Raising one input lowers the other outputs: −p_i·p_j.",
        ),
        Mutant(
            "column_index_twice",
            lambda p: torch.diag_embed(p) - torch.ones_like(p)[..., :, None] * (p * p)[..., None, :],
            "Each column holds p_j² throughout. Entry (i, j) needs p_i·p_j: p[..., :, None] * p[..., None, :].",
        ),
        Mutant(
            "elementwise_square",
            lambda p: torch.diag_embed(p) - p * p,
            "p * p holds squares only. Every pair is needed, one factor as a column: p[..., :, None] * p[...,"
            " None, :].",
        ),
        Mutant(
            "slope_of_each",
            lambda p: p * (1 - p),
            "There is one slope per entry, as for a sigmoid. Each output moves with every input: an n × n "
            "matrix per row.",
        ),
        Mutant(
            "square_subtracted_twice",
            lambda p: torch.diag_embed(p * (1 - p)) - p[..., :, None] * p[..., None, :],
            "p_i² is subtracted twice on the diagonal. With the product everywhere, the diagonal part is p_i alone.",
        ),
        Mutant(
            "delta_forgotten_turned",
            lambda p: p[..., None, :] * (1 - p[..., :, None]),
            "p_j(1 − p_i) holds on the diagonal only. Elsewhere the 1 is a 0, because δ is 0 there.",
        ),
        Mutant(
            "product_of_rows",
            lambda p: torch.diag_embed(p) - p @ p.mT if p.ndim > 1 else torch.diag_embed(p) - p @ p,
            "p @ pᵀ sums over the entries of a row. Every pair is needed: p[..., :, None] * p[..., None, :].",
        ),
    ],
)
