"""The proof, one checked step at a time. Symbolic answers are SymPy expressions of real symbols."""

import sympy as sp
import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call

UNIT = "06-rope"
theta, q0, q1, k0, k1 = sp.symbols("theta q0 q1 k0 k1", real=True)
x1, x2, a = sp.symbols("x1 x2 a", real=True)


def turn(angle):
    """R(angle) as a SymPy matrix."""
    return sp.Matrix([[sp.cos(angle), -sp.sin(angle)], [sp.sin(angle), sp.cos(angle)]])


# -- R(m)ᵀ R(n) -----------------------------------------------------------------------------------------------------


def product_from_zero(d):
    """R(0)ᵀR(d), multiplied out."""
    return turn(0).T * turn(d * theta)


def all_plus(d):
    c, s = sp.cos(d * theta), sp.sin(d * theta)
    return sp.Matrix([[c, s], [s, c]])


def from_exponential(d):
    """Real and imaginary part of e^{i d θ}."""
    z = sp.exp(sp.I * d * theta)
    c, s = (z + sp.conjugate(z)) / 2, (z - sp.conjugate(z)) / (2 * sp.I)
    return sp.Matrix([[c, -s], [s, c]])


RELATIVE = Exercise(
    id="rope.relative_rotation",
    unit=UNIT,
    title="Proof, step 1: two turns become one",
    points=2,
    difficulty=2,
    minutes=10,
    signature="relative_rotation(d)",
    reference=lambda d: turn(d * theta),
    alternatives=[product_from_zero, from_exponential],
    cases=[
        Case("one apart", "n − m = 1: R(m)ᵀR(n) is the turn by θ", lambda g: call(1)),
        Case("backwards", "n − m = −3: the key comes first, the turn goes the other way", lambda g: call(-3)),
        Case("far", "n − m = 7, the same for (0, 7) and for (100, 107)", lambda g: call(7)),
        Case("same place", "n − m = 0 leaves the key as it is", lambda g: call(0), weight=0.5),
    ],
    mutants=[
        Mutant(
            "wrong_direction",
            lambda d: turn(-d * theta),
            "This is R(m − n). The transpose turns back by m, so R(m)ᵀR(n) turns by n − m.",
        ),
        Mutant("no_theta", lambda d: turn(sp.Integer(d)), "The angle lacks θ: a distance of d positions turns by d·θ."),
        Mutant("all_plus", all_plus, "The sine at the top right lost its minus sign."),
        Mutant(
            "nested_list",
            lambda d: turn(d * theta).tolist(),
            "This is a nested list. Make a matrix of it: sp.Matrix([[…, …], […, …]]).",
        ),
        Mutant(
            "entrywise_power",
            lambda d: turn(theta).applyfunc(lambda e: e**d),
            "The entries were raised to a power one by one. Turning d times multiplies the angle by d.",
        ),
    ],
)


# -- The dot product, expanded --------------------------------------------------------------------------------------


def score(d):
    """q_mᵀk_n with d = m − n."""
    return (q0 * k0 + q1 * k1) * sp.cos(d * theta) + (q0 * k1 - q1 * k0) * sp.sin(d * theta)


def score_by_matrix(d):
    """qᵀ R(n − m) k, multiplied out."""
    return sp.expand((sp.Matrix([[q0, q1]]) * turn(-d * theta) * sp.Matrix([k0, k1]))[0, 0])


def score_by_polar(d):
    """Real part of q·conj(k)·e^{i d θ}."""
    product = (q0 + sp.I * q1) * (k0 - sp.I * k1) * (sp.cos(d * theta) + sp.I * sp.sin(d * theta))
    return sp.re(sp.expand(product))


def _score(cosine, sine):
    return lambda d: cosine * sp.cos(d * theta) + sine * sp.sin(d * theta)


EXPANDED = Exercise(
    id="rope.expanded_score",
    unit=UNIT,
    title="Proof, step 2: the score, written out",
    points=2,
    difficulty=3,
    minutes=12,
    signature="expanded_score(d)",
    extension=True,
    reference=score,
    alternatives=[score_by_matrix, score_by_polar],
    cases=[
        Case("one ahead", "m − n = 1: a cosine term and a sine term", lambda g: call(1)),
        Case("one behind", "m − n = −1: the cosine term stays, the sine term changes its sign", lambda g: call(-1)),
        Case("five ahead", "m − n = 5, whatever m itself is", lambda g: call(5)),
        Case("same place", "m = n leaves the plain dot product q·k", lambda g: call(0), weight=0.5),
    ],
    mutants=[
        Mutant(
            "no_sine",
            _score(q0 * k0 + q1 * k1, 0),
            "The sine term is missing. It drops out only when q and k point the same way: multiply out all four "
            "products.",
        ),
        Mutant(
            "sine_reversed",
            _score(q0 * k0 + q1 * k1, q1 * k0 - q0 * k1),
            "The sine term has the wrong sign for d = m − n. Turning q ahead of k by a quarter (q = (1, 0), "
            "k = (0, 1), dθ = π/2) must give +1.",
        ),
        Mutant(
            "one_product",
            _score(q0 * k0, 0),
            "Only q₀k₀·cos is left, as if q and k were single numbers. A pair has four products.",
        ),
        Mutant(
            "sum_of_crosses",
            _score(q0 * k0 + q1 * k1, q0 * k1 + q1 * k0),
            "The two crossed products are added. One of them is subtracted: the minus sign comes from the matrix.",
        ),
    ],
)


