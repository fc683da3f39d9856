"""How many pairs a pattern scores."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
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


MISTAKES = changes(
    (ref.local_causal_pairs, ref.local_symmetric_pairs, ref.block_pairs),
    """
built: return T * w - w * (w - 1) // 2 → return scored_pairs(local_causal_mask(T, w))
; return T + 2 * (r * T - r * (r + 1) // 2) → return scored_pairs(local_symmetric_mask(T, w))
; return full * block * block + rest * rest → return scored_pairs(block_mask(T, block))
    The counts are right, but masks of T² entries are built to get them. Add up the keys of each query instead, with
    a formula: T·w, minus what the ends lack.
row_by_row: T * w - w * (w - 1) // 2 → sum(int(row(i).sum()) for i in range(T))
; w = min(w, T) → row = lambda i: local_causal_mask_at(torch.tensor([i]), torch.arange(T), w)
    The causal count is right, but it makes a row of T entries for each query: the work of the whole mask. A query
    has min(w, i + 1) keys; add these up.
capped_windows: - w * (w - 1) // 2 →
    Every query is given w keys in the causal count, T at most. The first w − 1 queries have fewer: take off w(w −
    1)/2.
full_windows: w = min(w, T) → ; - w * (w - 1) // 2 →
    Every query is given w keys in the causal count. The first w − 1 queries have fewer: take off w(w − 1)/2.
edge_twice: w * (w - 1) // 2 → w * (w - 1)
    The causal count takes off both ends. Only the first queries lack keys: w(w − 1)/2, half of that.
edge_off_by_one: w * (w - 1) → w * (w + 1)
    The causal count is one full window too small. Query i, counted from 0, sees min(w, i + 1) keys, its own
    included, and there are T queries: only w(w − 1)/2 are missing from T·w.
window_beyond_text: w = min(w, T) →
    The causal count is wrong for a window longer than the text. Use min(w, T) for w.
symmetric_full: T + 2 * (r * T - r * (r + 1) // 2) → T * w
    Every query is given w keys in the symmetric count. At both ends some are missing: with r keys to a side take
    off r(r + 1).
symmetric_one_end: 2 * (r * T - r * (r + 1) // 2) → 2 * r * T - r * (r + 1) // 2
    The symmetric count is cut at one end only. Both the first and the last queries lack keys: r(r + 1) in all.
symmetric_beyond_text: min((w - 1) // 2, T - 1) → (w - 1) // 2
    The symmetric count is wrong for a window longer than the text. With r keys to a side use min(r, T − 1).
whole_blocks: full * block * block + rest * rest → T * block
    Tokens in the last block see fewer than `block` keys when that block is shorter. Count it apart.
last_block_lost: + rest * rest →
    The shorter block at the end is not counted. It has T % block tokens, and as many pairs as that number squared.
float_half: w * (w - 1) // 2 → w * (w - 1) / 2
    The causal count is right, but a float: `/` makes one even where nothing is left over. Divide with `//`.
edge_too_small: w * (w - 1) // 2 → (w - 1) * (w - 2) // 2
    The causal count takes off too little at the start. The first w − 1 queries lack w − 1, …, 1 keys: w(w − 1)/2
    together.
edge_added: T * w - w → T * w + w
    The causal count adds the keys that the first queries lack. Take them off: T·w − w(w − 1)/2.
one_query_twice: w = min(w, T) → ; T * w - w * (w - 1) // 2 → sum(min(w, i + 1) for i in range(T + 1))
    The causal count has one query with a full window too many. Of T queries the first w − 1 have fewer keys, and T
    − w + 1 have w.
two_causal_windows: T + 2 * (r * T - r * (r + 1) // 2) → 2 * local_causal_pairs(T, w) - T
    The symmetric count joins two causal windows of w keys, so it reaches w − 1 to each side. Each half has only (w
    + 1)/2 keys, the own one included.
own_twice: T + 2 * (r → 2 * T + 2 * (r
    The symmetric count has the own key on both sides, T pairs too many. Take off T.
symmetric_as_causal: T + 2 * (r * T - r * (r + 1) // 2) → local_causal_pairs(T, w)
    The symmetric count is that of the causal window. With r = (w − 1)/2 keys to each side both ends lack keys, r(r
    + 1) in all.
symmetric_edge_short: r * (r + 1) → r * (r - 1)
    The symmetric count takes off too little. The first r queries lack r, …, 1 keys, the last r as many: r(r + 1) in
    all.
symmetric_edge_twice: r * (r + 1) // 2 → r * (r + 1)
    The symmetric count takes off twice what is missing. One end lacks r(r + 1)/2 keys, both lack r(r + 1).
symmetric_window_cut: min((w - 1) // 2, T - 1) → min(w, T) // 2
    In the symmetric count w itself is limited to T. A window of w keys may reach to both ends: limit the keys to a
    side instead, min(w // 2, T − 1).
symmetric_float: r * (r + 1) // 2 → r * (r + 1) / 2
    The symmetric count is right, but a float: `/` makes one even where nothing is left over. Divide with `//`.
symmetric_own_missing: T + 2 * (r → 2 * (r
    The symmetric count lacks the own keys, one for each of the T queries. A query has keys on both sides, and
    itself.
symmetric_last_end: min((w - 1) // 2, T - 1) → w // 2
; T + 2 * (r * T - r * (r + 1) // 2) → sum(min(i, r) + 1 + min(T - i, r) for i in range(T))
    The symmetric count is one too large for each query near the end. Counted from 0, query i has T − 1 − i tokens after
    it.
rounded_up: divmod(T, block) → -(-T // block), 0
    block_pairs counts the shorter block at the end as a full one. It has T % block tokens, and as many pairs as that
    number squared.
rest_not_squared: rest * rest → rest
    The shorter block at the end is counted with one pair per token. Its T % block tokens all see each other: square
    that number.
causal_blocks: full * block * block + rest * rest → (full * block * (block + 1) + rest * (rest + 1)) // 2
    block_pairs counts triangles. Inside a block the tokens look in both directions: take the square of its length.
count_of_blocks: full * block * block → full * full * block
    block_pairs takes `block` for the number of blocks. It is the number of tokens in each: there are T // block blocks
    of block² pairs.
words_counted: full * block * block + rest * rest → full * block + rest
    block_pairs counts tokens, and not pairs: in a block of b tokens each sees b. Square the length of each block.
""",
)


EXERCISE = Exercise(
    id="sparse.pairs",
    title="Pairs to be scored",
    points=2,
    difficulty=3,
    minutes=12,
    reference=(ref.local_causal_pairs, ref.local_symmetric_pairs, ref.block_pairs),
    alternatives=[(causal_pairs_by_rows, symmetric_pairs_by_rows, block_pairs_by_blocks)],
    cases=[
        Case("by hand", "four tokens, a causal window of 2: 1 + 2 + 2 + 2 = 7 pairs", lambda g: call(4, 2)),
        Case("long", "4,096 tokens, a causal window of 128", lambda g: call(4096, 128)),
        Case("random", "random sizes", lambda g: call(g.integer(200, 900), g.integer(20, 90))),
        Case(
            "wide",
            "a window of 9 on 5, 6 and 7 tokens is the causal triangle: 15, 21 and 28 pairs",
            lambda g: call(5, 9).call(6, 9).call(7, 9),
        ),
        Case(
            "both sides",
            "four tokens, a symmetric window of 3: 2 + 3 + 3 + 2 = 10 pairs",
            lambda g: call(4, 3, fn="local_symmetric_pairs"),
        ),
        Case(
            "random both sides",
            "random sizes",
            lambda g: call(g.integer(200, 900), 2 * g.integer(10, 40) + 1, fn="local_symmetric_pairs"),
        ),
        Case(
            "wide both sides",
            "a symmetric window of 15 on 4, 5 and 6 tokens: all 16, 25 and 36 pairs",
            lambda g: several(3, lambda p: p.call(4 + len(p.steps), 15, fn="local_symmetric_pairs")),
        ),
        Case("blocks", "five tokens in blocks of 2: 4 + 4 + 1 = 9 pairs", lambda g: call(5, 2, fn="block_pairs")),
        Case("even blocks", "six tokens in blocks of 3: 9 + 9 = 18 pairs", lambda g: call(6, 3, fn="block_pairs")),
        Case(
            "cost",
            "300 tokens: counting writes at most 20,000 entries of tensors, a mask has 90,000",
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
    mutants=MISTAKES,
    equivalent="""
w and w − 1 are neighbors, so their product is even and nothing is rounded
    d539acd2ac solution, arithmetic: w * (w - 1) // 2 rounded up
for r = T the count T(1 + 2T) − T(T + 1) is T² as well, as for r = T − 1
    7f93157127 solution, operand: T - 1 → T
a sum of whole numbers does not depend on its order
    705834adfe alternative 1, reversed: range(T) reversed
    b90fd14f0b alternative 1, reversed: range(T) reversed
    bc46ef2fc5 alternative 1, reversed: range(0, T, block) reversed
added up over all i, both sides lack the same number of keys
    a0976ac734 alternative 1, operand: T - 1 - i → i
a block that starts behind the end has min(block, 0) = 0 tokens and adds nothing
    2198c7f0fd alternative 1, window: T + 1 in range(0, T, block)
""",
)
