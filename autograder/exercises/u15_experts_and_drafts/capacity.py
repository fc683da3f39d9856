"""Which choices find a place when each expert has few."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call, several
from autograder.reference.routing import within_capacity


def by_queue(chosen, n_experts, capacity):
    """Places given out one at a time."""
    left = [capacity] * n_experts
    kept = torch.zeros_like(chosen, dtype=torch.bool)
    for place in range(chosen.shape[1]):
        for token in range(chosen.shape[0]):
            expert = int(chosen[token, place])
            if left[expert] > 0:
                left[expert] -= 1
                kept[token, place] = True
    return kept


def _choices(g: Source, N: int, E: int, k: int) -> torch.Tensor:
    return g.randn(N, E).topk(k, dim=-1).indices


MISTAKES = changes(
    within_capacity,
    """
token_by_token: chosen.T.flatten() → chosen.flatten() ; reshape(k, N).T → reshape(N, k)
    Places are given out token by token, so a second choice takes one from a later token's first. First come all first
    choices, then all second ones: transpose before you flatten.
one_fewer: place <= capacity → place < capacity
    Each expert has one place too few. The running count starts at 1: compare with <=.
one_more: place <= capacity → place <= capacity + 1
    Each expert has one place too many.
backward: cumsum(0).gather(1, queue[:, None]) → flip(0).cumsum(0).flip(0).gather(1, queue[:, None])
    The last in the queue get the places. The first come first.
each_rank: cumsum(0).gather(1, queue[:, None]) → unflatten(0, (k, N)).cumsum(1).flatten(0, 1).gather(1, queue[:, None])
    First and second choices are counted separately, so an expert may get several times its capacity. One count runs
    through the whole queue.
all_together: F.one_hot(queue, n_experts).cumsum(0).gather(1, queue[:, None]) → torch.arange(1, len(queue) + 1)[:, None]
    One count runs over all experts. Each expert has places of its own.
along_experts: cumsum(0) → cumsum(1)
    Each choice stands first in a queue of its own, so all are kept while there is any place. The running count goes
    along the queue: cumsum(0).
last_first: queue = chosen.T.flatten() → queue = chosen.flip(1).T.flatten()
; .reshape(k, N).T → .reshape(k, N).T.flip(1)
    The last choices get their places first. First come all first choices, then all second ones.
only_after_first: .reshape(k, N).T → .reshape(k, N).T.long().cummin(1).values.bool()
    Once a choice of a token finds no place, its later ones are dropped, too. Each choice is kept or dropped by itself.
dropped_whole: .reshape(k, N).T → .reshape(k, N).T.all(-1, keepdim=True).expand(N, k)
    A token loses all its choices when one finds no place. Each choice is kept or dropped by itself.
not_transposed: reshape(k, N).T → reshape(N, k)
    The result is cut in the wrong order. The queue has k rows of N tokens: reshape to (k, N) and transpose.
dropped: (place <= capacity) → (place > capacity)
    True and False are exchanged: True is a choice that finds a place.
counts: return (place <= capacity) → return place
    Places in the queue come back. Compare them with the capacity.
""",
)

EXERCISE = Exercise(
    id="experts.capacity",
    title="Places are limited",
    points=2,
    difficulty=3,
    minutes=10,
    extension=True,
    reference=within_capacity,
    alternatives=[by_queue],
    cases=[
        Case(
            "by hand",
            "(0, 1), (1, 0), (0, 1) with two places each: the last two second choices are dropped",
            lambda g: call(torch.tensor([[0, 1], [1, 0], [0, 1]]), 2, 2),
        ),
        Case(
            "top two",
            "three draws of twelve tokens, two of four experts, few places",
            lambda g: several(3, lambda p: p.call(_choices(g, 12, 4, 2), 4, g.integer(3, 6))),
            weight=2,
        ),
        Case(
            "top three",
            "three draws of nine tokens, three of five experts",
            lambda g: several(3, lambda p: p.call(_choices(g, 9, 5, 3), 5, g.integer(2, 5))),
            weight=2,
        ),
        Case(
            "top one",
            "three draws of ten tokens with one choice each",
            lambda g: several(3, lambda p: p.call(_choices(g, 10, 3, 1), 3, g.integer(2, 4))),
        ),
        Case("no place", "a capacity of 0 drops all", lambda g: call(_choices(g, 4, 3, 2), 3, 0), weight=0),
    ],
    mutants=MISTAKES,
    equivalent="""
equal in value: it divides evenly, has one axis, has converged, or is converted anyway
    154edbd354 solution, argument: F.one_hot(queue, n_experts) without its last argument
    fd93e1241b alternative by_queue, call: int(chosen[token, place]) → its argument
""",
)
