"""Keys gathered per query, and attention over them."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Ref, call
from autograder.reference import sparse as ref
from autograder.reference import sparse_gather as gathered

from . import _gather_cases as inputs
from ._gather_cases import index_by_rows
from .shared import attend, column, qkv

NI, GA = gathered.neighbor_index, gathered.gather_attention


def index_by_topk(mask):
    """topk on numbers that fall with the place."""
    n = int(mask.sum(-1).max())
    order = torch.arange(mask.shape[1], 0, -1) * mask
    values, index = order.topk(n, dim=-1)
    return torch.where(values > 0, index, 0), values > 0


def gather_by_queries(q, k, v, index, valid):
    """One query at a time, with its own short list."""
    out = []
    for t in range(q.shape[2]):
        keys = index[t][valid[t]]
        weights = (q[:, :, t : t + 1] @ k[:, :, keys].mT / math.sqrt(q.shape[-1])).softmax(-1)
        out.append(weights @ v[:, :, keys])
    return torch.cat(out, dim=2)


def gather_by_einsum(q, k, v, index, valid):
    """The same in letters."""
    scores = torch.einsum("bhtd,bhtnd->bhtn", q, k[:, :, index]) / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~valid, -math.inf).softmax(-1)
    return torch.einsum("bhtn,bhtnd->bhtd", weights, v[:, :, index])


def _dense_gather(q, k, v, index, valid):
    allowed = torch.zeros(index.shape[0], k.shape[2]).bool()
    rows = torch.arange(index.shape[0])[:, None].expand_as(index)
    allowed[rows[valid], index[valid]] = True
    return attend(q, k, v, allowed)


def _scores_picked(q, k, v, index, valid):
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).gather(3, index.expand(*q.shape[:3], index.shape[1]))
    weights = scores.masked_fill(~valid, -math.inf).softmax(-1)
    return (weights.unsqueeze(3) @ v[:, :, index]).squeeze(3)


MISTAKES = [
    *changes(
        (gathered.neighbor_index, gathered.gather_attention),
        """
as_wide_as_the_mask: [:, :n] →
    The lists are as long as the text, so nothing is saved. They should be as long as the longest list of allowed
    keys.
padding_valid: 0), valid → 0), torch.ones_like(valid)
    Padding is marked as valid. valid is True only where the list holds a real key.
padding_minus_one: ~valid, 0 → ~valid, -1
    The padding points at key −1. Let it point at key 0: any key will do, since valid hides it.
descending: mask.int() → (mask * torch.arange(1, mask.shape[1] + 1))
    The keys come in falling order. List them from the first to the last.
""",
    ),
    Mutant(
        "dense",
        (NI, _dense_gather),
        "Every pair is scored and most are thrown away: that is dense attention with a mask. Pick the listed "
        "keys first, k[:, :, index], and score only those.",
    ),
    Mutant(
        "scores_picked",
        (NI, _scores_picked),
        "The numbers are right, but every pair is scored before the listed ones are picked. Pick the keys first, "
        "k[:, :, index], and score only those: T·n scores.",
    ),
    *changes(
        (index_by_topk, gather_by_einsum),
        """
padding_scored: .masked_fill(~valid, -math.inf) →
    Padding takes part: key 0 gets extra weight in short lists. Hide scores where valid is False.
padding_as_zero: -math.inf → 0.0
    Scores of the padding are set to 0, and a score of 0 still gets weight. Set them to −∞ before the softmax.
hidden_after_softmax: .masked_fill(~valid, -math.inf).softmax(-1) → .softmax(-1) * valid
    Padding is hidden after the softmax, so the weights that are left no longer sum to 1. Put −∞ in its place before
    the softmax.
values_not_gathered: "bhtn,bhtnd->bhtd", weights, v[:, :, index] → "bhtn,bhnd->bhtd", weights, v[:, :, : index.shape[1]]
    The values are not picked with the keys: every query gets the first ones. Use the same index for both.
over_queries: .softmax(-1) → .softmax(2).nan_to_num()
    The softmax runs down the queries. The weights of each query's list sum to 1: take the softmax along the last
    axis.
""",
    ),
    *changes(
        (gathered.neighbor_index, gathered.gather_attention),
        """
zero_is_padding: index.masked_fill(~valid, 0), valid → (index := index.masked_fill(~valid, 0)), index != 0
    Every index 0 counts as padding, so the real key 0 is lost. Note what is real when you make the list: padding is
    what comes after its end.
longest_column: mask.sum(-1) → mask.sum(0)
    The lists have the length of the fullest column, which is how often a key is used. Count the keys of each query:
    sum over the last axis.
""",
    ),
    *changes(
        (index_by_topk, gather_by_einsum),
        """
unscaled: / q.shape[-1] ** 0.5 →
    The scores are not divided by √D.
""",
    ),
    *changes(
        (gathered.neighbor_index, gathered.gather_attention),
        """
one_length: mask.int().argsort( → mask.nonzero()[:, 1].reshape(
; dim=-1, descending=True, stable=True)[:, :n] → len(mask), -1)
; index.masked_fill(~valid, 0), valid → index, torch.ones_like(valid)
    The positions are reshaped as if every query had the same number of keys. The lists differ in length: fill them up
    with 0 to the longest, and say in valid what is real.
padding_left_over: index.masked_fill(~valid, 0) → index
    The padding still holds positions of forbidden keys, left over from sorting. Put 0 there: masked_fill(~valid, 0).
padding_in_front: descending=True, stable=True)[:, :n] → stable=True)[:, -n:]
    The padding stands in front of the keys. It comes last: first the allowed keys, rising, then zeros.
