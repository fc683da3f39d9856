"""The Jacobian of softmax."""

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call
from autograder.reference import activations as ref

from .shared import t


def jacobian_by_loop(p):
    """Entry by entry: p_i(δ_ij − p_j)."""
    n = p.shape[-1]
    rows = [torch.stack([p[..., i] * (1.0 * (i == j) - p[..., j]) for j in range(n)], -1) for i in range(n)]
    return torch.stack(rows, -2)


def probabilities(g: Source, *shape: int) -> Tensor:
    return torch.softmax(g.randn(*shape), -1)


MISTAKES = changes(
    ref.softmax_jacobian,
    """
diagonal_only: torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2) → torch.diag_embed(p * (1 - p))
    Only the diagonal is right. Raising one input also lowers the other outputs: −p_i·p_j.
no_diagonal: torch.diag_embed(p) - → -
    The diagonal lacks its + p_i: the matrix is diag(p) − p pᵀ.
plus: torch.diag_embed(p) - → torch.diag_embed(p) +
    The product p_i·p_j is subtracted: raising one input lowers the other outputs.
delta_forgotten: torch.diag_embed(p) - → ; p.unsqueeze(-2) → (1 - p.unsqueeze(-2))
    p_i(1 − p_j) holds on the diagonal only. Elsewhere the 1 is a 0.
sign: torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2) → p.unsqueeze(-1) * p.unsqueeze(-2) - torch.diag_embed(p)
    Every entry has the wrong sign: it is diag(p) − p pᵀ.
rows_mixed: p.unsqueeze(-1) * p.unsqueeze(-2) → p.reshape(-1, p.shape[-1]).T @ p.reshape(-1, p.shape[-1])
    The rows of a batch are mixed: pᵀp adds up over the batch. Use p[..., :, None] * p[..., None, :].
float32: torch.diag_embed(p) → (torch.diag_embed(p) ; p.unsqueeze(-2) → p.unsqueeze(-2)).float()
    The matrix is float32 whatever comes in. Keep the dtype of p: torch.diag_embed(p), or eye and zeros with
    dtype=p.dtype.
diag_of_batch: torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2) → torch.diag(p) - torch.outer(p, p)
    torch.diag and torch.outer take one row. For a batch use torch.diag_embed(p) and p[..., :, None] * p[..., None,
    :].
row_index_twice: p.unsqueeze(-2) → p.unsqueeze(-1)
    Each row holds p_i² throughout. Entry (i, j) needs p_i·p_j: p[..., :, None] * p[..., None, :].
square_diagonal: torch.diag_embed(p) → torch.diag_embed(p * p)
    The diagonal holds p_i² before the subtraction. It holds p_i: torch.diag_embed(p).
one_minus_everywhere: p.unsqueeze(-2) → (1 - p.unsqueeze(-2))
    Beside the diagonal the entries are −p_i·p_j, without a 1 − p_j.
softmax_again: return → p = torch.softmax(p, -1); return
    p is a softmax's output already. Do not apply softmax to it again.
inner_product: p.unsqueeze(-1) * p.unsqueeze(-2) → (p * p).sum(-1)[..., None, None]
    p @ p.T of a vector is one number. Every pair is needed: p[..., :, None] * p[..., None, :].
identity: torch.diag_embed(p) → torch.eye(p.shape[-1], dtype=p.dtype)
    The diagonal has a 1 in place of p_i: torch.diag_embed(p), not the identity.
identity_float32: torch.diag_embed(p) → torch.eye(p.shape[-1])
    torch.eye puts a 1 on the diagonal, in float32, in place of p_i in the dtype of p: torch.diag_embed(p).
diagonal_overwritten: torch.diag_embed(p) → torch.diag_embed(p + p * p)
    Right beside the diagonal. On it stands p_i alone: there p_i² is subtracted too, which gives p_i(1 − p_i).
rows_in_one_axis: return → p = p.reshape(-1, p.shape[-1]); return
    All rows stand in one axis in front, even where p has none. Keep the axes of p: (..., n) gives (..., n, n).
beside_plus: torch.diag_embed(p) - → torch.diag_embed(p - 2 * p * p) +
    The diagonal is right; beside it the signs are not. Raising one input lowers the other outputs: −p_i·p_j.
column_index_twice: p.unsqueeze(-1) → p.unsqueeze(-2)
    Each column holds p_j² throughout. Entry (i, j) needs p_i·p_j: p[..., :, None] * p[..., None, :].
elementwise_square: p.unsqueeze(-1) * p.unsqueeze(-2) → p * p
    p * p holds squares only. Every pair is needed, one factor as a column: p[..., :, None] * p[..., None, :].
slope_of_each: torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2) → p * (1 - p)
    There is one slope per entry, as for a sigmoid. Each output moves with every input: an n × n matrix per row.
square_subtracted_twice: torch.diag_embed(p) → torch.diag_embed(p * (1 - p))
    p_i² is subtracted twice on the diagonal. With the product everywhere, the diagonal part is p_i alone.
delta_forgotten_turned: torch.diag_embed(p) - → ; p.unsqueeze(-1) → (1 - p.unsqueeze(-1))
    p_j(1 − p_i) holds on the diagonal only. Elsewhere the 1 is a 0, because δ is 0 there.
product_of_rows: p.unsqueeze(-1) * p.unsqueeze(-2) → (p @ p.mT if p.ndim > 1 else p @ p)
    p @ pᵀ sums over the entries of a row. Every pair is needed: p[..., :, None] * p[..., None, :].
""",
)

EXERCISE = Exercise(
    id="activation.softmax_jacobian",
    title="The slope of softmax is a matrix",
    points=2,
    difficulty=3,
    minutes=15,
    extension=True,
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
    mutants=MISTAKES,
    equivalent="""
the matrix is symmetric, so rows may be stacked as columns
    9eaa12fc84 alternative jacobian_by_loop, constant: -2 → -1 in torch.stack(rows, -2)
""",
)
