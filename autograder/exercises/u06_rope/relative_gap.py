"""How far a family of matrices is from seeing only the distance."""

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call


def relative_gap(A):
    """Largest entry of |A[m+1]ᵀA[n+1] − A[m]ᵀA[n]| over all m, n: 0 when the product depends on n − m alone."""
    S = torch.einsum("mji,njk->mnik", A, A)
    return (S[1:, 1:] - S[:-1, :-1]).abs().max().item()


def gap_by_loop(A):
    """The same, one pair of positions at a time."""
    worst = 0.0
    for m in range(len(A) - 1):
        for n in range(len(A) - 1):
            worst = max(worst, (A[m + 1].T @ A[n + 1] - A[m].T @ A[n]).abs().max().item())
    return worst


def gap_by_stack(A):
    """The same through one wide matrix."""
    N, D, _ = A.shape
    wide = A.permute(1, 0, 2).reshape(D, N * D)
    S = (wide.T @ wide).reshape(N, D, N, D).permute(0, 2, 1, 3)
    return float((S[1:, 1:] - S[:-1, :-1]).abs().amax())


def _turns(angles: Tensor) -> Tensor:
    c, s = angles.cos(), angles.sin()
    return torch.stack([c, -s, s, c], -1).unflatten(-1, (2, 2))


def _about_two_axes(g: Source) -> Tensor:
    """Rz(mα)·Rx(mβ): orthogonal at every m, but the two turns do not commute."""
    m = torch.arange(4, dtype=torch.float64)
    alpha, beta = g.number(0.4, 0.9), g.number(0.4, 0.9)
    Z = torch.eye(3, dtype=torch.float64).repeat(4, 1, 1)
    X = Z.clone()
    Z[:, :2, :2], X[:, 1:, 1:] = _turns(m * alpha), _turns(m * beta)
    return Z @ X


def _turned_start(g: Source) -> Tensor:
    """A turn by mφ after a fixed quarter turn and a stretch by 2: works, but A[0] is not the identity."""
    m = torch.arange(4, dtype=torch.float64)
    return 2.0 * _turns(m * g.number(0.3, 0.8) + torch.pi / 2)


