"""Keys gathered per query, and attention over them."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Ref, Source, call
from autograder.reference import sparse as ref
from autograder.reference import sparse_gather as gathered

from .shared import attend, column, qkv

NI, GA = gathered.neighbor_index, gathered.gather_attention


def index_by_rows(mask):
    """Lists of places, padded."""
    rows = [row.nonzero().flatten().tolist() for row in mask]
    n = max(len(r) for r in rows)
    index = torch.tensor([r + [0] * (n - len(r)) for r in rows])
    valid = torch.tensor([[True] * len(r) + [False] * (n - len(r)) for r in rows])
    return index, valid


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


def _dense_gather(q, k, v, index, valid):
    allowed = torch.zeros(index.shape[0], k.shape[2]).bool()
    rows = torch.arange(index.shape[0])[:, None].expand_as(index)
    allowed[rows[valid], index[valid]] = True
    return attend(q, k, v, allowed)


def _gathered(valid=lambda valid: valid, keys=lambda x, index: x[:, :, index], values=None, **changed):
    def wrong(q, k, v, index, ok):
        chosen = attend(q.unsqueeze(3), keys(k, index), (values or keys)(v, index), valid(ok)[:, None, :], **changed)
        return chosen.squeeze(3)

    return wrong


def _hidden_late(q, k, v, index, ok):
    scores = (q.unsqueeze(3) @ k[:, :, index].mT).squeeze(3) / math.sqrt(q.shape[-1])
    return ((scores.softmax(-1) * ok).unsqueeze(3) @ v[:, :, index]).squeeze(3)


def _lists(g: Source, T: int, n: int, avoid: int | None = None) -> tuple[Tensor, Tensor]:
    """n different keys per query; ``avoid`` is a key that only the last query gets."""
    rows = []
    for t in range(T):
        keys = torch.randperm(T, generator=g.generator).tolist()
        if avoid is not None:
            keys.remove(avoid)
            keys = [avoid, *keys] if t == T - 1 else keys
        rows.append(sorted(keys[:n]))
    return torch.tensor(rows), torch.ones(T, n, dtype=torch.bool)


def _ragged_call(g: Source, T: int) -> Program:
    index, valid = index_by_rows(ref.longformer_mask(T, 3, [4]))
    return call(*qkv(g, T), index, valid, fn="gather_attention")


def _poisoned(g: Source) -> Program:
    """Only the last query may look at key 3, whose value is not a number: 0 · NaN betrays a score that was computed."""
    q, k, v = qkv(g, 8, B=1, H=2)
    v[:, :, 3] = math.nan
    return call(q, k, v, *_lists(g, 8, 3, avoid=3), fn="gather_attention")


EXERCISE = Exercise(
    id="sparse.gather",
    unit="09-sparse-attention",
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
            lambda g: call(*qkv(g, 6), *_lists(g, 6, 3), fn="gather_attention"),
        ),
        Case(
            "ragged lists",
            "window 3 and a global word: lists of different lengths, padded with key 0",
            lambda g: _ragged_call(g, 7),
            weight=2,
        ),
        Case(
            "less work",
            "key 3 has NaN for values and is in the last list alone: the other queries must not notice",
            _poisoned,
            weight=2,
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
        Mutant("unscaled", (NI, _gathered(scale=False)), "The scores are not divided by √D."),
    ],
)
