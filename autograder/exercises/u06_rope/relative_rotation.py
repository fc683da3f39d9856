"""Two turns become one, with symbols."""

import sympy as sp

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several

from .shared import theta


def turn(angle):
    """R(angle) as a SymPy matrix."""
    return sp.Matrix([[sp.cos(angle), -sp.sin(angle)], [sp.sin(angle), sp.cos(angle)]])


def relative_rotation(d):
    """R(m)ᵀR(n) with d = n − m."""
    c, s = sp.cos(d * theta), sp.sin(d * theta)
    return sp.Matrix([[c, -s], [s, c]])


def product_at_two_places(d):
    """R(2θ)ᵀR((2 + d)θ), multiplied out."""
    return turn(2 * theta).T * turn((2 + d) * theta)


def from_exponential(d):
    """Real and imaginary part of e^{i d θ}."""
    z = sp.exp(sp.I * d * theta)
    c, s = (z + sp.conjugate(z)) / 2, (z - sp.conjugate(z)) / (2 * sp.I)
    return sp.Matrix([[c, -s], [s, c]])


MISTAKES = changes(
    relative_rotation,
    """
wrong_direction: c, s = → d = -d; c, s =
    This is R(m − n). The transpose turns back by m, so R(m)ᵀR(n) turns by n − m.
own_symbol: c, s = → theta = sp.Symbol("theta"); c, s =
    Your θ is another symbol than the notebook's, which is real. SymPy takes them for different ones: use the theta
    that is there.
no_theta: sp.cos(d * theta), sp.sin(d * theta) → sp.cos(d), sp.sin(d)
    The angle lacks θ: a distance of d positions turns by d·θ.
all_plus: [c, -s] → [c, s]
    The sine at the top right lost its minus sign.
distance_ignored: sp.cos(d * theta), sp.sin(d * theta) → sp.cos(theta), sp.sin(theta)
    The angle is θ whatever the distance is: d does not occur. A distance of d positions turns by d·θ.
direction_lost: c, s = → d = abs(d); c, s =
    A key before and a key after the query get the same turn. Keep the sign of d: a negative d turns back.
only_cosines: [[c, -s], [s, c]] → [[c, 0], [0, c]]
    The sines are missing. The entry at the top right is −sin dθ, the one at the bottom left sin dθ.
nested_list: [s, c]]) → [s, c]]).tolist()
    This is a nested list. Make a matrix of it: sp.Matrix([[…, …], […, …]]).
entrywise_power: sp.cos(d * theta), sp.sin(d * theta) → sp.cos(theta), sp.sin(theta)
; [s, c]]) → [s, c]]).applyfunc(lambda entry: entry**d)
    The entries were raised to a power one by one. Turning d times multiplies the angle by d.
distance_outside: sp.cos(d * theta), sp.sin(d * theta) → sp.cos(theta), sp.sin(theta) ; return → return d *
    d multiplies the entries. It belongs into the angle: cos(d·θ), not d·cos θ.
distance_added: sp.cos(d * theta), sp.sin(d * theta) → sp.cos(d + theta), sp.sin(d + theta)
    The angle is d + θ. A distance of d positions turns by the product, d·θ.
places_left: c, s = → m, n = sp.symbols("m n", real=True); c, s =
; sp.Matrix([[c, -s], [s, c]]) → turn(m * theta).T * turn(n * theta)
    The letters m and n are still there, and d has no effect. Use the addition formulas: only d = n − m is left, as
    the angle d·θ.
reflection: [[c, -s], [s, c]] → [[c, s], [s, -c]]
    This is a mirror image: its determinant is −1. Both cosines have a plus, and the sine at the top right has the
    minus.
last_negative: [s, c] → [s, -c]
    The last entry is −cos dθ. Both cosines have a plus sign.
both_sines_negative: [s, c] → [-s, c]
    Both sines have a minus sign. Only the one at the top right has it.
exchanged: c, s = → s, c =
    Sines and cosines are exchanged: at distance 0 nothing may turn. The cosines stand on the diagonal.
no_turn: sp.Matrix([[c, -s], [s, c]]) → sp.eye(2)
    This is the identity whatever the distance is. Back by mθ and on by nθ is a turn by (n − m)·θ = d·θ.
sine_without_distance: sp.sin(d * theta) → sp.sin(theta)
    The sines have the angle θ, whatever the distance is. All four entries have the angle d·θ.
one_entry: sp.Matrix([[c, -s], [s, c]]) → c
    This is one expression, cos dθ. The result is a 2×2 matrix with two cosines and two sines.
""",
)

EXERCISE = Exercise(
    id="rope.relative_rotation",
    title="Proof, step 1: two turns become one",
    points=2,
    difficulty=2,
    minutes=10,
    reference=relative_rotation,
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
    mutants=MISTAKES,
)
