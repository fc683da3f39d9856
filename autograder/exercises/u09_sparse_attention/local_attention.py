"""Attention in a window, computed in blocks."""

import math

import torch
import torch.nn.functional as F

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import sparse_gather as gathered

from .shared import attend, column, qkv


def local_by_unfold(q, k, v, w):
    """Exactly w keys per query, as overlapping views."""
    views = [F.pad(x, (0, 0, w - 1, 0)).unfold(2, w, 1).mT for x in (k, v)]  # (B, H, T, w, ·)
    real = torch.arange(q.shape[2])[:, None] - torch.arange(w - 1, -1, -1) >= 0
    return attend(q.unsqueeze(3), *views, real[:, None]).squeeze(3)


def local_by_loop(q, k, v, w):
    """A loop over blocks of queries, each with a slice of the keys."""
    T, out = q.shape[2], []
    for start in range(0, T, w):
        end, first = min(T, start + w), max(0, start - w + 1)
        i, j = torch.arange(start, end)[:, None], torch.arange(first, end)
        mask = (j <= i) & (i - j < w)
        out.append(attend(q[:, :, start:end], k[:, :, first:end], v[:, :, first:end], mask))
    return torch.cat(out, dim=2)


def _local_call(g: Source, T: int, w: int, **sizes: int) -> Program:
    return call(*qkv(g, T, **sizes), w)


def _poisoned_future(g: Source) -> Program:
    """Tokens from the third block on have NaN for values: no token before them may be touched by it."""
    q, k, v = qkv(g, 12, B=1, H=2)
    v[:, :, 6:] = math.nan
    return call(q, k, v, 3)


def _counted(g: Source) -> Program:
    """First for keys that are scored in vain: right ways take up to 631,000 operations, four blocks back 1,284,000.
    Wide heads tell them apart, because scores then cost more than all that surrounds them.

    Then for a mask of all pairs of which only blocks are used: it writes 275,000 entries, right ways up to 35,000.
    """
    enough = "a block of queries needs its own keys and those of the block before it"
    program = call(*(g.randn(1, 1, 256, 32) for _ in range(3)), 8).within(work=900_000, because=enough)
    return program.call(*qkv(g, 256, B=1, H=1, Dv=4), 4).within(entries=100_000, because=enough)


def _much_wider(g: Source) -> Program:
    """Right ways take up to 60,000 operations, blocks as long as the window 6 million."""
    few = call(*qkv(g, 5, B=1, H=1, Dv=4), 500)
    return few.within(work=400_000, because="a window need not be longer than the text")


def _trained(g: Source) -> Program:
    """The first tokens have fewer keys than the window, the last block is short."""
    return call(*qkv(g, 8, B=1, H=2, D=3), 3, grad=[0, 1, 2])


def _in_float64(g: Source) -> Program:
    q, k, v = (g.randn(1, 2, 7, d, dtype=torch.float64) for d in (3, 3, 2))
    return call(q, k, v, g.integer(2, 5))


def _next_block_first(q, k, v, w):
    """Each block of keys stands before the one that precedes it, while the mask expects the opposite."""
    T, out = q.shape[2], []
    w = min(w, T)
    missing = -T % w
    q = F.pad(q, (0, 0, 0, missing))
    k, v = (F.pad(x, (0, 0, w, missing)) for x in (k, v))
    for start in range(0, T, w):
        i, j = torch.arange(start, start + w)[:, None], torch.arange(start - w, start + w)
        k2, v2 = (torch.cat([x[:, :, start + w : start + 2 * w], x[:, :, start : start + w]], dim=2) for x in (k, v))
        mask = (j <= i) & (i - j < w) & (j >= 0)
        out.append(attend(q[:, :, start : start + w], k2, v2, mask))
    return torch.cat(out, dim=2)[:, :, :T]


