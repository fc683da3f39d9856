"""Relative positions inside the scores: Shaw's clipped tables, Transformer-XL's shift and its four terms."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference.attention import attention_weights
from autograder.reference.positions import shaw
from autograder.reference.positions import transformer_xl as xl

UNIT = "05-position-encodings"


# --- Shaw ----------------------------------------------------------------------------------------------------------
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


def _qkv(g, B, H, T, S, D, Dv, K):
    return g.randn(B, H, T, D), g.randn(B, H, S, D), g.randn(B, H, S, Dv), g.randn(2 * K + 1, D), g.randn(2 * K + 1, Dv)


SHAW = Exercise(
    id="position.shaw",
    unit=UNIT,
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


# --- relative shift ------------------------------------------------------------------------------------------------
def shift_by_stack(x):
    """Row by row, each with its own slice."""
    T, R = x.shape[-2:]
    S = R - T + 1
    if S < 1:
        raise ValueError("too few columns")
    return torch.stack([x[..., i, T - 1 - i : T - 1 - i + S] for i in range(T)], dim=-2)


def shift_by_gather(x):
    """An explicit index, as in the reference, with its check."""
    if x.shape[-1] < x.shape[-2]:
        raise ValueError("too few columns")
    return xl.relative_shift_by_gather(x)


def _columns(start):
    """Wrong starts of each row's slice; columns beyond the end read as 0."""

    def wrong(x):
        T, R = x.shape[-2:]
        S = R - T + 1
        wide = torch.cat([x, x.new_zeros(*x.shape[:-1], T)], dim=-1)
        return torch.stack([wide[..., i, start(i, T) : start(i, T) + S] for i in range(T)], dim=-2)

    return wrong


def flipped(x):
    T, R = x.shape[-2:]
    return torch.stack([x[..., i, T - 1 - i : R - i] for i in range(T)], dim=-2).flip(-1)


RELATIVE_SHIFT = Exercise(
    id="position.relative_shift",
    unit=UNIT,
    title="Each row moves by one more",
    points=2,
    difficulty=4,
    minutes=15,
    extension=True,
    signature="relative_shift(x)",
    reference=xl.relative_shift,
    alternatives=[shift_by_stack, shift_by_gather],
    cases=[
        Case(
            "by hand",
            "[[1, 2, 3], [4, 5, 6]]: the first row keeps 2, 3 and the last row 4, 5",
            lambda g: call(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])),
        ),
        Case("four rows", "four queries, four keys, two heads", lambda g: call(g.randn(2, 4, 7)), weight=2),
        Case("with memory", "three queries, five keys", lambda g: call(g.randn(2, 2, 3, 7))),
        Case("two rows", "one key more than queries", lambda g: call(g.randn(1, 2, 4))),
        Case("one row", "a single query keeps its row as it is", lambda g: call(g.randn(1, 5)), weight=0),
        Case(
            "too narrow", "four rows need at least four columns: ValueError", lambda g: call(g.randn(4, 3)), weight=0.5
        ),
    ],
    mutants=[
        Mutant(
            "not_moved",
            _columns(lambda i, T: 0),
            "Every row keeps its first columns. Row i starts at column T − 1 − i: each row one further to the left.",
        ),
        Mutant(
            "moved_right",
            _columns(lambda i, T: i),
            "The rows move the wrong way. The last row starts at column 0 and the first at column T − 1.",
        ),
        Mutant(
            "one_too_far",
            _columns(lambda i, T: T - i),
            "Every row starts one column too late. Row i starts at column T − 1 − i, so that the last row keeps "
            "column 0.",
        ),
        Mutant(
            "first_row_for_all",
            _columns(lambda i, T: T - 1),
            "Every row keeps its last columns. Only the first row does; each following row starts one column earlier.",
        ),
        Mutant(
            "flipped",
            flipped,
            "The keys are in reverse order. Columns run from the farthest key to the nearest, "
            "so nothing needs to be flipped.",
        ),
        Mutant(
            "unchecked",
            lambda x: x.gather(
                -1,
                (
                    torch.arange(max(x.shape[-1] - x.shape[-2] + 1, 0))
                    - torch.arange(x.shape[-2])[:, None]
                    + x.shape[-2]
                    - 1
                ).expand(*x.shape[:-1], -1),
            ),
            "The numbers are right. With fewer columns than rows there is no key left: raise a ValueError.",
        ),
    ],
)


# --- four terms ----------------------------------------------------------------------------------------------------
def four_terms_apart(q, k, r, u, v):
    """Four products, added at the end; the shift by an index."""
    ac = q @ k.mT + (u[:, None] @ k.mT)
    bd = q @ r.mT + (v[:, None] @ r.mT)
    return (ac + xl.relative_shift_by_gather(bd)) / math.sqrt(q.shape[-1])


