"""A mask of blocks."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several
from autograder.reference import sparse as ref


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


MISTAKES = [
    *changes(
        ref.block_mask,
        """
causal_blocks: _at_least_one(block=block) → ; blocks[:, None] == blocks → (blocks[:, None] == blocks).tril()
    Inside a block the tokens look only back. In this exercise they look in both directions.
count_of_blocks: _at_least_one(block=block) → ; // block → // -(-T // block)
    The text is cut into `block` pieces. `block` is the number of tokens in each piece.
window: _at_least_one(block=block) → ; // block → ; blocks[:, None] == blocks → (blocks[:, None] - blocks).abs() < block
    This is a window that moves with the query. Two tokens see each other when i // block equals j // block.
strides: _at_least_one(block=block) → ; // block → % block
    Tokens with the same remainder see each other. Use the quotient: i // block says which block a token is in.
one_based: _at_least_one(block=block) → ; arange(T, → arange(1, T + 1,
    The blocks start one token too early. Positions count from 0, so the first block holds 0 to block − 1.
earlier_blocks: _at_least_one(block=block) → ; blocks[:, None] == blocks → blocks <= blocks[:, None]
    Earlier blocks are visible as well. A token sees its own block only: use == instead of <=.
rest_left_out: _at_least_one(block=block) → whole = T // block
; blocks[:, None] == blocks → (blocks[:, None] == blocks) & (blocks < whole)
    The tokens of the shorter block at the end see nothing, not even themselves. T // block counts only whole blocks:
    the shorter one comes on top.
negative_unchecked: block=block → block=abs(block)
    The mask is right, and blocks of 0 tokens are refused. Raise a ValueError for negative sizes as well: block < 1.
unchecked: _at_least_one(block=block) →
    The mask is right. Raise a ValueError for blocks of less than one token.
""",
    ),
    *changes(
        blocks_by_repeating,
        """
not_cut: raise ValueError(block) → pass ; [:T, :T] →
    The mask consists of whole blocks, so it is larger than the text where the last block is shorter. Cut it off at
    the end: [:T, :T].
smaller_than_text: raise ValueError(block) → pass ; -(-T // block) → T // block ; [:T, :T] →
    The mask holds only whole blocks, so it is smaller than the text: tokens at the end have no row. It should be (T,
    T), with a shorter block at the end.
""",
    ),
    *changes(
        ref.block_mask,
        """
rest_joined: _at_least_one(block=block) → ; return → blocks = blocks.clamp(max=max(T // block - 1, 0)); return
    The tokens left over at the end join the last whole block. They should make a shorter block of their own.
upside_down: _at_least_one(block=block) → ; == → !=
    The mask is upside down: tokens see all blocks but their own. True means may look.
ones_and_zeros: _at_least_one(block=block) → ; blocks[:, None] == blocks → (blocks[:, None] == blocks).float()
    The mask holds the right ones and zeros, but as floats. A mask is boolean: compare with ==, ask for
    dtype=torch.bool, or end with .bool().
unchecked_loop: _at_least_one(block=block) →
; torch.arange(T, device=device) // block → torch.tensor([i // block for i in range(T)])
    The mask is right. Blocks of 0 tokens end in a division by zero, and negative sizes pass: raise a ValueError for
    less than one token.
""",
    ),
    *changes(
        blocks_by_slices,
        """
unchecked_range: raise ValueError("block must be at least 1") → pass
    The mask is right, but a negative size gives an empty mask: range runs no step. Raise a ValueError for block <
    1.
""",
    ),
]


EXERCISE = Exercise(
    id="sparse.block",
    title="Blocks",
    points=1,
    difficulty=1,
    minutes=6,
    extension=True,
    reference=ref.block_mask,
    alternatives=[blocks_by_slices, blocks_by_repeating],
    cases=[
        Case("two and two", "four tokens in blocks of 2: two squares on the diagonal", lambda g: call(4, 2), weight=2),
        Case("short end", "five tokens in blocks of 2: the last token is alone", lambda g: call(5, 2)),
        Case("single words", "blocks of 1: every token is alone", lambda g: call(4, 1), weight=0.5),
        Case("one block", "a block of 9 holds all of six tokens", lambda g: call(6, 9), weight=0.5),
        Case(
            "random",
            "four times random sizes",
            lambda g: several(4, lambda p: p.call(g.integer(13, 25), g.integer(3, 7))),
            weight=2,
        ),
        Case("no block", "blocks of 0 tokens: ValueError", lambda g: call(4, 0), weight=0.5),
        Case("negative", "blocks of a negative size: ValueError", lambda g: call(6, -g.integer(1, 5)), weight=0.5),
    ],
    mutants=MISTAKES,
    unasked="""
the learner's function has no device; only the reference, which other units use, has one
    block_mask(device)
""",
    equivalent="""
each square is written on its own, in any order
    1ffb3a39b7 alternative blocks_by_slices, reversed: range(0, T, block) reversed
a slice that starts behind the end is empty
    67ae342769 alternative blocks_by_slices, window: T + 1 in range(0, T, block)
for a block of 0, range itself raises a ValueError
    883e3fb50d alternative blocks_by_slices, constant: 1 → 0 in block < 1
more blocks than needed are cut off again
    b89d69a19b alternative blocks_by_repeating, operand: -T // block → -T
""",
)