MISTAKES = [
    *changes(
        local_by_loop,
        """
dense: range(0, T, w) → range(0, T, T) ; start + w) → start + T)
    The numbers are right, but every pair is scored: that is dense attention with a mask. Cut the text into blocks, and
    score each block of queries against two blocks of keys.
whole_prefix: max(0, start - w + 1) → 0
    The numbers are right, but each block of queries is scored against all keys before it: the work still grows with
    T². Its own block of keys and the one before are enough.
blocks_in_vain: start - w + 1 → start - 4 * w
    The numbers are right, but each block of queries is scored against four blocks of keys before it. A window of w
    keys never reaches past the block just before: one is enough.
own_block_only: max(0, start - w + 1) → start
    Each block sees only itself, so its first token has lost its window. Add the block of keys before it.
two_blocks: start - w + 1 → start - w ; & (i - j < w) →
    All keys of both blocks up to the query are used, up to 2w of them. Inside the two blocks the window still
    holds: i − j < w.
not_causal: (j <= i) & (i - j < w) → i - j < w
    Tokens see the rest of their own block, which comes after them. Inside the two blocks the mask also asks for j <= i.
self_not_counted: start - w + 1 → start - w ; i - j < w → i - j <= w
    Most tokens have w + 1 keys. The window counts the own key: i − j < w.
zeros_in_front: max(0, start - w + 1) → start - w ; T, out = → k, v = (F.pad(x, (0, 0, w, 0)) for x in (k, v)); T, out =
; k[:, :, first:end] → k[:, :, first + w : end + w] ; v[:, :, first:end] → v[:, :, first + w : end + w]
    The empty block in front of the first one takes part: keys of 0 get the score 0, which has weight. Hide positions
    below 0.
scores_of_zero: start - w + 1 → start - w ; , mask) → , mask, fill=0.0)
    Pairs outside the window get the score 0 instead of −∞, and a score of 0 still gets weight.
fixed_blocks: range(0, T, w) → range(0, T, 128) ; start + w) → start + 128)
    The numbers are right, but the blocks have a fixed length: narrow windows still score many keys per query. Cut
    the text into blocks of w.
""",
    ),
    *changes(
        gathered.local_attention,
        """
window_not_shortened: w = min(w, T) →
    The numbers are right, but a window longer than the text makes a block of its own length. Start with w = min(w,
    T).
""",
    ),
    *changes(
        local_by_loop,
        """
values_cleaned: v[:, :, first:end] → v[:, :, first:end].nan_to_num()
    Values that are not a number are replaced by 0, even for the queries that see them. Nothing need be cleaned
    where each block scores only its own keys.
negative_start: max(0, start - w + 1) → start - w + 1 ; arange(first, → arange(max(0, first),
    The slice of keys starts below 0 in the first block, and a negative start counts from the end. Use max(0, …).
unscaled: , mask) → , mask, scale=False)
    The scores are not divided by √D.
empty_block_seen: T, out = → w = min(w, q.shape[2]); T, out = ; max(0, start - w + 1) → start - w
; T, out = → k, v = (F.pad(x, (0, 0, w, 0)) for x in (k, v)); T, out =
; k[:, :, first:end] → k[:, :, first + w : end + w] ; v[:, :, first:end] → v[:, :, first + w : end + w]
    The empty block in front of the first one takes part: its keys of 0 get the score 0, which has weight. Hide keys at
    positions below 0: ask for j >= 0.
window_short: i - j < w → i - j < max(w - 1, 1)
    Tokens lack the oldest key of their window. w counts the own key, so the w − 1 before it belong to the window: i − j
    < w.
self_hidden: start - w + 1 → start - w ; (j <= i) & (i - j < w) → (j < i) & (i - j <= w)
    Tokens do not see themselves, and the first one has no key at all, which gives NaN. The window holds the own key: j
    <= i.
places_not_shifted: start - w + 1 → start - w ; arange(start, end) → arange(end - start)
; arange(first, end) → arange(end - first)
    The mask counts queries and keys both from 0, although the slice of keys begins a block earlier. Number both by
    their positions in the text: arange(start, end), arange(first, end).
over_queries: start - w + 1 → start - w ; , mask) → , mask, dim=-2)
    The softmax runs down the queries of a block. The weights of each query sum to 1: take the softmax along the
    last axis, the keys.
rest_dropped: T, out = q.shape[2], [] → T, out, w = q.shape[2], [], min(w, q.shape[2])
; range(0, T, w) → range(0, T // w * w, w)
    The shorter block at the end is missing from the result. T // w counts only whole blocks; go on to the end of
    the text.
padding_returned: T, out = → w = min(w, q.shape[2]); T, out =
; T, out = → q, k, v = (F.pad(x, (0, 0, 0, -x.shape[2] % w)) for x in (q, k, v)); T, out =
    The result is longer than the text: the tokens that fill up the last block are still there. Cut them off at the end,
    [:, :, :T].
whole_blocks_only: T, out = → q.unflatten(2, (-1, w)); T, out =
    The text is cut into blocks of w without filling up the last one, which fails where w does not divide T. Pad the
    end with F.pad, and cut it off the result again.
float32_result: torch.cat(out, dim=2) → torch.cat(out, dim=2).float()
    The numbers are right, but they come in float32, whatever goes in. Join the blocks with torch.cat, or make the
    tensor that takes them in the dtype of v.
""",
    ),
    Mutant(
        "blocks_in_wrong_order",
        _next_block_first,
        "The keys of a block and of the one before it are joined in the wrong order, so the mask hides other keys "
        "than it should. Put the earlier block first.",
    ),
]


