"""Windows, causal and symmetric."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import sparse as ref

from ._local_mistakes import MISTAKES
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


def _odd_only(T, w):
    """A causal window with the check of the symmetric one."""
    if w % 2 == 0:
        raise ValueError(w)
    return by_rule(_CAUSAL)(T, w)


def _zero_refused(T, w):
    """Looks for 0 keys, not for less."""
    if w == 0:
        raise ValueError(w)
    return by_rule(_CAUSAL)(T, w)


def _even_refused(T, w):
    """Looks for even numbers of keys alone."""
    if w % 2 == 0:
        raise ValueError(w)
    return by_rule(_SYMMETRIC)(T, w)


def _by_diagonals(T, w):
    """Adds up diagonals of the text's length minus their distance."""
    if w < 1:
        raise ValueError(w)
    mask = torch.zeros(T, T)
    for d in range(w):
        mask = mask + torch.diag(torch.ones(T - d), -d)
    return mask > 0


# The mistakes leave the ValueErrors out: they come with the last point, and would hide which mistake it is.
def _local(causal=_CAUSAL, symmetric=_SYMMETRIC):
    return by_rule(causal), by_rule(symmetric)


def _negative_refused(T, w):
    """Looks for less than 0 keys, not for 0."""
    if w < 0:
        raise ValueError(w)
    return by_rule(_CAUSAL)(T, w)


def _positive_symmetric(radius):
    """A symmetric window that lets even numbers of keys pass."""

    def wrong(T, w):
        if w < 1:
            raise ValueError(w)
        return by_rule(lambda i, j, w: (i - j).abs() <= radius(w))(T, w)

    return wrong


def _causal_slices(T, w):
    mask = torch.zeros(T, T, dtype=torch.bool)
    for i in range(T):
        mask[i, i - w + 1 : i + 1] = True
    return mask


