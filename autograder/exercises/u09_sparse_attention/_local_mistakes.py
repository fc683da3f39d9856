"""Mistakes at single keys of a symmetric window, in answers that check w."""

from autograder.judge.spec import Mutant
from autograder.reference import sparse as ref

from .shared import by_rule


def _around(rule):
    """Both masks; rule: of the distance d that a key lies before the query, and the radius r."""

    def wrong(T, w):
        if w < 1 or w % 2 == 0:
            raise ValueError("w must be odd")
        return by_rule(lambda i, j, w: rule(i - j, (w - 1) // 2))(T, w)

    return ref.local_causal_mask, wrong


MISTAKES = [
    Mutant(
        "last_key_missing_own_kept",
        _around(lambda d, r: (d >= 0) & (d <= r) | (d < 0) & (-d < r)),
        "The two sides of the symmetric window differ: its last key, the farthest after the query, is left out. "
        "Compare both distances with the radius in the same way.",
    ),
    Mutant(
        "first_key_missing",
        _around(lambda d, r: (d < r) & (-d <= r)),
        "The symmetric window lacks its first key, the farthest before the query. Count the keys of one row: how many "
        "lie before the query, and how many after it?",
    ),
    Mutant(
        "first_key_missing_own_kept",
        _around(lambda d, r: (d >= 0) & (d < r) | (d <= 0) & (-d <= r)),
        "The two sides of the symmetric window differ: its first key, the farthest before the query, is left out. "
        "Compare both distances with the radius in the same way.",
    ),
    Mutant(
        "ends_missing_own_kept",
        _around(lambda d, r: (d.abs() < r) | (d == 0)),
        "The symmetric window lacks its farthest key on each side. A window of 3 holds one neighbor on each side: what "
        "distance has that one?",
    ),
    Mutant(
        "own_left_out",
        _around(lambda d, r: (d.abs() <= r) & (d != 0)),
        "In the symmetric window a word does not see itself. The own key is one of the w.",
    ),
    Mutant(
        "only_forward",
        _around(lambda d, r: (d <= 0) & (-d <= 2 * r)),
        "The symmetric window looks only ahead. Half of its other keys lie before the query.",
    ),
]