# -- Lengths --------------------------------------------------------------------------------------------------------


def rotated_length():
    """Squared length after the turn."""
    return x1**2 + x2**2


def notes_length():
    """Squared length after [x1·cos − x1·sin, x2·cos + x2·sin]."""
    return x1**2 * (1 - sp.sin(2 * a)) + x2**2 * (1 + sp.sin(2 * a))


def rotated_long():
    v = turn(a) * sp.Matrix([x1, x2])
    return v[0] ** 2 + v[1] ** 2


def notes_long():
    return (x1 * sp.cos(a) - x1 * sp.sin(a)) ** 2 + (x2 * sp.cos(a) + x2 * sp.sin(a)) ** 2


LENGTHS = Exercise(
    id="rope.squared_lengths",
    unit=UNIT,
    title="Proof, step 3: lengths",
    points=2,
    difficulty=2,
    minutes=10,
    signature="rotated_length()",
    targets=("rotated_length", "notes_length"),
    extension=True,
    reference=(rotated_length, notes_length),
    alternatives=[
        (rotated_long, notes_long),
        (rotated_length, lambda: x1**2 + x2**2 + (x2**2 - x1**2) * sp.sin(2 * a)),
    ],
    cases=[
        Case(
            "rotation",
            "after a turn the squared length is x₁² + x₂², for every angle",
            lambda g: Program().call(fn="rotated_length"),
        ),
        Case(
            "the notes",
            "the other recipe gives a length that depends on the angle",
            lambda g: Program().call(fn="notes_length"),
            weight=2,
        ),
    ],
    mutants=[
        Mutant(
            "both_kept",
            (rotated_length, rotated_length),
            "The second recipe does not keep the length: square its two entries and add them, the sines stay.",
        ),
        Mutant(
            "not_squared",
            (lambda: sp.sqrt(rotated_length()), lambda: sp.sqrt(notes_length())),
            "These are lengths. The squared length is asked for: leave out the root.",
        ),
        Mutant(
            "crossing_terms_added",
            (lambda: x1**2 + x2**2 + 4 * x1 * x2 * sp.sin(a) * sp.cos(a), notes_length),
            "The mixed terms of the rotation were added. One is −2x₁x₂·sin·cos, the other +2x₁x₂·sin·cos: they cancel.",
        ),
        Mutant(
            "halves_exchanged",
            (rotated_length, lambda: x1**2 * (1 + sp.sin(2 * a)) + x2**2 * (1 - sp.sin(2 * a))),
            "x₁ and x₂ are exchanged: in this recipe x₁ is the one that gets −x₁·sin.",
        ),
    ],
)


# -- Which families of matrices work --------------------------------------------------------------------------------


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


def _turns(angles):
    c, s = angles.cos(), angles.sin()
    return torch.stack([c, -s, s, c], -1).unflatten(-1, (2, 2))


def _about_two_axes(g):
    """Rz(mα)·Rx(mβ): orthogonal at every m, but the two turns do not commute."""
    m = torch.arange(4, dtype=torch.float64)
    alpha, beta = g.number(0.4, 0.9), g.number(0.4, 0.9)
    Z = torch.eye(3, dtype=torch.float64).repeat(4, 1, 1)
    X = Z.clone()
    Z[:, :2, :2], X[:, 1:, 1:] = _turns(m * alpha), _turns(m * beta)
    return Z @ X


def _turned_start(g):
    """A turn by mφ after a fixed quarter turn and a stretch by 2: works, but A[0] is not the identity."""
    m = torch.arange(4, dtype=torch.float64)
    return 2.0 * _turns(m * g.number(0.3, 0.8) + torch.pi / 2)


GAP = Exercise(
    id="rope.relative_gap",
    unit=UNIT,
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

EXERCISES = [RELATIVE, EXPANDED, LENGTHS, GAP]
