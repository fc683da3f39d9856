"""Stacks of local and full layers, and what they cache."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several
from autograder.reference import sparse as ref


def layers_by_pattern(n_layers, w, every=4):
    """One group repeated, then cut."""
    if every < 1:
        raise ValueError("every must be at least 1")
    group = [(w, True)] * (every - 1) + [(None, False)]
    return (group * n_layers)[:n_layers]


def tokens_by_counting(T, n_layers, w, every=4):
    """Full layers and the others."""
    full = n_layers // every
    return full * T + (n_layers - full) * min(T, w)


HL, CT = ref.interleaved_layers, ref.interleaved_cache_tokens


MISTAKES = changes(
    (ref.interleaved_layers, tokens_by_counting),
    """
full_first: _at_least_one(every=every) → ; (n + 1) % every → n % every
    The full layer comes first in each group. It is the last: three local layers, then the full one.
rope_everywhere: _at_least_one(every=every) → ; (None, False) → (None, True)
    The full layers are rotated, too. In this design they have no positions (NoPE): (None, False).
positions_swapped: _at_least_one(every=every) → ; (None, False) → (None, True) ; (w, True) → (w, False)
    RoPE is in the full layers here. It belongs to the local ones; the full ones have no positions.
swapped: _at_least_one(every=every) → ; == 0 → != 0
    Most layers are full here. It is the other way round: one full layer in each group, the others local.
whole_groups: _at_least_one(every=every) → group = [(w, True)] * (every - 1) + [(None, False)]
; [(None, False) if (n + 1) % every == 0 else (w, True) for n in range(n_layers)] → group * (n_layers // max(every, 1))
    Only whole groups are listed. The number of layers need not be a multiple of every: the last group may be cut
    short.
no_cap: _at_least_one(every=every) → ; min(T, w) → w
    A local layer is charged w tokens even when the text is shorter. It stores min(T, w).
all_full: _at_least_one(every=every) → ; full * T + (n_layers - full) * min(T, w) → n_layers * T
    Every layer is charged the whole text. A local layer never needs more than its last w tokens.
full_forgotten: _at_least_one(every=every) → ; full * T + (n_layers - full) * min(T, w) → n_layers * min(T, w)
    The full layers are charged a window only. They store all T tokens.
one_layer: _at_least_one(every=every) → ; full * T + (n_layers - full) * min(T, w) → T + min(T, w)
    One full and one local layer are counted. Add up all n_layers of them.
every_not_passed_on: n_layers // every → n_layers // 4
    cached_tokens plans with every fourth layer full, whatever `every` says. Hand it on: hybrid_layers(n_layers, w,
    every).
share_of_layers: n_layers // every → n_layers / every
    The number of full layers is a fraction here: n_layers / every. Count whole layers, n_layers // every, or go
    through the plan.
negative_unchecked: every=every → every=abs(every)
    Both are right, and `every` = 0 is refused. Raise a ValueError below 0 as well: every < 1.
unchecked: _at_least_one(every=every) →
    Both are right. Raise a ValueError when every is below 1.
last_layer_full: in range(n_layers)] → in range(n_layers - 1)] + [(None, False)]
    The last layer is full even where its group is not complete. Only every `every`-th layer is: the last group may
    be cut short before its full one.
every_between: _at_least_one(every=every) → ; % every → % (every + 1)
    There are `every` local layers before each full one. The full layer counts as well: a group has `every` layers
    in all, every − 1 of them local.
every_ignored: _at_least_one(every=every) → ; % every → % 4
    Every fourth layer is full, whatever `every` says. Use the argument.
window_kept: _at_least_one(every=every) → ; (None, False) → (w, False)
    The full layers have a window of w as well. They see the whole text: their window is None.
no_rope: _at_least_one(every=every) → ; (w, True) → (w, False)
    No layer is rotated. The local ones have RoPE: (w, True).
pair_turned_round: _at_least_one(every=every) → ; (None, False) → (False, None) ; (w, True) → (True, w)
    The two parts of each pair are in the other order. First the window, then whether the layer rotates.