def four_terms_by_pairs(q, k, r, u, v):
    """One distance vector per pair: r[i - j] picked out first."""
    T, S = q.shape[-2], k.shape[-2]
    at = torch.arange(S) - torch.arange(T)[:, None] + T - 1
    pairs = r[:, at]  # (H, T, S, D)
    content = torch.einsum("bhtd,bhsd->bhts", q + u[:, None], k)
    return (content + torch.einsum("bhtd,htsd->bhts", q + v[:, None], pairs)) / q.shape[-1] ** 0.5


def _terms(shift=xl.relative_shift, keep=(1, 1, 1, 1), swapped=False, root=lambda D: (math.sqrt(D), math.sqrt(D))):
    """Four-term scores with one part changed; keep: content, position, u, v."""

    def wrong(q, k, r, u, v):
        u, v = (v, u) if swapped else (u, v)
        content = (keep[0] * q + keep[2] * u[:, None]) @ k.mT
        position = shift((keep[1] * q + keep[3] * v[:, None]) @ r.mT)
        a, b = root(q.shape[-1])
        return content / a + position / b

    return wrong


def _xl(g, B, H, T, S, D):
    return g.randn(B, H, T, D), g.randn(B, H, S, D), g.randn(H, T + S - 1, D), g.randn(H, D), g.randn(H, D)


FOUR_TERMS = Exercise(
    id="position.four_terms",
    unit=UNIT,
    title="Transformer-XL's four terms",
    points=2,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="transformer_xl_scores(q, k, r, u, v)",
    reference=xl.transformer_xl_scores,
    alternatives=[four_terms_apart, four_terms_by_pairs],
    cases=[
        Case(
            "by hand",
            "q = 2, u = 1, v = 3, D = 1: (2 + 1)·1 + (2 + 3)·10 = 53 and (2 + 1)·3 + (2 + 3)·20 = 109",
            lambda g: call(
                torch.full((1, 1, 1, 1), 2.0),
                torch.tensor([[[[1.0], [3.0]]]]),
                torch.tensor([[[10.0], [20.0]]]),
                torch.ones(1, 1),
                torch.full((1, 1), 3.0),
            ),
        ),
        Case("square", "two sentences, three heads, four places", lambda g: call(*_xl(g, 2, 3, 4, 4, 5)), weight=2),
        Case(
            "with memory", "three queries and three keys of memory before them", lambda g: call(*_xl(g, 1, 2, 3, 6, 4))
        ),
        Case(
            "positions only",
            "zero keys leave the two position terms",
            lambda g: call(
                g.randn(1, 2, 3, 4), torch.zeros(1, 2, 3, 4), g.randn(2, 5, 4), g.randn(2, 4), g.randn(2, 4)
            ),
        ),
    ],
    mutants=[
        Mutant(
            "u_and_v_swapped",
            _terms(swapped=True),
            "u and v are exchanged. u meets the keys (content), v meets the distances (r).",
        ),
        Mutant(
            "not_shifted",
            _terms(shift=lambda x: x[..., : x.shape[-1] - x.shape[-2] + 1]),
            "The position scores are cut off instead of shifted. Column c of every row stands for the same "
            "distance: use relative_shift.",
        ),
        Mutant(
            "reversed_distances",
            _terms(shift=lambda x: xl.relative_shift(x.flip(-1))),
            "The distances are read in reverse. Row 0 of r is the farthest past, and relative_shift expects that "
            "order.",
        ),
        Mutant("no_u", _terms(keep=(1, 1, 0, 1)), "The term u · k is missing: what every query thinks of a word."),
        Mutant("no_v", _terms(keep=(1, 1, 1, 0)), "The term v · r is missing: what every query thinks of a distance."),
        Mutant(
            "no_query_in_position",
            _terms(keep=(1, 0, 1, 1)),
            "The term q · r is missing: the query's own word asks for distances too.",
        ),
        Mutant(
            "position_not_scaled",
            _terms(root=lambda D: (math.sqrt(D), 1.0)),
            "The position terms are not divided by √D. All four terms are added first and then scaled.",
        ),
        Mutant("unscaled", _terms(root=lambda D: (1.0, 1.0)), "The sum is not divided by √D."),
        Mutant(
            "u_for_both",
            lambda q, k, r, u, v: xl.transformer_xl_scores(q, k, r, u, u),
            "u stands in both terms. u meets the keys (content), v meets the distances (r).",
        ),
    ],
)

EXERCISES = [SHAW, RELATIVE_SHIFT, FOUR_TERMS]
