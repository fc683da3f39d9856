"""The best visible keys of each query."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
from autograder.reference import indexer


def by_sorting(scores, n):
    """As in the solution."""
    T, S = scores.shape[-2:]
    seen = torch.ones(T, S).tril(S - T).bool()
    hidden = scores.masked_fill(~seen, -math.inf)
    order = hidden.sort(dim=-1, descending=True, stable=True).indices
    chosen = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, order[..., :n], True)
    return chosen & seen


def by_rank(scores, n):
    """A key is chosen if fewer than n visible keys come before it."""
    T, S = scores.shape[-2:]
    places = torch.arange(S)
    seen = places <= S - T + torch.arange(T)[:, None]
    mine, other = scores[..., :, None], scores[..., None, :]
    before = (other > mine) | ((other == mine) & (places < places[:, None]))
    rank = (before & seen[:, None, :]).sum(-1)
    return (rank < n) & seen


def _row_by_row(scores, n):
    """Python's own sort, which is stable."""
    flat, (T, S) = scores.flatten(0, -2), scores.shape[-2:]
    chosen = torch.zeros(flat.shape).bool()
    for i, line in enumerate(flat.tolist()):
        visible = range(S - T + i % T + 1)
        for s in sorted(visible, key=lambda s: -line[s])[:n]:
            chosen[i, s] = True
    return chosen.view(scores.shape)


MISTAKES = changes(
    by_sorting,
    """
future_chosen: scores.masked_fill(~seen, -math.inf) → scores ; chosen & seen → chosen
    Keys that come after the query are chosen. Fill hidden scores with −∞ before you choose.
future_dropped: scores.masked_fill(~seen, -math.inf) → scores
    Hidden keys are removed only after the choice, so many queries keep fewer than n. Hide them before you choose.
few_visible: chosen & seen → chosen
    A query that sees fewer than n keys picks hidden ones as well. Remove these at the end, with seen.
filled_with_zero: -math.inf → 0.0
    Hidden scores are set to 0, which wins against negative ones. Fill them with −∞.
later_wins: hidden.sort( → S - 1 - hidden.flip(-1).sort(
    Of equal scores the later key wins. The earlier one has to: sort downward and stably.
unstable: descending=True, stable=True) → descending=True)
    Equal scores come in any order, because a sort need not keep theirs. Sort with stable=True.
topk: hidden.sort(dim=-1, descending=True, stable=True) → hidden.topk(min(n, S), dim=-1)
    torch.topk breaks ties as it likes. Of equal scores the earlier key wins: sort downward and stably.
penalty: hidden.sort( → (hidden - 1e-6 * torch.arange(S)).sort(
    A small number is subtracted for each place to break ties, and it turns around scores that lie closer together than
    that. Sort downward and stably, without it.
all_that_tie: return chosen & seen → return (scores >= hidden.gather(-1, order[..., : min(n, S)][..., -1:])) & seen
    Every key that ties with the last place is kept, so some queries keep more than n. Of equal scores the earlier
    keys win.
better_than_last: return chosen & seen → return (scores > hidden.gather(-1, order[..., : min(n, S)][..., -1:])) & seen
    The key in the last place is not kept, only those that are strictly better. Take the first n positions of the sorted
    row.
worst: descending=True → descending=False
; scores.masked_fill(~seen, -math.inf) → scores.masked_fill(~seen, math.inf)
    The keys with the lowest scores are chosen. Sort downward.
upward_with_hidden: descending=True → descending=False
    The row is sorted upward, so hidden keys, at −∞, are picked first. Sort downward.
absolute: scores.masked_fill → scores.abs().masked_fill
    The keys with the largest absolute scores are chosen. A very negative score is a bad one.
over_queries: sort(dim=-1, → sort(dim=-2, ; .scatter(-1, order[..., :n], True) → .scatter(-2, order[..., :n, :], True)
    The best queries of each key are chosen. Each query chooses among its keys: the last axis.
past_forgotten: tril(S - T) → tril()
    The past is forgotten: query t is the last but T − 1 − t of S tokens, so it sees keys 0 to S − T + t.
self_hidden: tril(S - T) → tril(S - T - 1)
    A query cannot choose its own key. It sees keys 0 to S − T + t, its own included.
one_ahead: tril(S - T) → tril(S - T + 1)
    Each query also sees the key after it. It sees keys 0 to S − T + t.
one_less: order[..., :n] → order[..., : n - 1]
    One key too few is chosen. Take the first n positions of each row.
one_more: order[..., :n] → order[..., : n + 1]
    One key too many is chosen. Take the first n positions of each row.
ranks_for_positions: order[..., :n], True → order.argsort(-1)[..., :n], True
    Ranks are used as positions. The sort's indices are the positions already: entry 0 is the place of the best key.
own_key_always: return chosen & seen → return (chosen | torch.eye(S)[-T:].bool()) & seen
    The own key is added to the choice, whatever its score is. Choose it only if it is among the n best.
""",
)


def _by_hand(g: Source) -> Program:
    """The example's row is that of the last query."""
    scores = torch.zeros(5, 5)
    scores[4] = torch.tensor([0.0, 2.0, 0.0, 0.0, 1.0])
    return call(scores, 3)


def _ties(g: Source) -> Program:
    """ReLU's zeros: most scores are 0, some are positive or negative."""
    return call((g.randn(2, 9, 9) - 0.6).relu() - (g.randn(2, 9, 9) - 1.0).relu(), 4)


def _few(g: Source, program: Program) -> Program:
    T = g.integer(2, 12)
    return program.call(g.randn(T, T + g.integer(0, 9)), 40)


EXERCISE = Exercise(
    id="index.choose",
    title="The best visible keys",
    points=2,
    difficulty=3,
    minutes=8,
    reference=indexer.best_visible,
    alternatives=[by_sorting, by_rank, _row_by_row],
    cases=[
        Case("by hand", "scores 0, 2, 0, 0, 1 and n = 3: keys 1 and 4, and of the zeros key 0", _by_hand, weight=0.5),
        Case("two sentences", "eight tokens, n = 3", lambda g: call(g.randn(2, 8, 8), 3), weight=2),
        Case("negative scores", "all scores are below 0", lambda g: call(g.randn(7, 7) - 5.0, 2)),
        Case("ties", "many scores are exactly 0, n = 4", _ties, weight=2),
        Case(
            "past",
            "three queries are the last of nine tokens, four axes",
            lambda g: call(g.randn(2, 2, 3, 9), 4),
            weight=2,
        ),
        Case("one key", "n = 1, in float64", lambda g: call(g.randn(9, 9, dtype=torch.float64), 1)),
        Case(
            "close scores",
            "scores that differ in the fifth digit, and in float64 in the tenth",
            lambda g: call(1.0 + g.randn(8, 8, scale=1e-5), 3).call(
                1.0 + g.randn(8, 8, scale=1e-10, dtype=torch.float64), 3
            ),
        ),
        Case("a long row", "thirty queries, most scores are 0", lambda g: call((g.randn(30, 40) - 1.0).relu(), 12)),
        Case(
            "more than there are",
            "n = 40, and fewer tokens: every visible key",
            lambda g: several(3, lambda p: _few(g, p)),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
sort goes along the last axis by itself
    67590c32e1 solution, keyword: scores.masked_fill(~seen, -math.inf).sort(dim=-1, descending=True, st… without dim=-1
    a99e2be2cc alternative by_sorting, keyword: hidden.sort(dim=-1, descending=True, stable=True) without dim=-1
a row of a tensor is read by position like a list
    6c24b655a1 alternative _row_by_row, call: flat.tolist() → flat
""",
)
