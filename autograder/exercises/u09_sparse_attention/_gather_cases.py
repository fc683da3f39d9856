"""What the cases of gathered attention ask, and the lists that they hand in."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Program, Source, call
from autograder.reference import sparse as ref

from .shared import qkv


def index_by_rows(mask):
    """Lists of places, padded."""
    rows = [row.nonzero().flatten().tolist() for row in mask]
    n = max(len(r) for r in rows)
    index = torch.tensor([r + [0] * (n - len(r)) for r in rows])
    valid = torch.tensor([[True] * len(r) + [False] * (n - len(r)) for r in rows])
    return index, valid


def lists(g: Source, T: int, n: int, avoid: int | None = None) -> tuple[Tensor, Tensor]:
    """n different keys per query; ``avoid`` is a key that only the last query gets."""
    rows = []
    for t in range(T):
        keys = torch.randperm(T, generator=g.generator).tolist()
        if avoid is not None:
            keys.remove(avoid)
            keys = [avoid, *keys] if t == T - 1 else keys
        rows.append(sorted(keys[:n]))
    return torch.tensor(rows), torch.ones(T, n, dtype=torch.bool)


def ragged_call(g: Source, T: int) -> Program:
    index, valid = index_by_rows(ref.longformer_mask(T, 3, [4]))
    return call(*qkv(g, T), index, valid, fn="gather_attention")


def poisoned(g: Source) -> Program:
    """Only the last query may look at key 3, whose value is not a number: 0 · NaN betrays a score that was computed."""
    q, k, v = qkv(g, 8, B=1, H=2)
    v[:, :, 3] = math.nan
    return call(q, k, v, *lists(g, 8, 3, avoid=3), fn="gather_attention")


def short_lists(g: Source, T: int, n: int = 4, H: int = 1) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """T queries with n keys each out of T keys, three positions apart, from a random one on."""
    index = g.integers(0, T - 3 * n, T, 1) + 3 * torch.arange(n)
    return *qkv(g, T, B=1, H=H, Dv=4), index, torch.ones(T, n, dtype=torch.bool)


def counted(g: Source) -> Program:
    """Right ways take up to 18,000 operations, all pairs 170,000 and more."""
    few = call(*short_lists(g, 128), fn="gather_attention")
    return few.within(work=50_000, because="each query scores the keys of its list")


def wide(g: Source) -> Program:
    """More keys than queries, D no square, float64."""
    q, k, v = (g.randn(2, 2, n, d, dtype=torch.float64) for n, d in ((5, 3), (9, 3), (9, 4)))
    return call(q, k, v, *index_by_rows(g.mask(5, 9)), fn="gather_attention")


def trained(g: Source) -> Program:
    """Lists of different lengths, so that padding must not take a gradient."""
    q, k, v = qkv(g, 6, B=1, H=2, D=3)
    return call(q, k, v, *index_by_rows(g.mask(6, 6, keep=0.4)), fn="gather_attention", grad=[0, 1, 2])


def tall(g: Source) -> Program:
    """Masks whose rows and columns have different numbers of keys, once with more queries, once with more keys."""
    tall, flat = g.mask(9, 5, keep=0.3), g.mask(4, 40, keep=0.5)
    return call(tall).call(flat).call(tall[:1])
