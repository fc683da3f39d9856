"""Two turns become one, with symbols."""

import sympy as sp

from autograder.judge.spec import Case, Exercise, Mutant, call, several

from .shared import theta


def turn(angle):
    """R(angle) as a SymPy matrix."""
    return sp.Matrix([[sp.cos(angle), -sp.sin(angle)], [sp.sin(angle), sp.cos(angle)]])


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


EXERCISE = Exercise(
    id="rope.relative_rotation",
    unit="06-rope",
    title="Proof, step 1: two turns become one",
    points=2,
    difficulty=2,
    minutes=10,
    signature="relative_rotation(d)",
    reference=lambda d: turn(d * theta),
    alternatives=[product_from_zero, from_exponential],
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
