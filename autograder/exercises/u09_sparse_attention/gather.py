"""Keys gathered per query, and attention over them."""

import math

import torch

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


def _ragged(change):
    def wrong(mask):
        return change(*index_by_rows(mask), mask)

    return wrong


def _longest_column(mask):
    n = int(mask.sum(0).max())
    index = mask.int().argsort(dim=-1, descending=True, stable=True)[:, :n]
    valid = mask.gather(1, index)
    return index.masked_fill(~valid, 0), valid


def _dense_gather(q, k, v, index, valid):
    allowed = torch.zeros(index.shape[0], k.shape[2]).bool()
    rows = torch.arange(index.shape[0])[:, None].expand_as(index)
    allowed[rows[valid], index[valid]] = True
    return attend(q, k, v, allowed)


def _scores_picked(q, k, v, index, valid):
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).gather(3, index.expand(*q.shape[:3], index.shape[1]))
    weights = scores.masked_fill(~valid, -math.inf).softmax(-1)
    return (weights.unsqueeze(3) @ v[:, :, index]).squeeze(3)


def _gathered(valid=lambda valid: valid, keys=lambda x, index: x[:, :, index], values=None, root=None, **changed):
    def wrong(q, k, v, index, ok):
        if root is not None:  # of what the scores are divided by the root, in place of D
            q = q * math.sqrt(q.shape[-1] / root(q, v, index))
        chosen = attend(q.unsqueeze(3), keys(k, index), (values or keys)(v, index), valid(ok)[:, None, :], **changed)
        return chosen.squeeze(3)

    return wrong


def _hidden_late(q, k, v, index, ok):
    scores = (q.unsqueeze(3) @ k[:, :, index].mT).squeeze(3) / math.sqrt(q.shape[-1])
    return ((scores.softmax(-1) * ok).unsqueeze(3) @ v[:, :, index]).squeeze(3)


def _over_queries(q, k, v, index, ok):
    scores = (q.unsqueeze(3) @ k[:, :, index].mT).squeeze(3) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~ok, -math.inf).softmax(2).nan_to_num()
    return (weights.unsqueeze(3) @ v[:, :, index]).squeeze(3)


def _one_length(mask):
    index = mask.nonzero()[:, 1].reshape(len(mask), -1)
    return index, torch.ones_like(index, dtype=torch.bool)


def _turned(index, valid):
    """Each list at the end of its row."""
    order = valid.int().argsort(dim=-1, stable=True)
    return index.gather(1, order)


