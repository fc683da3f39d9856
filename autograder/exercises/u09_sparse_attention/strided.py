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


def _without_torch(T, stride):
    rules = (_NEAR, _FAR)
    return tuple(torch.tensor([[rule(i, j, stride) for j in range(T)] for i in range(T)]) for rule in rules)


EXERCISE = Exercise(
    id="sparse.strided",
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
        Case("negative", "a negative stride: ValueError", lambda g: call(4, -g.integer(1, 5)), weight=0.5),
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
            "near_ahead",
            pair_by_rules(lambda i, j, s: (i - j).abs() < s, _FAR),
            "The first mask looks ahead: it goes by the size of the distance. Both masks are causal: also ask for "
            "j <= i.",
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
        Mutant(
            "window_too_short",
            pair_by_rules(lambda i, j, s: (j <= i) & (i - j < s - 1), _FAR),
            "The first mask holds stride − 1 keys. Take stride of them, the own one included: distances below stride.",
        ),
        Mutant(
            "near_without_own",
            pair_by_rules(lambda i, j, s: (j < i) & (i - j <= s), _FAR),
            "In the first mask a word does not see itself. Its stride keys are the own one and the stride − 1 before "
            "it.",
        ),
        Mutant(
            "near_own_missing",
            pair_by_rules(lambda i, j, s: (j < i) & (i - j < s), _FAR),
            "In the first mask a word does not see itself, and so it holds stride − 1 keys. The own one belongs to it: "
            "distance >= 0.",
        ),
        Mutant(
            "near_sees_future",
            pair_by_rules(lambda i, j, s: i - j < s, _FAR),
            "In the first mask all later keys are visible. Both masks are causal: also ask for a distance of at least "
            "0.",
        ),
        Mutant(
            "near_not_a_window",
            pair_by_rules(lambda i, j, s: j <= i, _FAR),
            "The first mask is the causal mask without a window. It holds only the last stride keys: distances below "
            "stride.",
        ),
        Mutant(
            "rows",
            pair_by_rules(_NEAR, lambda i, j, s: (j <= i) & (i % s == 0)),
            "The second mask chooses queries by their place: some see all before them, the others nothing. Ask for the "
            "distance: (i − j) % stride == 0.",
        ),
        Mutant(
            "last_of_blocks",
            pair_by_rules(_NEAR, lambda i, j, s: (j <= i) & (j % s == s - 1)),
            "The second mask holds the last word of each block, the same for all queries. Count back from the query: "
            "(i − j) % stride == 0.",
        ),
        Mutant(
            "quotient",
            pair_by_rules(_NEAR, lambda i, j, s: (j <= i) & ((i - j) // s == 0)),
            "The second mask is the window once more. A multiple of the stride leaves no *remainder*: use % in place "
            "of //.",
        ),
        Mutant(
            "stride_between",
            pair_by_rules(_NEAR, lambda i, j, s: (j <= i) & ((i - j) % (s + 1) == 0)),
            "The second mask leaves out `stride` keys between two visible ones. It should leave out stride − 1, so "
            "that distances are multiples of stride.",
        ),
        Mutant(
            "first_multiple_only",
            pair_by_rules(_NEAR, lambda i, j, s: (i == j) | (i - j == s)),
            "The second mask goes one stride back and no further. All multiples of the stride belong to it, back to "
            "the start.",
        ),
        Mutant(
            "remainder_not_zero",
            pair_by_rules(_NEAR, lambda i, j, s: (j <= i) & ((i - j) % s != 0)),
            "The second mask is upside down: it holds the keys whose distance is *no* multiple of the stride. Ask for "
            "remainder 0.",
        ),
        Mutant(
            "ones_and_zeros",
            pair_by_rules(lambda i, j, s: _NEAR(i, j, s).float(), lambda i, j, s: _FAR(i, j, s).float()),
            "The masks hold the right ones and zeros, but as floats. A mask is boolean: ask for dtype=torch.bool, or "
            "end with .bool().",
        ),
        Mutant(
            "unchecked_loop",
            _without_torch,
            "The masks are right. A stride of 0 ends in a division by zero: raise a ValueError for a stride below 1 "
            "first.",
        ),
    ],
)
