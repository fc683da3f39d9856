"""The two fixed masks of the Sparse Transformer."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import sparse as ref

from .shared import pair_by_rules


def fixed_by_slices(T, stride, summary=1):
    """Row by row."""
    if not 1 <= summary <= stride:
        raise ValueError("summary must lie in 1 to stride")
    own, ends = torch.zeros(2, T, T, dtype=torch.bool)
    for i in range(T):
        own[i, i - i % stride : i + 1] = True
        for j in range(i + 1):
            ends[i, j] = (j + summary) // stride != j // stride
    return own, ends


def fixed_by_blocks(T, stride, summary=1):
    """The causal part of a block mask, and a row of chosen places."""
    if summary < 1 or summary > stride:
        raise ValueError(summary)
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    row = torch.tensor([t % stride + summary >= stride for t in range(T)])
    return ref.block_mask(T, stride) & causal, row & causal


def few_unchecked(T, stride, summary=1):
    """Refuses only too many summaries."""
    if summary > stride:
        raise ValueError(summary)
    return pair_by_rules(_OWN, _ENDS)(T, stride, summary)


def _many_unchecked(T, stride, summary=1):
    """Refuses only too few summaries."""
    if summary < 1:
        raise ValueError(summary)
    return pair_by_rules(_OWN, _ENDS)(T, stride, summary)


def _stride_refused(T, stride, summary=1):
    """Refuses as many summaries as words."""
    if summary not in range(1, stride):
        raise ValueError(summary)
    return pair_by_rules(_OWN, _ENDS)(T, stride, summary)


_OWN = lambda i, j, s, c=1: (j <= i) & (i // s == j // s)
_ENDS = lambda i, j, s, c=1: (j <= i) & (j % s >= s - c)

EXERCISE = Exercise(
    id="sparse.fixed",
    title="Fixed: the own block, and summaries of the others",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    signature="fixed_masks(T, stride, summary=1)",
    reference=ref.fixed_masks,
    alternatives=[fixed_by_slices, fixed_by_blocks],
    cases=[
        Case(
            "pairs",
            "five words, stride 2: word 4 sees itself in the first mask, words 1 and 3 in the second",
            lambda g: call(5, 2),
            weight=2,
        ),
        Case("threes", "nine words, stride 3", lambda g: call(9, 3)),
        Case(
            "two summaries",
            "ten words, stride 4: the last two of every block are seen by all after them",
            lambda g: call(10, 4, summary=2),
            weight=2,
        ),
        Case(
            "random",
            "four times random sizes",
            lambda g: several(4, lambda p: p.call(g.integer(15, 25), g.integer(4, 9), summary=g.integer(2, 4))),
            weight=2,
        ),
        Case(
            "all summaries",
            "as many summaries as the block has words, and blocks of one word: all earlier words are seen",
            lambda g: call(7, 3, summary=3).call(4, 1),
            weight=0.5,
        ),
        Case("too many", "5 summaries in blocks of 4: ValueError", lambda g: call(8, 4, summary=5), weight=0.5),
        Case("too few", "blocks without any summary: ValueError", lambda g: call(8, 4, summary=0), weight=0.5),
    ],
    mutants=[
        Mutant(
            "first_of_block",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j <= i) & (j % s < c)),
            "The summaries are the first places of each block. Take the last ones: only they have seen the whole "
            "block.",
        ),
        Mutant(
            "summaries_ahead",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j % s >= s - c) & (i >= 0)),
            "The second mask looks ahead at summaries of later blocks. Also ask for j <= i.",
        ),
        Mutant(
            "whole_block",
            pair_by_rules(lambda i, j, s, c=1: i // s == j // s, _ENDS),
            "The first mask looks ahead inside the block. It is the own block so far: also ask for j <= i.",
        ),
        Mutant(
            "window",
            pair_by_rules(lambda i, j, s, c=1: (j <= i) & (i - j < s), _ENDS),
            "The first mask is a window that moves with the query. Here it stays in the query's own block: compare "
            "i // stride with j // stride.",
        ),
        Mutant(
            "one_summary",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j <= i) & (j % s == s - 1)),
            "Only the last place of each block is a summary. Take the last `summary` places.",
        ),
        Mutant(
            "one_too_many",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j <= i) & (j % s >= s - c - 1)),
            "One summary too many in each block. The last c of the places 0 … s − 1 are those with j % s >= s − c.",
        ),
        Mutant(
            "rows",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j <= i) & (i % s >= s - c)),
            "The second mask chooses queries: summaries see everything. Choose keys instead, the columns j: all "
            "later words see the summaries.",
        ),
        Mutant(
            "others_only",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j // s < i // s) & (j % s >= s - c)),
            "The summaries of the own block are left out. They belong to the second mask as well, from their own "
            "place on.",
        ),
        Mutant(
            "too_few_unchecked",
            few_unchecked,
            "Too many summaries are refused, too few are not. Raise a ValueError below 1, too.",
        ),
        Mutant(
            "too_many_unchecked",
            _many_unchecked,
            "Too few summaries are refused, too many are not. Raise a ValueError above `stride`, too.",
        ),
        Mutant(
            "stride_refused",
            _stride_refused,
            "As many summaries as the block has words are refused. summary = stride is allowed: 1 … stride, both ends "
            "included.",
        ),
        Mutant(
            "swapped",
            pair_by_rules(_ENDS, _OWN),
            "The two masks are in the other order. First the own block, then the summaries.",
        ),
        Mutant(
            "unchecked",
            pair_by_rules(_OWN, _ENDS),
            "The masks are right. Raise a ValueError when summary lies outside 1 … stride.",
        ),
        Mutant(
            "one_too_few",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j <= i) & (j % s > s - c)),
            "One summary too few in each block. The last c of the places 0 … s − 1 are those with j % s >= s − c, "
            "that one included.",
        ),
        Mutant(
            "counted_from_front",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j <= i) & (j % s >= c)),
            "The summaries begin `summary` places after the start of a block. They are its *last* `summary` places: "
            "j % s >= s − summary.",
        ),
        Mutant(
            "one_place",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j <= i) & (j % s == s - c)),
            "Each block has a single summary, the place with j % s equal to s − summary. All from there to the "
            "block's end belong to it: use >=.",
        ),
        Mutant(
            "over_the_edge",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j <= i) & ((j + 1) % s < c)),
            "With more than one summary they spill over into the next block: its first places are taken. Take the last "
            "places of the block itself, j % s >= s − summary.",
        ),
        Mutant(
            "own_is_causal",
            pair_by_rules(lambda i, j, s, c=1: j <= i, _ENDS),
            "The first mask holds all earlier blocks, too: it is the causal mask. It ends at the start of the query's "
            "own block: i // stride == j // stride.",
        ),
        Mutant(
            "own_word_left_out",
            pair_by_rules(lambda i, j, s, c=1: (j < i) & (i // s == j // s), _ENDS),
            "In the first mask a word does not see itself. The own block so far holds the own place: j <= i.",
        ),
        Mutant(
            "summary_without_itself",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j < i) & (j % s >= s - c)),
            "In the second mask a summary does not see itself. It is causal with the own place: j <= i.",
        ),
        Mutant(
            "same_remainder",
            pair_by_rules(lambda i, j, s, c=1: (j <= i) & (i % s == j % s), _ENDS),
            "The first mask compares places inside the blocks. Compare the blocks instead: i // stride == j // stride.",
        ),
        Mutant(
            "blocks_of_summary",
            pair_by_rules(lambda i, j, s, c=1: (j <= i) & (i // c == j // c), _ENDS),
            "The blocks of the first mask have `summary` words. Their length is `stride`; `summary` belongs to the "
            "second mask alone.",
        ),
        Mutant(
            "together",
            pair_by_rules(*[lambda i, j, s, c=1: _OWN(i, j, s) | _ENDS(i, j, s, c)] * 2),
            "Both masks are joined into one. Keep them apart: first the own block so far, then the summaries so far.",
        ),
        Mutant(
            "ones_and_zeros",
            pair_by_rules(lambda i, j, s, c=1: _OWN(i, j, s).float(), lambda i, j, s, c=1: _ENDS(i, j, s, c).float()),
            "The masks hold the right ones and zeros, but as floats. A mask is boolean: ask for dtype=torch.bool, or "
            "end with .bool().",
        ),
    ],
)
