"""How many pairs a pattern scores."""

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import sparse as ref


def causal_pairs_by_rows(T, w):
    """Row by row."""
    return sum(min(w, i + 1) for i in range(T))


def symmetric_pairs_by_rows(T, w):
    """Row by row, both sides cut at the ends."""
    r = w // 2
    return sum(min(i, r) + 1 + min(T - 1 - i, r) for i in range(T))


def block_pairs_by_blocks(T, block):
    """Block by block."""
    return sum(min(block, T - start) ** 2 for start in range(0, T, block))


CP, SP, BP = ref.local_causal_pairs, ref.local_symmetric_pairs, ref.block_pairs


def _pairs(causal=CP, symmetric=SP, block=BP):
    return causal, symmetric, block


EXERCISE = Exercise(
    id="sparse.pairs",
    unit="09-sparse-attention",
    title="Pairs to be scored",
    points=2,
    difficulty=3,
    minutes=12,
    signature="local_causal_pairs(T, w)",
    targets=("local_causal_pairs", "local_symmetric_pairs", "block_pairs"),
    reference=(CP, SP, BP),
    alternatives=[(causal_pairs_by_rows, symmetric_pairs_by_rows, block_pairs_by_blocks)],
    cases=[
        Case("by hand", "four words, a causal window of 2: 1 + 2 + 2 + 2 = 7 pairs", lambda g: call(4, 2)),
        Case("long", "4,096 words, a causal window of 128", lambda g: call(4096, 128)),
        Case("random", "random sizes", lambda g: call(g.integer(200, 900), g.integer(20, 90))),
        Case("wide", "a window of 9 on 5 words is the causal triangle: 15 pairs", lambda g: call(5, 9)),
        Case(
            "both sides",
            "four words, a symmetric window of 3: 2 + 3 + 3 + 2 = 10 pairs",
            lambda g: call(4, 3, fn="local_symmetric_pairs"),
        ),
        Case(
            "random both sides",
            "random sizes",
            lambda g: call(g.integer(200, 900), 2 * g.integer(10, 40) + 1, fn="local_symmetric_pairs"),
        ),
        Case(
            "wide both sides",
            "a symmetric window of 11 on 4 words: all 16 pairs",
            lambda g: call(4, 11, fn="local_symmetric_pairs"),
        ),
        Case("blocks", "five words in blocks of 2: 4 + 4 + 1 = 9 pairs", lambda g: call(5, 2, fn="block_pairs")),
        Case("even blocks", "six words in blocks of 3: 9 + 9 = 18 pairs", lambda g: call(6, 3, fn="block_pairs")),
        Case(
            "random blocks",
            "four times random sizes, with a shorter block at the end",
            lambda g: several(4, lambda p: p.call(16 * g.integer(9, 30) + g.integer(1, 15), 16, fn="block_pairs")),
        ),
    ],
    mutants=[
        Mutant(
            "full_windows",
            _pairs(causal=lambda T, w: T * w),
            "Every query is given w keys in the causal count. The first w − 1 queries have fewer: take off w(w − 1)/2.",
        ),
        Mutant(
            "edge_twice",
            _pairs(causal=lambda T, w: T * min(w, T) - min(w, T) * (min(w, T) - 1)),
            "The causal count takes off both ends. Only the first queries lack keys: w(w − 1)/2, half of that.",
        ),
        Mutant(
            "edge_off_by_one",
            _pairs(causal=lambda T, w: T * min(w, T) - min(w, T) * (min(w, T) + 1) // 2),
            "The causal count takes off too much at the start. The first w − 1 queries lack w − 1, …, 1 keys: "
            "w(w − 1)/2 together.",
        ),
        Mutant(
            "window_beyond_text",
            _pairs(causal=lambda T, w: T * w - w * (w - 1) // 2),
            "The causal count is wrong for a window longer than the text. Use min(w, T) for w.",
        ),
        Mutant(
            "symmetric_full",
            _pairs(symmetric=lambda T, w: T * w),
            "Every query is given w keys in the symmetric count. At both ends some are missing: with r keys to a "
            "side take off r(r + 1).",
        ),
        Mutant(
            "symmetric_one_end",
            _pairs(
                symmetric=lambda T, w: (
                    T * (1 + 2 * min(w // 2, T - 1)) - min(w // 2, T - 1) * (min(w // 2, T - 1) + 1) // 2
                )
            ),
            "The symmetric count is cut at one end only. Both the first and the last queries lack keys: r(r + 1) "
            "in all.",
        ),
        Mutant(
            "symmetric_beyond_text",
            _pairs(symmetric=lambda T, w: T * w - (w // 2) * (w // 2 + 1)),
            "The symmetric count is wrong for a window longer than the text. With r keys to a side use min(r, T − 1).",
        ),
        Mutant(
            "whole_blocks",
            _pairs(block=lambda T, b: T * b),
            "Words in the last block see fewer than `block` keys when that block is shorter. Count it apart.",
        ),
        Mutant(
            "last_block_lost",
            _pairs(block=lambda T, b: (T // b) * b * b),
            "The shorter block at the end is not counted. It has T % block words, and that number squared pairs.",
        ),
    ],
)
