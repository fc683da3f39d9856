"""The score of two turned vectors, written out."""

import sympy as sp

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several

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


MISTAKES = changes(
    score,
    """
no_sine: + (q0 * k1 - q1 * k0) * sp.sin(d * theta) →
    The sine term is missing. It drops out only when q and k point the same way: multiply out all four products.
sine_reversed: q0 * k1 - q1 * k0 → q1 * k0 - q0 * k1
    The sine term has the wrong sign for d = m − n. Turning q ahead of k by a quarter (q = (1, 0), k = (0, 1), dθ =
    π/2) must give +1.
one_product: (q0 * k0 + q1 * k1) → q0 * k0 ; + (q0 * k1 - q1 * k0) * sp.sin(d * theta) →
    Only q₀k₀·cos is left, as if q and k were single numbers. A pair has four products.
cosine_minus: q0 * k0 + → q0 * k0 -
    The cosine's factor is q₀k₀ − q₁k₁. It is the plain dot product, with a plus: at d = 0 the score is q·k.
sine_without_distance: sp.sin(d * theta) → sp.sin(theta)
    The sine has the angle θ, whatever the distance is. Both terms have the angle d·θ.
direction_lost: return → d = abs(d); return
    A key before and a key after the query get the same score. Keep the sign of d: the sine term changes it.
sum_of_crosses: q0 * k1 - → q0 * k1 +
    The two crossed products are added. One of them is subtracted: the minus sign comes from the matrix.
complex_product: q0 * k0 + → q0 * k0 - ; q0 * k1 - → q0 * k1 +
    These are the terms of the complex product q·k. The score is the real part of q times the conjugate of k: q₀k₀ +
    q₁k₁ with the cosine, q₀k₁ − q₁k₀ with the sine.
one_by_one: return (q0 → return sp.Matrix([[(q0 ; sp.sin(d * theta) → sp.sin(d * theta)]])
    The formula is right, but it is a 1×1 matrix. Take its only entry out: [0].
no_theta: sp.cos(d * theta) → sp.cos(d) ; sp.sin(d * theta) → sp.sin(d)
    The angle is d. A distance of d positions turns by d·θ: write sp.cos(d*theta) and sp.sin(d*theta).
distance_ignored: sp.cos(d * theta) → sp.cos(theta) ; sp.sin(d * theta) → sp.sin(theta)
    The angle is θ whatever the distance is: d does not occur. Both terms have the angle d·θ.
cosine_without_distance: sp.cos(d * theta) → sp.cos(theta)
    The cosine has the angle θ, whatever the distance is. Both terms have the angle d·θ.
first_sine_without_distance: (q0 * k1 - q1 * k0) → q0 * k1 * sp.sin(theta) - q1 * k0
    The sine at q₀k₁ has the angle θ, without d. All four products have the angle d·θ.
second_sine_without_distance: (q0 * k1 - → q0 * k1 * sp.sin(d * theta) -
; q1 * k0) * sp.sin(d * theta) → q1 * k0 * sp.sin(theta)
    The sine at q₁k₀ has the angle θ, without d. All four products have the angle d·θ.
products_exchanged: k1) * sp.cos → k1) * sp.sin ; k0) * sp.sin → k0) * sp.cos
    Cosine and sine are exchanged. At d = 0 the score is q·k, so q₀k₀ + q₁k₁ goes with the cosine.
sums_exchanged: k1) * sp.cos → k1) * sp.sin ; q0 * k1 - q1 * k0) * sp.sin → q0 * k1 + q1 * k0) * sp.cos
    The crossed products stand at the cosine and have no minus. It is (q₀k₀ + q₁k₁)·cos + (q₀k₁ − q₁k₀)·sin.
differences_exchanged: q0 * k0 + q1 * k1) * sp.cos → q0 * k0 - q1 * k1) * sp.sin
; q0 * k1 - q1 * k0) * sp.sin → q0 * k1 + q1 * k0) * sp.cos
    The crossed products stand at the cosine, and the minus at the wrong pair. It is (q₀k₀ + q₁k₁)·cos + (q₀k₁ −
    q₁k₀)·sin.
no_cosine: (q0 * k0 + q1 * k1) * sp.cos(d * theta) + →
    The cosine term is missing. At d = 0 the score is the dot product q₀k₀ + q₁k₁.
two_products: (q0 * k0 + q1 * k1) → q0 * k0 ; (q0 * k1 - q1 * k0) → q1 * k1
    q and k are multiplied entry by entry. A turn mixes the entries: four products, two of them crossed.
plain_product: * sp.cos(d * theta) + (q0 * k1 - q1 * k0) * sp.sin(d * theta) →
    This is q·k without any turn, so the distance has no effect. Multiply q with R(−dθ)·k.
brackets_missing: (q0 * k0 + q1 * k1) → q0 * k0 + q1 * k1 ; (q0 * k1 - q1 * k0) → q0 * k1 - q1 * k0
    The brackets round the two sums are missing: cosine and sine multiply only the product beside them. Write (q0*k0
    + q1*k1) * cos + (q0*k1 − q1*k0) * sin.
cosine_bracket_missing: (q0 * k0 + q1 * k1) → q0 * k0 + q1 * k1
    The bracket round q₀k₀ + q₁k₁ is missing: the cosine multiplies only q₁k₁.
sine_bracket_missing: (q0 * k1 - q1 * k0) → q0 * k1 - q1 * k0
    The bracket round q₀k₁ − q₁k₀ is missing: the sine multiplies only q₁k₀.
own_symbols: return → q0, q1, k0, k1, theta = sp.symbols("q0 q1 k0 k1 theta"); return
    Your letters are other symbols than the notebook's, which are real. SymPy takes them for different ones: use the
    q0, q1, k0, k1 and theta that are there.
""",
)

EXERCISE = Exercise(
    id="rope.expanded_score",
    title="Proof, step 2: the score, written out",
    points=2,
    difficulty=3,
    minutes=12,
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
    mutants=MISTAKES,
)
