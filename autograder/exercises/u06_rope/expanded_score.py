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
    return sp.expand(sp.Matrix([q0, q1]).dot(turn(-d * theta) * sp.Matrix([k0, k1])))


def score_by_polar(d):
    """Real part of q·conj(k)·e^{i d θ}."""
    product = (q0 + sp.I * q1) * (k0 - sp.I * k1) * (sp.cos(d * theta) + sp.I * sp.sin(d * theta))
    return sp.re(sp.expand(product))


def _score(cosine, sine):
    return lambda d: cosine * sp.cos(d * theta) + sine * sp.sin(d * theta)


def _angles(*angles):
    """The four products, q₀k₀·cos + q₁k₁·cos + q₀k₁·sin − q₁k₀·sin, each with an angle of its own."""

    def mutant(d):
        first, second, third, fourth = (angle(d) for angle in angles)
        same = q0 * k0 * sp.cos(first) + q1 * k1 * sp.cos(second)
        return same + q0 * k1 * sp.sin(third) - q1 * k0 * sp.sin(fourth)

    return mutant


def _far(d):
    return d * theta


def _near(d):
    return theta


def _no_theta(d):
    return sp.Integer(d)


def _brackets(cosine, sine):
    """The score with its two sums as functions of (first product, second product, cos or sin)."""

    def mutant(d):
        c, s = sp.cos(d * theta), sp.sin(d * theta)
        return cosine(q0 * k0, q1 * k1, c) + sine(q0 * k1, -q1 * k0, s)

    return mutant


def _whole(a, b, f):
    return (a + b) * f


def _last(a, b, f):
    return a + b * f


def own_symbols(d):
    letters = {x: sp.Symbol(x.name) for x in (q0, q1, k0, k1, theta)}
    return score(d).subs(letters)


EXERCISE = Exercise(
    id="rope.expanded_score",
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
            "cosine_minus",
            _score(q0 * k0 - q1 * k1, q0 * k1 - q1 * k0),
            "The cosine's factor is q₀k₀ − q₁k₁. It is the plain dot product, with a plus: at d = 0 the score is q·k.",
        ),
        Mutant(
            "sine_without_distance",
            lambda d: (q0 * k0 + q1 * k1) * sp.cos(d * theta) + (q0 * k1 - q1 * k0) * sp.sin(theta),
            "The sine has the angle θ, whatever the distance is. Both terms have the angle d·θ.",
        ),
        Mutant(
            "direction_lost",
            lambda d: score(abs(d)),
            "A key before and a key after the query get the same score. Keep the sign of d: the sine term changes it.",
        ),
        Mutant(
            "sum_of_crosses",
            _score(q0 * k0 + q1 * k1, q0 * k1 + q1 * k0),
            "The two crossed products are added. One of them is subtracted: the minus sign comes from the matrix.",
        ),
        Mutant(
            "complex_product",
            _score(q0 * k0 - q1 * k1, q0 * k1 + q1 * k0),
            "These are the terms of the complex product q·k. The score is the real part of q times the conjugate of "
            "k: q₀k₀ + q₁k₁ with the cosine, q₀k₁ − q₁k₀ with the sine.",
        ),
        Mutant(
            "one_by_one",
            lambda d: sp.Matrix([[score(d)]]),
            "The formula is right, but it is a 1×1 matrix. Take its only entry out: [0].",
        ),
        Mutant(
            "no_theta",
            _angles(*[_no_theta] * 4),
            "The angle is d. A distance of d positions turns by d·θ: write sp.cos(d*theta) and sp.sin(d*theta).",
        ),
        Mutant(
            "distance_ignored",
            _angles(*[_near] * 4),
            "The angle is θ whatever the distance is: d does not occur. Both terms have the angle d·θ.",
        ),
        Mutant(
            "cosine_without_distance",
            _angles(_near, _near, _far, _far),
            "The cosine has the angle θ, whatever the distance is. Both terms have the angle d·θ.",
        ),
        Mutant(
            "first_sine_without_distance",
            _angles(_far, _far, _near, _far),
            "The sine at q₀k₁ has the angle θ, without d. All four products have the angle d·θ.",
        ),
        Mutant(
            "second_sine_without_distance",
            _angles(_far, _far, _far, _near),
            "The sine at q₁k₀ has the angle θ, without d. All four products have the angle d·θ.",
        ),
        Mutant(
            "products_exchanged",
            _score(q0 * k1 - q1 * k0, q0 * k0 + q1 * k1),
            "Cosine and sine are exchanged. At d = 0 the score is q·k, so q₀k₀ + q₁k₁ goes with the cosine.",
        ),
        Mutant(
            "sums_exchanged",
            _score(q0 * k1 + q1 * k0, q0 * k0 + q1 * k1),
            "The crossed products stand at the cosine and have no minus. It is (q₀k₀ + q₁k₁)·cos + (q₀k₁ − q₁k₀)·sin.",
        ),
        Mutant(
            "differences_exchanged",
            _score(q0 * k1 + q1 * k0, q0 * k0 - q1 * k1),
            "The crossed products stand at the cosine, and the minus at the wrong pair. It is (q₀k₀ + q₁k₁)·cos + "
            "(q₀k₁ − q₁k₀)·sin.",
        ),
        Mutant(
            "no_cosine",
            _score(0, q0 * k1 - q1 * k0),
            "The cosine term is missing. At d = 0 the score is the dot product q₀k₀ + q₁k₁.",
        ),
        Mutant(
            "two_products",
            _score(q0 * k0, q1 * k1),
            "q and k are multiplied entry by entry. A turn mixes the entries: four products, two of them crossed.",
        ),
        Mutant(
            "plain_product",
            lambda d: q0 * k0 + q1 * k1,
            "This is q·k without any turn, so the distance has no effect. Multiply q with R(−dθ)·k.",
        ),
        Mutant(
            "brackets_missing",
            _brackets(_last, _last),
            "The brackets round the two sums are missing: cosine and sine multiply only the product beside them. "
            "Write (q0*k0 + q1*k1) * cos + (q0*k1 − q1*k0) * sin.",
        ),
        Mutant(
            "cosine_bracket_missing",
            _brackets(_last, _whole),
            "The bracket round q₀k₀ + q₁k₁ is missing: the cosine multiplies only q₁k₁.",
        ),
        Mutant(
            "sine_bracket_missing",
            _brackets(_whole, _last),
            "The bracket round q₀k₁ − q₁k₀ is missing: the sine multiplies only q₁k₀.",
        ),
        Mutant(
            "own_symbols",
            own_symbols,
            "Your letters are other symbols than the notebook's, which are real. SymPy takes them for different "
            "ones: use the q0, q1, k0, k1 and theta that are there.",
        ),
    ],
)
