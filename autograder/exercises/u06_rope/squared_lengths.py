"""Lengths after a turn, and the notes' matrix that does not keep them."""

import sympy as sp

from autograder.judge.spec import Case, Exercise, Mutant, call, several

from .relative_rotation import turn

a = sp.Symbol("a", real=True)
c, s = sp.cos(a), sp.sin(a)


def rotated_length(x1, x2):
    """Squared length after the turn."""
    return sp.sympify(x1**2 + x2**2)


def notes_length(x1, x2):
    """Squared length after [x1·cos − x1·sin, x2·cos + x2·sin]."""
    return x1**2 * (1 - sp.sin(2 * a)) + x2**2 * (1 + sp.sin(2 * a))


def rotated_long(x1, x2):
    v = turn(a) * sp.Matrix([x1, x2])
    return v.dot(v)


def notes_long(x1, x2):
    return x1**2 + x2**2 + 2 * (x2**2 - x1**2) * sp.sin(a) * sp.cos(a)


def squares_of_entries(first, second):
    """A mistake in the turn itself: the squares of two wrong entries, added."""
    return lambda x1, x2: sp.expand(first(x1, x2) ** 2 + second(x1, x2) ** 2)


def _letters(length, real):
    """A length that does not look at its arguments."""
    return lambda x1, x2: length(*sp.symbols("x1 x2", real=real or None))


def notes_added(x1, x2):
    return (x1 * c - x1 * s + x2 * c + x2 * s) ** 2


def turn_added(x1, x2):
    return (x1 * c - x2 * s + x1 * s + x2 * c) ** 2


def symbol_length(x1, x2):
    return sp.Integer(1) * (x1**2 + x2**2)


def _notes(first, second):
    """The second recipe's length with other factors on the squares of x1 and x2."""
    return lambda x1, x2: x1**2 * first + x2**2 * second


_LETTERS = sp.symbols("x1 x2", real=True)

EXERCISE = Exercise(
    id="rope.squared_lengths",
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
        Case(
            "letters",
            "x1 and x2 may be letters: the formulas hold for every vector",
            lambda g: call(*_LETTERS).call(*_LETTERS, fn="notes_length"),
            weight=0.5,
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
            "turn_minus_twice",
            (squares_of_entries(lambda x1, x2: x1 * c - x2 * s, lambda x1, x2: x1 * s - x2 * c), notes_length),
            "Both entries of the turn got a minus sign, so the mixed terms do not cancel. The second entry is "
            "x₁·sin a + x₂·cos a.",
        ),
        Mutant(
            "angle_not_doubled",
            (rotated_length, lambda x1, x2: x1**2 * (1 - sp.sin(a)) + x2**2 * (1 + sp.sin(a))),
            "The notes' length has sin a where it needs sin 2a: 2·sin a·cos a is the sine of the doubled angle.",
        ),
        Mutant(
            "product_half",
            (rotated_length, lambda x1, x2: x1**2 * (1 - s * c) + x2**2 * (1 + s * c)),
            "The mixed term lost its 2: (cos a − sin a)² is 1 − 2·sin a·cos a, which is 1 − sin 2a.",
        ),
        Mutant(
            "sine_squared",
            (rotated_length, lambda x1, x2: x1**2 * (1 - s**2) + x2**2 * (1 + s**2)),
            "The mixed term became sin² a. It is 2·sin a·cos a = sin 2a: one of its factors is the cosine.",
        ),
        Mutant(
            "halves_exchanged",
            (rotated_length, lambda x1, x2: x1**2 * (1 + sp.sin(2 * a)) + x2**2 * (1 - sp.sin(2 * a))),
            "x₁ and x₂ are exchanged: in this recipe x₁ is the one that gets −x₁·sin.",
        ),
        Mutant(
            "entries_added",
            (turn_added, notes_added),
            "The two entries are added and then squared. A squared length is the sum of the squares: square each "
            "entry first.",
        ),
        Mutant(
            "notes_entries_added",
            (rotated_length, notes_added),
            "In notes_length the two entries are added and then squared. A squared length is the sum of the squares: "
            "square each entry first.",
        ),
        Mutant(
            "functions_exchanged",
            (notes_length, rotated_length),
            "The two formulas stand in each other's function. The true turn keeps the length; the recipe of the "
            "notes has the angle in it.",
        ),
        Mutant(
            "letters_kept",
            (_letters(symbol_length, True), _letters(notes_length, True)),
            "The result has the letters x1 and x2 whatever is handed in. Use the arguments: they may be numbers.",
        ),
        Mutant(
            "notes_letters_kept",
            (rotated_length, _letters(notes_length, True)),
            "notes_length has the letters x1 and x2 in its result, whatever is handed in. Use the arguments: they "
            "may be numbers.",
        ),
        Mutant(
            "own_letters",
            (_letters(symbol_length, False), _letters(notes_length, False)),
            "The function makes letters x1 and x2 of its own and ignores what is handed in. Use the arguments: they "
            "may be numbers.",
        ),
        Mutant(
            "notes_own_letters",
            (rotated_length, _letters(notes_length, False)),
            "notes_length makes letters x1 and x2 of its own and ignores what is handed in. Use the arguments: they "
            "may be numbers.",
        ),
        Mutant(
            "squares_subtracted",
            (lambda x1, x2: sp.Integer(x1**2 - x2**2), notes_length),
            "The second square is subtracted. A squared length is the sum of both squares: x₁² + x₂².",
        ),
        Mutant(
            "both_shrink",
            (rotated_length, _notes(1 - sp.sin(2 * a), 1 - sp.sin(2 * a))),
            "Both squares have 1 − sin 2a. The second entry has a plus, x₂·cos a + x₂·sin a, so x₂² has 1 + sin 2a.",
        ),
        Mutant(
            "both_grow",
            (rotated_length, _notes(1 + sp.sin(2 * a), 1 + sp.sin(2 * a))),
            "Both squares have 1 + sin 2a. The first entry has a minus, x₁·cos a − x₁·sin a, so x₁² has 1 − sin 2a.",
        ),
        Mutant(
            "doubled_twice",
            (rotated_length, _notes(1 - 2 * sp.sin(2 * a), 1 + 2 * sp.sin(2 * a))),
            "The 2 is in twice: 2·sin a·cos a is sin 2a, so x₁² has the factor 1 − sin 2a.",
        ),
        Mutant(
            "doubled_cosine",
            (rotated_length, _notes(1 - sp.cos(2 * a), 1 + sp.cos(2 * a))),
            "The factors have cos 2a. The mixed term is 2·sin a·cos a, which is sin 2a.",
        ),
        Mutant(
            "mixed_term_lost",
            (rotated_length, lambda x1, x2: x1**2 * (c**2 - s**2) + x2**2 * (c**2 + s**2)),
            "Each bracket was squared term by term. (cos a − sin a)² also has the mixed term: it is 1 − 2·sin a·cos a.",
        ),
        Mutant(
            "own_angle",
            (rotated_length, lambda x1, x2: notes_length(x1, x2).subs(a, sp.Symbol("a"))),
            "Your a is another symbol than the notebook's, which is real. SymPy takes them for different ones: use "
            "the a that is there.",
        ),
    ],
)