EXERCISE = Exercise(
    id="sparse.gather",
    title="Gather the keys, then attend",
    points=3,
    difficulty=4,
    minutes=20,
    extension=True,
    signature="neighbor_index(mask)",
    targets=("neighbor_index", "gather_attention"),
    reference=(NI, GA),
    alternatives=[(index_by_rows, gather_by_queries), (index_by_topk, gather_by_einsum)],
    cases=[
        Case(
            "a window of 2",
            "three words: keys 0, then 0 and 1, then 1 and 2; the missing one is 0 and not valid",
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
            "two sentences, three heads, six words with three keys each",
            lambda g: call(*qkv(g, 6), *inputs.lists(g, 6, 3), fn="gather_attention"),
        ),
        Case(
            "ragged lists",
            "window 3 and a global word: lists of different lengths, padded with key 0",
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
            "so many words, in grading, that the scores of all pairs find no room in memory",
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
    mutants=[
        Mutant(
            "as_wide_as_the_mask",
            (
                _ragged(
                    lambda i, ok, mask: (
                        mask.int()
                        .argsort(dim=-1, descending=True, stable=True)
                        .masked_fill(~mask.int().sort(dim=-1, descending=True).values.bool(), 0),
                        mask.int().sort(dim=-1, descending=True).values.bool(),
                    )
                ),
                GA,
            ),
            "The lists are as long as the text, so nothing is saved. They should be as long as the longest list of "
            "allowed keys.",
        ),
        Mutant(
            "padding_valid",
            (_ragged(lambda i, ok, mask: (i, torch.ones_like(ok))), GA),
            "Padding is marked as valid. valid is True only where the list holds a real key.",
        ),
        Mutant(
            "padding_minus_one",
            (_ragged(lambda i, ok, mask: (i.masked_fill(~ok, -1), ok)), GA),
            "The padding points at key −1. Let it point at key 0: any key will do, since valid hides it.",
        ),
        Mutant(
            "descending",
            (
                _ragged(
                    lambda i, ok, mask: (torch.where(ok, mask.shape[1] - 1 - index_by_rows(mask.flip(-1))[0], 0), ok)
                ),
                GA,
            ),
            "The keys come in falling order. List them from the first to the last.",
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
        Mutant(
            "padding_scored",
            (NI, _gathered(valid=torch.ones_like)),
            "Padding takes part: key 0 gets extra weight in short lists. Hide scores where valid is False.",
        ),
        Mutant(
            "padding_as_zero",
            (NI, _gathered(fill=0.0)),
            "Scores of the padding are set to 0, and a score of 0 still gets weight. Set them to −∞ before the "
            "softmax.",
        ),
        Mutant(
            "hidden_after_softmax",
            (NI, _hidden_late),
            "Padding is hidden after the softmax, so the weights that are left no longer sum to 1. Put −∞ in its "
            "place before the softmax.",
        ),
        Mutant(
            "values_not_gathered",
            (NI, _gathered(values=lambda x, index: x[:, :, : index.shape[1]].unsqueeze(2))),
            "The values are not picked with the keys: every query gets the first ones. Use the same index for both.",
        ),
        Mutant(
            "over_queries",
            (NI, _over_queries),
            "The softmax runs down the queries. The weights of each query's list sum to 1: take the softmax along the "
            "last axis.",
        ),
        Mutant(
            "zero_is_padding",
            (_ragged(lambda i, ok, mask: (i, i != 0)), GA),
            "Every index 0 counts as padding, so the real key 0 is lost. Note what is real when you make the list: "
            "padding is what comes after its end.",
        ),
        Mutant(
            "longest_column",
            (_longest_column, GA),
            "The lists have the length of the fullest column, which is how often a key is used. Count the keys of each "
            "query: sum over the last axis.",
        ),
        Mutant("unscaled", (NI, _gathered(scale=False)), "The scores are not divided by √D."),
        Mutant(
            "one_length",
            (_one_length, GA),
            "The places are reshaped as if every query had the same number of keys. The lists differ in length: fill "
            "them up with 0 to the longest, and say in valid what is real.",
        ),
        Mutant(
            "padding_left_over",
            (
                _ragged(
                    lambda i, ok, mask: (mask.int().argsort(-1, descending=True, stable=True)[:, : i.shape[1]], ok)
                ),
                GA,
            ),
            "The padding still holds places of forbidden keys, left over from sorting. Put 0 there: "
            "masked_fill(~valid, 0).",
        ),
        Mutant(
            "padding_in_front",
            (_ragged(lambda i, ok, mask: (_turned(i, ok), ok.flip(-1))), GA),
            "The padding stands in front of the keys. It comes last: first the allowed keys, rising, then zeros.",
        ),
        Mutant(
            "last_key_repeated",
            (_ragged(lambda i, ok, mask: (torch.where(ok, i, i.amax(-1, keepdim=True)), ok)), GA),
            "The padding repeats the last key of the list. Let it point at key 0.",
        ),
        Mutant(
            "shortest_list",
            (_ragged(lambda i, ok, mask: (i[:, : (n := int(mask.sum(-1).min()))], ok[:, :n])), GA),
            "The lists are cut off at the shortest one, so keys are lost. They have the length of the longest; fill "
            "up the others.",
        ),
        Mutant(
            "forbidden_listed",
            (_ragged(lambda i, ok, mask: index_by_rows(~mask)), GA),
            "These are the forbidden keys. True in the mask means may look: list the places that are True.",
        ),
        Mutant(
            "lists_of_queries",
            (_ragged(lambda i, ok, mask: index_by_rows(mask.mT)), GA),
            "These are the queries of each key. Go through the rows: one list of keys for each query.",
        ),
        Mutant(
            "mask_for_valid",
            (_ragged(lambda i, ok, mask: (i, mask[:, : i.shape[1]])), GA),
            "valid is cut from the mask, so it speaks of key j and not of place j of the list. It is True where the "
            "list holds a real key: pick it with index, too.",
        ),
        Mutant(
            "root_of_n",
            (NI, _gathered(root=lambda q, v, index: index.shape[1])),
            "The scores are divided by the root of n, the length of the lists. Divide by √D, the root of the queries' "
            "last axis.",
        ),
        Mutant(
            "root_of_dv",
            (NI, _gathered(root=lambda q, v, index: v.shape[-1])),
            "The scores are divided by the root of the values' length. Queries and keys decide: divide by √D, the "
            "root of the queries' last axis.",
        ),
        Mutant(
            "divided_by_d",
            (NI, _gathered(root=lambda q, v, index: q.shape[-1] ** 2)),
            "The scores are divided by D. Divide by its root, √D.",
        ),
        Mutant(
            "real_keys_hidden",
            (NI, _gathered(valid=torch.logical_not)),
            "The real keys are hidden and the padding is kept: lists without padding give NaN. Hide where valid is "
            "False: masked_fill(~valid, −∞).",
        ),
        Mutant(
            "keys_for_values",
            (NI, lambda q, k, v, index, ok: GA(q, k, k, index, ok)),
            "The weights are put on the keys. The result is made of the values: pick v with the same index.",
        ),
        Mutant(
            "keys_not_gathered",
            (
                NI,
                _gathered(keys=lambda x, index: x[:, :, : index.shape[1]].unsqueeze(2), values=lambda x, i: x[:, :, i]),
            ),
            "The keys are not picked: every query is scored against the first ones. Use the same index for keys and "
            "values.",
        ),
    ],
)