def _symmetric_slices(T, w):
    mask = torch.zeros(T, T, dtype=torch.bool)
    for i in range(T):
        mask[i, i - w // 2 : i + w // 2 + 1] = True
    return mask


def _causal_wrapped(T, w):
    mask = torch.zeros(T, T, dtype=torch.bool)
    for i in range(T):
        for d in range(w):
            mask[i, i - d] = True
    return mask


def _shifted(T, w):
    mask = torch.zeros(T, T, dtype=torch.bool)
    for i in range(T):
        start = min(max(0, i - w // 2), max(0, T - w))
        mask[i, start : start + w] = True
    return mask


EXERCISE = Exercise(
    id="sparse.local",
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
        Case(
            "own key, symmetric",
            "a symmetric window of 1 holds nothing but the word itself, too",
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
            "turned_round",
            _local(causal=lambda i, j, w: (j >= i) & (j - i < w)),
            "The causal window looks ahead instead of back. Its distance is the place of the query minus that of the "
            "key: rows minus columns.",
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
            "radius_w_minus_one",
            _local(symmetric=lambda i, j, w: (i - j).abs() < w),
            "The symmetric window reaches w − 1 keys to each side, as the causal one does to one side. It shares its w "
            "keys between both: (w − 1)/2 to each side.",
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
            "odd_only",
            (_odd_only, by_rule(_SYMMETRIC)),
            "The causal window refuses an even w. Only the symmetric one needs a middle: the causal one takes every w "
            "from 1 on.",
        ),
        Mutant(
            "diagonals_beyond_text",
            (_by_diagonals, by_rule(_SYMMETRIC)),
            "The causal window fails where it is longer than the text: there are only T diagonals. Stop at min(w, T), "
            "or compare distances.",
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
            "negative_unchecked",
            (_zero_refused, _even_refused),
            "Negative numbers of keys are let through. Raise a ValueError for every w below 1, in both masks: −3 is "
            "odd, and no window either.",
        ),
        Mutant(
            "unchecked",
            _local(),
            "Both masks are right. Raise a ValueError for a window below 1, and for a symmetric one that is even.",
        ),
        Mutant(
            "no_lower_bound",
            _local(causal=lambda i, j, w: i - j < w),
            "All later keys are visible. The causal window has two ends: i − j < w, and also i − j >= 0.",
        ),
        Mutant(
            "own_key_left_out",
            _local(causal=lambda i, j, w: (j < i) & (i - j < w)),
            "A word does not see itself, and so has w − 1 keys. The own key, distance 0, is one of the w: i − j >= 0.",
        ),
        Mutant(
            "one_key_short",
            _local(causal=lambda i, j, w: (j <= i) & (i - j < w - 1)),
            "The causal window lacks its oldest key. It holds w keys, so distances up to w − 1 belong to it, that one "
            "included.",
        ),
        Mutant(
            "half_window",
            _local(causal=lambda i, j, w: (j <= i) & (i - j <= w // 2)),
            "The causal window reaches only half as far back as it should. Only the symmetric one shares its keys "
            "between two sides: here all w are the own key and those before it.",
        ),
        Mutant(
            "conditions_exclude",
            _local(causal=lambda i, j, w: (j <= i) & (j - i >= w - 1)),
            "For w above 1 the causal mask is empty: its two bounds exclude each other. Check the sign of the second: "
            "keys stand before the query, as a diagonal that is 1 − w.",
        ),
        Mutant(
            "negative_start",
            (_causal_slices, by_rule(_SYMMETRIC)),
            "The slices of the first rows start below 0, and a negative start counts from the end. Hold the start at "
            "0: max(0, i − w + 1).",
        ),
        Mutant(
            "wraps_round",
            (_causal_wrapped, by_rule(_SYMMETRIC)),
            "The first words see the last ones: i − d falls below 0, and a negative index counts from the end. Leave "
            "out places below 0.",
        ),
        Mutant(
            "radius_long",
            _local(symmetric=lambda i, j, w: (i - j).abs() <= w // 2 + 1),
            "The symmetric window has one key too many on each side. It holds w keys with the own one, so (w − 1)/2 to "
            "each side.",
        ),
        Mutant(
            "without_abs",
            _local(symmetric=lambda i, j, w: i - j <= w // 2),
            "The symmetric window is open towards the end of the text: all later keys are visible. Limit both sides: "
            "take the absolute distance.",
        ),
        Mutant(
            "only_one_diagonal",
            _local(symmetric=lambda i, j, w: j - i == w // 2),
            "The symmetric mask keeps a single diagonal, the window's outermost keys. Its lower bound has the wrong "
            "sign: distances from −(w − 1)/2 to (w − 1)/2.",
        ),
        Mutant(
            "full_at_ends",
            (LC, _shifted),
            "At the ends of the text the symmetric window is shifted, so that it keeps w keys. It stays around its "
            "query: what sticks out is cut off.",
        ),
        Mutant(
            "symmetric_negative_start",
            (LC, _symmetric_slices),
            "In the symmetric mask the slices of the first rows start below 0, and a negative start counts from the "
            "end. Hold it at 0: max(0, …).",
        ),
        Mutant(
            "last_key_missing",
            _local(symmetric=lambda i, j, w: (i - j <= w // 2) & (j - i < w // 2)),
            "The symmetric window lacks its last key, (w − 1)/2 after the query. Take that one in, too; the end of a "
            "slice is not part of it.",
        ),
        Mutant(
            "ones_and_zeros",
            _local(
                causal=lambda i, j, w: _CAUSAL(i, j, w).float(), symmetric=lambda i, j, w: _SYMMETRIC(i, j, w).float()
            ),
            "The masks hold the right ones and zeros, but as floats. A mask is boolean: `~` and masked_fill need "
            "that. Ask for dtype=torch.bool, or end with .bool().",
        ),
        Mutant(
            "even_passes",
            (LC, _positive_symmetric(lambda w: (w - 1) // 2)),
            "Both masks are right. An even w passes as a symmetric window, and w − 1 keys come out, since there is no "
            "middle: raise a ValueError.",
        ),
        Mutant(
            "even_passes_rounded_up",
            (LC, _positive_symmetric(lambda w: w // 2)),
            "Both masks are right. An even w passes as a symmetric window, and w + 1 keys come out, since there is no "
            "middle: raise a ValueError.",
        ),
        Mutant(
            "zero_passes",
            (_negative_refused, LS),
            "Both masks are right. A causal window of 0 keys is let through, only negative ones are refused: raise a "
            "ValueError for every w below 1.",
        ),
        *MISTAKES,
    ],
)
