"""The permutation from one layout to the other."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several
from autograder.reference import rope as R


def permutation_by_reshape(D):
    if D % 2:
        raise ValueError("odd")
    return torch.arange(D).reshape(-1, 2).T.reshape(-1)


def permutation_by_list(D):
    if D % 2:
        raise ValueError("odd")
    return torch.tensor([*range(0, D, 2), *range(1, D, 2)])


MISTAKES = changes(
    R.interleaved_to_half_permutation,
    """
inverse: D % 2 → False ; 1, D, 2)]) → 1, D, 2)]).argsort()
    This leads from half-split to interleaved, the other way. Entry j says which interleaved feature becomes
    feature j.
odds_first: D % 2 → False ; torch.arange(0, D, 2), torch.arange(1, D, 2) → torch.arange(1, D, 2), torch.arange(0, D, 2)
    The second members of the pairs come first. Half-split holds all first members, then all second ones.
int32: D % 2 → False ; 1, D, 2)]) → 1, D, 2)]).int()
    The order is right, but the indices are int32. int64 is asked for, as torch.arange gives it by itself.
halves_swapped: D % 2 → False ; torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)]) → torch.arange(D).roll(D // 2)
    This exchanges the two halves. The members of a pair, 2i and 2i + 1, must come to i and i + D/2.
unchanged: D % 2 → False ; torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)]) → torch.arange(D)
    Nothing is moved. The pairs 2i, 2i + 1 must come to i and i + D/2.
odd_accepted: D % 2 → False
    An odd D was accepted. Raise ValueError: its last feature has no partner.
plain_list: D % 2 → False ; 1, D, 2)]) → 1, D, 2)]).tolist()
    The order is right, but it is a list. An int64 tensor is asked for: torch.tensor([…]).
permutation_matrix: D % 2 → False ; torch.cat → torch.eye(D)[torch.cat ; 1, D, 2)]) → 1, D, 2)])]
    This is the permutation as a (D, D) matrix. The indices are asked for, shape (D,).
whole_permutation_matrix: D % 2 → False ; torch.cat → torch.eye(D).long()[torch.cat ; 1, D, 2)]) → 1, D, 2)])]
    This is the permutation as a (D, D) matrix of whole numbers. The indices are asked for, shape (D,).
only_six: D % 2 → False ; 0, D, 2 → 0, 6, 2 ; 1, D, 2 → 1, 6, 2
    The order is that of D = 6, whatever D is. Make it from D: evens torch.arange(0, D, 2), then odds.
two_rows: D % 2 → False ; 1, D, 2)]) → 1, D, 2)]).unflatten(0, (2, -1))
    The numbers are right, but they lie in two rows, (2, D/2). Put them one behind the other: cat or reshape(-1).
floats: D % 2 → False ; 1, D, 2)]) → 1, D, 2)]).float()
    The order is right, but the indices are floats, and x[..., p] needs int64. Leave torch.arange as it is.
evens_only: D % 2 → False ; torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)]) → torch.arange(0, D, 2)
    Only the first members of the pairs are there. Behind them come the second ones: 1, 3, 5, ….
last_missing: D % 2 → False ; 1, D, 2 → 1, D - 1, 2
    The last odd feature, D − 1, is missing. arange stops before its end by itself: torch.arange(1, D, 2).
partners_exchanged: D % 2 → False
; torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)]) → torch.arange(D).unflatten(0, (-1, 2)).flip(-1).flatten()
    Neighbors change places here. All first members 0, 2, 4, … come first, then all second ones 1, 3, 5, ….
reversed: D % 2 → False ; torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)]) → torch.arange(D).flip(0)
    The order is reversed. All first members 0, 2, 4, … come first, then all second ones 1, 3, 5, ….
from_one: D % 2 → False ; 1, D, 2)]) → 1, D, 2)]) + 1
    The features are counted from 1. They count from 0: the first half takes 0, 2, 4, ….
half_of_odd: D % 2 → False ; 0, D, 2 → 0, D // 2 * 2, 2 ; 1, D, 2 → 1, D // 2 * 2, 2
    An odd D was accepted, and its last feature is left out. Raise ValueError: it has no partner.
""",
)

EXERCISE = Exercise(
    id="rope.interleaved_to_half_permutation",
    title="From one layout to the other",
    points=2,
    difficulty=3,
    minutes=10,
    extension=True,
    reference=R.interleaved_to_half_permutation,
    alternatives=[permutation_by_reshape, permutation_by_list],
    cases=[
        Case("six features", "D = 6: the first half takes features 0, 2, 4", lambda g: call(6)),
        Case(
            "four features",
            "D = 4: only the two in the middle change places; D = 2 stays as it is",
            lambda g: call(4).call(2),
            weight=0.5,
        ),
        Case("other sizes", "four other even D", lambda g: several(4, lambda p: p.call(2 * g.integer(4, 40)))),
        Case("odd", "D = 9 has no pairs: ValueError", lambda g: call(9), weight=0.5),
    ],
    mutants=MISTAKES,
    equivalent="""
D is even: the last even number below D is also below D − 1
    d1ef59e5b2 solution, window: D - 1 in torch.arange(0, D, 2)
    db9fb5f5fb alternative permutation_by_list, window: D - 1 in range(0, D, 2)
D is even: no odd number lies between D − 1 and D + 1
    6b05d8fe83 solution, window: D + 1 in torch.arange(1, D, 2)
    64c8cc9f5b alternative permutation_by_list, window: D + 1 in range(1, D, 2)
""",
)
