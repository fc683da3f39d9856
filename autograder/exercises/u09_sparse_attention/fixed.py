"""The two fixed masks of the Sparse Transformer."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several
from autograder.reference import sparse as ref


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


MISTAKES = changes(
    fixed_by_blocks,
    """
first_of_block: raise ValueError(summary) → pass ; t % stride + summary >= stride → t % stride < summary
    The summaries are the first positions of each block. Take the last ones: only they have seen the whole block.
summaries_ahead: raise ValueError(summary) → pass ; row & causal → row.expand(T, T)
    The second mask looks ahead at summaries of later blocks. Also ask for j <= i.
whole_block: raise ValueError(summary) → pass ; ref.block_mask(T, stride) & causal → ref.block_mask(T, stride)
    The first mask looks ahead inside the block. It is the own block so far: also ask for j <= i.
window: raise ValueError(summary) → pass ; ref.block_mask(T, stride) → ref.local_causal_mask(T, stride)
    The first mask is a window that moves with the query. Here it stays in the query's own block: compare i //
    stride with j // stride.
one_summary: raise ValueError(summary) → pass ; t % stride + summary >= stride → t % stride == stride - 1
    Only the last position of each block is a summary. Take the last `summary` positions.
one_too_many: raise ValueError(summary) → pass ; >= stride → >= stride - 1
    Each block has one summary too many. The last c of the positions 0 … s − 1 are those with j % s >= s − c.
rows: raise ValueError(summary) → pass ; row & causal → row[:, None] & causal
    The second mask chooses queries: summaries see everything. Choose keys instead, the columns j: all later tokens see
    the summaries.
others_only: raise ValueError(summary) → pass ; row & causal → row & causal & ~ref.block_mask(T, stride)
    The summaries of the own block are left out. They belong to the second mask as well, from their own position on.
too_few_unchecked: summary < 1 or summary > stride → summary > stride
    Too many summaries are refused, too few are not. Raise a ValueError below 1, too.
too_many_unchecked: summary < 1 or summary > stride → summary < 1
    Too few summaries are refused, too many are not. Raise a ValueError above `stride`, too.
stride_refused: summary > stride → summary >= stride
    As many summaries as the block has tokens are refused. summary = stride is allowed: 1 … stride, both ends included.
swapped: raise ValueError(summary) → pass
; ref.block_mask(T, stride) & causal, row & causal → row & causal, ref.block_mask(T, stride) & causal
    The two masks are in the other order. First the own block, then the summaries.
unchecked: raise ValueError(summary) → pass
    The masks are right. Raise a ValueError when summary lies outside 1 … stride.
one_too_few: raise ValueError(summary) → pass ; >= stride → > stride
    Each block has one summary too few. The last c of the positions 0 … s − 1 are those with j % s >= s − c, where s − c
    is included.
counted_from_front: raise ValueError(summary) → pass ; t % stride + summary >= stride → t % stride >= summary
    The summaries begin `summary` positions after the start of a block. They are its *last* `summary` positions: j % s
    >= s − summary.
one_place: raise ValueError(summary) → pass ; >= stride → == stride
    Each block has a single summary, the position with j % s equal to s − summary. All positions from there to the
    block's end are summaries: use >=.
over_the_edge: raise ValueError(summary) → pass ; t % stride + summary >= stride → (t + 1) % stride < summary
    Where there is more than one summary, they spill over into the next block and take its first positions. Take the
    last positions of the block itself: j % s >= s − summary.
own_is_causal: raise ValueError(summary) → pass ; ref.block_mask(T, stride) & causal → causal
    The first mask holds all earlier blocks, too: it is the causal mask. It ends at the start of the query's own
    block: i // stride == j // stride.
own_word_left_out: raise ValueError(summary) → pass ; stride) & causal → stride) & causal.tril(-1)
    In the first mask a token does not see itself. The own block so far includes the own position: j <= i.
summary_without_itself: raise ValueError(summary) → pass ; row & causal → row & causal.tril(-1)
    In the second mask a summary does not see itself. A causal mask includes the own position: j <= i.
same_remainder: raise ValueError(summary) → pass ; return → places = torch.arange(T) % stride; return
; ref.block_mask(T, stride) → (places[:, None] == places)
    The first mask compares positions inside the blocks. Compare the blocks instead: i // stride == j // stride.
blocks_of_summary: raise ValueError(summary) → pass ; return → blocks = torch.arange(T) // summary; return
; ref.block_mask(T, stride) → (blocks[:, None] == blocks)
    The blocks of the first mask have `summary` tokens. Their length is `stride`; `summary` belongs to the second mask
    alone.
together: raise ValueError(summary) → pass
; return ref.block_mask(T, stride) & causal, row & causal → return ((ref.block_mask(T, stride) | row) & causal,) * 2
    Both masks are joined into one. Keep them apart: first the own block so far, then the summaries so far.
ones_and_zeros: raise ValueError(summary) → pass ; row & causal → (row & causal).float()
; ref.block_mask(T, stride) & causal → (ref.block_mask(T, stride) & causal).float()
    The masks hold the right ones and zeros, but as floats. A mask is boolean: ask for dtype=torch.bool, or end with
    .bool().
""",
)


EXERCISE = Exercise(
    id="sparse.fixed",
    title="Fixed: the own block, and summaries of the others",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    reference=ref.fixed_masks,
    alternatives=[fixed_by_slices, fixed_by_blocks],
    cases=[
        Case(
            "pairs",
            "five tokens, stride 2: token 4 sees itself in the first mask, tokens 1 and 3 in the second",
            lambda g: call(5, 2),
            weight=2,
        ),
        Case("threes", "nine tokens, stride 3", lambda g: call(9, 3)),
        Case(
            "two summaries",
            "ten tokens, stride 4: the last two of every block are seen by all after them",
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
            "as many summaries as the block has tokens, and blocks of one token: all earlier tokens are seen",
            lambda g: call(7, 3, summary=3).call(4, 1),
            weight=0.5,
        ),
        Case("too many", "5 summaries in blocks of 4: ValueError", lambda g: call(8, 4, summary=5), weight=0.5),
        Case("too few", "blocks without any summary: ValueError", lambda g: call(8, 4, summary=0), weight=0.5),
    ],
    mutants=MISTAKES,
    unasked="""
the learner's function has no device; only the reference, which other units use, has one
    fixed_masks(device)
    fixed_masks(device, summary)
""",
    equivalent="""
each entry is written on its own, in any order
    dfa5907675 alternative fixed_by_slices, reversed: range(T) reversed
    f51c1f23af alternative fixed_by_slices, reversed: range(i + 1) reversed
""",
)
