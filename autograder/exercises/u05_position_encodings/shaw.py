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


def scaled(words, position, root):
    return (words + position) / root


def by_query(q, k, table):
    return torch.einsum("bhtd,tsd->bhts", q, table)


def by_weights(weights, table):
    return torch.einsum("bhts,tsd->bhtd", weights, table)


def _shaw(
    index=shaw.shaw_index, score=scaled, keys=by_query, values=by_weights, weigh=attention_weights, turn=lambda k: k.mT
):
    """Shaw attention with one part changed."""

    def wrong(q, k, v, rel_k, rel_v, mask=None, offset=0):
        at = index(q.shape[-2], k.shape[-2], rel_k.shape[0] // 2, offset)
        scores = score(q @ turn(k), keys(q, k, rel_k[at]), math.sqrt(q.shape[-1]))
        weights = weigh(scores, mask)
        return weights @ v + values(weights, rel_v[at])

    return wrong


def masked_after(scores, mask):
    return scores.softmax(-1) if mask is None else scores.softmax(-1) * mask


def filled_with_zero(scores, mask):
    return (scores if mask is None else scores.masked_fill(~mask, 0.0)).softmax(-1)


def over_queries(scores, mask):
    return attention_weights(scores.mT, None if mask is None else mask.mT).mT


def zero_refused(T, S, k, offset=0):
    if k <= 0:
        raise ValueError("k must be positive")
    return shaw.shaw_index(T, S, k, offset)


def upside_down(q, k, v, rel_k, rel_v, mask=None, offset=0):
    if mask is None:
        return shaw.shaw_attention(q, k, v, rel_k, rel_v, None, offset)
    plain = lambda scores, mask: scores.masked_fill(mask, -math.inf).softmax(-1)  # NaN over nothing
    return _shaw(weigh=plain)(q, k, v, rel_k, rel_v, mask, offset)


def _index(change):
    return lambda T, S, k, offset=0: change(torch.arange(S) - offset - torch.arange(T)[:, None], k)


reversed_index = _index(lambda r, k: (-r).clamp(-k, k) + k)
unshifted_index = _index(lambda r, k: r.clamp(-k, k))
short_index = _index(lambda r, k: r.clamp(-k, k - 1) + k)
no_offset = lambda T, S, k, offset=0: shaw.shaw_index(T, S, k)
offset_turned = lambda T, S, k, offset=0: shaw.shaw_index(T, S, k, -offset)
clipped_at_zero = _index(lambda r, k: r.clamp(0, k) + k)


def _qkv(
    g: Source, B: int, H: int, T: int, S: int, D: int, Dv: int, K: int, dtype: torch.dtype = torch.float32
) -> list[Tensor]:
    shapes = (B, H, T, D), (B, H, S, D), (B, H, S, Dv), (2 * K + 1, D), (2 * K + 1, Dv)
    return [g.randn(*shape, dtype=dtype) for shape in shapes]


def no_values(q, k, v, rel_k, rel_v, mask=None, offset=0):
    return shaw.shaw_attention(q, k, 0 * v.detach(), rel_k, rel_v, mask, offset)


def position_on_weights(q, k, v, rel_k, rel_v, mask=None, offset=0):
    at = shaw.shaw_index(q.shape[-2], k.shape[-2], rel_k.shape[0] // 2, offset)
    weights = attention_weights(q @ k.mT / math.sqrt(q.shape[-1]), mask) + by_query(q, k, rel_k[at])
    return weights @ v + by_weights(weights, rel_v[at])


clipped_above = _index(lambda r, k: r.clamp(max=k) + k)
doubled = _index(lambda r, k: (r + k).clamp(-2 * k, 2 * k))


EXERCISE = Exercise(
    id="position.shaw",
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
            (shaw.shaw_index, _shaw(values=lambda w, table: 0.0)),
            "The values get no positions. Shaw adds a vector to each value as well: the weights also average rows "
            "of rel_v.",
        ),
        Mutant(
            "values_only",
            (shaw.shaw_index, _shaw(keys=lambda q, k, table: 0.0)),
            "The scores know nothing of positions. Add q · rel_k[index] to q · k before dividing by √D.",
        ),
        Mutant(
            "added_after_scaling",
            (shaw.shaw_index, _shaw(score=lambda words, position, root: words / root + position)),
            "The position part is not divided by √D. The vector is added to the key, so both parts are scaled.",
        ),
        Mutant(
            "offset_turned",
            (offset_turned, _shaw(offset_turned)),
            "The offset has the wrong sign. Query i stands at position i + offset, so the distance is j − i − offset.",
        ),
        Mutant(
            "clipped_at_zero",
            (clipped_at_zero, _shaw(clipped_at_zero)),
            "All keys in the past share the row of distance 0. Clip from both sides, −k to k, and then add k.",
        ),
        Mutant(
            "words_unscaled",
            (shaw.shaw_index, _shaw(score=lambda words, position, root: words + position / root)),
            "The word part is not divided by √D: a bracket is missing. Divide the sum of both parts.",
        ),
        Mutant(
            "unscaled",
            (shaw.shaw_index, _shaw(score=lambda words, position, root: words + position)),
            "The scores are not divided by √D. Add both products first, then divide.",
        ),
        Mutant(
            "scaled_after_softmax",
            (
                shaw.shaw_index,
                lambda q, k, v, rel_k, rel_v, mask=None, offset=0: (
                    _shaw(score=lambda words, position, root: words + position)(q, k, v, rel_k, rel_v, mask, offset)
                    / math.sqrt(q.shape[-1])
                ),
            ),
            "The division by √D comes after the softmax, so the weights do not sum to 1. Divide the scores.",
        ),
        Mutant(
            "keys_meet_table",
            (shaw.shaw_index, _shaw(keys=lambda q, k, table: torch.einsum("bhsd,tsd->bhts", k, table))),
            "The relative vectors meet the keys. The vector is added to the key, so it is the query that it meets: "
            "q · rel_k[index].",
        ),
        Mutant(
            "values_unweighted",
            (shaw.shaw_index, _shaw(values=lambda w, table: table.sum(-2))),
            "The rows of rel_v are added without weights. Each is weighted like the value it belongs to.",
        ),
        Mutant(
            "reshaped_keys",
            (shaw.shaw_index, _shaw(turn=lambda k: k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]))),
            "The keys are reshaped, which mixes up their entries. Exchange the last two axes: k.transpose(-2, -1).",
        ),
        Mutant(
            "masked_after_softmax",
            (shaw.shaw_index, _shaw(weigh=masked_after)),
            "The mask is applied after the softmax, so the weights no longer sum to 1. Fill forbidden scores with -inf "
            "before it.",
        ),
        Mutant(
            "filled_with_zero",
            (shaw.shaw_index, _shaw(weigh=filled_with_zero)),
            "Forbidden scores are set to 0, which still gets weight. Fill them with -inf before the softmax.",
        ),
        Mutant(
            "softmax_over_queries",
            (shaw.shaw_index, _shaw(weigh=over_queries)),
            "The softmax runs over the queries. The weights of each query sum to 1 over the keys: the last axis.",
        ),
        Mutant(
            "zero_refused",
            (zero_refused, shaw.shaw_attention),
            "k = 0 is refused. It is allowed: a table of one row, for all pairs alike. Only a negative k is an error.",
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
        Mutant(
            "root_of_2d",
            (shaw.shaw_index, _shaw(score=lambda words, position, root: (words + position) / (math.sqrt(2) * root))),
            "The sum is divided by √(2D). Shaw divides by √D: the vector is part of the key.",
        ),
        Mutant(
            "divided_by_d",
            (shaw.shaw_index, _shaw(score=lambda words, position, root: (words + position) / root**2)),
            "The scores are divided by D. Divide by its root, √D.",
        ),
        Mutant(
            "one_side_clipped",
            (clipped_above, _shaw(clipped_above)),
            "Only one side is clipped: keys far in the past get negative rows, which read from the end. Clip from −k "
            "to k, then add k.",
        ),
        Mutant(
            "shape_exchanged",
            (lambda T, S, k, offset=0: shaw.shaw_index(T, S, k, offset).T, shaw.shaw_attention),
            "The index is transposed: (S, T). Queries, T of them, are the rows, and the distance is key minus query.",
        ),
        Mutant(
            "no_words",
            (shaw.shaw_index, _shaw(score=lambda words, position, root: position / root)),
            "The product q · k is missing from the scores. Both parts belong there: q · k + q · rel_k[index].",
        ),
        Mutant(
            "no_values",
            (shaw.shaw_index, no_values),
            "The values themselves are missing. The result is weights @ v plus the weighted rows of rel_v.",
        ),
        Mutant(
            "by_query_place",
            (
                shaw.shaw_index,
                _shaw(
                    keys=lambda q, k, table: (
                        torch.einsum("bhsd,tsd->bhts", q, table) if q.shape == k.shape else by_query(q, k, table)
                    )
                ),
            ),
            "The relative vectors meet the query of the key's place. The letters of q are bhtd: query t meets the "
            "vector of the pair (t, s).",
        ),
        Mutant(
            "wide_clip",
            (doubled, _shaw(doubled)),
            "The distance is clipped at 2k. Clip from −k to k and add k afterwards: rows 0 … 2k.",
        ),
        Mutant(
            "position_after_softmax",
            (shaw.shaw_index, position_on_weights),
            "The position part is added after the softmax. It belongs to the scores: add it before the division by √D.",
        ),
        Mutant(
            "softmax_twice",
            (shaw.shaw_index, _shaw(weigh=lambda s, mask: attention_weights(s, mask).softmax(-1))),
            "The softmax is taken twice. Once is enough: the weights sum to 1 already.",
        ),
        Mutant(
            "offset_at_end",
            (
                shaw.shaw_index,
                lambda q, k, v, rel_k, rel_v, mask=None, offset=0: shaw.shaw_attention(
                    q, k, v, rel_k, rel_v, mask, k.shape[-2] - q.shape[-2]
                ),
            ),
            "The queries are put at the end of the keys, whatever offset says. Query i stands at position i + offset: "
            "pass it on.",
        ),
    ],
)