last_key_repeated: index.masked_fill(~valid, 0) → torch.where(valid, index, (index * valid).amax(-1, keepdim=True))
    The padding repeats the last key of the list. Let it point at key 0.
shortest_list: .max() → .min()
    The lists are cut off at the shortest one, so keys are lost. They have the length of the longest; fill up the
    others.
forbidden_listed: n = int → mask = ~mask; n = int
    These are the forbidden keys. True in the mask means may look: list the positions that are True.
lists_of_queries: n = int → mask = mask.mT; n = int
    These are the queries of each key. Go through the rows: one list of keys for each query.
mask_for_valid: 0), valid → 0), mask[:, :n]
    valid is cut from the mask, so it speaks of key j and not of entry j of the list. It is True where the list holds a
    real key: pick it with index, too.
""",
    ),
    *changes(
        (index_by_topk, gather_by_einsum),
        """
root_of_n: q.shape[-1] → index.shape[1]
    The scores are divided by the root of n, the length of the lists. Divide by √D, the root of the queries' last
    axis.
root_of_dv: q.shape[-1] → v.shape[-1]
    The scores are divided by the root of the values' length. Queries and keys decide: divide by √D, the root of the
    queries' last axis.
divided_by_d: ** 0.5 →
    The scores are divided by D. Divide by its root, √D.
real_keys_hidden: ~valid → valid
    The real keys are hidden and the padding is kept: lists without padding give NaN. Hide where valid is False:
    masked_fill(~valid, −∞).
keys_for_values: v[:, :, index] → k[:, :, index]
    The weights are put on the keys. The result is made of the values: pick v with the same index.
keys_not_gathered: "bhtd,bhtnd->bhtn", q, k[:, :, index] → "bhtd,bhnd->bhtn", q, k[:, :, : index.shape[1]]
    The keys are not picked: every query is scored against the first ones. Use the same index for keys and values.
""",
    ),
]


EXERCISE = Exercise(
    id="sparse.gather",
    title="Gather the keys, then attend",
    points=3,
    difficulty=4,
    minutes=20,
    extension=True,
    reference=(NI, GA),
    alternatives=[(index_by_rows, gather_by_queries), (index_by_topk, gather_by_einsum)],
    cases=[
        Case(
            "a window of 2",
            "three tokens: keys 0, then 0 and 1, then 1 and 2; the missing one is 0 and not valid",
            lambda g: call(ref.local_causal_mask(3, 2)),
            weight=2,
        ),
        Case("random mask", "seven queries on nine keys, at least one key each", lambda g: call(g.mask(7, 9))),
        Case(
            "tall and flat",
            "nine queries on five keys, four on forty, and a single one: n is the longest list of a query",
            inputs.tall,
        ),
        Case(
            "two keys",
            "one query of 0 on keys 1 and 3 of four: the mean of their values 20 and 40",
            lambda g: call(
                column(0.0),
                column(1.0, 2.0, 3.0, 4.0),
                column(10.0, 20.0, 30.0, 40.0),
                torch.tensor([[1, 3]]),
                torch.ones(1, 2).bool(),
                fn="gather_attention",
            ),
            weight=2,
        ),
        Case(
            "lists",
            "two sentences, three heads, six tokens with three keys each",
            lambda g: call(*qkv(g, 6), *inputs.lists(g, 6, 3), fn="gather_attention"),
        ),
        Case(
            "ragged lists",
            "window 3 and a global token: lists of different lengths, padded with key 0",
            lambda g: inputs.ragged_call(g, 7),
            weight=2,
        ),
        Case(
            "less work",
            "key 3 has NaN for values and is in the last list alone: the other queries must not notice",
            inputs.poisoned,
            weight=2,
        ),
        Case("cost", "128 queries with lists of 4 keys take at most 50,000 operations", inputs.counted, weight=4),
        Case(
            "long text",
            "so many tokens, in grading, that the scores of all pairs find no room in memory",
            lambda g: call(
                *inputs.short_lists(g, g.size(shown=60, graded=8_192), H=g.size(shown=1, graded=8)),
                fn="gather_attention",
            ),
            weight=4,
        ),
        Case(
            "more keys than queries",
            "five queries on nine keys of 3 numbers in float64; so is the result",
            inputs.wide,
        ),
        Case(
            "gradients",
            "lists of different lengths: queries, keys and values can be trained through the result",
            inputs.trained,
        ),
        Case(
            "together",
            "the lists of a causal window of 3, straight from neighbor_index",
            lambda g: call(ref.local_causal_mask(9, 3)).call(
                *qkv(g, 9, B=1), Ref(0, 0), Ref(0, 1), fn="gather_attention"
            ),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
a tensor of one integer cuts and sorts like the integer
    b0f65f03a6 solution, call: int(mask.sum(-1).max()) → its argument
    d95206b87a alternative (index_by_topk, gather_by_einsum), call: int(mask.sum(-1).max()) → its argument
argsort and topk go along the last axis by themselves
    76a9a98239 solution, keyword: mask.int().argsort(dim=-1, descending=True, stable=True) without dim=-1
    b70778eb4d alternative (index_by_topk, gather_by_einsum), keyword: order.topk(n, dim=-1) without dim=-1
booleans are sorted like 0 and 1 on the CPU
    f1be5320f9 solution, call: mask.int() → mask
the result has gone through a softmax: it holds no integers
    04bdd0696b solution, result: return (weights.unsqueeze(3) @ values).squeeze(3): result int_to_float
    0fcc33ef03 alternative (index_by_rows, gather_by_queries), result: return torch.cat(out, dim=2): result int_to_flo…
    5449c88649 alternative (index_by_topk, gather_by_einsum), result: return torch.einsum('bhtn,bhtnd->bhtd', weights,…
""",
)
