"""Random keys for every query."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
from autograder.reference import sparse as ref


def random_by_rows(draws, keys, allowed):
    """One query at a time: sort its allowed keys by their draw."""
    mask = torch.zeros_like(allowed)
    for i, row in enumerate(draws):
        candidates = [j for j in range(len(row)) if allowed[i, j]]
        for j in sorted(candidates, key=lambda j: row[j].item())[:keys]:
            mask[i, j] = True
    return mask


def random_by_topk(draws, keys, allowed):
    """topk and scatter."""
    count = min(keys, draws.shape[-1])
    best = draws.masked_fill(~allowed, torch.inf).topk(count, largest=False).indices
    return torch.zeros_like(allowed).scatter(-1, best, True) & allowed


def _close(g: Source) -> Program:
    """Draws in float64, a billionth apart, in a random order."""
    order = torch.stack([torch.randperm(12, generator=g.generator) for _ in range(7)])
    return call(0.5 + 1e-9 * order.double(), g.integer(2, 5), g.mask(7, 12))


_HAND = [[0.3, 0.1, 0.2], [0.5, 0.6, 0.4], [0.9, 0.7, 0.8]]


MISTAKES = [
    *changes(
        ref.smallest_draws,
        """
largest: draws.masked_fill → (-draws).masked_fill
    The keys with the largest draws are taken. Take those with the smallest.
ignores_allowed: .masked_fill(~allowed, math.inf) → ; (rank < keys) & allowed → rank < keys
    Forbidden keys are taken, too. Push their draws to the end before you rank, and AND the result with allowed.
forbidden_use_up_places: .masked_fill(~allowed, math.inf) →
    Forbidden keys take up ranks, so some queries get fewer keys than they could. Rank among the allowed ones.
fills_up: (rank < keys) & allowed → rank < keys
    A query with too few allowed keys is filled up with forbidden ones. AND the result with allowed at the end.
one_argsort: .argsort(dim=-1).argsort(dim=-1) → .argsort(dim=-1)
    argsort gives the key of each rank, not the rank of each key. Apply argsort to its result once more.
one_argsort_bare: .argsort(dim=-1).argsort(dim=-1) → .argsort(dim=-1) ; (rank < keys) & allowed → rank < keys
    argsort gives the key of each rank, not the rank of each key. Apply argsort to its result once more, and AND
    with allowed at the end.
one_too_many: rank < keys → rank <= keys
    Each query gets one key too many. Ranks count from 0, so the first `keys` ranks are those below keys.
upside_down: ~allowed → allowed ; & allowed → & ~allowed
    allowed is used upside down: True means may look. Put ∞ where it is False.
per_key: .argsort(dim=-1).argsort(dim=-1) → .argsort(dim=0).argsort(dim=0)
    Ranks run down the columns: each key gets a number of queries. Rank along the last axis, for each query.
places: .argsort(dim=-1).argsort(dim=-1) → .argsort(dim=-1) ; (rank < keys) & allowed → rank[:, :keys]
    These are the positions of the chosen keys. Return a mask of the shape of draws, True at these positions.
""",
    ),
    *changes(
        random_by_topk,
        """
more_keys_than_places: min(keys, draws.shape[-1]) → keys
    topk fails where more keys are asked for than a row has. Take at most draws.shape[-1] of them: min(…).
""",
    ),
    *changes(
        ref.smallest_draws,
        """
filled_with_one: math.inf → 1.0
    Draws of forbidden keys become 1, which is no end: draws may be larger. Put ∞ in their place before you rank.
threshold: rank < keys → draws < keys / draws.shape[-1]
    A threshold on the draws gives a random number of keys per query. Every query takes the same number, as many as
    are allowed.
infinity_comes_first: draws.masked_fill → (-draws).masked_fill ; math.inf → -math.inf
    The keys are ranked from the largest draw down, so the forbidden ones, at ∞, come first and take up ranks. Rank from
    the smallest up.
