"""The two strided masks of the Sparse Transformer."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several
from autograder.reference import sparse as ref

from .shared import places


def strided_by_slices(T, stride):
    """Slices with a step."""
    if stride < 1:
        raise ValueError("stride must be at least 1")
    near, far = torch.zeros(2, T, T, dtype=torch.bool)
    for i in range(T):
        near[i, max(0, i - stride + 1) : i + 1] = True
        far[i, i % stride : i + 1 : stride] = True
    return near, far


def strided_by_remainders(T, stride):
    """Equal remainders."""
    if stride < 1:
        raise ValueError(stride)
    i, j = places(T)
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    return causal & (j > i - stride), causal & (i % stride == j % stride)


MISTAKES = changes(
    strided_by_remainders,
    """
swapped: raise ValueError(stride) → pass ; return causal & (j > i - stride), → near = causal & (j > i - stride); return
; == j % stride) → == j % stride), near
    The two masks are in the other order. First the near keys, then every stride-th.
looks_ahead: raise ValueError(stride) → pass ; causal & (i % → (i %
    The second mask looks ahead. It takes every stride-th key *back* from the query: also ask for j <= i.
from_the_start: raise ValueError(stride) → pass ; i % stride == j % stride → j % stride == 0
    The second mask counts from the start of the text: all queries see the same keys. Count back from the query, (i
    − j) % stride == 0.
own_left_out: raise ValueError(stride) → pass ; causal & (i → causal.tril(-1) & (i
    In the second mask a token does not see itself, and the first tokens see nothing. Distance 0 is a multiple of the
    stride.
window_too_wide: raise ValueError(stride) → pass ; j > i → j >= i
    The first mask holds stride + 1 keys. Take stride of them, the own one included.
near_ahead: raise ValueError(stride) → pass ; causal & (j > i - stride) → (i - j).abs() < stride
    The first mask looks ahead: it goes by the size of the distance. Both masks are causal: also ask for j <= i.
blocks: raise ValueError(stride) → pass ; j > i - stride → i // stride == j // stride
    The first mask cuts the text into blocks. Strided attention uses a window that moves with the query.
together: return causal & (j > i - stride), causal & (i % → return (causal & ((j > i - stride) | (i %
; j % stride) → j % stride)),) * 2
    Both masks are joined into one. Keep them apart: one is for one head or layer, one for another.
unchecked: raise ValueError(stride) → pass
    The masks are right. Raise a ValueError for a stride below 1.
window_too_short: raise ValueError(stride) → pass ; j > i - stride → j > i - stride + 1
    The first mask holds stride − 1 keys. Take stride of them, the own one included: distances below stride.
near_without_own: raise ValueError(stride) → pass ; causal & (j > i → causal.tril(-1) & (j >= i
    In the first mask a token does not see itself. Its stride keys are the own one and the stride − 1 before it.
near_own_missing: raise ValueError(stride) → pass ; causal & (j → causal.tril(-1) & (j
    In the first mask a token does not see itself, and so it holds stride − 1 keys. The own one belongs to it: distance
    >= 0.
near_sees_future: raise ValueError(stride) → pass ; causal & (j > i - stride) → j > i - stride
    In the first mask all later keys are visible. Both masks are causal: also ask for a distance of at least 0.
near_not_a_window: raise ValueError(stride) → pass ; causal & (j > i - stride) → causal
    The first mask is the causal mask without a window. It holds only the last stride keys: distances below stride.
rows: raise ValueError(stride) → pass ; == j % stride → == 0
    The second mask chooses queries by their position: some see all before them, the others nothing. Ask for the
    distance: (i − j) % stride == 0.
last_of_blocks: raise ValueError(stride) → pass ; i % stride == j % stride → j % stride == stride - 1
    The second mask holds the last token of each block, the same for all queries. Count back from the query: (i − j) %
    stride == 0.
quotient: raise ValueError(stride) → pass ; i % stride == j % stride → (i - j) // stride == 0
    The second mask is the window once more. A multiple of the stride leaves no *remainder*: use % in place of //.
stride_between: raise ValueError(stride) → pass ; i % stride == j % stride → (i - j) % (stride + 1) == 0
    The second mask leaves out `stride` keys between two visible ones. It should leave out stride − 1, so that
    distances are multiples of stride.
first_multiple_only: raise ValueError(stride) → pass
; causal & (i % stride == j % stride) → (i == j) | (i - j == stride)
    The second mask goes one stride back and no further. All multiples of the stride belong to it, back to the
    start.
remainder_not_zero: raise ValueError(stride) → pass ; == j → != j
    The second mask is upside down: it holds the keys whose distance is *no* multiple of the stride. Ask for
    remainder 0.
ones_and_zeros: raise ValueError(stride) → pass ; causal & (j > i - stride) → (causal & (j > i - stride)).float()
; causal & (i % stride == j % stride) → (causal & (i % stride == j % stride)).float()
    The masks hold the right ones and zeros, but as floats. A mask is boolean: ask for dtype=torch.bool, or end with
    .bool().
unchecked_loop: raise ValueError(stride) → pass
; (i % stride == j % stride) → torch.tensor([[(t - s) % stride == 0 for s in range(T)] for t in range(T)])
    The masks are right. A stride of 0 ends in a division by zero: raise a ValueError for a stride below 1 first.
""",
)


EXERCISE = Exercise(
    id="sparse.strided",
    title="Strided: near ones, and every stride-th",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    reference=ref.strided_masks,
    alternatives=[strided_by_slices, strided_by_remainders],
    cases=[
        Case(
            "every second",
            "five tokens, stride 2: token 4 sees 3 and 4 in the first mask, 0, 2 and 4 in the second",
            lambda g: call(5, 2),
            weight=2,
        ),
        Case("every third", "nine tokens, stride 3", lambda g: call(9, 3)),
        Case(
            "stride 1",
            "stride 1: only itself in the first mask, all before it in the second",
            lambda g: call(4, 1),
            weight=0.5,
        ),
        Case(
            "random",
            "four times random sizes",
            lambda g: several(4, lambda p: p.call(g.integer(15, 25), g.integer(3, 8))),
            weight=2,
        ),
        Case("no stride", "a stride of 0: ValueError", lambda g: call(4, 0), weight=0.5),
        Case("negative", "a negative stride: ValueError", lambda g: call(4, -g.integer(1, 5)), weight=0.5),
    ],
    mutants=MISTAKES,
    unasked="""
the learner's function has no device; only the reference, which other units use, has one
    strided_masks(device)
""",
    equivalent="""
local_causal_mask, called next, raises the ValueError for a window below 1
    a9fc937638 solution, if: no error for stride < 1
local_causal_mask, called next, raises the ValueError for a window of 0
    4370bf6fa8 solution, constant: 1 → 0 in stride < 1
each row is written on its own, in any order
    51f44d7221 alternative strided_by_slices, reversed: range(T) reversed
""",
)
