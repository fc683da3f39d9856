"""Two turns become one, with symbols."""

import sympy as sp

from autograder.judge.spec import Case, Exercise, Mutant, call, several

from .shared import theta


def turn(angle):
    """R(angle) as a SymPy matrix."""
    return sp.Matrix([[sp.cos(angle), -sp.sin(angle)], [sp.sin(angle), sp.cos(angle)]])


def product_at_two_places(d):
    """R(2θ)ᵀR((2 + d)θ), multiplied out."""
    return turn(2 * theta).T * turn((2 + d) * theta)


def all_plus(d):
    c, s = sp.cos(d * theta), sp.sin(d * theta)
    return sp.Matrix([[c, s], [s, c]])


def only_cosines(d):
    return sp.cos(d * theta) * sp.eye(2)


def from_exponential(d):
    """Real and imaginary part of e^{i d θ}."""
    z = sp.exp(sp.I * d * theta)
    c, s = (z + sp.conjugate(z)) / 2, (z - sp.conjugate(z)) / (2 * sp.I)
    return sp.Matrix([[c, -s], [s, c]])


def _entries(*entries):
    """Four entries, row by row, as functions of (cos dθ, sin dθ)."""
    return lambda d: sp.Matrix(2, 2, [e(sp.cos(d * theta), sp.sin(d * theta)) for e in entries])


_c, _s = lambda c, s: c, lambda c, s: s
_minus_c, _minus_s = lambda c, s: -c, lambda c, s: -s


def places_left(d):
    m, n = sp.symbols("m n", real=True)
    return turn(m * theta).T * turn(n * theta)


EXERCISE = Exercise(
    id="rope.relative_rotation",
    title="Proof, step 1: two turns become one",
    points=2,
    difficulty=2,
    minutes=10,
    signature="relative_rotation(d)",
    reference=lambda d: turn(d * theta),
    alternatives=[product_at_two_places, from_exponential],
    cases=[
        Case("one apart", "n − m = 1: R(m)ᵀR(n) is the turn by θ", lambda g: call(1)),
        Case(
            "backwards",
            "n − m below 0: the key comes first, the turn goes the other way",
            lambda g: several(4, lambda p: p.call(-g.integer(2, 40))),
        ),
        Case(
            "far",
            "some n − m, the same whatever m itself is",
            lambda g: several(4, lambda p: p.call(g.integer(5, 45))),
        ),
        Case("same place", "n − m = 0 leaves the key as it is", lambda g: call(0), weight=0.5),
    ],
    mutants=[
        Mutant(
            "wrong_direction",
            lambda d: turn(-d * theta),
            "This is R(m − n). The transpose turns back by m, so R(m)ᵀR(n) turns by n − m.",
        ),
        Mutant(
            "own_symbol",
            lambda d: turn(d * sp.Symbol("theta")),
            "Your θ is another symbol than the notebook's, which is real. SymPy takes them for different ones: use the "
            "theta that is there.",
        ),
        Mutant("no_theta", lambda d: turn(sp.Integer(d)), "The angle lacks θ: a distance of d positions turns by d·θ."),
        Mutant("all_plus", all_plus, "The sine at the top right lost its minus sign."),
        Mutant(
            "distance_ignored",
            lambda d: turn(theta),
            "The angle is θ whatever the distance is: d does not occur. A distance of d positions turns by d·θ.",
        ),
        Mutant(
            "direction_lost",
            lambda d: turn(abs(d) * theta),
            "A key before and a key after the query get the same turn. Keep the sign of d: a negative d turns back.",
        ),
        Mutant(
            "only_cosines",
            only_cosines,
            "The sines are missing. The entry at the top right is −sin dθ, the one at the bottom left sin dθ.",
        ),
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
        Mutant(
            "distance_outside",
            lambda d: d * turn(theta),
            "d multiplies the entries. It belongs into the angle: cos(d·θ), not d·cos θ.",
        ),
        Mutant(
            "distance_added",
            lambda d: turn(d + theta),
            "The angle is d + θ. A distance of d positions turns by the product, d·θ.",
        ),
        Mutant(
            "places_left",
            places_left,
            "The letters m and n are still there, and d has no effect. Use the addition formulas: only d = n − m "
            "is left, as the angle d·θ.",
        ),
        Mutant(
            "reflection",
            _entries(_c, _s, _s, _minus_c),
            "This is a mirror image: its determinant is −1. Both cosines have a plus, and the sine at the top right "
            "has the minus.",
        ),
        Mutant(
            "last_negative",
            _entries(_c, _minus_s, _s, _minus_c),
            "The last entry is −cos dθ. Both cosines have a plus sign.",
        ),
        Mutant(
            "both_sines_negative",
            _entries(_c, _minus_s, _minus_s, _c),
            "Both sines have a minus sign. Only the one at the top right has it.",
        ),
        Mutant(
            "exchanged",
            _entries(_s, _minus_c, _c, _s),
            "Sines and cosines are exchanged: at distance 0 nothing may turn. The cosines stand on the diagonal.",
        ),
        Mutant(
            "no_turn",
            lambda d: sp.eye(2),
            "This is the identity whatever the distance is. Back by mθ and on by nθ is a turn by (n − m)·θ = d·θ.",
        ),
        Mutant(
            "sine_without_distance",
            lambda d: sp.Matrix([[sp.cos(d * theta), -sp.sin(theta)], [sp.sin(theta), sp.cos(d * theta)]]),
            "The sines have the angle θ, whatever the distance is. All four entries have the angle d·θ.",
        ),
        Mutant(
            "one_entry",
            lambda d: sp.cos(d * theta),
            "This is one expression, cos dθ. The result is a 2×2 matrix with two cosines and two sines.",
        ),
    ],
)
