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


def _zero_refused(T, block):
    """Looks for 0, not for less."""
    if block == 0:
        raise ValueError(block)
    return by_rule(lambda i, j, b: i // b == j // b)(T, block)


def _whole_blocks_only(T, block):
    """As many squares as whole blocks fit in."""
    mask = torch.zeros(T, T, dtype=torch.bool)
    for b in range(T // block):
        mask[b * block : (b + 1) * block, b * block : (b + 1) * block] = True
    return mask


def _squares(n, block):
    return torch.kron(torch.eye(n), torch.ones(block, block)).bool()


def _without_torch(T, block):
    return torch.tensor([[i // block == j // block for j in range(T)] for i in range(T)])


EXERCISE = Exercise(
    id="sparse.block",
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
        Case("single words", "blocks of 1: every word is alone", lambda g: call(4, 1), weight=0.5),
        Case("one block", "a block of 9 holds all of six words", lambda g: call(6, 9), weight=0.5),
        Case(
            "random",
            "four times random sizes",
            lambda g: several(4, lambda p: p.call(g.integer(13, 25), g.integer(3, 7))),
            weight=2,
        ),
        Case("no block", "blocks of 0 words: ValueError", lambda g: call(4, 0), weight=0.5),
        Case("negative", "blocks of a negative size: ValueError", lambda g: call(6, -g.integer(1, 5)), weight=0.5),
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
            "rest_left_out",
            _whole_blocks_only,
            "The words of the shorter block at the end see nothing, not even themselves. T // block counts only whole "
            "blocks: that one comes on top.",
        ),
        Mutant(
            "negative_unchecked",
            _zero_refused,
            "The mask is right, and blocks of 0 words are refused. Raise a ValueError for negative sizes as well: "
            "block < 1.",
        ),
        Mutant(
            "unchecked",
            by_rule(lambda i, j, b: i // b == j // b),
            "The mask is right. Raise a ValueError for blocks of less than one word.",
        ),
        Mutant(
            "not_cut",
            lambda T, block: _squares(-(-T // block), block),
            "The mask consists of whole blocks, so it is larger than the text where the last block is shorter. Cut it "
            "off at the end: [:T, :T].",
        ),
        Mutant(
            "smaller_than_text",
            lambda T, block: _squares(T // block, block),
            "The mask holds only whole blocks, so it is smaller than the text: words at the end have no row. It is "
            "(T, T), with a shorter block at the end.",
        ),
        Mutant(
            "rest_joined",
            by_rule(
                lambda i, j, b: (
                    (i // b).clamp(max=max(len(i) // b - 1, 0)) == (j // b).clamp(max=max(len(i) // b - 1, 0))
                )
            ),
            "The words left over at the end join the last whole block. They make a shorter block of their own.",
        ),
        Mutant(
            "upside_down",
            by_rule(lambda i, j, b: i // b != j // b),
            "The mask is upside down: words see all blocks but their own. True means may look.",
        ),
        Mutant(
            "ones_and_zeros",
            by_rule(lambda i, j, b: (i // b == j // b).float()),
            "The mask holds the right ones and zeros, but as floats. A mask is boolean: compare with ==, ask for "
            "dtype=torch.bool, or end with .bool().",
        ),
        Mutant(
            "unchecked_loop",
            _without_torch,
            "The mask is right. Blocks of 0 words end in a division by zero, and negative ones pass: raise a "
            "ValueError for less than one word.",
        ),
        Mutant(
            "unchecked_range",
            lambda T, block: blocks_by_slices(T, block) if block >= 0 else torch.zeros(T, T, dtype=torch.bool),
            "The mask is right, but a negative size gives an empty mask: range runs no step. Raise a ValueError for "
            "block < 1.",
        ),
    ],
)