one_layer_short: range(n_layers) → range(n_layers - 1)
    The plan lacks its last layer. There are n_layers of them: range(1, n_layers) stops one early, range(1, n_layers
    + 1) does not.
one_layer_long: range(n_layers) → range(n_layers + 1)
    The plan has one layer too many. There are n_layers of them.
groups_completed: _at_least_one → whole = -(-n_layers // every) * every; _at_least_one ; range(n_layers) → range(whole)
    The last group is completed, so the plan has more than n_layers layers. Cut the list off: [:n_layers].
own_word_not_cached: _at_least_one(every=every) → ; min(T, w) → min(T, w - 1)
    A local layer is charged w − 1 tokens. The window counts the own token, and that one is stored, too: min(T, w).
counts_exchanged: _at_least_one(every=every) →
; full * T + (n_layers - full) * min(T, w) → full * min(T, w) + (n_layers - full) * T
    The counts of full and local layers are exchanged in the cache: the full ones store T tokens, the local ones at
    most w.
full_rounded_up: n_layers // every → -(-n_layers // every)
    An incomplete group is counted as if it had its full layer. That one comes last: there are n_layers // every
    full layers, rounded down.
full_left_out: _at_least_one(every=every) → ; full * T + →
    The full layers add nothing to the cache. Each of them stores all T tokens.
local_left_out: _at_least_one(every=every) → ; + (n_layers - full) * min(T, w) →
    Only the full layers are counted. Each local layer adds its last min(T, w) tokens.
larger_of_both: _at_least_one(every=every) → ; min(T, w) → max(T, w)
    A local layer is charged the larger of T and w. It stores at most its last w tokens: min(T, w).
all_layers_local: _at_least_one(every=every) → ; (n_layers - full) * min → n_layers * min
    The full layers are counted twice: once with T, once with the windows. Only n_layers − n_layers // every layers
    are local.
""",
)


EXERCISE = Exercise(
    id="sparse.hybrid",
    title="Three local layers, one full",
    points=3,
    difficulty=3,
    minutes=12,
    reference=(HL, CT),
    alternatives=[(layers_by_pattern, tokens_by_counting)],
    cases=[
        Case(
            "five layers",
            "five layers, window 8: three local ones, a full one, a local one again",
            lambda g: call(5, 8),
            weight=2,
        ),
        Case("every second", "six layers, every second one full, as in Gemma 2", lambda g: call(6, 16, every=2)),
        Case(
            "random plan",
            "three times random sizes",
            lambda g: several(3, lambda p: p.call(g.integer(9, 14), g.integer(20, 90), every=3)),
            weight=2,
        ),
        Case(
            "tokens by hand",
            "ten tokens, four layers, window 3: 3 + 3 + 3 + 10 = 19 stored",
            lambda g: call(10, 4, 3, fn="cached_tokens"),
            weight=2,
        ),
        Case(
            "short text",
            "two tokens, four layers, window 3: the text is shorter than the window, 8 stored; then a longer one",
            lambda g: call(2, 4, 3, fn="cached_tokens").call(
                g.integer(200, 300), g.integer(5, 12), 400, fn="cached_tokens"
            ),
        ),
        Case(
            "long text",
            "131,072 tokens, 30 layers, windows of 4,096: 30 layers hold 7 full ones",
            lambda g: call(131_072, 30, 4096, fn="cached_tokens"),
        ),
        Case(
            "random tokens",
            "twice random sizes",
            lambda g: several(
                2,
                lambda p: p.call(g.integer(500, 900), g.integer(9, 14), g.integer(20, 90), every=3, fn="cached_tokens"),
            ),
            weight=2,
        ),
        Case(
            "all full",
            "every = 1: all layers are full, and store the whole text",
            lambda g: several(2, lambda p: p.call(g.integer(3, 6), g.integer(20, 90), every=1)).call(
                g.integer(100, 900), g.integer(3, 9), 16, every=1, fn="cached_tokens"
            ),
        ),
        Case("never", "every 0th layer full: ValueError", lambda g: call(4, 8, every=0), weight=0.5),
        Case("negative", "a negative `every`: ValueError", lambda g: call(4, 8, every=-g.integer(1, 5)), weight=0.5),
    ],
    mutants=MISTAKES,
)
