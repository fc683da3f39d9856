"""Whole blocks of keys, chosen by the mean of their keys."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
from autograder.reference import indexer


def by_means(q, k, block, n):
    """As in the solution."""
    T = q.shape[-2]
    own, blocks = torch.arange(T) // block, torch.arange(-(-T // block))
    means = torch.stack([part.mean(-2) for part in k.split(block, -2)], -2)
    earlier = blocks < own[:, None]
    hidden = (q @ means.mT).masked_fill(~earlier, -math.inf)
    order = hidden.sort(dim=-1, descending=True, stable=True).indices[..., : n - 1]
    chosen = torch.zeros(hidden.shape, dtype=torch.bool).scatter(-1, order, True) & earlier
    chosen = chosen | (blocks == own[:, None])
    return chosen.repeat_interleave(block, -1)[..., :T] & torch.ones(T, T).tril().bool()


def query_by_query(q, k, block, n):
    """Python lists of blocks."""
    B, H, T, _ = q.shape
    mask = torch.zeros(B, H, T, T).bool()
    for b in range(B):
        for h in range(H):
            means = [part.mean(0) for part in k[b, h].split(block)]
            for t in range(T):
                own = t // block
                best = sorted(range(own), key=lambda i: -float(q[b, h, t] @ means[i]))[: n - 1]
                for i in best:
                    mask[b, h, t, i * block : (i + 1) * block] = True
                mask[b, h, t, own * block : t + 1] = True
    return mask


MISTAKES = changes(
    by_means,
    """
own_competes: chosen = chosen | (blocks == own[:, None]) →
; blocks < own[:, None] → blocks <= own[:, None]
; indices[..., : n - 1] → indices[..., :n]
    The own block competes with the others and may lose. Every query reads its own block, and n − 1 earlier ones.
own_lost: chosen = chosen | (blocks == own[:, None]) →
    The own block is left out. Every query reads it, up to itself.
one_more: : n - 1] → :n]
    n earlier blocks are read besides the own one. The own block counts: n − 1 others.
whole_own_block: & torch.ones(T, T).tril().bool() →
    The own block is read whole, so queries see keys after them. Inside it, the causal mask is still needed.
future_dropped: hidden = (q @ means.mT).masked_fill(~earlier, -math.inf) → hidden = q @ means.mT
    Later blocks are removed only after the choice, so queries keep too few. Hide them before you choose.
