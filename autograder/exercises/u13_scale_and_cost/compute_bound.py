"""From how many users on a step waits for arithmetic, if ever."""

import math
from typing import Any

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
from autograder.reference import serving

from .shared import device, draw_model, served


def compute_bound_users(model, tokens, bandwidth, peak, itemsize=2):
    """The reference."""
    return serving.compute_bound_users(served(model), tokens, bandwidth, peak, itemsize)


def _times(model, users, tokens, bandwidth, peak, itemsize):
    flops, moved = serving.step_cost(served(model), users, tokens, itemsize)
    return moved / bandwidth, flops / peak


def by_difference(model, tokens, bandwidth, peak, itemsize=2):
    """What a user computes longer than fetching has to make up for the weights."""
    weights, _ = _times(model, 0, tokens, bandwidth, peak, itemsize)
    fetching, computing = _times(model, 1, tokens, bandwidth, peak, itemsize)
    gained = computing - (fetching - weights)
    return max(1, math.ceil(weights / gained)) if gained > 0 else None


def by_shares(model, tokens, bandwidth, peak, itemsize=2):
    """Which share of the weights' fetching does one user make up for?"""
    flops, moved = serving.step_cost(served(model), 1, tokens, itemsize)
    weights = itemsize * model["weights"]
    share = (flops * bandwidth - (moved - weights) * peak) / (weights * peak)
    return math.ceil(1 / share) if share > 0 else None


def _crossing(g: Source, program: Program, tokens: int, **more: Any) -> None:
    """A number of users that lies well between two whole ones, so that rounding decides nothing."""
    while True:
        model, (bandwidth, peak) = draw_model(g), device(g)
        weights, _ = _times(model, 0, tokens, bandwidth, peak, more.get("itemsize", 2))
        fetching, computing = _times(model, 1, tokens, bandwidth, peak, more.get("itemsize", 2))
        gained = computing - fetching + weights
        if gained > 0 and 3 < weights / gained < 5000 and 0.05 < weights / gained % 1 < 0.95:
            program.call(model, tokens, bandwidth, peak, **more)
            return


def _late(g: Source) -> Program:
    """More than 10,000 users: trying a few is not enough."""
    model, factor = draw_model(g), g.integer(30_000, 90_000) + 0.5
    return call(model, 0, 1e12, 1e12 * factor)


def _never(g: Source, program: Program) -> None:
    bandwidth = g.number(0.5, 4) * 1e12
    program.call(draw_model(g), g.integer(30_000, 90_000), bandwidth, 300 * bandwidth)


def _mixed(g: Source) -> Program:
    """Which of two chips gets there is drawn: None is no answer to both."""
    program = Program()
    for _ in range(3):
        _crossing(g, program, g.integer(20, 60))
        _never(g, program)
    return program


SMALL = {"weights": 100, "n_layers": 1, "n_heads": 2, "n_kv_heads": 1, "head_dim": 5}


MISTAKES = changes(
    by_difference,
    """
one_more_where_exact: max(1, math.ceil(weights / gained)) → math.floor(weights / gained) + 1
    Where a whole number of users is exactly enough, one more is asked for: floor and + 1. Round up.
rounded_down: math.ceil → math.floor
    The number is rounded down: one user less than it takes. Round up.
not_rounded: math.ceil(weights / gained) → weights / gained
    The number is no whole one. Round up: half a user computes nothing.
one_more: max(1, math.ceil(weights / gained)) → math.floor(weights / gained) + 2
    The number is one too large. Take the smallest that is enough.
caches_forgotten: computing - (fetching - weights) → computing
    Only the weights are fetched here. Every user brings a cache, which is fetched, too.
ridge_only: max(1, math.ceil(weights / gained)) if gained > 0 else None → math.ceil(itemsize * peak / (2 * bandwidth))
    That is the answer without caches, itemsize · peak / (2 · bandwidth). A user's cache is fetched, too.
caches_added: computing - (fetching - weights) → computing + (fetching - weights)
    A user's fetching is added to their computing. The difference of the two must make up for the weights.
negative: max(1, math.ceil(weights / gained)) if gained > 0 else None → math.ceil(weights / gained)
    A negative number comes back where a user adds more fetching than computing: None belongs there.
size_of_difference: weights / gained)) if gained > 0 else None → weights / abs(gained)))
    A number comes back although a user adds more fetching than computing. None belongs there.
infinite: else None → else math.inf
    Infinity comes back where no number is enough. The text asks for None.
zero: else None → else 0
    0 comes back where no number is enough. The text asks for None.
a_few: if gained > 0 → if gained > 0 and weights / gained <= 999
    Only the first thousand numbers are tried. Solve for the number instead.
two_bytes: weights, _ = → itemsize = 2; weights, _ =
    Every number has 2 bytes here. Use itemsize.
rates_exchanged: weights, _ = → bandwidth, peak = peak, bandwidth; weights, _ =
    The rates are exchanged: bytes belong to bandwidth, FLOPs to peak.
never: max(1, math.ceil(weights / gained)) if gained > 0 else None → None
    None comes back each time. It is right only where a user adds more fetching than computing.
""",
)

EXERCISE = Exercise(
    id="serve.compute_bound",
    title="Enough users to compute",
    points=2,
    difficulty=3,
    minutes=10,
    reference=compute_bound_users,
    alternatives=[by_shares],
    cases=[
        Case(
            "by hand",
            "100 weights take 20 s to fetch; a user adds 6 s to compute and 2 s to fetch: from 5 users on; two more",
            lambda g: call(SMALL, 1, 10, 40).call(SMALL, 0, 10, 40).call(SMALL, 1, 5, 40),
        ),
        Case(
            "by hand, never",
            "ten tokens: a user adds 15 s to compute and 20 s to fetch, or 20 s and 20 s: no number is enough",
            lambda g: call(SMALL, 10, 10, 40).call(SMALL, 10, 10, 30),
            weight=0.5,
        ),
        Case("at once", "a slow chip: one user is enough", lambda g: call(SMALL, 1, 10, 4), weight=0.5),
        Case(
            "no cache",
            "three random models and chips, no token cached",
            lambda g: several(3, lambda p: _crossing(g, p, 0)),
        ),
        Case("late", "a chip that computes very fast: many thousand users", _late),
        Case(
            "short texts",
            "three random models and chips, 20 to 60 tokens",
            lambda g: several(3, lambda p: _crossing(g, p, g.integer(20, 60))),
            weight=2,
        ),
        Case(
            "other sizes",
            "4 bytes per number, then 1",
            lambda g: several(2, lambda p: _crossing(g, p, g.integer(2, 20), itemsize=1 if p.steps else 4)),
        ),
        Case("either", "short and long texts by turns: whole numbers and None", _mixed, weight=2),
    ],
    mutants=MISTAKES,
    equivalent="""
nothing is cached without users, nor without tokens: either way only the weights are fetched
    8b47dfd43a solution, argument: step_cost(model, 0, tokens, itemsize): arguments 2 and 3 swapped
""",
)
