"""Shaw's clipped relative positions."""

import math

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call
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
    r = torch.arange(S) - torch.arange(offset, offset + T).view(T, 1)
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
    index = index_by_minimum(q.shape[-2], k.shape[-2], len(rel_k) // 2, offset)
    scores = q @ k.mT + torch.einsum("bhtd,tsd->bhts", q, rel_k[index])
    weights = attention_weights(scores * q.shape[-1] ** -0.5, mask)
    return weights @ v + torch.einsum("bhts,tsd->bhtd", weights, rel_v[index])


def _qkv(
    g: Source, B: int, H: int, T: int, S: int, D: int, Dv: int, K: int, dtype: torch.dtype = torch.float32
) -> list[Tensor]:
    shapes = (B, H, T, D), (B, H, S, D), (B, H, S, Dv), (2 * K + 1, D), (2 * K + 1, Dv)
    return [g.randn(*shape, dtype=dtype) for shape in shapes]


MISTAKES = [
    *changes(
        (index_by_minimum, shaw_by_einsum),
        """
reversed: r + k → -r + k ; raise ValueError("no negative distance") → pass
    The distance is taken as query minus key. Here it is key minus query, j − i: a key in the past is negative.
not_moved_up: torch.tensor(2 * k)) → torch.tensor(2 * k)) - k ; raise ValueError("no negative distance") → pass
    The index runs from −k to k. Add k, so that row 0 stands for −k; a negative index would read from the table's
    end.
one_row_short: 2 * k → 2 * k - 1 ; raise ValueError("no negative distance") → pass
    The last row of the table is never read. Clip to k, not to k − 1: there are 2k + 1 rows.
offset_ignored: torch.arange(offset, offset + T) → torch.arange(T)
    The queries are taken to start at position 0. Query i stands at position i + offset.
keys_only: + torch.einsum("bhts,tsd->bhtd", weights, rel_v[index]) →
    The values get no positions. Shaw adds a vector to each value as well: the weights also average rows of rel_v.
values_only: + torch.einsum("bhtd,tsd->bhts", q, rel_k[index]) →
    The scores know nothing of positions. Add q · rel_k[index] to q · k before dividing by √D.
added_after_scaling: q @ k.mT → q @ k.mT * q.shape[-1] ** -0.5 ; scores * q.shape[-1] ** -0.5 → scores
    The position part is not divided by √D. The vector is added to the key, so both parts are scaled.
offset_turned: torch.arange(offset, offset + T) → torch.arange(-offset, T - offset)
    The offset has the wrong sign. Query i stands at position i + offset, so the distance is j − i − offset.
clipped_at_zero: torch.tensor(0) → torch.tensor(k) ; raise ValueError("no negative distance") → pass
    All keys in the past share the row of distance 0. Clip from both sides, −k to k, and then add k.
words_unscaled: rel_k[index]) → rel_k[index]) * q.shape[-1] ** -0.5 ; scores * q.shape[-1] ** -0.5 → scores
    The product q · k is not divided by √D: a bracket is missing. Divide the sum of both parts.
unscaled: scores * q.shape[-1] ** -0.5 → scores
    The scores are not divided by √D. Add both products first, then divide.
scaled_after_softmax: scores * q.shape[-1] ** -0.5, mask) → scores, mask) * q.shape[-1] ** -0.5
    The division by √D comes after the softmax, so the weights do not sum to 1. Divide the scores.
keys_meet_table: "bhtd,tsd->bhts", q → "bhsd,tsd->bhts", k
    The relative vectors meet the keys. The vector is added to the key, so it is the query that it meets: q ·
    rel_k[index].
values_unweighted: torch.einsum("bhts,tsd->bhtd", weights, rel_v[index]) → rel_v[index].sum(-2)
    The rows of rel_v are added without weights. Each is weighted like the value it belongs to.
reshaped_keys: k.mT → k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])
    The keys are reshaped, which mixes up their entries. Exchange the last two axes: k.transpose(-2, -1).
masked_after_softmax: attention_weights(scores → (scores
; -0.5, mask) → -0.5).softmax(-1) * (1 if mask is None else mask)
    The mask is applied after the softmax, so the weights no longer sum to 1. Fill forbidden scores with -inf before
    it.
filled_with_zero: attention_weights(scores → (scores ; -0.5, mask) → -0.5).mul(1 if mask is None else mask).softmax(-1)
    Forbidden scores are set to 0, which still gets weight. Fill them with -inf before the softmax.
softmax_over_queries: attention_weights(scores → attention_weights((scores
; -0.5, mask) → -0.5).mT, mask if mask is None else mask.mT).mT
    The softmax runs over the queries. The weights of each query sum to 1 over the keys: the last axis.
zero_refused: k < 0 → k <= 0
    k = 0 is refused. It is allowed: a table of one row, for all pairs alike. Only a negative k is an error.
mask_ignored: -0.5, mask) → -0.5)
    The mask is not used. Fill forbidden scores with -inf before the softmax.
mask_upside_down: attention_weights(scores → (scores
; -0.5, mask) → -0.5).masked_fill(torch.tensor(False) if mask is None else mask, -math.inf).softmax(-1)
    The mask is upside down. True means may look, so fill where it is False: ~mask.
unchecked: raise ValueError("no negative distance") → pass
    The numbers are right. Raise a ValueError when k is negative: no table has that size.
root_of_2d: q.shape[-1] ** → (2 * q.shape[-1]) **
    The sum is divided by √(2D). Shaw divides by √D: the vector is part of the key.
divided_by_d: ** -0.5 → ** -1
    The scores are divided by D. Divide by its root, √D.
one_side_clipped: torch.maximum(r + k, torch.tensor(0)) → r + k ; raise ValueError("no negative distance") → pass
    Only one side is clipped: keys far in the past get negative rows, which read from the end. Clip from −k to k,
    then add k.
""",
    ),
    *changes(
        (index_by_minimum, shaw_by_pairs),
        """
shape_exchanged: torch.tensor(2 * k)) → torch.tensor(2 * k)).T
    The index is transposed: (S, T). Queries, T of them, are the rows, and the distance is key minus query.
""",
    ),
    *changes(
        (index_by_minimum, shaw_by_einsum),
        """
no_words: q @ k.mT + →
    The product q · k is missing from the scores. Both parts belong there: q · k + q · rel_k[index].
no_values: weights @ v + →
    The values themselves are missing. The result is weights @ v plus the weighted rows of rel_v.
by_query_place: "bhtd,tsd->bhts" → "bhsd,tsd->bhts" if q.shape == k.shape else "bhtd,tsd->bhts"
    The relative vectors meet the query at the key's position. The letters of q are bhtd: query t meets the vector
    of the pair (t, s).
wide_clip: torch.tensor(0) → torch.tensor(-2 * k) ; raise ValueError("no negative distance") → pass
    The distance is clipped at 2k. Clip from −k to k and add k afterwards: rows 0 … 2k.
position_after_softmax: + torch.einsum("bhtd,tsd->bhts", q, rel_k[index]) →
; -0.5, mask) → -0.5, mask) + torch.einsum("bhtd,tsd->bhts", q, rel_k[index])
    The position part is added after the softmax. It belongs to the scores: add it before the division by √D.
softmax_twice: -0.5, mask) → -0.5, mask).softmax(-1)
    The softmax is taken twice. Once is enough: the weights sum to 1 already.
offset_at_end: // 2, offset) → // 2, k.shape[-2] - q.shape[-2])
    The queries are put at the end of the keys, whatever offset says. Query i stands at position i + offset: pass it
    on.
""",
    ),
]

EXERCISE = Exercise(
    id="position.shaw",
    title="Clipped relative positions",
    points=3,
    difficulty=3,
    minutes=20,
    extension=True,
    reference=(shaw.shaw_index, shaw.shaw_attention),
    alternatives=[(index_by_loop, shaw_by_pairs), (index_by_minimum, shaw_by_einsum)],
    cases=[
        Case("index by hand", "three positions, k = 1: rows [1, 2, 2], [0, 1, 2], [0, 0, 1]", lambda g: call(3, 3, 1)),
        Case(
            "index with memory",
            "two queries at positions 3 and 4 against five keys, k = 2",
            lambda g: call(2, 5, 2, offset=3),
        ),
        Case(
            "one row",
            "k = 0 is allowed: one row for all pairs; then a larger k, another size and an offset",
            lambda g: call(3, g.integer(4, 20), 0).call(
                g.integer(2, 9), g.integer(4, 20), g.integer(1, 4), offset=g.integer(1, 9), fn="shaw_index"
            ),
            weight=0.5,
        ),
        Case("negative k", "k = −1 raises ValueError", lambda g: call(3, 3, -1), weight=0.5),
        Case(
            "keys by hand",
            "zero keys and D = 1, so the tables alone decide: the next position scores ln 3, the others 0",
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
            "two sentences, three heads, seven positions, k = 2, values of another size",
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
        Case(
            "double",
            "float64, a mask of its own for each sentence and head, queries that start at position 1",
            lambda g: call(
                *_qkv(g, 2, 2, 3, 5, 4, 3, 1, torch.float64), g.mask(2, 2, 3, 5), offset=1, fn="shaw_attention"
            ),
        ),
        Case(
            "gradients",
            "gradients of queries, keys, values and both tables, with a mask",
            lambda g: call(*_qkv(g, 1, 2, 4, 4, 3, 2, 1), g.mask(4, 4), grad=[0, 1, 2, 3, 4], fn="shaw_attention"),
        ),
    ],
    mutants=MISTAKES,
    unasked="""
the reference alone takes a device: the learner's signature ends with offset
    shaw_index(device)
    shaw_index(device, offset)
""",
)
