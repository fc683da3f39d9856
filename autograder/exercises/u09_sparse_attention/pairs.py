"""How many pairs a pattern scores."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
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


def _row(T, w, i):
    j = torch.arange(T)
    return (j <= i) & (i - j < w)


def _pairs(causal=CP, symmetric=SP, block=BP):
    return causal, symmetric, block


THREE = ("local_causal_pairs", "local_symmetric_pairs", "block_pairs")


def _counted(g: Source) -> Program:
    """Right ways write at most a few tensors of 300 entries, a mask has 90,000."""
    program = Program()
    for fn in THREE:
        program.call(300 + g.integer(0, 9), 2 * g.integer(5, 30) + 1, fn=fn)
        program.within(entries=20_000, because="a formula, or one number per row, is enough")
    return program


def _long(g: Source) -> Program:
    program = Program()
    T = g.size(shown=500, graded=100_000)
    for fn in THREE:
        program.call(T + g.integer(0, 99), 2 * g.integer(5, 30) + 1, fn=fn)
    return program


def _of_radius(T, w, missing):
    r = min(w // 2, T - 1)
    return T * (1 + 2 * r) - missing(r)


EXERCISE = Exercise(
    id="sparse.pairs",
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
        Case(
            "wide",
            "a window of 9 on 5, 6 and 7 words is the causal triangle: 15, 21 and 28 pairs",
            lambda g: call(5, 9).call(6, 9).call(7, 9),
        ),
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
            "a symmetric window of 15 on 4, 5 and 6 words: all 16, 25 and 36 pairs",
            lambda g: several(3, lambda p: p.call(4 + len(p.steps), 15, fn="local_symmetric_pairs")),
        ),
        Case("blocks", "five words in blocks of 2: 4 + 4 + 1 = 9 pairs", lambda g: call(5, 2, fn="block_pairs")),
        Case("even blocks", "six words in blocks of 3: 9 + 9 = 18 pairs", lambda g: call(6, 3, fn="block_pairs")),
        Case(
            "cost",
            "300 words: counting writes at most 20,000 entries of tensors, a mask has 90,000",
            _counted,
            weight=4,
        ),
        Case(
            "very long",
            "a text so long, in grading, that its masks find no room in memory, with small windows",
            _long,
            weight=4,
        ),
        Case(
            "random blocks",
            "four times random sizes, with a shorter block at the end",
            lambda g: several(4, lambda p: p.call(16 * g.integer(9, 30) + g.integer(1, 15), 16, fn="block_pairs")),
        ),
    ],
    mutants=[
        Mutant(
            "built",
            _pairs(
                causal=lambda T, w: int(ref.local_causal_mask(T, w).sum()),
                symmetric=lambda T, w: int(ref.local_symmetric_mask(T, w).sum()),
                block=lambda T, block: int(ref.block_mask(T, block).sum()),
            ),
            "The counts are right, but masks of T² entries are built to get them. Add up the keys of each query "
            "instead, with a formula: T·w, minus what the ends lack.",
        ),
        Mutant(
            "row_by_row",
            _pairs(causal=lambda T, w: sum(int(_row(T, w, i).sum()) for i in range(T))),
            "The causal count is right, but it makes a row of T entries for each query: the work of the whole mask. A "
            "query has min(w, i + 1) keys; add these up.",
        ),
        Mutant(
            "capped_windows",
            _pairs(causal=lambda T, w: T * min(w, T)),
            "Every query is given w keys in the causal count, T at most. The first w − 1 queries have fewer: take off "
            "w(w − 1)/2.",
        ),
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
            "The causal count is one full window too small. Query i, counted from 0, sees min(w, i + 1) keys, its own "
            "included, and there are T queries: only w(w − 1)/2 are missing from T·w.",
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
        Mutant(
            "float_half",
            _pairs(causal=lambda T, w: T * min(w, T) - min(w, T) * (min(w, T) - 1) / 2),
            "The causal count is right, but a float: `/` makes one even where nothing is left over. Divide with `//`.",
        ),
        Mutant(
            "edge_too_small",
            _pairs(causal=lambda T, w: T * min(w, T) - (min(w, T) - 1) * (min(w, T) - 2) // 2),
            "The causal count takes off too little at the start. The first w − 1 queries lack w − 1, …, 1 keys: "
            "w(w − 1)/2 together.",
        ),
        Mutant(
            "edge_added",
            _pairs(causal=lambda T, w: T * min(w, T) + min(w, T) * (min(w, T) - 1) // 2),
            "The causal count adds the keys that the first queries lack. Take them off: T·w − w(w − 1)/2.",
        ),
        Mutant(
            "one_query_twice",
            _pairs(causal=lambda T, w: sum(min(w, i + 1) for i in range(T + 1))),
            "The causal count has one query with a full window too many. Of T queries the first w − 1 have fewer "
            "keys, and T − w + 1 have w.",
        ),
        Mutant(
            "two_causal_windows",
            _pairs(symmetric=lambda T, w: 2 * CP(T, w) - T),
            "The symmetric count joins two causal windows of w keys, so it reaches w − 1 to each side. Each half has "
            "only (w + 1)/2 keys, the own one included.",
        ),
        Mutant(
            "own_twice",
            _pairs(symmetric=lambda T, w: 2 * CP(T, w // 2 + 1)),
            "The symmetric count has the own key on both sides, T pairs too many. Take off T.",
        ),
        Mutant(
            "symmetric_as_causal",
            _pairs(symmetric=CP),
            "The symmetric count is that of the causal window. With r = (w − 1)/2 keys to each side both ends lack "
            "keys, r(r + 1) in all.",
        ),
        Mutant(
            "symmetric_edge_short",
            _pairs(symmetric=lambda T, w: _of_radius(T, w, lambda r: r * (r - 1))),
            "The symmetric count takes off too little. The first r queries lack r, …, 1 keys, the last r as many: "
            "r(r + 1) in all.",
        ),
        Mutant(
            "symmetric_edge_twice",
            _pairs(symmetric=lambda T, w: _of_radius(T, w, lambda r: 2 * r * (r + 1))),
            "The symmetric count takes off twice what is missing. One end lacks r(r + 1)/2 keys, both lack r(r + 1).",
        ),
        Mutant(
            "symmetric_window_cut",
            _pairs(symmetric=lambda T, w: T * (1 + 2 * (min(w, T) // 2)) - min(w, T) // 2 * (min(w, T) // 2 + 1)),
            "In the symmetric count w itself is limited to T. A window of w keys may reach to both ends: limit the "
            "keys to a side instead, min(w // 2, T − 1).",
        ),
        Mutant(
            "symmetric_float",
            _pairs(symmetric=lambda T, w: _of_radius(T, w, lambda r: float(r * (r + 1)))),
            "The symmetric count is right, but a float: `/` makes one even where nothing is left over. Divide with "
            "`//`.",
        ),
        Mutant(
            "symmetric_own_missing",
            _pairs(symmetric=lambda T, w: SP(T, w) - T),
            "The symmetric count lacks the own keys, one for each of the T queries. A query has keys on both sides, "
            "and itself.",
        ),
        Mutant(
            "symmetric_last_end",
            _pairs(symmetric=lambda T, w: sum(min(i, w // 2) + 1 + min(T - i, w // 2) for i in range(T))),
            "The symmetric count is one too large for each query near the end. Counted from 0, query i has T − 1 − i "
            "words after it.",
        ),
        Mutant(
            "rounded_up",
            _pairs(block=lambda T, b: -(-T // b) * b * b),
            "block_pairs counts the shorter block at the end as a full one. It has T % block words, and that number "
            "squared pairs.",
        ),
        Mutant(
            "rest_not_squared",
            _pairs(block=lambda T, b: T // b * b * b + T % b),
            "The shorter block at the end is counted with one pair per word. Its T % block words all see each other: "
            "square that number.",
        ),
        Mutant(
            "causal_blocks",
            _pairs(block=lambda T, b: (T // b * b * (b + 1) + T % b * (T % b + 1)) // 2),
            "block_pairs counts triangles. Inside a block the words look in both directions: the square of its length.",
        ),
        Mutant(
            "count_of_blocks",
            _pairs(block=lambda T, b: b * (T // b) ** 2 + (T % b) ** 2),
            "block_pairs takes `block` for the number of blocks. It is the number of words in each: T // block blocks "
            "of block² pairs.",
        ),
        Mutant(
            "words_counted",
            _pairs(block=lambda T, b: T // b * b + T % b),
            "block_pairs counts words, and not pairs: in a block of b words each sees b. Square the length of each "
            "block.",
        ),
    ],
)
