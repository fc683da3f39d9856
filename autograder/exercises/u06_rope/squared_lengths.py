"""Lengths after a turn, and the notes' matrix that does not keep them."""

import sympy as sp

from autograder.judge.spec import Case, Exercise, Mutant, Program

from .relative_rotation import turn

x1, x2, a = sp.symbols("x1 x2 a", real=True)


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


EXERCISE = Exercise(
    id="rope.squared_lengths",
    unit="06-rope",
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
