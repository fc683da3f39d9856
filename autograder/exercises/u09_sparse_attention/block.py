"""A mask of blocks."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import sparse as ref

from .shared import by_rule


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


EXERCISE = Exercise(
    id="sparse.block",
    unit="09-sparse-attention",
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
        Case(
            "random",
            "four times random sizes",
            lambda g: several(4, lambda p: p.call(g.integer(13, 25), g.integer(3, 7))),
            weight=2,
        ),
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
