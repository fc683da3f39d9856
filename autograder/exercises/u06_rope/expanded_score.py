"""The score of two turned vectors, written out."""

import sympy as sp

from autograder.judge.spec import Case, Exercise, Mutant, call, several

from .relative_rotation import turn
from .shared import k0, k1, q0, q1, theta


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


EXERCISE = Exercise(
    id="rope.expanded_score",
    unit="06-rope",
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
        Case(
            "behind",
            "m − n below 0: the cosine term stays, the sine term changes its sign",
            lambda g: several(2, lambda p: p.call(-g.integer(2, 2000))),
        ),
        Case(
            "far ahead", "some m − n, whatever m itself is", lambda g: several(2, lambda p: p.call(g.integer(5, 2000)))
        ),
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
