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


def second_transposed(A):
    return _gap(A, lambda A: torch.einsum("mij,nkj->mnik", A, A))


def last_left_out(A):
    return gap_by_loop(A[:-1])


def wraps_round(A):
    S = torch.einsum("mji,njk->mnik", A, A)
    return (S.roll((-1, -1), (0, 1)) - S).abs().max().item()


def largest_norm(A):
    return _gap(A, None, lambda d: torch.linalg.matrix_norm(d).max())


def neighbors_only(A):
    """One family against the next: n moves on, m stays."""
    S = torch.einsum("mji,njk->mnik", A, A)
    return (S[:, 1:] - S[:, :-1]).abs().max().item()


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


def signed_from_zero(A):
    S = torch.einsum("mji,njk->mnik", A, A)
    return max(0.0, (S[1:, 1:] - S[:-1, :-1]).max().item())


def one_pair_only(which):
    """The deviation at one m = n alone, as after a loop that forgets its maximum or returns too early."""

    def mutant(A):
        S = torch.einsum("mji,mjk->mik", A, A)
        return (S[1:] - S[:-1])[which].abs().max().item()

    return mutant


def later_only(A):
    worst = 0.0
    for m in range(len(A) - 1):
        for n in range(m + 1, len(A) - 1):
            worst = max(worst, (A[m + 1].T @ A[n + 1] - A[m].T @ A[n]).abs().max().item())
    return worst


def tensor_left(A):
    S = torch.einsum("mji,njk->mnik", A, A)
    return (S[1:, 1:] - S[:-1, :-1]).abs().max()


def first_entry_only(A):
    return _gap(A, None, lambda d: d[..., 0, 0].abs().max())


def neighbors_in_distance(A):
    """Only n = m + 1."""
    S = torch.einsum("mji,mjk->mik", A[:-1], A[1:])
    return (S[1:] - S[:-1]).abs().max().item() if len(A) > 2 else 0.0


EXERCISE = Exercise(
    id="rope.relative_gap",
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
            "two places",
            "only two places: the next one exists for place 0 alone",
            lambda g: call(g.randn(2, 3, 3, dtype=torch.float64)),
        ),
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
            "second_transposed",
            second_transposed,
            "The second factor is transposed. It is the first one: a score is (A[m]q)ᵀ(A[n]k) = qᵀA[m]ᵀA[n]k.",
        ),
        Mutant(
            "last_left_out",
            last_left_out,
            "The last place is left out. Places 0 … N − 2 have a next one, so m and n run over range(N − 1).",
        ),
        Mutant(
            "wraps_round",
            wraps_round,
            "The last place is compared with the first one, which is not its next place: torch.roll wraps round. Cut "
            "with S[1:, 1:] and S[:-1, :-1].",
        ),
        Mutant(
            "largest_norm",
            largest_norm,
            "This is the largest norm of a difference of matrices. The largest single entry is asked for.",
        ),
        Mutant(
            "one_place_moves",
            neighbors_only,
            "Only one of the two places moves on, so the distance changes. Both do, by one: A[m+1]ᵀA[n+1].",
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
        Mutant(
            "signed_from_zero",
            signed_from_zero,
            "The differences are compared with their sign, and never below 0, so that a large negative one goes "
            "unseen. Take the absolute value first.",
        ),
        Mutant(
            "abs_after_max",
            lambda A: _gap(A, None, lambda d: d.max().abs()),
            "The absolute value is taken after the maximum, when large negative differences are gone. Take it first: "
            ".abs().max().",
        ),
        Mutant(
            "tensor_left",
            tensor_left,
            "The number is right, but it is a tensor. A Python float is asked for: end with .item().",
        ),
        Mutant(
            "sum",
            lambda A: _gap(A, None, lambda d: d.abs().sum()),
            "This is the sum of all deviations. The largest single one is asked for.",
        ),
        Mutant(
            "smallest",
            lambda A: _gap(A, None, lambda d: d.abs().min()),
            "This is the smallest deviation. The largest one is asked for: one bad pair is enough.",
        ),
        Mutant(
            "squared",
            lambda A: _gap(A, None, lambda d: d.square().max()),
            "The largest deviation is squared. Its absolute value is asked for.",
        ),
        Mutant(
            "last_pair_only",
            one_pair_only(-1),
            "Only the last pair of places counts: each turn of the loop overwrites the one before. Keep the largest: "
            "worst = max(worst, …).",
        ),
        Mutant(
            "first_pair_only",
            one_pair_only(0),
            "Only m = n = 0 is compared. Go through all m and n in range(N − 1) before you return.",
        ),
        Mutant(
            "later_only",
            later_only,
            "Pairs with m = n are left out. m and n both run over all of range(N − 1).",
        ),
        Mutant(
            "one_distance_only",
            neighbors_in_distance,
            "Only neighbors, n = m + 1, are compared. m and n run over range(N − 1) independently, two loops.",
        ),
        Mutant(
            "first_entry_only",
            first_entry_only,
            "Only the entry at the top left is compared. The maximum is over all entries of the matrices.",
        ),
        Mutant(
            "matrices_compared",
            lambda A: (A[1:] - A[:-1]).abs().max().item(),
            "The matrices of neighboring places are compared. Compare the products A[m+1]ᵀA[n+1] and A[m]ᵀA[n].",
        ),
    ],
)
