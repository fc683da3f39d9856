"""Patterns of one layer: windows, blocks, global tokens, random keys."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import sparse as ref

UNIT = "09-sparse-attention"


def places(T):
    """Query places as a column, key places as a row."""
    i = torch.arange(T)
    return i[:, None], i[None, :]


def by_rule(rule):
    """A mask (T, T) from a rule of query place i, key place j and the sizes; errors are not checked."""

    def wrong(T, *sizes):
        i, j = places(T)
        return torch.as_tensor(rule(i, j, *sizes)).expand(T, T)

    return wrong


# --- windows -------------------------------------------------------------------------------------------------------
def causal_by_triangles(T, w):
    """Two triangles."""
    if w < 1:
        raise ValueError("w must be at least 1")
    return torch.ones(T, T, dtype=torch.bool).tril().triu(1 - w)


def symmetric_by_triangles(T, w):
    """Two triangles around the diagonal."""
    if w % 2 == 0 or w < 1:
        raise ValueError("w must be odd")
    return torch.ones(T, T, dtype=torch.bool).tril(w // 2).triu(-(w // 2))


def causal_by_rows(T, w):
    """A slice of True in each row."""
    if w <= 0:
        raise ValueError(w)
    mask = torch.zeros(T, T, dtype=torch.bool)
    for i in range(T):
        mask[i, max(0, i - w + 1) : i + 1] = True
    return mask


def symmetric_by_rows(T, w):
    """A slice of True in each row."""
    if w <= 0 or not w % 2:
        raise ValueError(w)
    mask = torch.zeros(T, T, dtype=torch.bool)
    for i in range(T):
        mask[i, max(0, i - w // 2) : i + w // 2 + 1] = True
    return mask


LC, LS = ref.local_causal_mask, ref.local_symmetric_mask
_CAUSAL = lambda i, j, w: (j <= i) & (i - j < w)
_SYMMETRIC = lambda i, j, w: (i - j).abs() <= w // 2


# The mistakes leave the ValueErrors out: they come with the last point, and would hide which mistake it is.
def _local(causal=_CAUSAL, symmetric=_SYMMETRIC):
    return by_rule(causal), by_rule(symmetric)


LOCAL = Exercise(
    id="sparse.local",
    unit=UNIT,
    title="Windows",
    points=2,
    difficulty=2,
    minutes=12,
    signature="local_causal_mask(T, w)",
    targets=("local_causal_mask", "local_symmetric_mask"),
    reference=(LC, LS),
    alternatives=[(causal_by_triangles, symmetric_by_triangles), (causal_by_rows, symmetric_by_rows)],
    cases=[
        Case(
            "two back",
            "four words, a window of 2: each word sees itself and the one before it",
            lambda g: call(4, 2),
            weight=2,
        ),
        Case(
            "three around",
            "four words, a symmetric window of 3: itself and one neighbor on each side",
            lambda g: call(4, 3, fn="local_symmetric_mask"),
            weight=2,
        ),
        Case("own key only", "a window of 1 holds nothing but the word itself", lambda g: call(3, 1), weight=0.5),
        Case("wide", "a window longer than the text is the causal mask", lambda g: call(4, 9), weight=0.5),
        Case("random causal", "random sizes", lambda g: call(g.integer(9, 40), g.integer(3, 9)), weight=2),
        Case(
            "random symmetric",
            "random sizes, an odd symmetric window",
            lambda g: call(g.integer(12, 40), 2 * g.integer(2, 6) + 1, fn="local_symmetric_mask"),
            weight=2,
        ),
        Case("no window", "a window of 0 keys lacks even the own one: ValueError", lambda g: call(4, 0), weight=0.5),
        Case(
            "even",
            "a symmetric window of 4 keys has no middle: ValueError",
            lambda g: call(6, 4, fn="local_symmetric_mask"),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "self_not_counted",
            _local(causal=lambda i, j, w: (j <= i) & (i - j <= w)),
            "The causal window holds w + 1 keys. w counts the own key, so the oldest visible one stands w − 1 "
            "places back: i − j < w.",
        ),
        Mutant(
            "self_hidden",
            _local(causal=lambda i, j, w: (j < i) & (i - j <= w)),
            "A word does not see itself. The window's w keys are its own and the w − 1 before it.",
        ),
        Mutant(
            "looks_ahead",
            _local(causal=lambda i, j, w: (i - j).abs() < w),
            "The causal window looks ahead as well. Keys later than the query stay hidden: also ask for j <= i.",
        ),
        Mutant(
            "not_a_window",
            _local(causal=lambda i, j, w: j <= i),
            "This is the causal mask without a window: nothing limits how far back a word looks.",
        ),
        Mutant(
            "block_instead",
            _local(causal=lambda i, j, w: (j <= i) & (i // w == j // w)),
            "These are blocks: the first word of a block sees only itself. A window moves along with each query.",
        ),
        Mutant(
            "radius_w",
            _local(symmetric=lambda i, j, w: (i - j).abs() <= w),
            "The symmetric window reaches w keys to each side, 2w + 1 in all. It should hold w: (w − 1)/2 to each "
            "side and the own one.",
        ),
        Mutant(
            "radius_short",
            _local(symmetric=lambda i, j, w: (i - j).abs() < w // 2),
            "The symmetric window lacks its outermost key on each side. Distances up to (w − 1)/2 belong to it, "
            "that one included.",
        ),
        Mutant(
            "still_causal",
            _local(symmetric=_CAUSAL),
            "The symmetric window looks only back. Half of its keys lie after the query.",
        ),
        Mutant(
            "upside_down",
            _local(causal=lambda i, j, w: ~_CAUSAL(i, j, w), symmetric=lambda i, j, w: ~_SYMMETRIC(i, j, w)),
            "The masks are upside down: True means may look.",
        ),
        Mutant(
            "even_unchecked",
            (LC, by_rule(_SYMMETRIC)),
            "Both masks are right. A symmetric window with an even number of keys has no middle: raise a ValueError.",
        ),
        Mutant(
            "below_one_unchecked",
            (by_rule(_CAUSAL), LS),
            "Both masks are right. A causal window of less than one key lacks even the own one: raise a ValueError.",
        ),
        Mutant(
            "unchecked",
            _local(),
            "Both masks are right. Raise a ValueError for a window below 1, and for a symmetric one that is even.",
        ),
    ],
)


# --- blocks --------------------------------------------------------------------------------------------------------
def blocks_by_slices(T, block):
    """A square of True for each block."""
    if block < 1:
        raise ValueError("block must be at least 1")
    mask = torch.zeros(T, T, dtype=torch.bool)
    for start in range(0, T, block):
        mask[start : start + block, start : start + block] = True
    return mask


def blocks_by_repeating(T, block):
    """The identity, each entry grown to a block, cut to size."""
    if block < 1:
        raise ValueError(block)
    small = torch.eye(-(-T // block)).bool()
    return small.repeat_interleave(block, 0).repeat_interleave(block, 1)[:T, :T]


BLOCK = Exercise(
    id="sparse.block",
    unit=UNIT,
    title="Blocks",
    points=1,
    difficulty=1,
    minutes=6,
    extension=True,
    signature="block_mask(T, block)",
    reference=ref.block_mask,
    alternatives=[blocks_by_slices, blocks_by_repeating],
    cases=[
        Case("two and two", "four words in blocks of 2: two squares on the diagonal", lambda g: call(4, 2), weight=2),
        Case("short end", "five words in blocks of 2: the last word is alone", lambda g: call(5, 2)),
        Case("one block", "a block of 9 holds all of six words", lambda g: call(6, 9), weight=0.5),
        Case("random", "random sizes", lambda g: call(g.integer(13, 40), g.integer(3, 7)), weight=2),
        Case("no block", "blocks of 0 words: ValueError", lambda g: call(4, 0), weight=0.5),
    ],
    mutants=[
        Mutant(
            "causal_blocks",
            by_rule(lambda i, j, b: (i // b == j // b) & (j <= i)),
            "Inside a block the words look only back. Here a block sees itself in both directions.",
        ),
        Mutant(
            "count_of_blocks",
            by_rule(lambda i, j, b: i // -(-len(i) // b) == j // -(-len(i) // b)),
            "The text is cut into `block` pieces. `block` is the number of words in each piece.",
        ),
        Mutant(
            "window",
            by_rule(lambda i, j, b: (i - j).abs() < b),
            "This is a window that moves with the query. Two words see each other when i // block equals j // block.",
        ),
        Mutant(
            "strides",
            by_rule(lambda i, j, b: i % b == j % b),
            "Words with the same remainder see each other. Use the quotient: i // block says which block a word is in.",
        ),
        Mutant(
            "one_based",
            by_rule(lambda i, j, b: (i + 1) // b == (j + 1) // b),
            "The blocks start one word too early. Places count from 0, so the first block is 0 to block − 1.",
        ),
        Mutant(
            "earlier_blocks",
            by_rule(lambda i, j, b: j // b <= i // b),
            "Earlier blocks are visible as well. A word sees its own block only: use == instead of <=.",
        ),
        Mutant(
            "unchecked",
            by_rule(lambda i, j, b: i // b == j // b),
            "The mask is right. Raise a ValueError for blocks of less than one word.",
        ),
    ],
)


# --- window and global tokens --------------------------------------------------------------------------------------
def global_by_assignment(T, w, tokens):
    """Opens rows and columns in a band."""
    if any(t < 0 or t >= T for t in tokens):
        raise ValueError("token outside the text")
    mask = torch.ones(T, T, dtype=torch.bool).tril(w // 2).triu(-(w // 2))
    for t in tokens:
        mask[t] = True
        mask[:, t] = True
    return mask


def global_by_membership(T, w, tokens):
    """isin on the places."""
    if not all(0 <= t < T for t in tokens):
        raise ValueError(tokens)
    i, j = places(T)
    chosen = torch.isin(torch.arange(T), torch.tensor(tokens, dtype=torch.long))
    return ((i - j).abs() * 2 < w) | chosen[:, None] | chosen[None, :]


def longformer(T, w, tokens):
    """Refuses places behind the end, and no negative ones."""
    if any(t >= T for t in tokens):
        raise ValueError(tokens)
    return ref.longformer_mask(T, w, [t % T for t in tokens])


def _global(rule):
    def wrong(T, w, tokens):
        i, j = places(T)
        chosen = torch.zeros(T, dtype=torch.bool)
        chosen[[t for t in tokens if 0 <= t < T]] = True
        return rule((i - j).abs() <= w // 2, chosen[:, None], chosen[None, :]).expand(T, T)

    return wrong


GLOBAL = Exercise(
    id="sparse.global_local",
    unit=UNIT,
    title="A window and a few global tokens",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    signature="longformer_mask(T, w, tokens)",
    reference=ref.longformer_mask,
    alternatives=[global_by_assignment, global_by_membership],
    cases=[
        Case(
            "one hub",
            "four words, window 1, word 0 global: it sees all and all see it",
            lambda g: call(4, 1, [0]),
            weight=2,
        ),
        Case("two hubs", "eight words, window 3, words 0 and 5 global", lambda g: call(8, 3, [0, 5]), weight=2),
        Case("no hub", "without global tokens the window is left", lambda g: call(5, 3, [])),
        Case(
            "random",
            "random sizes, one global word in the middle",
            lambda g: call(g.integer(12, 30), 2 * g.integer(1, 4) + 1, [g.integer(2, 11)]),
            weight=2,
        ),
        Case("outside", "there is no word 5 in a text of five: ValueError", lambda g: call(5, 3, [5]), weight=0.5),
        Case(
            "negative",
            "place −1 is a ValueError, too, although Python would take the last word",
            lambda g: call(5, 3, [-1]),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "rows_only",
            _global(lambda near, row, column: near | row),
            "The global tokens see all words, but the others do not see them. Open their columns as well as their "
            "rows.",
        ),
        Mutant(
            "columns_only",
            _global(lambda near, row, column: near | column),
            "All words see the global tokens, but these see only their window. Open their rows as well as their "
            "columns.",
        ),
        Mutant(
            "hubs_among_themselves",
            _global(lambda near, row, column: near | (row & column)),
            "Only pairs of two global tokens were added. One global partner is enough: use | in place of &.",
        ),
        Mutant(
            "no_window",
            _global(lambda near, row, column: row | column),
            "The window is missing: two ordinary words never see each other, nor a word itself.",
        ),
        Mutant(
            "needs_both",
            _global(lambda near, row, column: near & (row | column)),
            "A pair must be near and have a global partner here. One of the two is enough: use | in place of &.",
        ),
        Mutant(
            "no_hubs",
            _global(lambda near, row, column: near & (row | True)),
            "The global tokens change nothing: this is the window alone.",
        ),
        Mutant(
            "causal_window",
            lambda T, w, tokens: LC(T, w) | longformer(T, 1, tokens),
            "The window looks only back. Here it is symmetric: half of its keys lie after the query.",
        ),
        Mutant(
            "one_hub",
            lambda T, w, tokens: longformer(T, w, tokens[:1]),
            "Only the first of the global tokens is used. Open the row and the column of each.",
        ),
        Mutant(
            "negative_unchecked",
            longformer,
            "Places behind the end are refused, negative ones are not: index −1 quietly opens the last word. Raise "
            "a ValueError below 0, too.",
        ),
        Mutant(
            "unchecked",
            _global(lambda near, row, column: near | row | column),
            "The mask is right. Raise a ValueError for a global token outside 0 … T − 1: index −1 would quietly "
            "open the last word.",
        ),
    ],
)


# --- random keys ---------------------------------------------------------------------------------------------------
def random_by_rows(draws, keys, allowed):
    """One query at a time: sort its allowed keys by their draw."""
    mask = torch.zeros_like(allowed)
    for i, row in enumerate(draws):
        candidates = allowed[i].nonzero().flatten().tolist()
        for j in sorted(candidates, key=lambda j: row[j].item())[:keys]:
            mask[i, j] = True
    return mask


def random_by_topk(draws, keys, allowed):
    """topk and scatter."""
    count = min(keys, draws.shape[-1])
    best = draws.masked_fill(~allowed, 2.0).topk(count, largest=False).indices
    return torch.zeros_like(allowed).scatter(-1, best, True) & allowed


def _random(chosen):
    def wrong(draws, keys, allowed):
        return chosen(draws, keys, allowed)

    return wrong


def _rank(draws):
    return draws.argsort(-1).argsort(-1)


def _hidden(draws, allowed):
    return draws.masked_fill(~allowed, float("inf"))


_HAND = [[0.3, 0.1, 0.2], [0.5, 0.6, 0.4], [0.9, 0.7, 0.8]]

RANDOM = Exercise(
    id="sparse.random",
    unit=UNIT,
    title="Random keys",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    signature="random_mask(draws, keys, allowed)",
    reference=ref.smallest_draws,
    alternatives=[random_by_rows, random_by_topk],
    cases=[
        Case(
            "one key",
            "row 0 draws 0.3, 0.1, 0.2, all allowed: the smallest, key 1, is taken",
            lambda g: call(torch.tensor(_HAND), 1, torch.ones(3, 3).bool()),
            weight=2,
        ),
        Case(
            "not allowed",
            "the same draws with key 1 forbidden everywhere: row 0 takes key 2",
            lambda g: call(torch.tensor(_HAND), 1, torch.tensor([[True, False, True]] * 3)),
            weight=2,
        ),
        Case(
            "too few",
            "five words, each may take up to 3 of the keys not after it: word 0 gets one",
            lambda g: call(g.uniform(5, 5), 3, torch.ones(5, 5).tril().bool()),
        ),
        Case(
            "random",
            "nine words, 2 keys each outside a window of 3",
            lambda g: call(g.uniform(9, 9), 2, ~ref.local_symmetric_mask(9, 3)),
            weight=2,
        ),
        Case(
            "none",
            "0 keys leave an empty mask",
            lambda g: call(g.uniform(4, 4), 0, torch.ones(4, 4).bool()),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "largest",
            _random(lambda d, k, a: (_rank(-d.masked_fill(~a, -1.0)) < k) & a),
            "The keys with the largest draws are taken. Take those with the smallest.",
        ),
        Mutant(
            "ignores_allowed",
            _random(lambda d, k, a: _rank(d) < k),
            "Forbidden keys are taken, too. Push their draws to the end before you rank, and AND the result with "
            "allowed.",
        ),
        Mutant(
            "forbidden_use_up_places",
            _random(lambda d, k, a: (_rank(d) < k) & a),
            "Forbidden keys use up places: some queries get fewer keys than they could. Rank among the allowed ones.",
        ),
        Mutant(
            "fills_up",
            _random(lambda d, k, a: _rank(_hidden(d, a)) < k),
            "A query with too few allowed keys is filled up with forbidden ones. AND the result with allowed at "
            "the end.",
        ),
        Mutant(
            "one_argsort",
            _random(lambda d, k, a: (_hidden(d, a).argsort(-1) < k) & a),
            "argsort gives the key of each rank, not the rank of each key. Apply argsort to its result once more.",
        ),
        Mutant(
            "one_argsort_bare",
            _random(lambda d, k, a: _hidden(d, a).argsort(-1) < k),
            "argsort gives the key of each rank, not the rank of each key. Apply argsort to its result once more, "
            "and AND with allowed at the end.",
        ),
        Mutant(
            "one_too_many",
            _random(lambda d, k, a: (_rank(_hidden(d, a)) <= k) & a),
            "Each query gets one key too many. Ranks count from 0, so the first `keys` ranks are those below keys.",
        ),
        Mutant(
            "upside_down",
            _random(lambda d, k, a: (_rank(_hidden(d, ~a)) < k) & ~a),
            "allowed is used upside down: True means may look. Put ∞ where it is False.",
        ),
        Mutant(
            "per_key",
            _random(lambda d, k, a: (_hidden(d, a).argsort(0).argsort(0) < k) & a),
            "Ranks run down the columns: each key gets a number of queries. Rank along the last axis, for each query.",
        ),
        Mutant(
            "places",
            _random(lambda d, k, a: _hidden(d, a).argsort(-1)[:, :k]),
            "These are the places of the chosen keys. Return a mask of the shape of draws, True at these places.",
        ),
        Mutant(
            "threshold",
            _random(lambda d, k, a: (d < k / d.shape[-1]) & a),
            "A threshold on the draws gives a random number of keys per query. Every query takes the same number, "
            "as many as are allowed.",
        ),
    ],
)