future_chosen: True) & earlier → True)
; & torch.ones(T, T).tril().bool() → & (torch.ones(T, T).tril().bool() | (torch.arange(T) // block > own[:, None]))
    Later blocks are read where too few earlier ones exist. Keep only blocks before the own one.
largest_key: part.mean(-2) → part.amax(-2)
    A block is scored by the largest of each number of its keys. Score it by their mean.
first_key: part.mean(-2) → part[..., 0, :]
    A block is scored by its first key. Score it by the mean of all its keys.
last_key: part.mean(-2) → part[..., -1, :]
    A block is scored by its last key. Score it by the mean of all its keys.
best_key: (q @ means.mT).masked_fill → best.masked_fill
; hidden = → best = torch.stack([s.amax(-1) for s in (q @ k.mT).split(block, -1)], -1); hidden =
    A block is scored by the best of its keys, so all keys are read for the choice. Score it by the mean of its keys.
together: (q @ means.mT) → (torch.stack([x.mean(-2) for x in q.split(block, -2)], -2) @ means.mT)[:, :, own]
    All queries of a block choose together, by their mean. Each query chooses alone.
columns_in_turn: chosen.repeat_interleave(block, -1) → chosen.repeat(1, 1, 1, block)
    The blocks' columns are repeated as a whole, so each key gets another block's choice. Repeat every column block
    times, with repeat_interleave.
mean_over_heads: (q @ means.mT).masked_fill → (q @ means.mT).mean(1, keepdim=True).expand(*q.shape[:3], -1).masked_fill
    All heads of a sentence choose the same blocks. Each head chooses by its own queries and keys.
worst: descending=True → descending=False
; masked_fill(~earlier, -math.inf) → masked_fill(~earlier, math.inf)
    The blocks with the lowest scores are chosen. Sort downward.
absolute: (q @ means.mT).masked_fill → (q @ means.mT).abs().masked_fill
    The blocks with the largest absolute scores are chosen. A very negative score is a bad one.
queries_averaged: (q @ means.mT).masked_fill → (q.cumsum(-2) @ means.mT).masked_fill
    The queries are summed up before they choose. Each query chooses alone.
every_earlier: chosen | (blocks == own[:, None]) → blocks <= own[:, None]
    Every earlier block is read, so nothing is saved. Keep the n − 1 best of them.
last_blocks: (q @ means.mT).masked_fill → (0 * (q @ means.mT) + blocks).masked_fill
    The blocks nearest to the query are read, as in a window. Choose by content: query times mean key.
""",
)


def _inputs(
    g: Source, T: int, B: int = 2, H: int = 3, D: int = 4, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor]:
    return g.randn(B, H, T, D, dtype=dtype), g.randn(B, H, T, D, dtype=dtype)


def _by_hand(g: Source) -> Program:
    k = torch.tensor([1.0, 3.0, -2.0, 4.0, 5.0, 1.0]).reshape(1, 1, 6, 1)
    return call(torch.ones(1, 1, 6, 1), k, 2, 2)


def _close(g: Source) -> Program:
    q, k = _inputs(g, 10, dtype=torch.float64)
    return call(1.0 + 0 * q, 1.0 + 1e-10 * k, 2, 2)


def _own(g: Source) -> Program:
    return several(3, lambda p: p.call(*_inputs(g, g.integer(5, 14), B=1, H=1), g.integer(2, 5), 1))


EXERCISE = Exercise(
    id="index.blocks",
    title="Blocks instead of keys",
    points=2,
    difficulty=3,
    minutes=14,
    extension=True,
    reference=indexer.block_choice,
    alternatives=[by_means, query_by_query],
    cases=[
        Case("by hand", "the example: three blocks of 2, two of them read", _by_hand, weight=0.5),
        Case(
            "four blocks",
            "twelve tokens in blocks of 3, two blocks each",
            lambda g: call(*_inputs(g, 12), 3, 2),
            weight=2,
        ),
        Case(
            "a short last block",
            "eleven tokens in blocks of 2, three blocks each",
            lambda g: call(*_inputs(g, 11), 2, 3),
            weight=2,
        ),
        Case("close scores", "in float64, blocks of 2: scores that float32 cannot tell apart", _close),
        Case(
            "more than there are",
            "nine tokens in blocks of 2, four blocks each, then in blocks of 4, six each: the first queries read all",
            lambda g: call(*_inputs(g, 9, B=1), 2, 4).call(*_inputs(g, 9, B=1), 4, 6),
        ),
        Case("the own block alone", "n = 1, and random T", _own, weight=0.5),
    ],
    mutants=MISTAKES,
    equivalent="""
later blocks go with the causal mask, and the own one is read anyway
    8496fa57f6 solution, operand: torch.zeros(hidden.shape, dtype=torch.bool).scatter(-1, order, True) … → torch.zeros…
    06477c75c2 alternative by_means, operand: torch.zeros(hidden.shape, dtype=torch.bool).scatter(-1, order, True) … →…
all earlier blocks are complete, so their sums come in the same order as their means
    6ad815b0d9 solution, name: mean → sum in part.mean(-2)
    37ea76f723 solution, unbiased: part.mean(-2) over n − 1
    93f922ab24 alternative by_means, name: mean → sum in part.mean(-2)
    873a877144 alternative by_means, unbiased: part.mean(-2) over n − 1
    83f8ff98f5 alternative query_by_query, name: mean → sum in part.mean(0)
    3b60d44629 alternative query_by_query, unbiased: part.mean(0) over n − 1
two random means do not tie, and the text asks for no order then
    5a854085d0 solution, keyword: hidden.sort(dim=-1, descending=True, stable=True) without stable=True
    09056e7cae solution, flag: True → False in stable=True
    29352eea4d alternative by_means, keyword: hidden.sort(dim=-1, descending=True, stable=True) without stable=True
    be2d3648cf alternative by_means, flag: True → False in stable=True
arange rounds the number of its entries up
    d1fb472e7c solution, arithmetic: -T // block → -T / block
    b19422250a alternative by_means, arithmetic: -T // block → -T / block
a tensor of one number is sorted like the number
    f7e3f12390 alternative query_by_query, call: float(q[b, h, t] @ means[i]) → its argument
a product of two vectors is symmetric
    71d3cb6498 alternative query_by_query, swapped: q[b, h, t] @ means[i] → means[i] @ q[b, h, t]
sort goes along the last axis by itself
    d8e3886f7f solution, keyword: hidden.sort(dim=-1, descending=True, stable=True) without dim=-1
    0b9af61695 alternative by_means, keyword: hidden.sort(dim=-1, descending=True, stable=True) without dim=-1
sums and single entries do not depend on the order
    d385e95e96 alternative query_by_query, reversed: range(B) reversed
    264717cdd4 alternative query_by_query, reversed: range(H) reversed
    c2134a5503 alternative query_by_query, reversed: range(T) reversed
    30940d67c5 alternative query_by_query, reversed: range(own) reversed
""",
)
