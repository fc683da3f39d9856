"""Attention in a window, computed in blocks."""

import math

import torch
import torch.nn.functional as F

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import sparse as ref
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


def _looped(rule=lambda i, j, w: (j <= i) & (i - j < w), first=lambda start, w: max(0, start - w), **changed):
    """As local_by_loop, with a mistake in it."""

    def wrong(q, k, v, w):
        T, out = q.shape[2], []
        for start in range(0, T, w):
            end, begin = min(T, start + w), first(start, w)
            i, j = torch.arange(start, end)[:, None], torch.arange(begin, end)
            out.append(attend(q[:, :, start:end], k[:, :, begin:end], v[:, :, begin:end], rule(i, j, w), **changed))
        return torch.cat(out, dim=2)

    return wrong


def _zeros_in_front(q, k, v, w):
    """The empty block before the first one takes part with scores of 0."""
    T, n = q.shape[2], -(-q.shape[2] // w)
    k, v = (F.pad(x, (0, 0, w, 0)) for x in (k, v))
    out = []
    for m in range(n):
        i, j = torch.arange(m * w, min(T, m * w + w))[:, None], torch.arange((m - 1) * w, min(T, m * w + w))
        rows, cols = slice(m * w, m * w + w), slice(m * w, m * w + 2 * w)
        out.append(attend(q[:, :, rows], k[:, :, cols], v[:, :, cols], (j <= i) & (i - j < w)))
    return torch.cat(out, dim=2)


def _local_call(g: Source, T: int, w: int, **sizes: int) -> Program:
    return call(*qkv(g, T, **sizes), w)


def _poisoned_future(g: Source) -> Program:
    """Words from the third block on have NaN for values: no word before them may be touched by it."""
    q, k, v = qkv(g, 12, B=1, H=2)
    v[:, :, 6:] = math.nan
    return call(q, k, v, 3)


EXERCISE = Exercise(
    id="sparse.local_attention",
    unit="09-sparse-attention",
    title="A window in blocks",
    points=4,
    difficulty=5,
    minutes=25,
    signature="local_attention(q, k, v, w)",
    reference=gathered.local_attention,
    alternatives=[local_by_unfold, local_by_loop],
    cases=[
        Case(
            "two back",
            "four words with equal scores and values 1, 3, 5, 9, a window of 2: 1, 2, 4, 7",
            lambda g: call(torch.zeros(1, 1, 4, 2), torch.ones(1, 1, 4, 2), column(1.0, 3.0, 5.0, 9.0), 2),
            weight=2,
        ),
        Case(
            "whole blocks",
            "two sentences, three heads, twelve words in windows of 4",
            lambda g: _local_call(g, 12, 4),
            weight=2,
        ),
        Case(
            "short end",
            "eleven words in windows of 4: the last block is not full",
            lambda g: _local_call(g, 11, 4),
            weight=2,
        ),
        Case("own key", "a window of 1: every word gets its own value", lambda g: _local_call(g, 5, 1, B=1), weight=0),
        Case("wide", "a window of 9 on six words: causal attention", lambda g: _local_call(g, 6, 9, B=1)),
        Case(
            "less work",
            "words 6 to 11 have NaN for values, windows of 3: words 0 to 5 must not notice",
            _poisoned_future,
            weight=2,
        ),
        Case("random", "random sizes", lambda g: _local_call(g, g.integer(13, 19), g.integer(3, 6), B=1), weight=2),
    ],
    mutants=[
        Mutant(
            "dense",
            lambda q, k, v, w: attend(q, k, v, ref.local_causal_mask(q.shape[2], w)),
            "The numbers are right, but every pair is scored: that is dense attention with a mask. Cut the words "
            "into blocks, and score each block of queries against two blocks of keys.",
        ),
        Mutant(
            "own_block_only",
            _looped(first=lambda start, w: start),
            "Each block sees only itself, so the first word of a block has lost its window. Add the block of keys "
            "before it.",
        ),
        Mutant(
            "two_blocks",
            _looped(rule=lambda i, j, w: j <= i),
            "All keys of both blocks up to the query are used, up to 2w of them. Inside the two blocks the window "
            "still holds: i − j < w.",
        ),
        Mutant(
            "not_causal",
            _looped(rule=lambda i, j, w: i - j < w),
            "Words see the rest of their own block, which comes after them. Inside the two blocks the mask is also "
            "j <= i.",
        ),
        Mutant(
            "self_not_counted",
            _looped(rule=lambda i, j, w: (j <= i) & (i - j <= w)),
            "Most words have w + 1 keys. The window counts the own key: i − j < w.",
        ),
        Mutant(
            "zeros_in_front",
            _zeros_in_front,
            "The empty block in front of the first one takes part: keys of 0 get the score 0, which has weight. "
            "Hide places below 0.",
        ),
        Mutant(
            "scores_of_zero",
            _looped(fill=0.0),
            "Pairs outside the window get the score 0 instead of −∞, and a score of 0 still gets weight.",
        ),
        Mutant("unscaled", _looped(scale=False), "The scores are not divided by √D."),
    ],
)