EXERCISE = Exercise(
    id="rope.relative_gap",
    title="Proof, step 4: which matrices see only the distance",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    reference=relative_gap,
    alternatives=[gap_by_loop, gap_by_stack],
    cases=[
        Case(
            "doubling",
            "1×1 matrices 1, 2, 4: the products grow with the position, 4·4 − 2·2 = 12",
            lambda g: call(torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)[:, None, None]),
        ),
        Case(
            "sliding",
            "1×1 matrices 3, 2, −1: a product that shrinks also counts, hence the absolute value",
            lambda g: call(torch.tensor([3.0, 2.0, -1.0], dtype=torch.float64)[:, None, None]),
        ),
        Case(
            "two axes",
            "3-D turns about two axes: every length is kept, and still the position matters",
            lambda g: call(_about_two_axes(g)),
        ),
        Case("random", "five random 2×2 matrices", lambda g: call(g.randn(5, 2, 2, dtype=torch.float64)), weight=2),
        Case(
            "two places",
            "only two positions: the next one exists for position 0 alone",
            lambda g: call(g.randn(2, 3, 3, dtype=torch.float64)),
        ),
        Case(
            "turned start",
            "a turn that does not start at the identity depends on n − m alone: 0",
            lambda g: call(_turned_start(g)),
        ),
    ],
    mutants=[
        *changes(
            gap_by_loop,
            """
same_place_only: for n in range(len(A) - 1) → for n in [m]
    Only pairs with m = n are compared, which tests lengths. Compare A[m]ᵀA[n] for every m and n.
no_transpose: A[m + 1].T @ A[n + 1] - A[m].T @ A[n] → A[m + 1] @ A[n + 1] - A[m] @ A[n]
    The first factor is not transposed: a score is (A[m]q)ᵀ(A[n]k) = qᵀA[m]ᵀA[n]k.
second_transposed: A[m + 1].T @ A[n + 1] - A[m].T @ A[n] → A[m + 1] @ A[n + 1].T - A[m] @ A[n].T
    The second factor is transposed. It is the first one: a score is (A[m]q)ᵀ(A[n]k) = qᵀA[m]ᵀA[n]k.
last_left_out: for m in range(len(A) - 1) → for m in range(len(A) - 2)
; for n in range(len(A) - 1) → for n in range(len(A) - 2)
    The last position is left out. Positions 0 … N − 2 have a next one, so m and n run over range(N − 1).
""",
        ),
        *changes(
            relative_gap,
            """
wraps_round: S[1:, 1:] - S[:-1, :-1] → S.roll((-1, -1), (0, 1)) - S
    The last position is compared with the first one, which does not follow it: torch.roll wraps round. Cut with
    S[1:, 1:] and S[:-1, :-1].
largest_norm: (S[1:, 1:] - S[:-1, :-1]).abs().max() → torch.linalg.matrix_norm(S[1:, 1:] - S[:-1, :-1]).max()
    This is the largest norm of a difference of matrices. The largest single entry is asked for.
one_place_moves: S[1:, 1:] - S[:-1, :-1] → S[:, 1:] - S[:, :-1]
    Only one of the two positions moves on, so the distance changes. Both do, by one: A[m+1]ᵀA[n+1].
mean: .max() → .mean()
    This is the mean deviation. The largest one is asked for: one bad pair is enough.
signed: .abs() →
    The differences are compared with their sign, so that a negative one can never be the largest. Take the absolute
    value first.
""",
        ),
        *changes(
            gap_by_loop,
            """
gap_to_first: for m in range(len(A) - 1) → for m in range(len(A))
; for n in range(len(A) - 1) → for n in range(m, len(A)) ; A[m + 1].T @ A[n + 1] → A[n - m]
    This compares A[m]ᵀA[n] with A[n − m], which presumes that A[0] is the identity. Compare it with A[m+1]ᵀA[n+1].
signed_from_zero: .abs() →
    The differences are compared with their sign, and never below 0, so that a large negative one goes unseen. Take
    the absolute value first.
""",
        ),
        *changes(
            relative_gap,
            """
abs_after_max: .abs().max() → .max().abs()
    The absolute value is taken after the maximum, when large negative differences are gone. Take it first:
    .abs().max().
tensor_left: .item() →
    The number is right, but it is a tensor. A Python float is asked for: end with .item().
sum: .max() → .sum()
    This is the sum of all deviations. The largest single one is asked for.
smallest: .max() → .min()
    This is the smallest deviation. The largest one is asked for: one bad pair is enough.
squared: .abs() → .square()
    The largest deviation is squared. Its absolute value is asked for.
""",
        ),
        *changes(
            gap_by_loop,
            """
last_pair_only: max(worst, → (
    Only the last pair of positions counts: each turn of the loop overwrites the one before. Keep the largest: worst
    = max(worst, …).
first_pair_only: worst = max → return max
    Only m = n = 0 is compared. Go through all m and n in range(N − 1) before you return.
later_only: for n in range(len(A) - 1) → for n in range(m + 1, len(A) - 1)
    Pairs with m = n are left out. m and n both run over all of range(N − 1).
one_distance_only: for n in range(len(A) - 1) → for n in range(m + 1, len(A) - 1)[:1]
    Only neighbors, n = m + 1, are compared. m and n run over range(N − 1) independently, two loops.
first_entry_only: .abs().max() → [0, 0].abs()
    Only the entry at the top left is compared. The maximum is over all entries of the matrices.
matrices_compared: A[m + 1].T @ A[n + 1] - A[m].T @ A[n] → A[m + 1] - A[m]
    The matrices of neighboring positions are compared. Compare the products A[m+1]ᵀA[n+1] and A[m]ᵀA[n].
""",
        ),
    ],
    unasked="""
The docstring asks for float64 matrices: a good family's gap is rounding alone.
    precision
""",
    equivalent="""
swapping i and k, or m and n, transposes every product: the largest entry stays
    d0f0cba3ab solution, einsum: output of 'mji,njk->mnik' transposed
the order in which the pairs of positions are compared does not change the largest
    2ed7b6252d alternative gap_by_loop, reversed: range(len(A) - 1) reversed
    6f686c93ed alternative gap_by_loop, reversed: range(len(A) - 1) reversed
the axes are only named in another order: all pairs and entries are still compared
    9ba2be598d alternative gap_by_stack, argument: (wide.T @ wide).reshape(N, D, N, D).permute(0, 2, 1, 3): arguments …
    34c8e711dd alternative gap_by_stack, argument: (wide.T @ wide).reshape(N, D, N, D).permute(0, 2, 1, 3): arguments …
""",
)
