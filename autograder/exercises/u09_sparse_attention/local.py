"""Windows, causal and symmetric."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several
from autograder.reference import sparse as ref

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


# The mistakes leave the ValueErrors out: they come with the last point, and would hide which mistake it is.
MISTAKES = [
    *changes(
        (causal_by_triangles, symmetric_by_triangles),
        """
self_not_counted: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; 1 - w → -w
    The causal window holds w + 1 keys. w counts the own key, so the oldest visible one stands w − 1 positions back: i −
    j < w.
self_hidden: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; .tril().triu(1 - w) → .tril(-1).triu(-w)
    A token does not see itself. The window's w keys are its own and the w − 1 before it.
looks_ahead: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; .tril().triu → .tril(w - 1).triu
    The causal window looks ahead as well. Keys later than the query stay hidden: also ask for j <= i.
turned_round: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; .tril().triu(1 - w) → .triu().tril(w - 1)
    The causal window looks ahead instead of back. Its distance is the position of the query minus that of the key: rows
    minus columns.
not_a_window: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; .triu(1 - w) →
    This is the causal mask without a window: nothing limits how far back a token looks.
block_instead: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0:
; .triu(1 - w) → & (torch.arange(T)[:, None] // w == torch.arange(T) // w)
    These are blocks: the first token of a block sees only itself. A window moves along with each query.
radius_w: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; .tril(w // 2).triu(-(w // 2)) → .tril(w).triu(-w)
    The symmetric window reaches w keys to each side, 2w + 1 in all. It should hold w: (w − 1)/2 to each side and
    the own one.
radius_w_minus_one: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0:
; .tril(w // 2).triu(-(w // 2)) → .tril(w - 1).triu(1 - w)
    The symmetric window reaches w − 1 keys to each side, as the causal one does to one side. It shares its w keys
    between both: (w − 1)/2 to each side.
radius_short: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0:
; .tril(w // 2).triu(-(w // 2)) → .tril(w // 2 - 1).triu(1 - w // 2)
    The symmetric window lacks its outermost key on each side. Distances up to (w − 1)/2 belong to it, that one
    included.
still_causal: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; .tril(w // 2).triu(-(w // 2)) → .tril().triu(1 - w)
    The symmetric window looks only back. Half of its keys lie after the query.
upside_down: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; .triu(1 - w) → .triu(1 - w).logical_not()
; .triu(-(w // 2)) → .triu(-(w // 2)).logical_not()
    The masks are upside down: True means may look.
odd_only: if w < 1: → if w % 2 == 0: ; if w % 2 == 0 or w < 1: → if 0:
    The causal window refuses an even w. Only the symmetric one needs a middle: the causal one takes every w from 1
    on.
diagonals_beyond_text: if w % 2 == 0 or w < 1: → if 0:
; torch.ones(T, T, dtype=torch.bool).tril().triu(1 - w) → sum(torch.diag(torch.ones(T - d), -d) for d in range(w)) > 0
    The causal window fails where it is longer than the text: there are only T diagonals. Stop at min(w, T), or
    compare distances.
even_unchecked: if w % 2 == 0 or w < 1: → if 0:
    Both masks are right. A symmetric window with an even number of keys has no middle: raise a ValueError.
below_one_unchecked: if w < 1: → if 0:
    Both masks are right. A causal window of less than one key lacks even the own one: raise a ValueError.
negative_unchecked: if w < 1: → if w == 0: ; if w % 2 == 0 or w < 1: → if w % 2 == 0:
    Negative numbers of keys are let through. Raise a ValueError for every w below 1, in both masks: −3 is odd, and
    no window either.
unchecked: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0:
    Both masks are right. Raise a ValueError for a window below 1, and for a symmetric one that is even.
no_lower_bound: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; .tril().triu → .triu
    All later keys are visible. The causal window has two ends: i − j < w, and also i − j >= 0.
own_key_left_out: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; .tril().triu → .tril(-1).triu
    A token does not see itself, and so it has w − 1 keys. The own key, distance 0, is one of the w: i − j >= 0.
one_key_short: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; 1 - w → 2 - w
    The causal window lacks its oldest key. It holds w keys, so distances up to w − 1 belong to it, that one
    included.
half_window: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; 1 - w → -(w // 2)
    The causal window reaches only half as far back as it should. Only the symmetric one shares its keys between two
    sides: here all w are the own key and those before it.
conditions_exclude: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; 1 - w → w - 1
    For w above 1 the causal mask is empty: its two bounds exclude each other. Check the sign of the second: keys
    stand before the query, as a diagonal that is 1 − w.
""",
    ),
    *changes(
        (causal_by_rows, symmetric_by_triangles),
        """
negative_start: if w <= 0: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; max(0, i - w + 1) → i - w + 1
    The slices of the first rows start below 0, and a negative start counts from the end. Hold the start at 0:
    max(0, i − w + 1).
wraps_round: if w <= 0: → if 0: ; if w % 2 == 0 or w < 1: → if 0:
; mask[i, max(0, i - w + 1) : i + 1] = True → for d in range(w): mask[i, i - d] = True
    The first tokens see the last ones: i − d falls below 0, and a negative index counts from the end. Leave out
    positions below 0.
""",
    ),
    *changes(
        (causal_by_triangles, symmetric_by_triangles),
        """
radius_long: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0:
; .tril(w // 2).triu(-(w // 2)) → .tril(w // 2 + 1).triu(-(w // 2) - 1)
    The symmetric window has one key too many on each side. It holds w keys with the own one, so (w − 1)/2 to each
    side.
without_abs: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; .tril(w // 2).triu → .triu
    The symmetric window is open towards the end of the text: all later keys are visible. Limit both sides: take the
    absolute distance.
only_one_diagonal: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; .triu(-(w // 2)) → .triu(w // 2)
    The symmetric mask keeps a single diagonal, the window's outermost keys. Its lower bound has the wrong sign:
    distances from −(w − 1)/2 to (w − 1)/2.
""",
    ),
    *changes(
        (causal_by_triangles, symmetric_by_rows),
        """
full_at_ends: if w <= 0 or not w % 2: → if 0:
; max(0, i - w // 2) : i + w // 2 + 1 → (start := min(max(0, i - w // 2), max(0, T - w))) : start + w
    At the ends of the text the symmetric window is shifted, so that it keeps w keys. It stays around its query:
    what sticks out is cut off.
symmetric_negative_start: if w <= 0 or not w % 2: → if 0: ; max(0, i - w // 2) → i - w // 2
    In the symmetric mask the slices of the first rows start below 0, and a negative start counts from the end. Hold
    it at 0: max(0, …).
""",
    ),
    *changes(
        (causal_by_triangles, symmetric_by_triangles),
        """
last_key_missing: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; .tril(w // 2) → .tril(w // 2 - 1)
    The symmetric window lacks its last key, (w − 1)/2 after the query. Take that one in, too; the end of a slice is
    not part of it.
ones_and_zeros: if w < 1: → if 0: ; if w % 2 == 0 or w < 1: → if 0: ; .triu(1 - w) → .triu(1 - w).float()
; .triu(-(w // 2)) → .triu(-(w // 2)).float()
    The masks hold the right ones and zeros, but as floats. A mask is boolean: `~` and masked_fill need that. Ask
    for dtype=torch.bool, or end with .bool().
even_passes: if w % 2 == 0 or w < 1: → if w < 1:
; .tril(w // 2).triu(-(w // 2)) → .tril((w - 1) // 2).triu(-((w - 1) // 2))
    Both masks are right. An even w passes as a symmetric window, and w − 1 keys come out, since there is no middle:
    raise a ValueError.
even_passes_rounded_up: if w % 2 == 0 or w < 1: → if w < 1:
    Both masks are right. An even w passes as a symmetric window, and w + 1 keys come out, since there is no middle:
    raise a ValueError.
zero_passes: if w < 1: → if w < 0:
    Both masks are right. A causal window of 0 keys is let through, only negative ones are refused: raise a
    ValueError for every w below 1.
last_key_missing_own_kept: .tril(w // 2) → .tril(max(w // 2 - 1, 0))
    The two sides of the symmetric window differ: its last key, the farthest after the query, is left out. Compare
    both distances with the radius in the same way.
first_key_missing: .triu(-(w // 2)) → .triu(1 - w // 2)
    The symmetric window lacks its first key, the farthest before the query. Count the keys of one row: how many lie
    before the query, and how many after it?
first_key_missing_own_kept: .triu(-(w // 2)) → .triu(min(1 - w // 2, 0))
    The two sides of the symmetric window differ: its first key, the farthest before the query, is left out. Compare
    both distances with the radius in the same way.
ends_missing_own_kept: .tril(w // 2).triu(-(w // 2)) → .tril(max(w // 2 - 1, 0)).triu(min(1 - w // 2, 0))
    The symmetric window lacks its farthest key on each side. A window of 3 holds one neighbor on each side: what
    distance has that one?
own_left_out: .triu(-(w // 2)) → .triu(-(w // 2)).fill_diagonal_(False)
    In the symmetric window a token does not see itself. The own key is one of the w.
only_forward: .tril(w // 2).triu(-(w // 2)) → .triu().tril(w - 1)
    The symmetric window looks only ahead. Half of its other keys lie before the query.
""",
    ),
]


EXERCISE = Exercise(
    id="sparse.local",
    title="Windows",
    points=2,
    difficulty=2,
    minutes=12,
    reference=(LC, LS),
    alternatives=[(causal_by_triangles, symmetric_by_triangles), (causal_by_rows, symmetric_by_rows)],
    cases=[
        Case(
            "two back",
            "four tokens, a window of 2: each token sees itself and the one before it",
            lambda g: call(4, 2),
            weight=2,
        ),
        Case(
            "three around",
            "four tokens, a symmetric window of 3: itself and one neighbor on each side",
            lambda g: call(4, 3, fn="local_symmetric_mask"),
            weight=2,
        ),
        Case("own key only", "a window of 1 holds nothing but the token itself", lambda g: call(3, 1), weight=0.5),
        Case(
            "own key, symmetric",
            "a symmetric window of 1 holds nothing but the token itself, too",
            lambda g: call(4, 1, fn="local_symmetric_mask"),
            weight=0.5,
        ),
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
        Case(
            "two",
            "nor has a symmetric window of 2 keys: ValueError",
            lambda g: call(6, 2, fn="local_symmetric_mask"),
            weight=0.5,
        ),
        Case(
            "negative, causal",
            "a causal window of a negative number of keys: ValueError",
            lambda g: call(5, -g.integer(1, 5)),
            weight=0.5,
        ),
        Case(
            "negative, symmetric",
            "a symmetric window of −3 keys, an odd number: ValueError all the same",
            lambda g: call(5, -3, fn="local_symmetric_mask"),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    unasked="""
the learner's function has no device; only the reference, which other units use, has one
    local_causal_mask(device)
    local_symmetric_mask(device)
""",
    equivalent="""
the ValueError above leaves odd w only, and for these both give the radius
    162a2ebd4b solution, arithmetic: (w - 1) // 2 → (w - 1) / 2
    4c60626665 solution, arithmetic: (w - 1) // 2 rounded up
    8d7ed4b322 solution, operand: w - 1 → w
0 is even, so the other condition refuses it
    36a3a6afac solution, constant: 1 → 0 in w < 1
    9f976368cb alternative (causal_by_triangles, symmetric_by_triangles), constant: 1 → 0 in w < 1
    fcdf9d55ef alternative (causal_by_rows, symmetric_by_rows), compare: w <= 0 → w < 0
each row is written on its own, in any order
    1551926ef3 alternative (causal_by_rows, symmetric_by_rows), reversed: range(T) reversed
    d96d6facff alternative (causal_by_rows, symmetric_by_rows), reversed: range(T) reversed
""",
)
