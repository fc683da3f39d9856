"""From how many users on a step waits for arithmetic, if ever."""

import math
from typing import Any

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference import serving

from .shared import device, draw_model, served


def compute_bound_users(model, tokens, bandwidth, peak, itemsize=2):
    """The reference."""
    return serving.compute_bound_users(served(model), tokens, bandwidth, peak, itemsize)


def _times(model, users, tokens, bandwidth, peak, itemsize):
    flops, moved = serving.step_cost(served(model), users, tokens, itemsize)
    return moved / bandwidth, flops / peak


def by_shares(model, tokens, bandwidth, peak, itemsize=2):
    """Which share of the weights' fetching does one user make up for?"""
    flops, moved = serving.step_cost(served(model), 1, tokens, itemsize)
    weights = itemsize * model["weights"]
    share = (flops * bandwidth - (moved - weights) * peak) / (weights * peak)
    return math.ceil(1 / share) if share > 0 else None


def _solve(users):
    """``users`` gets the seconds to fetch the weights, and those that one user adds, to compute and to fetch."""

    def wrong(model, tokens, bandwidth, peak, itemsize=2):
        weights, _ = _times(model, 0, tokens, bandwidth, peak, itemsize)
        fetching, computing = _times(model, 1, tokens, bandwidth, peak, itemsize)
        return users(weights, computing, fetching - weights)

    return wrong


def _right(weights, computing, fetching):
    gained = computing - fetching
    return max(1, math.ceil(weights / gained)) if gained > 0 else None


def ridge_only(model, tokens, bandwidth, peak, itemsize=2):
    return math.ceil(itemsize * peak / (2 * bandwidth))


def two_bytes(model, tokens, bandwidth, peak, itemsize=2):
    return compute_bound_users(model, tokens, bandwidth, peak)


def rates_exchanged(model, tokens, bandwidth, peak, itemsize=2):
    return compute_bound_users(model, tokens, peak, bandwidth, itemsize)


def one_by_one(limit):
    def users(model, tokens, bandwidth, peak, itemsize=2):
        for n in range(1, limit):
            fetching, computing = _times(model, n, tokens, bandwidth, peak, itemsize)
            if computing >= fetching:
                return n
        return None

    return users


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

EXERCISE = Exercise(
    id="serve.compute_bound",
    title="Enough users to compute",
    points=2,
    difficulty=3,
    minutes=10,
    signature="compute_bound_users(model, tokens, bandwidth, peak, itemsize=2)",
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
    mutants=[
        Mutant(
            "one_more_where_exact",
            _solve(lambda w, c, f: math.floor(w / (c - f)) + 1 if c > f else None),
            "Where a whole number of users is exactly enough, one more is asked for: floor and + 1. Round up.",
        ),
        Mutant(
            "rounded_down",
            _solve(lambda w, c, f: max(1, math.floor(w / (c - f))) if c > f else None),
            "The number is rounded down: one user less than it takes. Round up.",
        ),
        Mutant(
            "not_rounded",
            _solve(lambda w, c, f: max(1, w / (c - f)) if c > f else None),
            "The number is no whole one. Round up: half a user computes nothing.",
        ),
        Mutant(
            "one_more",
            _solve(lambda w, c, f: math.floor(w / (c - f)) + 2 if c > f else None),
            "The number is one too large. Take the smallest that is enough.",
        ),
        Mutant(
            "caches_forgotten",
            _solve(lambda w, c, f: max(1, math.ceil(w / c))),
            "Only the weights are fetched here. Every user brings a cache, which is fetched, too.",
        ),
        Mutant(
            "ridge_only",
            ridge_only,
            "That is the answer without caches, itemsize · peak / (2 · bandwidth). A user's cache is fetched, too.",
        ),
        Mutant(
            "caches_added",
            _solve(lambda w, c, f: max(1, math.ceil(w / (c + f)))),
            "A user's fetching is added to their computing. The difference of the two must make up for the weights.",
        ),
        Mutant(
            "negative",
            _solve(lambda w, c, f: math.ceil(w / (c - f))),
            "A negative number comes back where a user adds more fetching than computing: None belongs there.",
        ),
        Mutant(
            "size_of_difference",
            _solve(lambda w, c, f: max(1, math.ceil(w / abs(c - f)))),
            "A number comes back although a user adds more fetching than computing. None belongs there.",
        ),
        Mutant(
            "infinite",
            _solve(lambda w, c, f: max(1, math.ceil(w / (c - f))) if c > f else math.inf),
            "Infinity comes back where no number is enough. The text asks for None.",
        ),
        Mutant(
            "zero",
            _solve(lambda w, c, f: max(1, math.ceil(w / (c - f))) if c > f else 0),
            "0 comes back where no number is enough. The text asks for None.",
        ),
        Mutant("a_few", one_by_one(1000), "Only the first thousand numbers are tried. Solve for the number instead."),
        Mutant("two_bytes", two_bytes, "Every number has 2 bytes here. Use itemsize."),
        Mutant(
            "rates_exchanged", rates_exchanged, "The rates are exchanged: bytes belong to bandwidth, FLOPs to peak."
        ),
        Mutant(
            "never",
            lambda model, tokens, bandwidth, peak, itemsize=2: None,
            "None comes back each time. It is right only where a user adds more fetching than computing.",
        ),
    ],
)
