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


EXERCISE = Exercise(
    id="rope.interleaved_to_half_permutation",
    unit="06-rope",
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
        Case("four features", "D = 4: only the two in the middle change places", lambda g: call(4), weight=0.5),
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
    ],
)
