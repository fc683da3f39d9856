"""Random keys for every query."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import sparse as ref


def random_by_rows(draws, keys, allowed):
    """One query at a time: sort its allowed keys by their draw."""
    mask = torch.zeros_like(allowed)
    for i, row in enumerate(draws):
        candidates = allowed[i].nonzero().flatten().tolist()
        for j in sorted(candidates, key=lambda j: row[j].item())[:keys]:
            mask[i, j] = True
    return mask


def random_by_topk(draws, keys, allowed):
    """topk and scatter."""
    count = min(keys, draws.shape[-1])
    best = draws.masked_fill(~allowed, 2.0).topk(count, largest=False).indices
    return torch.zeros_like(allowed).scatter(-1, best, True) & allowed


def _random(chosen):
    def wrong(draws, keys, allowed):
        return chosen(draws, keys, allowed)

    return wrong


def _rank(draws):
    return draws.argsort(-1).argsort(-1)


def _hidden(draws, allowed):
    return draws.masked_fill(~allowed, float("inf"))


_HAND = [[0.3, 0.1, 0.2], [0.5, 0.6, 0.4], [0.9, 0.7, 0.8]]

EXERCISE = Exercise(
    id="sparse.random",
    unit="09-sparse-attention",
    title="Random keys",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    signature="random_mask(draws, keys, allowed)",
    reference=ref.smallest_draws,
    alternatives=[random_by_rows, random_by_topk],
    cases=[
        Case(
            "one key",
            "row 0 draws 0.3, 0.1, 0.2, all allowed: the smallest, key 1, is taken",
            lambda g: call(torch.tensor(_HAND), 1, torch.ones(3, 3).bool()),
            weight=2,
        ),
        Case(
            "not allowed",
            "the same draws with key 1 forbidden everywhere: row 0 takes key 2",
            lambda g: call(torch.tensor(_HAND), 1, torch.tensor([[True, False, True]] * 3)),
            weight=2,
        ),
        Case(
            "too few",
            "nine words, each may take up to 3 of the keys not after it: word 0 gets one",
            lambda g: call(g.uniform(9, 9), 3, torch.ones(9, 9).tril().bool()),
        ),
        Case(
            "random",
            "nine words, 2 keys each outside a window of 3",
            lambda g: call(g.uniform(9, 9), 2, ~ref.local_symmetric_mask(9, 3)),
            weight=2,
        ),
        Case(
            "none",
            "0 keys leave an empty mask",
            lambda g: call(g.uniform(4, 4), 0, torch.ones(4, 4).bool()),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "largest",
            _random(lambda d, k, a: (_rank(-d.masked_fill(~a, -1.0)) < k) & a),
            "The keys with the largest draws are taken. Take those with the smallest.",
        ),
        Mutant(
            "ignores_allowed",
            _random(lambda d, k, a: _rank(d) < k),
            "Forbidden keys are taken, too. Push their draws to the end before you rank, and AND the result with "
            "allowed.",
        ),
        Mutant(
            "forbidden_use_up_places",
            _random(lambda d, k, a: (_rank(d) < k) & a),
            "Forbidden keys use up places: some queries get fewer keys than they could. Rank among the allowed ones.",
        ),
        Mutant(
            "fills_up",
            _random(lambda d, k, a: _rank(_hidden(d, a)) < k),
            "A query with too few allowed keys is filled up with forbidden ones. AND the result with allowed at "
            "the end.",
        ),
        Mutant(
            "one_argsort",
            _random(lambda d, k, a: (_hidden(d, a).argsort(-1) < k) & a),
            "argsort gives the key of each rank, not the rank of each key. Apply argsort to its result once more.",
        ),
        Mutant(
            "one_argsort_bare",
            _random(lambda d, k, a: _hidden(d, a).argsort(-1) < k),
            "argsort gives the key of each rank, not the rank of each key. Apply argsort to its result once more, "
            "and AND with allowed at the end.",
        ),
        Mutant(
            "one_too_many",
            _random(lambda d, k, a: (_rank(_hidden(d, a)) <= k) & a),
            "Each query gets one key too many. Ranks count from 0, so the first `keys` ranks are those below keys.",
        ),
        Mutant(
            "upside_down",
            _random(lambda d, k, a: (_rank(_hidden(d, ~a)) < k) & ~a),
            "allowed is used upside down: True means may look. Put ∞ where it is False.",
        ),
        Mutant(
            "per_key",
            _random(lambda d, k, a: (_hidden(d, a).argsort(0).argsort(0) < k) & a),
            "Ranks run down the columns: each key gets a number of queries. Rank along the last axis, for each query.",
        ),
        Mutant(
            "places",
            _random(lambda d, k, a: _hidden(d, a).argsort(-1)[:, :k]),
            "These are the places of the chosen keys. Return a mask of the shape of draws, True at these places.",
        ),
        Mutant(
            "threshold",
            _random(lambda d, k, a: (d < k / d.shape[-1]) & a),
            "A threshold on the draws gives a random number of keys per query. Every query takes the same number, "
            "as many as are allowed.",
        ),
    ],
)
