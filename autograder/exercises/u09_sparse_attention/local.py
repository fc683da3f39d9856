"""Windows, causal and symmetric."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import sparse as ref

from .shared import by_rule

LC, LS = ref.local_causal_mask, ref.local_symmetric_mask


def causal_by_triangles(T, w):
    """Two triangles."""
    if w < 1:
        raise ValueError("w must be at least 1")
    return torch.ones(T, T, dtype=torch.bool).tril().triu(1 - w)


def symmetric_by_triangles(T, w):
    """Two triangles around the diagonal."""
    if w % 2 == 0 or w < 1:
        raise ValueError("w must be odd")
    return torch.ones(T, T, dtype=torch.bool).tril(w // 2).triu(-(w // 2))


def causal_by_rows(T, w):
    """A slice of True in each row."""
    if w <= 0:
        raise ValueError(w)
    mask = torch.zeros(T, T, dtype=torch.bool)
    for i in range(T):
        mask[i, max(0, i - w + 1) : i + 1] = True
    return mask


def symmetric_by_rows(T, w):
    """A slice of True in each row."""
    if w <= 0 or not w % 2:
        raise ValueError(w)
    mask = torch.zeros(T, T, dtype=torch.bool)
    for i in range(T):
        mask[i, max(0, i - w // 2) : i + w // 2 + 1] = True
    return mask


_CAUSAL = lambda i, j, w: (j <= i) & (i - j < w)
_SYMMETRIC = lambda i, j, w: (i - j).abs() <= w // 2


# The mistakes leave the ValueErrors out: they come with the last point, and would hide which mistake it is.
def _local(causal=_CAUSAL, symmetric=_SYMMETRIC):
    return by_rule(causal), by_rule(symmetric)


EXERCISE = Exercise(
    id="sparse.local",
    unit="09-sparse-attention",
    title="Windows",
    points=2,
    difficulty=2,
    minutes=12,
    signature="local_causal_mask(T, w)",
    targets=("local_causal_mask", "local_symmetric_mask"),
    reference=(LC, LS),
    alternatives=[(causal_by_triangles, symmetric_by_triangles), (causal_by_rows, symmetric_by_rows)],
    cases=[
        Case(
            "two back",
            "four words, a window of 2: each word sees itself and the one before it",
            lambda g: call(4, 2),
            weight=2,
        ),
        Case(
            "three around",
            "four words, a symmetric window of 3: itself and one neighbor on each side",
            lambda g: call(4, 3, fn="local_symmetric_mask"),
            weight=2,
        ),
        Case("own key only", "a window of 1 holds nothing but the word itself", lambda g: call(3, 1), weight=0.5),
        Case("wide", "a window longer than the text is the causal mask", lambda g: call(4, 9), weight=0.5),
        Case(
            "random causal",
            "four times random sizes",
            lambda g: several(4, lambda p: p.call(g.integer(9, 17), g.integer(3, 9))),
            weight=2,
        ),
        Case(
            "random symmetric",
            "four times random sizes, an odd symmetric window",
            lambda g: several(
                4, lambda p: p.call(g.integer(12, 22), 2 * g.integer(2, 6) + 1, fn="local_symmetric_mask")
            ),
            weight=2,
        ),
        Case("no window", "a window of 0 keys lacks even the own one: ValueError", lambda g: call(4, 0), weight=0.5),
        Case(
            "even",
            "a symmetric window of 4 keys has no middle: ValueError",
            lambda g: call(6, 4, fn="local_symmetric_mask"),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "self_not_counted",
            _local(causal=lambda i, j, w: (j <= i) & (i - j <= w)),
            "The causal window holds w + 1 keys. w counts the own key, so the oldest visible one stands w − 1 "
            "places back: i − j < w.",
        ),
        Mutant(
            "self_hidden",
            _local(causal=lambda i, j, w: (j < i) & (i - j <= w)),
            "A word does not see itself. The window's w keys are its own and the w − 1 before it.",
        ),
        Mutant(
            "looks_ahead",
            _local(causal=lambda i, j, w: (i - j).abs() < w),
            "The causal window looks ahead as well. Keys later than the query stay hidden: also ask for j <= i.",
        ),
        Mutant(
            "not_a_window",
            _local(causal=lambda i, j, w: j <= i),
            "This is the causal mask without a window: nothing limits how far back a word looks.",
        ),
        Mutant(
            "block_instead",
            _local(causal=lambda i, j, w: (j <= i) & (i // w == j // w)),
            "These are blocks: the first word of a block sees only itself. A window moves along with each query.",
        ),
        Mutant(
            "radius_w",
            _local(symmetric=lambda i, j, w: (i - j).abs() <= w),
            "The symmetric window reaches w keys to each side, 2w + 1 in all. It should hold w: (w − 1)/2 to each "
            "side and the own one.",
        ),
        Mutant(
            "radius_short",
            _local(symmetric=lambda i, j, w: (i - j).abs() < w // 2),
            "The symmetric window lacks its outermost key on each side. Distances up to (w − 1)/2 belong to it, "
            "that one included.",
        ),
        Mutant(
            "still_causal",
            _local(symmetric=_CAUSAL),
            "The symmetric window looks only back. Half of its keys lie after the query.",
        ),
        Mutant(
            "upside_down",
            _local(causal=lambda i, j, w: ~_CAUSAL(i, j, w), symmetric=lambda i, j, w: ~_SYMMETRIC(i, j, w)),
            "The masks are upside down: True means may look.",
        ),
        Mutant(
            "even_unchecked",
            (LC, by_rule(_SYMMETRIC)),
            "Both masks are right. A symmetric window with an even number of keys has no middle: raise a ValueError.",
        ),
        Mutant(
            "below_one_unchecked",
            (by_rule(_CAUSAL), LS),
            "Both masks are right. A causal window of less than one key lacks even the own one: raise a ValueError.",
        ),
        Mutant(
            "unchecked",
            _local(),
            "Both masks are right. Raise a ValueError for a window below 1, and for a symmetric one that is even.",
        ),
    ],
)