EXERCISE = Exercise(
    id="sparse.local_attention",
    title="A window in blocks",
    points=4,
    difficulty=5,
    minutes=25,
    reference=gathered.local_attention,
    alternatives=[local_by_unfold, local_by_loop],
    cases=[
        Case(
            "two back",
            "four tokens with equal scores and values 1, 3, 5, 9, a window of 2: 1, 2, 4, 7",
            lambda g: call(torch.zeros(1, 1, 4, 2), torch.ones(1, 1, 4, 2), column(1.0, 3.0, 5.0, 9.0), 2),
            weight=2,
        ),
        Case(
            "whole blocks",
            "two sentences, three heads, twelve tokens in windows of 4",
            lambda g: _local_call(g, 12, 4),
            weight=2,
        ),
        Case(
            "short end",
            "eleven tokens in windows of 4: the last block is not full",
            lambda g: _local_call(g, 11, 4),
            weight=2,
        ),
        Case("own key", "a window of 1: every token gets its own value", lambda g: _local_call(g, 5, 1, B=1), weight=0),
        Case("wide", "a window of 9 on six tokens: causal attention", lambda g: _local_call(g, 6, 9, B=1)),
        Case(
            "less work",
            "tokens 6 to 11 have NaN for values, windows of 3: tokens 0 to 5 must not notice",
            _poisoned_future,
            weight=2,
        ),
        Case(
            "cost",
            "256 tokens in windows of 8 and 4: at most 900,000 operations, and at most 100,000 entries of tensors",
            _counted,
            weight=4,
        ),
        Case(
            "long text",
            "a text so long, in grading, that the scores of all pairs find no room in memory",
            lambda g: _local_call(g, g.size(shown=100, graded=8_192), 32, B=1, H=g.size(shown=1, graded=8)),
            weight=4,
        ),
        Case(
            "much wider",
            "a window of 500 keys on five tokens costs no more than the text is long: at most 400,000 operations",
            _much_wider,
            weight=0.5,
        ),
        Case("float64", "seven tokens of 3 numbers in float64: so is the result", _in_float64),
        Case(
            "gradients",
            "eight tokens in windows of 3: queries, keys and values can be trained through the result",
            _trained,
        ),
        Case("random", "random sizes", lambda g: _local_call(g, g.integer(13, 19), g.integer(3, 6), B=1), weight=2),
    ],
    mutants=MISTAKES,
    equivalent="""
the result has gone through a softmax or is cut from floats: it holds no integers
    15cc6230d5 solution, result: return attention(blocks(q, 0), k, v, mask).flatten(2, 3)[:, :, :T]: result int_to_flo…
    c5c8e0eb12 solution, result: return F.pad(x, (0, 0, front, n * w - T)).unflatten(2, (-1, w)): result int_to_float
    3900046a9a alternative local_by_unfold, result: return attend(q.unsqueeze(3), *views, real[:, None]).squeeze(3): r…
    c92f4b2fd4 alternative local_by_loop, result: return torch.cat(out, dim=2): result int_to_float
a block that starts behind the end has no queries and adds nothing
    e8dd5537e2 alternative local_by_loop, window: T + 1 in range(0, T, w)
the keys before the window are hidden by the mask, and one or two of them cost next to nothing
    92c53073e8 alternative local_by_loop, arithmetic: start - w + 1 → start - w - 1
    932433681b alternative local_by_loop, operand: start - w + 1 → start - w
""",
)
