"""The permutation from one layout to the other."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import rope as R


def permutation_by_reshape(D):
    if D % 2:
        raise ValueError("odd")
    return torch.arange(D).reshape(-1, 2).T.reshape(-1)


def permutation_by_list(D):
    if D % 2:
        raise ValueError("odd")
    return torch.tensor([*range(0, D, 2), *range(1, D, 2)])


def _right(D):
    return torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)])


def halves_of_odd(D):
    return torch.cat([2 * torch.arange(D // 2), 2 * torch.arange(D // 2) + 1])


EXERCISE = Exercise(
    id="rope.interleaved_to_half_permutation",
    title="From one layout to the other",
    points=2,
    difficulty=3,
    minutes=10,
    signature="interleaved_to_half_permutation(D)",
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
    mutants=[
        Mutant(
            "inverse",
            lambda D: torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)]).argsort(),
            "This leads from half-split to interleaved, the other way. Entry j says which interleaved feature comes "
            "to place j.",
        ),
        Mutant(
            "odds_first",
            lambda D: torch.cat([torch.arange(1, D, 2), torch.arange(0, D, 2)]),
            "The second members of the pairs come first. Half-split holds all first members, then all second ones.",
        ),
        Mutant(
            "int32",
            lambda D: torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)]).int(),
            "The order is right, but the indices are int32. int64 is asked for, as torch.arange gives it by itself.",
        ),
        Mutant(
            "halves_swapped",
            lambda D: torch.arange(D).roll(D // 2),
            "This exchanges the two halves. The members of a pair, 2i and 2i + 1, must come to i and i + D/2.",
        ),
        Mutant(
            "unchanged",
            lambda D: torch.arange(D),
            "Nothing is moved. The pairs 2i, 2i + 1 must come to the places i, i + D/2.",
        ),
        Mutant(
            "odd_accepted",
            lambda D: torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)]),
            "An odd D was accepted. Raise ValueError: its last feature has no partner.",
        ),
        Mutant(
            "plain_list",
            lambda D: _right(D).tolist(),
            "The order is right, but it is a list. An int64 tensor is asked for: torch.tensor([…]).",
        ),
        Mutant(
            "permutation_matrix",
            lambda D: torch.eye(D)[_right(D)],
            "This is the permutation as a (D, D) matrix. The indices are asked for, shape (D,).",
        ),
        Mutant(
            "whole_permutation_matrix",
            lambda D: torch.eye(D, dtype=torch.int64)[_right(D)],
            "This is the permutation as a (D, D) matrix of whole numbers. The indices are asked for, shape (D,).",
        ),
        Mutant(
            "only_six",
            lambda D: _right(6),
            "The order is that of D = 6, whatever D is. Make it from D: evens torch.arange(0, D, 2), then odds.",
        ),
        Mutant(
            "two_rows",
            lambda D: _right(D).unflatten(0, (2, -1)),
            "The numbers are right, but they lie in two rows, (2, D/2). Put them one behind the other: cat or "
            "reshape(-1).",
        ),
        Mutant(
            "floats",
            lambda D: _right(D).float(),
            "The order is right, but the indices are floats, and x[..., p] needs int64. Leave torch.arange as it is.",
        ),
        Mutant(
            "evens_only",
            lambda D: torch.arange(0, D, 2),
            "Only the first members of the pairs are there. Behind them come the second ones: 1, 3, 5, ….",
        ),
        Mutant(
            "last_missing",
            lambda D: torch.cat([torch.arange(0, D, 2), torch.arange(1, D - 1, 2)]),
            "The last odd feature, D − 1, is missing. arange stops before its end by itself: torch.arange(1, D, 2).",
        ),
        Mutant(
            "partners_exchanged",
            lambda D: torch.arange(D).unflatten(0, (-1, 2)).flip(-1).flatten(),
            "Neighbors change places here. All first members 0, 2, 4, … come first, then all second ones 1, 3, 5, ….",
        ),
        Mutant(
            "reversed",
            lambda D: torch.arange(D).flip(0),
            "The order is reversed. All first members 0, 2, 4, … come first, then all second ones 1, 3, 5, ….",
        ),
        Mutant(
            "from_one",
            lambda D: _right(D) + 1,
            "The features are counted from 1. They count from 0: the first half takes 0, 2, 4, ….",
        ),
        Mutant(
            "half_of_odd",
            halves_of_odd,
            "An odd D was accepted, and its last feature is left out. Raise ValueError: it has no partner.",
        ),
    ],
)
