"""How far a family of matrices is from seeing only the distance."""

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Source, call


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


def _gap(A, f, reduce=lambda d: d.abs().max()):
    S = torch.einsum("mji,njk->mnik", A, A) if f is None else f(A)
    return reduce(S[1:, 1:] - S[:-1, :-1]).item()


def gap_to_first(A):
    N = len(A)
    worst = [(A[m].T @ A[n] - A[n - m]).abs().max().item() for m in range(N) for n in range(m, N)]
    return max(worst)


def same_place_only(A):
    S = torch.einsum("mji,mjk->mik", A, A)
    return (S[1:] - S[:-1]).abs().max().item()


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
    unit="06-rope",
    title="Proof, step 4: which matrices see only the distance",
    points=3,
    difficulty=3,
    minutes=15,
    signature="relative_gap(A)",
    extension=True,
    reference=relative_gap,
    alternatives=[gap_by_loop, gap_by_stack],
    cases=[
        Case(
            "doubling",
            "1×1 matrices 1, 2, 4: the products grow with the place, 4·4 − 2·2 = 12",
            lambda g: call(torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)[:, None, None]),
        ),
        Case(
            "sliding",
            "1×1 matrices 3, 2, −1: a product that shrinks also counts, hence the absolute value",
            lambda g: call(torch.tensor([3.0, 2.0, -1.0], dtype=torch.float64)[:, None, None]),
        ),
        Case(
            "two axes",
            "3-D turns about two axes: every length is kept, and still the place matters",
            lambda g: call(_about_two_axes(g)),
        ),
        Case("random", "five random 2×2 matrices", lambda g: call(g.randn(5, 2, 2, dtype=torch.float64)), weight=2),
        Case(
            "turned start",
            "a turn that does not start at the identity depends on n − m alone: 0",
            lambda g: call(_turned_start(g)),
        ),
    ],
    mutants=[
        Mutant(
            "same_place_only",
            same_place_only,
            "Only pairs with m = n are compared, which tests lengths. Compare A[m]ᵀA[n] for every m and n.",
        ),
        Mutant(
            "no_transpose",
            lambda A: _gap(A, lambda A: torch.einsum("mij,njk->mnik", A, A)),
            "The first factor is not transposed: a score is (A[m]q)ᵀ(A[n]k) = qᵀA[m]ᵀA[n]k.",
        ),
        Mutant(
            "mean",
            lambda A: _gap(A, None, lambda d: d.abs().mean()),
            "This is the mean deviation. The largest one is asked for: one bad pair is enough.",
        ),
        Mutant(
            "signed",
            lambda A: _gap(A, None, lambda d: d.max()),
            "The differences are compared with their sign, so that a negative one can never be the largest. Take "
            "the absolute value first.",
        ),
        Mutant(
            "gap_to_first",
            gap_to_first,
            "This compares A[m]ᵀA[n] with A[n − m], which presumes that A[0] is the identity. Compare it with "
            "A[m+1]ᵀA[n+1].",
        ),
    ],
)
