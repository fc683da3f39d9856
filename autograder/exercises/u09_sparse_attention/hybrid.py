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
    if every < 1:
        raise ValueError(every)
    full = n_layers // every
    return full * T + (n_layers - full) * min(T, w)


HL, CT = ref.interleaved_layers, ref.interleaved_cache_tokens


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


EXERCISE = Exercise(
    id="sparse.hybrid",
    unit="09-sparse-attention",
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
            "two tokens, four layers, window 3: the text is shorter than the window, 8 stored",
            lambda g: call(2, 4, 3, fn="cached_tokens"),
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
        Case("never", "every 0th layer full: ValueError", lambda g: call(4, 8, every=0), weight=0.5),
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
            "unchecked",
            (
                lambda n_layers, w, every=4: [
                    (None, False) if (n + 1) % every == 0 else (w, True) for n in range(n_layers)
                ],
                CT,
            ),
            "Both are right. Raise a ValueError when every is below 1.",
        ),
    ],
)
