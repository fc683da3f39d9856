"""Shaw's clipped relative positions."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Source, call
from autograder.reference.attention import attention_weights
from autograder.reference.positions import shaw


def index_by_loop(T, S, k, offset=0):
    """Pair by pair."""
    if k < 0:
        raise ValueError("k must not be negative")
    return torch.tensor([[min(max(j - (i + offset), -k), k) + k for j in range(S)] for i in range(T)])


def index_by_minimum(T, S, k, offset=0):
    """minimum and maximum of two outer sums."""
    if k < 0:
        raise ValueError("no negative distance")
    r = torch.arange(S).view(1, S) - torch.arange(offset, offset + T).view(T, 1)
    return torch.minimum(torch.maximum(r + k, torch.tensor(0)), torch.tensor(2 * k))


def shaw_by_pairs(q, k, v, rel_k, rel_v, mask=None, offset=0):
    """Vectors a_ij and b_ij written out, (T, S, D)."""
    index = index_by_loop(q.shape[-2], k.shape[-2], rel_k.shape[0] // 2, offset)
    keys = k[:, :, None] + rel_k[index]  # (B, H, T, S, D)
    scores = (q[:, :, :, None] * keys).sum(-1) / math.sqrt(q.shape[-1])
    weights = attention_weights(scores, mask)
    return (weights[..., None] * (v[:, :, None] + rel_v[index])).sum(-2)


def shaw_by_einsum(q, k, v, rel_k, rel_v, mask=None, offset=0):
    """einsum over pairs."""
    index = index_by_minimum(q.shape[-2], k.shape[-2], (len(rel_k) - 1) // 2, offset)
    scores = q @ k.mT + torch.einsum("bhtd,tsd->bhts", q, rel_k[index])
    weights = attention_weights(scores * q.shape[-1] ** -0.5, mask)
    return weights @ v + torch.einsum("bhts,tsd->bhtd", weights, rel_v[index])


def _shaw(index=shaw.shaw_index, after=False, keys=1.0, values=1.0):
    """Shaw attention with one part changed."""

    def wrong(q, k, v, rel_k, rel_v, mask=None, offset=0):
        at = index(q.shape[-2], k.shape[-2], rel_k.shape[0] // 2, offset)
        position = torch.einsum("bhtd,tsd->bhts", q, rel_k[at]) * keys
        root = math.sqrt(q.shape[-1])
        scores = q @ k.mT / root + position if after else (q @ k.mT + position) / root
        weights = attention_weights(scores, mask)
        return weights @ v + values * torch.einsum("bhts,tsd->bhtd", weights, rel_v[at])

    return wrong


def upside_down(q, k, v, rel_k, rel_v, mask=None, offset=0):
    if mask is None:
        return shaw.shaw_attention(q, k, v, rel_k, rel_v, None, offset)
    out = shaw.shaw_attention(q, k, v, rel_k, rel_v, ~mask, offset)
    return torch.where((~mask).any(-1, keepdim=True), out, math.nan)  # a plain softmax over nothing


def _index(change):
    return lambda T, S, k, offset=0: change(torch.arange(S) - offset - torch.arange(T)[:, None], k)


reversed_index = _index(lambda r, k: (-r).clamp(-k, k) + k)
unshifted_index = _index(lambda r, k: r.clamp(-k, k))
short_index = _index(lambda r, k: r.clamp(-k, k - 1) + k)
no_offset = lambda T, S, k, offset=0: shaw.shaw_index(T, S, k)


def _qkv(
    g: Source, B: int, H: int, T: int, S: int, D: int, Dv: int, K: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    return g.randn(B, H, T, D), g.randn(B, H, S, D), g.randn(B, H, S, Dv), g.randn(2 * K + 1, D), g.randn(2 * K + 1, Dv)


EXERCISE = Exercise(
    id="position.shaw",
    unit="05-position-encodings",
    title="Clipped relative positions",
    points=3,
    difficulty=3,
    minutes=20,
    extension=True,
    signature="shaw_index(T, S, k, offset=0)",
    targets=("shaw_index", "shaw_attention"),
    reference=(shaw.shaw_index, shaw.shaw_attention),
    alternatives=[(index_by_loop, shaw_by_pairs), (index_by_minimum, shaw_by_einsum)],
    cases=[
        Case("index by hand", "three places, k = 1: rows [1, 2, 2], [0, 1, 2], [0, 0, 1]", lambda g: call(3, 3, 1)),
        Case(
            "index with memory",
            "two queries at positions 3 and 4 against five keys, k = 2",
            lambda g: call(2, 5, 2, offset=3),
        ),
        Case("negative k", "k = −1 raises ValueError", lambda g: call(3, 3, -1), weight=0.5),
        Case(
            "keys by hand",
            "zero keys and D = 1, so the tables alone decide: the next place scores ln 3, the others 0",
            lambda g: call(
                torch.ones(1, 1, 2, 1),
                torch.zeros(1, 1, 2, 1),
                torch.tensor([[[[0.0], [4.0]]]]),
                torch.tensor([[0.0], [0.0], [math.log(3)]]),
                torch.zeros(3, 1),
                fn="shaw_attention",
            ),
        ),
        Case(
            "values by hand",
            "zero values: the result is the average row of the value table",
            lambda g: call(
                torch.zeros(1, 1, 2, 4),
                torch.zeros(1, 1, 2, 4),
                torch.zeros(1, 1, 2, 1),
                torch.zeros(3, 4),
                torch.tensor([[1.0], [10.0], [100.0]]),
                fn="shaw_attention",
            ),
        ),
        Case(
            "random",
            "two sentences, three heads, seven places, k = 2, values of another size",
            lambda g: call(*_qkv(g, 2, 3, 7, 7, 8, 5, 2), fn="shaw_attention"),
            weight=2,
        ),
        Case(
            "causal",
            "a causal mask",
            lambda g: call(*_qkv(g, 1, 2, 5, 5, 4, 4, 3), torch.ones(5, 5).tril().bool(), fn="shaw_attention"),
        ),
        Case(
            "memory",
            "three queries that start at position 4, seven keys",
            lambda g: call(*_qkv(g, 1, 2, 3, 7, 4, 4, 2), offset=4, fn="shaw_attention"),
        ),
    ],
    mutants=[
        Mutant(
            "reversed",
            (reversed_index, _shaw(reversed_index)),
            "The distance is taken as query minus key. Here it is key minus query, j − i: a key in the past is "
            "negative.",
        ),
        Mutant(
            "not_moved_up",
            (unshifted_index, _shaw(unshifted_index)),
            "The index runs from −k to k. Add k, so that row 0 stands for −k; a negative index would read from the "
            "table's end.",
        ),
        Mutant(
            "one_row_short",
            (short_index, _shaw(short_index)),
            "The last row of the table is never read. Clip to k, not to k − 1: there are 2k + 1 rows.",
        ),
        Mutant(
            "offset_ignored",
            (no_offset, _shaw(no_offset)),
            "The queries are taken to start at position 0. Query i stands at position i + offset.",
        ),
        Mutant(
            "keys_only",
            (shaw.shaw_index, _shaw(values=0.0)),
            "The values get no positions. Shaw adds a vector to each value as well: the weights also average rows "
            "of rel_v.",
        ),
        Mutant(
            "values_only",
            (shaw.shaw_index, _shaw(keys=0.0)),
            "The scores know nothing of positions. Add q · rel_k[index] to q · k before dividing by √D.",
        ),
        Mutant(
            "added_after_scaling",
            (shaw.shaw_index, _shaw(after=True)),
            "The position part is not divided by √D. The vector is added to the key, so both parts are scaled.",
        ),
        Mutant(
            "mask_ignored",
            (
                shaw.shaw_index,
                lambda q, k, v, rel_k, rel_v, mask=None, offset=0: shaw.shaw_attention(
                    q, k, v, rel_k, rel_v, None, offset
                ),
            ),
            "The mask is not used. Fill forbidden scores with -inf before the softmax.",
        ),
        Mutant(
            "mask_upside_down",
            (shaw.shaw_index, upside_down),
            "The mask is upside down. True means may look, so fill where it is False: ~mask.",
        ),
        Mutant(
            "unchecked",
            (_index(lambda r, k: r.clamp(-k, k) + k), shaw.shaw_attention),
            "The numbers are right. Raise a ValueError when k is negative: no table has that size.",
        ),
    ],
)
