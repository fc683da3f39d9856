"""Lengths after a turn, and the notes' matrix that does not keep them."""

import sympy as sp

from autograder.judge.spec import Case, Exercise, Mutant, call, several

from .relative_rotation import turn

a = sp.Symbol("a", real=True)


def rotated_length(x1, x2):
    """Squared length after the turn."""
    return sp.Integer(x1**2 + x2**2)


def notes_length(x1, x2):
    """Squared length after [x1·cos − x1·sin, x2·cos + x2·sin]."""
    return x1**2 * (1 - sp.sin(2 * a)) + x2**2 * (1 + sp.sin(2 * a))


def rotated_long(x1, x2):
    v = turn(a) * sp.Matrix([x1, x2])
    return v[0] ** 2 + v[1] ** 2


def notes_long(x1, x2):
    return (x1 * sp.cos(a) - x1 * sp.sin(a)) ** 2 + (x2 * sp.cos(a) + x2 * sp.sin(a)) ** 2


EXERCISE = Exercise(
    id="rope.squared_lengths",
    unit="06-rope",
    title="Proof, step 3: lengths",
    points=2,
    difficulty=2,
    minutes=10,
    signature="rotated_length(x1, x2)",
    targets=("rotated_length", "notes_length"),
    extension=True,
    reference=(rotated_length, notes_length),
    alternatives=[
        (rotated_long, notes_long),
        (lambda x1, x2: x1**2 + x2**2, lambda x1, x2: x1**2 + x2**2 + (x2**2 - x1**2) * sp.sin(2 * a)),
    ],
    cases=[
        Case(
            "rotation by hand",
            "after a turn (3, 4) has the squared length 9 + 16 = 25, for every angle",
            lambda g: call(3, 4),
            weight=0.5,
        ),
        Case(
            "rotation",
            "after a turn the squared length is x₁² + x₂²: two vectors",
            lambda g: several(2, lambda p: p.call(g.integer(2, 2000), g.integer(2, 2000))),
        ),
        Case(
            "the notes by hand",
            "the other recipe makes 1 − sin 2a of (1, 0): it depends on the angle",
            lambda g: call(1, 0, fn="notes_length"),
            weight=0.5,
        ),
        Case(
            "the notes",
            "the other recipe's squared length: two vectors",
            lambda g: several(2, lambda p: p.call(g.integer(2, 2000), g.integer(2, 2000), fn="notes_length")),
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
            (lambda x1, x2: sp.sqrt(rotated_length(x1, x2)), lambda x1, x2: sp.sqrt(notes_length(x1, x2))),
            "These are lengths. The squared length is asked for: leave out the root.",
        ),
        Mutant(
            "crossing_terms_added",
            (lambda x1, x2: x1**2 + x2**2 + 4 * x1 * x2 * sp.sin(a) * sp.cos(a), notes_length),
            "The mixed terms of the rotation were added. One is −2x₁x₂·sin·cos, the other +2x₁x₂·sin·cos: they cancel.",
        ),
        Mutant(
            "halves_exchanged",
            (rotated_length, lambda x1, x2: x1**2 * (1 + sp.sin(2 * a)) + x2**2 * (1 - sp.sin(2 * a))),
            "x₁ and x₂ are exchanged: in this recipe x₁ is the one that gets −x₁·sin.",
        ),
    ],
)
