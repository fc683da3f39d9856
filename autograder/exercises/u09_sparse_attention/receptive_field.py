"""How far stacked windows reach, and how many layers a distance needs."""

import math

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
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


def layers_by_ceil(w, distance):
    """Rounds up."""
    if w == 1 and distance:
        raise ValueError("a window of one key never moves")
    return math.ceil(distance / (w - 1)) if distance else 0


CR, SR, LN = ref.causal_reach, ref.symmetric_reach, ref.layers_needed


def _exact(g: Source) -> Program:
    """Distances that are multiples of what a layer brings."""
    program = call(4, 6, fn="layers_needed")
    for _ in range(3):
        w = g.integer(5, 30)
        program.call(w, g.integer(3, 20) * (w - 1), fn="layers_needed")
    return program


# Like most first attempts these do not mind a window of 1: Python then divides by zero.
MISTAKES = changes(
    (ref.causal_reach, ref.symmetric_reach, layers_by_ceil),
    """
windows_in_a_row: w == 1 and distance → False ; 1 + n_layers * (w - 1) → n_layers * w
    The causal field is counted as L windows in a row. Neighboring windows share a token: each layer adds w − 1, and one
    is there from the start.
self_added: w == 1 and distance → False ; n_layers * (w - 1) → n_layers * w
    The causal field counts the own token twice. The window of w already holds it, so a layer adds w − 1.
only_distance: w == 1 and distance → False ; 1 + n_layers * (w → n_layers * (w
    The causal field lacks the own token: L(w − 1) is how far back it reaches. Count the token itself, too.
power: w == 1 and distance → False ; 1 + n_layers * (w - 1) → w**n_layers
    The causal field grows by a factor here. The windows overlap, so each layer *adds* the same number of tokens.
one_side: w == 1 and distance → False ; 2 * n_layers → n_layers
    The symmetric field counts one side only. It grows by r on both sides: 2r with each layer.
symmetric_overlap: w == 1 and distance → False ; 1 + 2 * n_layers * r → n_layers * (2 * r + 1)
    The symmetric field is counted as L windows in a row. They overlap in the middle token: each layer adds 2r, and 1 is
    there from the start.
itself_refused: w == 1 and distance → w == 1
    A window of 1 is refused even for a distance of 0. A token always depends on itself: that takes 0 layers.
unchecked_whole: w == 1 and distance → False ; return math → full, rest = divmod(distance, w - 1); return math
; math.ceil(distance / (w - 1)) if distance else 0 → full + bool(rest)
    The numbers are right. A window of 1 ends in a division by zero: raise a ValueError there for a distance above
    0, and return 0 for itself.
unchecked: w == 1 and distance → False
    The numbers are right. Raise a ValueError for a window of 1 and a distance above 0: no depth is enough.
layer_left_out: w == 1 and distance → False ; n_layers * (w - 1) → (n_layers - 1) * (w - 1)
    The causal field lacks one layer. The first layer already adds w − 1 tokens to the one that is there before any
    layer: 1 + L(w − 1).
layer_too_many: w == 1 and distance → False ; 1 + n_layers * (w → w + n_layers * (w
    The causal field counts one layer too many. Start from 1 token, not from w: that is the field of the first layer.
shared_once: w == 1 and distance → False ; 1 + n_layers * (w - 1) → n_layers * w - 1
    The causal field takes off one shared token in all. Every two neighboring windows share one: L·w − (L − 1).
causal_both_sides: w == 1 and distance → False ; n_layers * (w → 2 * n_layers * (w
    The causal field grows to both sides here. It only reaches back: each layer adds w − 1 tokens, not twice that.
symmetric_self_missing: w == 1 and distance → False ; 1 + 2 * n_layers → 2 * n_layers
    The symmetric field lacks the token itself. Add 1 to the tokens on both sides.
symmetric_as_causal: w == 1 and distance → False ; 2 * n_layers * r → n_layers * (r - 1)
    The symmetric field follows the causal formula, with r as the window. r is the number of keys to *each* side,
    without the own one: 2r more with each layer.
window_of_2r: w == 1 and distance → False ; 2 * n_layers * r → n_layers * (2 * r - 1)
    The symmetric field grows by 2r − 1 tokens with each layer. The window holds 2r + 1 keys, its own among them, so a
    layer adds 2r.
r_holds_own: w == 1 and distance → False ; n_layers * r → n_layers * (r - 1)
    The symmetric field takes off 1 from r. Unlike w, r does not count the own key: a layer adds r tokens to each side.
symmetric_power: w == 1 and distance → False ; 1 + 2 * n_layers * r → (2 * r + 1) ** n_layers
    The symmetric field grows by a factor here. The windows overlap, so each layer *adds* 2r tokens.
symmetric_layer_left_out: w == 1 and distance → False ; 2 * n_layers * r → 2 * (n_layers - 1) * r
    The symmetric field lacks one layer. The first one already adds 2r tokens to the one that is there before any layer.
rounded_down: math.ceil(distance / (w - 1)) → distance // (w - 1)
    layers_needed rounds down, so the last step is missing. Round up.
rounded_down_unguarded: w == 1 and distance → False
; math.ceil(distance / (w - 1)) if distance else 0 → distance // (w - 1)
    layers_needed rounds down, so the last step is missing. Round up. A window of 1 divides by zero: that comes
    next.
one_too_many: math.ceil(distance / (w - 1)) → distance // (w - 1) + 1
    layers_needed gives one layer too many where the distance is a multiple of w − 1. Round up only if something is
    left.
one_too_many_unguarded: w == 1 and distance → False
; math.ceil(distance / (w - 1)) if distance else 0 → distance // (w - 1) + 1
    layers_needed gives one layer too many where the distance is a multiple of w − 1. Round up only if something is
    left. A window of 1 divides by zero: that comes next.
divides_by_w: w == 1 and distance → False ; math.ceil(distance / (w - 1)) if distance else 0 → -(-distance // w)
    layers_needed takes w steps back per layer. A window of w reaches w − 1 back, since it holds the own key.
rounded_to_nearest: math.ceil → round
    layers_needed rounds to the nearest number. Whatever is left over needs one more layer: round up.
rounded_to_nearest_unguarded: w == 1 and distance → False
; math.ceil(distance / (w - 1)) if distance else 0 → round(distance / (w - 1))
    layers_needed rounds to the nearest number. Whatever is left over needs one more layer: round up. A window of 1
    divides by zero: that comes next.
distance_short: math.ceil(distance / (w - 1)) → -(-(distance - 1) // (w - 1))
    layers_needed stops one token short: it counts the own token as a step. `distance` tokens back must be covered by
    n(w − 1) >= distance.
not_whole: math.ceil(distance / (w - 1)) → distance / (w - 1)
    layers_needed returns a fraction of a layer. Round it up to a whole number, as an int.
not_whole_unguarded: w == 1 and distance → False ; math.ceil(distance / (w - 1)) if distance else 0 → distance / (w - 1)
    layers_needed returns a fraction of a layer. Round it up to a whole number, as an int. A window of 1 divides by
    zero: that comes next.
at_least_one_layer: math.ceil(distance / (w - 1)) if distance else 0 → max(1, math.ceil(distance / max(w - 1, 1)))
    layers_needed gives at least one layer. A token depends on itself before any layer: return 0 for a distance of 0.
zero_divided: w == 1 and distance → False ; math.ceil(distance / (w - 1)) → -(-distance // (w - 1))
    The numbers are right. A window of 1 ends in a division by zero: raise a ValueError there, since no depth is
    enough.
""",
)


