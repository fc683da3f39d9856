"""Attention of a chunk of tokens with a past."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Ref, Source, call
from autograder.reference.attention import scaled_dot_product_attention

from .shared import column, feed, row_by_row


def cached_attention(q, k, v, past=None):
    """Causal attention of the last T of S tokens; returns the result and all (keys, values)."""
    if past is not None:
        k, v = torch.cat([past[0], k], dim=-2), torch.cat([past[1], v], dim=-2)
    T, S = q.shape[-2], k.shape[-2]
    mask = torch.ones(T, S, dtype=torch.bool, device=q.device).tril(S - T)
    return scaled_dot_product_attention(q, k, v, mask), (k, v)


def by_positions(q, k, v, past=None):
    """The mask from a comparison of positions."""
    old = 0 if past is None else past[0].shape[-2]
    if old:
        k, v = (torch.cat(pair, dim=2) for pair in zip(past, (k, v), strict=True))
    key_at = torch.arange(k.shape[2])
    query_at = old + torch.arange(q.shape[2])
    hidden = key_at[None] > query_at[:, None]
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("bhts,bhsd->bhtd", scores.masked_fill(hidden, -math.inf).softmax(-1), v), (k, v)


def _step(
    mask=lambda T, S: torch.ones(T, S).tril(S - T),
    join=lambda old, new: torch.cat([old, new], dim=-2),
    keep=lambda k, v, new: (k, v),
    scale=lambda q: math.sqrt(q.shape[-1]),
    dim=-1,
):
    def wrong(q, k, v, past=None):
        new = (k, v)
        if past is not None:
            k, v = join(past[0], k), join(past[1], v)
        scores = q @ k.mT / scale(q)
        scores = scores.masked_fill(mask(q.shape[-2], k.shape[-2]) == 0, -math.inf)
        return scores.softmax(dim) @ v, keep(k, v, new)

    return wrong


def _second_token(g: Source) -> Program:
    first = call(column(0.0), column(0.0), column(10.0))
    return first.call(column(1.0), column(math.log(3)), column(30.0), past=Ref(0, 1))


def _hidden_zero(q, k, v, past=None):
    if past is not None:
        k, v = torch.cat([past[0], k], dim=-2), torch.cat([past[1], v], dim=-2)
    T, S = q.shape[-2], k.shape[-2]
    return (q @ k.mT / math.sqrt(q.shape[-1]) * torch.ones(T, S).tril(S - T)).softmax(-1) @ v, (k, v)


EXERCISE = Exercise(
    id="cache.step",
    unit="08-kv-cache-and-gqa",
    title="A chunk of tokens with a past",
    points=3,
    difficulty=3,
    minutes=15,
    signature="cached_attention(q, k, v, past=None)",
    reference=cached_attention,
    alternatives=[row_by_row, by_positions],
    forbidden=("scaled_dot_product_attention",),
    forbidden_message="Write scores, mask and softmax yourself; the softmax built in is welcome.",
    cases=[
        Case(
            "second token",
            "the first token returns its own value 10; the second gives weights 1/4 and 3/4 to the values 10 and 30",
            _second_token,
        ),
        Case("prefill", "five tokens at once, nothing in the past: causal attention", lambda g: feed(g, [5])),
        Case("one by one", "four tokens, one at a time", lambda g: feed(g, [1, 1, 1, 1])),
        Case(
            "chunk after prefill",
            "three tokens after two: the first of them sees three keys, not one",
            lambda g: feed(g, [2, 3]),
            weight=2,
        ),
        Case("plan", "chunks of 2, 3 and 1 tokens, B = 1", lambda g: feed(g, [2, 3, 1], B=1, H=2), weight=2),
        Case(
            "random plan",
            "three chunks of random sizes",
            lambda g: feed(g, [g.integer(2, 5), g.integer(2, 5), g.integer(2, 5)]),
        ),
    ],
    mutants=[
        Mutant(
            "mask_top_left",
            _step(mask=lambda T, S: torch.ones(T, S).tril()),
            "The mask starts at the top left, as if the chunk stood at position 0. Query t of the chunk stands at "
            "position S − T + t: use tril with diagonal S − T.",
        ),
        Mutant(
            "no_mask",
            _step(mask=lambda T, S: torch.ones(T, S)),
            "Tokens of one chunk see tokens after them. Inside a chunk the causal mask is still needed.",
        ),
        Mutant(
            "one_ahead",
            _step(mask=lambda T, S: torch.ones(T, S).tril(S - T + 1)),
            "Each token of a chunk also sees the one after it. The diagonal is S − T, not S − T + 1: query 0 stands "
            "at position S − T.",
        ),
        Mutant(
            "mask_all_but_self",
            _step(mask=lambda T, S: torch.ones(T, S).tril(S - T - 1) + (S == 1)),
            "A token does not see itself here. The diagonal S − T belongs to what it may see.",
        ),
        Mutant(
            "hidden_zero",
            _hidden_zero,
            "Hidden scores are set to 0, and a score of 0 still gets weight. Fill them with −∞ before the softmax.",
        ),
        Mutant(
            "polarity",
            _step(mask=lambda T, S: 1 - torch.ones(T, S).tril(S - T)),
            "The mask is upside down: what may be seen is hidden, and rows without any key become NaN. True means "
            "may look, so fill where it is False.",
        ),
        Mutant(
            "forgets",
            _step(join=lambda old, new: new),
            "The past is not used. Put the past keys and values in front of the new ones.",
        ),
        Mutant(
            "keeps_new_only",
            _step(keep=lambda k, v, new: new),
            "The second result holds only this chunk's keys and values. Return all of them, so that the next call "
            "has the whole past.",
        ),
        Mutant(
            "newest_first",
            _step(join=lambda old, new: torch.cat([new, old], dim=-2)),
            "The new keys and values are put in front of the old ones, so the mask hides the wrong ones. Past "
            "first, then new.",
        ),
        Mutant(
            "swapped",
            _step(keep=lambda k, v, new: (v, k)),
            "The second result is (values, keys). Return (keys, values), as past is read.",
        ),
        Mutant("unscaled", _step(scale=lambda q: 1.0), "The scores are not divided by √D."),
        Mutant(
            "over_queries",
            _step(dim=-2),
            "The softmax runs over the queries. The weights of each query sum to 1 over its keys: the last axis.",
        ),
    ],
)
