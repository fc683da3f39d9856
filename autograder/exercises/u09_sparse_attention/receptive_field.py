"""How far stacked windows reach, and how many layers a distance needs."""

import math

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import sparse as ref


def causal_by_adding(w, n_layers):
    """w − 1 more with every layer."""
    return 1 + sum(w - 1 for _ in range(n_layers))


def symmetric_by_adding(r, n_layers):
    """2r more with every layer."""
    reached = 1
    for _ in range(n_layers):
        reached += 2 * r
    return reached


def layers_by_trying(w, distance):
    """Adds layers until the distance is covered."""
    if w == 1 and distance > 0:
        raise ValueError("a window of one key never moves")
    n = 0
    while n * (w - 1) < distance:
        n += 1
    return n


CR, SR, LN = ref.causal_reach, ref.symmetric_reach, ref.layers_needed


# Like most first attempts these do not mind a window of 1: Python then divides by zero.
def _needed(w, distance):
    return math.ceil(distance / (w - 1)) if distance else 0


def _fields(causal=CR, symmetric=SR, needed=_needed):
    return causal, symmetric, needed


EXERCISE = Exercise(
    id="sparse.receptive_field",
    unit="09-sparse-attention",
    title="Receptive field",
    points=2,
    difficulty=2,
    minutes=10,
    signature="causal_reach(w, n_layers)",
    targets=("causal_reach", "symmetric_reach", "layers_needed"),
    reference=(CR, SR, LN),
    alternatives=[(causal_by_adding, symmetric_by_adding, layers_by_trying)],
    cases=[
        Case("by hand", "windows of 3 keys, 2 layers: two more words with each layer, 5 in all", lambda g: call(3, 2)),
        Case("own word", "a window of 1 stays at 1 word, whatever the depth", lambda g: call(1, 7), weight=0),
        Case("Mistral 7B", "windows of 4,096 keys, 32 layers", lambda g: call(4096, 32)),
        Case(
            "random",
            "four random windows and depths",
            lambda g: several(4, lambda p: p.call(g.integer(5, 60), g.integer(3, 20))),
        ),
        Case(
            "both sides",
            "radius 1, 3 layers: 3 words to each side and the own one, 7 in all",
            lambda g: call(1, 3, fn="symmetric_reach"),
        ),
        Case(
            "random radius",
            "four random radii and depths",
            lambda g: several(4, lambda p: p.call(g.integer(4, 30), g.integer(3, 20), fn="symmetric_reach")),
        ),
        Case(
            "seven back",
            "windows of 4 keys, 7 words back: 2 layers reach 6 back, so 3 are needed",
            lambda g: call(4, 7, fn="layers_needed"),
        ),
        Case(
            "just enough",
            "windows of 4 keys, 6 words back: 2 layers suffice exactly",
            lambda g: call(4, 6, fn="layers_needed"),
        ),
        Case(
            "random distance",
            "four random windows and distances",
            lambda g: several(4, lambda p: p.call(g.integer(6, 40), g.integer(100, 900), fn="layers_needed")),
        ),
        Case("itself", "no layer is needed to depend on itself", lambda g: call(4, 0, fn="layers_needed"), weight=0),
        Case(
            "never",
            "windows of 1 key never reach the word before: ValueError",
            lambda g: call(1, 1, fn="layers_needed"),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "windows_in_a_row",
            _fields(causal=lambda w, n_layers: n_layers * w),
            "The causal field is counted as L windows in a row. Neighboring windows share a word: each layer adds "
            "w − 1, and one is there from the start.",
        ),
        Mutant(
            "self_added",
            _fields(causal=lambda w, n_layers: 1 + n_layers * w),
            "The causal field counts the own word twice. The window of w already holds it, so a layer adds w − 1.",
        ),
        Mutant(
            "only_distance",
            _fields(causal=lambda w, n_layers: n_layers * (w - 1)),
            "The causal field lacks the own word: L(w − 1) is how far back it reaches. Count the word itself, too.",
        ),
        Mutant(
            "power",
            _fields(causal=lambda w, n_layers: w**n_layers),
            "The causal field grows by a factor here. The windows overlap, so each layer *adds* the same number of "
            "words.",
        ),
        Mutant(
            "one_side",
            _fields(symmetric=lambda r, n: 1 + n * r),
            "The symmetric field counts one side only. It grows by r on both sides: 2r with each layer.",
        ),
        Mutant(
            "symmetric_overlap",
            _fields(symmetric=lambda r, n: n * (2 * r + 1)),
            "The symmetric field is counted as L windows in a row. They overlap in the middle word: 2r more with "
            "each layer, and 1.",
        ),
        Mutant(
            "rounded_down",
            _fields(needed=lambda w, distance: distance // (w - 1)),
            "layers_needed rounds down, so the last step is missing. Round up.",
        ),
        Mutant(
            "one_too_many",
            _fields(needed=lambda w, distance: distance // (w - 1) + 1),
            "layers_needed gives one layer too many where the distance is a multiple of w − 1. Round up only if "
            "something is left.",
        ),
        Mutant(
            "divides_by_w",
            _fields(needed=lambda w, distance: -(-distance // w)),
            "layers_needed takes w steps back per layer. A window of w reaches w − 1 back, since it holds the own key.",
        ),
        Mutant(
            "unchecked",
            _fields(),
            "The numbers are right. Raise a ValueError for a window of 1 and a distance above 0: no depth is enough.",
        ),
    ],
)
