"""Stacks of local and full layers, and what they cache."""

from autograder.judge.spec import Case, Exercise, Mutant, call, several
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


def _zero_refused(n_layers, w, every=4):
    """Looks for 0, not for less."""
    if every == 0:
        raise ValueError(every)
    return [(None, False) if (n + 1) % every == 0 else (w, True) for n in range(n_layers)]


def _stack_of(
    layer=lambda n, w, e: (None, False) if (n + 1) % e == 0 else (w, True),
    tokens=lambda T, full, local, w: full * T + local * min(T, w),
):
    def layers(n_layers, w, every=4):
        return [layer(n, w, every) for n in range(n_layers)]

    def cached(T, n_layers, w, every=4):
        full = n_layers // every
        return tokens(T, full, n_layers - full, w)

    return layers, cached


def _last_full(n_layers, w, every=4):
    return [*HL(n_layers, w, every)[:-1], (None, False)]


def _stored(T, n_layers, full, w):
    return full * T + (n_layers - full) * min(T, w)


EXERCISE = Exercise(
    id="sparse.hybrid",
    title="Three local layers, one full",
    points=3,
    difficulty=3,
    minutes=12,
    signature="hybrid_layers(n_layers, w, every=4)",
    targets=("hybrid_layers", "cached_tokens"),
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
    mutants=[
        Mutant(
            "full_first",
            _stack_of(layer=lambda n, w, e: (None, False) if n % e == 0 else (w, True)),
            "The full layer comes first in each group. It is the last: three local layers, then the full one.",
        ),
        Mutant(
            "rope_everywhere",
            _stack_of(layer=lambda n, w, e: (None, True) if (n + 1) % e == 0 else (w, True)),
            "The full layers are rotated, too. In this design they have no positions (NoPE): (None, False).",
        ),
        Mutant(
            "positions_swapped",
            _stack_of(layer=lambda n, w, e: (None, True) if (n + 1) % e == 0 else (w, False)),
            "RoPE is in the full layers here. It belongs to the local ones; the full ones have no positions.",
        ),
        Mutant(
            "swapped",
            _stack_of(layer=lambda n, w, e: (w, True) if (n + 1) % e == 0 else (None, False)),
            "Most layers are full here. It is the other way round: one full layer in each group, the others local.",
        ),
        Mutant(
            "whole_groups",
            (
                lambda n_layers, w, every=4: (
                    ([(w, True)] * (every - 1) + [(None, False)]) * (n_layers // max(every, 1))
                ),
                CT,
            ),
            "Only whole groups are listed. The number of layers need not be a multiple of every: the last group may "
            "be cut short.",
        ),
        Mutant(
            "no_cap",
            _stack_of(tokens=lambda T, full, local, w: full * T + local * w),
            "A local layer is charged w tokens even when the text is shorter. It stores min(T, w).",
        ),
        Mutant(
            "all_full",
            _stack_of(tokens=lambda T, full, local, w: (full + local) * T),
            "Every layer is charged the whole text. A local layer never needs more than its last w tokens.",
        ),
        Mutant(
            "full_forgotten",
            _stack_of(tokens=lambda T, full, local, w: (full + local) * min(T, w)),
            "The full layers are charged a window only. They store all T tokens.",
        ),
        Mutant(
            "one_layer",
            _stack_of(tokens=lambda T, full, local, w: T + min(T, w)),
            "One full and one local layer are counted. Add up all n_layers of them.",
        ),
        Mutant(
            "every_not_passed_on",
            (HL, lambda T, n_layers, w, every=4: CT(T, n_layers, w)),
            "cached_tokens plans with every fourth layer full, whatever `every` says. Hand it on: "
            "hybrid_layers(n_layers, w, every).",
        ),
        Mutant(
            "share_of_layers",
            (HL, lambda T, n_layers, w, every=4: n_layers / every * T + (n_layers - n_layers / every) * min(T, w)),
            "The number of full layers is a fraction here: n_layers / every. Count whole layers, n_layers // every, or "
            "go through the plan.",
        ),
        Mutant(
            "negative_unchecked",
            (_zero_refused, CT),
            "Both are right, and `every` = 0 is refused. Raise a ValueError below 0 as well: every < 1.",
        ),
        Mutant(
            "unchecked",
            (
                lambda n_layers, w, every=4: [
                    (None, False) if (n + 1) % every == 0 else (w, True) for n in range(n_layers)
                ],
                CT,
            ),
            "Both are right. Raise a ValueError when every is below 1.",
        ),
        Mutant(
            "last_layer_full",
            (_last_full, CT),
            "The last layer is full even where its group is not complete. Only every `every`-th layer is: the last "
            "group may be cut short before its full one.",
        ),
        Mutant(
            "every_between",
            _stack_of(layer=lambda n, w, e: (None, False) if (n + 1) % (e + 1) == 0 else (w, True)),
            "There are `every` local layers before each full one. The full layer counts as well: a group has `every` "
            "layers in all, every − 1 of them local.",
        ),
        Mutant(
            "every_ignored",
            _stack_of(layer=lambda n, w, e: (None, False) if (n + 1) % 4 == 0 else (w, True)),
            "Every fourth layer is full, whatever `every` says. Use the argument.",
        ),
        Mutant(
            "window_kept",
            _stack_of(layer=lambda n, w, e: (w, (n + 1) % e != 0)),
            "The full layers have a window of w as well. They see the whole text: their window is None.",
        ),
        Mutant(
            "no_rope",
            _stack_of(layer=lambda n, w, e: (None, False) if (n + 1) % e == 0 else (w, False)),
            "No layer is rotated. The local ones have RoPE: (w, True).",
        ),
        Mutant(
            "pair_turned_round",
            _stack_of(layer=lambda n, w, e: (False, None) if (n + 1) % e == 0 else (True, w)),
            "The two parts of each pair are in the other order. First the window, then whether the layer rotates.",
        ),
        Mutant(
            "one_layer_short",
            (lambda n_layers, w, every=4: HL(n_layers - 1, w, every), CT),
            "The plan lacks its last layer. There are n_layers of them: range(1, n_layers) stops one early, "
            "range(1, n_layers + 1) does not.",
        ),
        Mutant(
            "one_layer_long",
            (lambda n_layers, w, every=4: HL(n_layers + 1, w, every), CT),
            "The plan has one layer too many. There are n_layers of them.",
        ),
        Mutant(
            "groups_completed",
            (lambda n_layers, w, every=4: HL(-(-n_layers // every) * every, w, every), CT),
            "The last group is completed, so the plan has more than n_layers layers. Cut the list off: [:n_layers].",
        ),
        Mutant(
            "own_word_not_cached",
            _stack_of(tokens=lambda T, full, local, w: full * T + local * min(T, w - 1)),
            "A local layer is charged w − 1 tokens. The window counts the own word, and that one is stored, too: "
            "min(T, w).",
        ),
        Mutant(
            "counts_exchanged",
            _stack_of(tokens=lambda T, full, local, w: full * min(T, w) + local * T),
            "The counts of full and local layers are exchanged in the cache: the full ones store T tokens, the local "
            "ones at most w.",
        ),
        Mutant(
            "full_rounded_up",
            (HL, lambda T, n_layers, w, every=4: _stored(T, n_layers, -(-n_layers // every), w)),
            "An incomplete group is counted as if it had its full layer. That one comes last: there are "
            "n_layers // every full layers, rounded down.",
        ),
        Mutant(
            "full_left_out",
            _stack_of(tokens=lambda T, full, local, w: local * min(T, w)),
            "The full layers add nothing to the cache. Each of them stores all T tokens.",
        ),
        Mutant(
            "local_left_out",
            _stack_of(tokens=lambda T, full, local, w: full * T),
            "Only the full layers are counted. Each local layer adds its last min(T, w) tokens.",
        ),
        Mutant(
            "larger_of_both",
            _stack_of(tokens=lambda T, full, local, w: full * T + local * max(T, w)),
            "A local layer is charged the larger of T and w. It stores at most its last w tokens: min(T, w).",
        ),
        Mutant(
            "all_layers_local",
            _stack_of(tokens=lambda T, full, local, w: full * T + (full + local) * min(T, w)),
            "The full layers are counted twice: once with T, once with the windows. Only n_layers − n_layers // every "
            "layers are local.",
        ),
    ],
)