EXERCISE = Exercise(
    id="sparse.receptive_field",
    title="Receptive field",
    points=2,
    difficulty=2,
    minutes=10,
    reference=(CR, SR, LN),
    alternatives=[(causal_by_adding, symmetric_by_adding, layers_by_trying)],
    cases=[
        Case("by hand", "windows of 3 keys, 2 layers: two more tokens with each layer, 5 in all", lambda g: call(3, 2)),
        Case("own word", "a window of 1 stays at 1 token, whatever the depth", lambda g: call(1, 7), weight=0),
        Case("Mistral 7B", "windows of 4,096 keys, 32 layers", lambda g: call(4096, 32)),
        Case(
            "random",
            "four random windows and depths",
            lambda g: several(4, lambda p: p.call(g.integer(5, 60), g.integer(3, 20))),
        ),
        Case(
            "both sides",
            "radius 1, 3 layers: 3 tokens to each side and the own one, 7 in all",
            lambda g: call(1, 3, fn="symmetric_reach"),
        ),
        Case(
            "random radius",
            "four random radii and depths",
            lambda g: several(4, lambda p: p.call(g.integer(4, 30), g.integer(3, 20), fn="symmetric_reach")),
        ),
        Case(
            "seven back",
            "windows of 4 keys, 7 tokens back: 2 layers reach 6 back, so 3 are needed",
            lambda g: call(4, 7, fn="layers_needed"),
        ),
        Case(
            "just enough",
            "windows of 4 keys, 6 tokens back: 2 layers suffice exactly; then other exact multiples",
            _exact,
        ),
        Case(
            "random distance",
            "four random windows and distances",
            lambda g: several(4, lambda p: p.call(g.integer(6, 40), g.integer(100, 900), fn="layers_needed")),
        ),
        Case(
            "itself",
            "no layer is needed to depend on itself, whatever the window, not even one of 1 key",
            lambda g: several(
                3, lambda p: p.call((1, 4, 3)[len(p.steps)], (0, 0, 5)[len(p.steps)], fn="layers_needed")
            ),
            weight=0.5,
        ),
        Case(
            "never",
            "windows of 1 key never reach the token before: ValueError",
            lambda g: call(1, 1, fn="layers_needed"),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
every step of the loop adds the same number; the counter is not used
    0f1f6c9de9 alternative (causal_by_adding, symmetric_by_adding, layers_by_trying), reversed: range(n_layers) revers…
    51808a3310 alternative (causal_by_adding, symmetric_by_adding, layers_by_trying), reversed: range(n_layers) revers…
""",
)
