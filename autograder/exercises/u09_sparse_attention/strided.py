"""The two strided masks of the Sparse Transformer."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import sparse as ref

from .shared import pair_by_rules, places


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


_NEAR = lambda i, j, s: (j <= i) & (i - j < s)
_FAR = lambda i, j, s: (j <= i) & ((i - j) % s == 0)

EXERCISE = Exercise(
    id="sparse.strided",
    unit="09-sparse-attention",
    title="Strided: near ones, and every stride-th",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    signature="strided_masks(T, stride)",
    reference=ref.strided_masks,
    alternatives=[strided_by_slices, strided_by_remainders],
    cases=[
        Case(
            "every second",
            "five words, stride 2: word 4 sees 3 and 4 in the first mask, 0, 2 and 4 in the second",
            lambda g: call(5, 2),
            weight=2,
        ),
        Case("every third", "nine words, stride 3", lambda g: call(9, 3)),
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
    ],
    mutants=[
        Mutant(
            "swapped",
            pair_by_rules(_FAR, _NEAR),
            "The two masks are in the other order. First the near keys, then every stride-th.",
        ),
        Mutant(
            "looks_ahead",
            pair_by_rules(_NEAR, lambda i, j, s: (i - j) % s == 0),
            "The second mask looks ahead. Every stride-th key *back* from the query: also ask for j <= i.",
        ),
        Mutant(
            "from_the_start",
            pair_by_rules(_NEAR, lambda i, j, s: (j <= i) & (j % s == 0)),
            "The second mask counts from the start of the text: all queries see the same keys. Count back from the "
            "query, (i − j) % stride == 0.",
        ),
        Mutant(
            "own_left_out",
            pair_by_rules(_NEAR, lambda i, j, s: (j < i) & ((i - j) % s == 0)),
            "In the second mask a word does not see itself, and the first words see nothing. Distance 0 is a "
            "multiple of the stride.",
        ),
        Mutant(
            "window_too_wide",
            pair_by_rules(lambda i, j, s: (j <= i) & (i - j <= s), _FAR),
            "The first mask holds stride + 1 keys. Take stride of them, the own one included.",
        ),
        Mutant(
            "blocks",
            pair_by_rules(lambda i, j, s: (j <= i) & (i // s == j // s), _FAR),
            "The first mask cuts the text into blocks. Strided attention uses a window that moves with the query.",
        ),
        Mutant(
            "together",
            lambda T, stride: (ref.strided_masks(T, stride)[0] | ref.strided_masks(T, stride)[1],) * 2,
            "Both masks are joined into one. Keep them apart: one is for one head or layer, one for another.",
        ),
        Mutant(
            "unchecked", pair_by_rules(_NEAR, _FAR), "The masks are right. Raise a ValueError for a stride below 1."
        ),
    ],
)
