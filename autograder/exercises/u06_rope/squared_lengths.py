"""Lengths after a turn, and the notes' matrix that does not keep them."""

import sympy as sp

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several

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


_LETTERS = sp.symbols("x1 x2", real=True)


MISTAKES = changes(
    (rotated_length, notes_length),
    """
both_kept: x1**2 * (1 - sp.sin(2 * a)) + x2**2 * (1 + sp.sin(2 * a)) → sp.sympify(x1**2 + x2**2)
    The second recipe does not keep the length: square its two entries and add them, the sines stay.
not_squared: sp.sympify(x1**2 + x2**2) → sp.sqrt(x1**2 + x2**2)
; x1**2 * → sp.sqrt(x1**2 * ; (1 + sp.sin(2 * a)) → (1 + sp.sin(2 * a)))
    These are lengths. The squared length is asked for: leave out the root.
crossing_terms_added: sp.sympify(x1**2 + x2**2) → x1**2 + x2**2 + 4 * x1 * x2 * sp.sin(a) * sp.cos(a)
    The mixed terms of the rotation were added. One is −2x₁x₂·sin·cos, the other +2x₁x₂·sin·cos: they cancel.
turn_minus_twice: sp.sympify(x1**2 + x2**2) → sp.expand((x1 * c - x2 * s) ** 2 + (x1 * s - x2 * c) ** 2)
    Both entries of the turn got a minus sign, so the mixed terms do not cancel. The second entry is x₁·sin a +
    x₂·cos a.
angle_not_doubled: (1 - sp.sin(2 * a)) → (1 - sp.sin(a)) ; (1 + sp.sin(2 * a)) → (1 + sp.sin(a))
    The notes' length has sin a where it needs sin 2a: 2·sin a·cos a is the sine of the doubled angle.
product_half: (1 - sp.sin(2 * a)) → (1 - s * c) ; (1 + sp.sin(2 * a)) → (1 + s * c)
    The mixed term lost its 2: (cos a − sin a)² is 1 − 2·sin a·cos a, which is 1 − sin 2a.
sine_squared: (1 - sp.sin(2 * a)) → (1 - s**2) ; (1 + sp.sin(2 * a)) → (1 + s**2)
    The mixed term became sin² a. It is 2·sin a·cos a = sin 2a: one of its factors is the cosine.
halves_exchanged: x1**2 * (1 - → x1**2 * (1 + ; x2**2 * (1 + → x2**2 * (1 -
    x₁ and x₂ are exchanged: in this recipe x₁ is the one that gets −x₁·sin.
entries_added: sp.sympify(x1**2 + x2**2) → (x1 * c - x2 * s + x1 * s + x2 * c) ** 2
; x1**2 * (1 - sp.sin(2 * a)) + x2**2 * (1 + sp.sin(2 * a)) → (x1 * c - x1 * s + x2 * c + x2 * s) ** 2
    The two entries are added and then squared. A squared length is the sum of the squares: square each entry first.
notes_entries_added: x1**2 * (1 - sp.sin(2 * a)) → (x1 * c - x1 * s + x2 * c + x2 * s) ** 2
; + x2**2 * (1 + sp.sin(2 * a)) →
    In notes_length the two entries are added and then squared. A squared length is the sum of the squares: square
    each entry first.
functions_exchanged: def rotated → def other ; def notes → def rotated ; def other → def notes
    The two formulas stand in each other's function. The true turn keeps the length; the recipe of the notes has the
    angle in it.
letters_kept: return sp.sympify → x1, x2 = sp.symbols("x1 x2", real=True); return sp.sympify
; return x1**2 → x1, x2 = sp.symbols("x1 x2", real=True); return x1**2
    The result has the letters x1 and x2 whatever is handed in. Use the arguments: they may be numbers.
notes_letters_kept: return x1**2 → x1, x2 = sp.symbols("x1 x2", real=True); return x1**2
    notes_length has the letters x1 and x2 in its result, whatever is handed in. Use the arguments: they may be
    numbers.
own_letters: return sp.sympify → x1, x2 = sp.symbols("x1 x2"); return sp.sympify
; return x1**2 → x1, x2 = sp.symbols("x1 x2"); return x1**2
    The function makes letters x1 and x2 of its own and ignores what is handed in. Use the arguments: they may be
    numbers.
notes_own_letters: return x1**2 → x1, x2 = sp.symbols("x1 x2"); return x1**2
    notes_length makes letters x1 and x2 of its own and ignores what is handed in. Use the arguments: they may be
    numbers.
squares_subtracted: sp.sympify(x1**2 + x2**2) → sp.Integer(x1**2 - x2**2)
    The second square is subtracted. A squared length is the sum of both squares: x₁² + x₂².
both_shrink: 1 + sp.sin → 1 - sp.sin
    Both squares have 1 − sin 2a. The second entry has a plus, x₂·cos a + x₂·sin a, so x₂² has 1 + sin 2a.
both_grow: 1 - sp.sin → 1 + sp.sin
    Both squares have 1 + sin 2a. The first entry has a minus, x₁·cos a − x₁·sin a, so x₁² has 1 − sin 2a.
doubled_twice: 1 - sp.sin → 1 - 2 * sp.sin ; 1 + sp.sin → 1 + 2 * sp.sin
    The 2 is in twice: 2·sin a·cos a is sin 2a, so x₁² has the factor 1 − sin 2a.
doubled_cosine: 1 - sp.sin → 1 - sp.cos ; 1 + sp.sin → 1 + sp.cos
    The factors have cos 2a. The mixed term is 2·sin a·cos a, which is sin 2a.
mixed_term_lost: (1 - sp.sin(2 * a)) → (c**2 - s**2) ; (1 + sp.sin(2 * a)) → (c**2 + s**2)
    Each bracket was squared term by term. (cos a − sin a)² also has the mixed term: it is 1 − 2·sin a·cos a.
own_angle: return x1**2 → a = sp.Symbol("a"); return x1**2
    Your a is another symbol than the notebook's, which is real. SymPy takes them for different ones: use the a that
    is there.
""",
)

EXERCISE = Exercise(
    id="rope.squared_lengths",
    title="Proof, step 3: lengths",
    points=2,
    difficulty=2,
    minutes=10,
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
    mutants=MISTAKES,
    equivalent="""
an expression is judged as a function of a: 25.0 and 25 are the same number
    88a2071ba4 solution, result: return x1 ** 2 + x2 ** 2: result int_to_float
    c4bd0376e2 alternative 2, result: lambda x1, x2: x1 ** 2 + x2 ** 2: result int_to_float
a turn keeps every length; that this is so is the exercise
    668f6c63f7 alternative (rotated_long, notes_long), operand: turn(a) * sp.Matrix([x1, x2]) → sp.Matrix([x1, x2])
""",
)