filled_with_two: math.inf → 2.0
    Forbidden keys get a draw that is not large enough: allowed draws may be larger, and lose against it. Put ∞ in
    their place.
filled_with_zero: math.inf → 0.0
    Draws of forbidden keys become 0, so they come before all that are larger, and take up ranks. Put ∞ in their place
    before you rank.
filled_with_minus_infinity: math.inf → -math.inf
    Forbidden keys get −∞, so they come first and take up ranks. The smallest draws are taken: put +∞ in their place.
one_too_few: rank < keys → rank < keys - 1
    Each query gets one key too few. Ranks count from 0, so the first `keys` ranks are 0 to keys − 1: all below
    keys.
threshold_beyond_row: rank = draws → limit = draws ; rank < keys → draws <= limit
; .argsort(dim=-1).argsort(dim=-1) → .sort(dim=-1).values[:, keys - 1, None]
    The draw of rank keys − 1 is the limit. There is none where `keys` is larger than the row, and for 0 keys it is the
    last one. Compare ranks with keys instead.
below_threshold: rank = draws → limit = draws ; rank < keys → draws < limit
; .argsort(dim=-1).argsort(dim=-1) → .sort(dim=-1).values[:, min(keys, draws.shape[-1]) - 1, None]
    The draw of rank keys − 1 is the limit, but left out itself, so queries get one key too few. Compare ranks with
    keys: rank < keys.
all_allowed: (rank < keys) & allowed → allowed.clone()
    Every allowed key is taken. A query takes `keys` of them at most, those with the smallest draws.
ranks: (rank < keys) & allowed → rank
    These are the ranks of the keys. Return a boolean mask: ask which ranks are below keys, and which keys are
    allowed.
draws_changed: masked_fill → masked_fill_
    The mask is right, but the draws that were given are changed. Fill a copy: masked_fill without the underscore,
    or clone() first.
""",
    ),
]


EXERCISE = Exercise(
    id="sparse.random",
    title="Random keys",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
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
            "nine tokens, each may take up to 3 of the keys not after it: token 0 gets one",
            lambda g: call(g.uniform(9, 9), 3, torch.ones(9, 9).tril().bool()),
        ),
        Case(
            "random",
            "nine tokens, 2 keys each outside a window of 3",
            lambda g: call(g.uniform(9, 9), 2, ~ref.local_symmetric_mask(9, 3)),
            weight=2,
        ),
        Case(
            "other numbers",
            "six queries on ten keys, then ten on six; draws below 0 and far above 1",
            lambda g: several(
                2,
                lambda p: p.call(
                    g.randn(*((6, 10), (10, 6))[len(p.steps)], scale=9.0),
                    g.integer(2, 4),
                    g.mask(*((6, 10), (10, 6))[len(p.steps)], keep=0.5),
                ),
            ),
        ),
        Case(
            "draws up to 3",
            "eight queries on twelve keys, draws between 0 and 3: forbidden keys come after all of them",
            lambda g: call(g.uniform(8, 12, high=3.0), 4, g.mask(8, 12, keep=0.4)),
            weight=0.5,
        ),
        Case("close draws", "draws in float64 that differ in the ninth digit only", _close),
        Case(
            "more than there are",
            "up to 9 keys for seven queries on five keys, then up to 7 for four queries on six: no more than there are",
            lambda g: call(g.uniform(7, 5), 9, g.mask(7, 5)).call(g.uniform(4, 6), 7, g.mask(4, 6)),
        ),
        Case(
            "none",
            "0 keys leave an empty mask",
            lambda g: call(g.uniform(4, 4), 0, torch.ones(4, 4).bool()),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
argsort sorts along the last axis by itself
    871a04b4d0 solution, argument: draws.masked_fill(~allowed, math.inf).argsort(-1).argsort(-1) without its last argu…
    dcee9dacb9 solution, argument: draws.masked_fill(~allowed, math.inf).argsort(-1) without its last argument
the candidates are sorted by their draws, which differ
    e052bbe959 alternative random_by_rows, reversed: range(len(row)) reversed
""",
)
