"""Attention of a chunk of tokens with a past."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Ref, Source, call
from autograder.reference.attention import scaled_dot_product_attention

from .shared import attend, column, feed, row_by_row, trained


def cached_attention(q, k, v, past=None):
    """Causal attention of the last T of S tokens; returns the result and all (keys, values)."""
    if past is not None:
        k, v = torch.cat([past[0], k], dim=-2), torch.cat([past[1], v], dim=-2)
    T, S = q.shape[-2], k.shape[-2]
    mask = torch.ones(T, S, dtype=torch.bool, device=q.device).tril(S - T)
    return scaled_dot_product_attention(q, k, v, mask), (k, v)


def by_positions(q, k, v, past=None):
    """The mask from a comparison of positions."""
    if past is not None:
        k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
    T, S = q.shape[2], k.shape[2]
    key_at, query_at = torch.arange(S), S - T + torch.arange(T)
    hidden = key_at > query_at[:, None]
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(hidden, -math.inf)
    return scores.softmax(-1) @ v, (k, v)


def _second_token(g: Source) -> Program:
    first = call(column(0.0), column(0.0), column(10.0))
    return first.call(column(1.0), column(math.log(3)), column(30.0), past=Ref(0, 1))


def _all_queries(q, k, v, past=None):
    """Right numbers, from scores of the whole text: the queries of the past are zeros, and their rows are cut off."""
    T = q.shape[-2]
    if past is not None:
        k, v = torch.cat([past[0], k], dim=-2), torch.cat([past[1], v], dim=-2)
        q = torch.cat([torch.zeros_like(past[0]), q], dim=-2)
    return attend(q, k, v, torch.ones(k.shape[-2], k.shape[-2]).tril() > 0)[..., -T:, :], (k, v)


def _counted(g: Source) -> Program:
    """Right ways take about 2,000 operations, scores of all 32 queries 50,000."""
    program = feed(g, [31, 1], B=1, H=2, D=4, Dv=4)
    return program.within(work=8_000, because="one new token has 32 scores per head")


MISTAKES = [
    Mutant(
        "all_queries",
        _all_queries,
        "The result is right, but scores are computed for the tokens of the past too, S × S of them. Only the new "
        "queries are needed: q stays (B, H, T, D).",
    ),
    *changes(
        by_positions,
        """
mask_top_left: S - T + torch.arange(T) → torch.arange(T)
    The mask starts at the top left, as if the chunk stood at position 0. Query t of the chunk stands at position S
    − T + t: use tril with diagonal S − T.
no_mask: .masked_fill(hidden, -math.inf) →
    Tokens of one chunk see tokens after them. Inside a chunk the causal mask is still needed.
one_ahead: S - T + torch.arange(T) → S - T + 1 + torch.arange(T)
    Each token of a chunk also sees the one after it. The diagonal is S − T, not S − T + 1: query 0 stands at
    position S − T.
mask_all_but_self: key_at > query_at[:, None] → (key_at >= query_at[:, None]) & (S > 1)
    A token does not see itself here. The diagonal S − T belongs to what it may see.
hidden_zero: .masked_fill(hidden, -math.inf) → * ~hidden
    Hidden scores are set to 0, and a score of 0 still gets weight. Fill them with −∞ before the softmax.
polarity: key_at > query_at → key_at <= query_at
    The mask is upside down: what may be seen is hidden, and rows without any key become NaN. True means may look,
    so fill where it is False.
forgets: past is not None → False
    The past is not used. Put the past keys and values in front of the new ones.
keeps_new_only: (k, v) → (k[:, :, S - T :], v[:, :, S - T :])
    The second result holds only this chunk's keys and values. Return all of them, so that the next call has the
    whole past.
newest_first: [past[0], k] → [k, past[0]] ; [past[1], v] → [v, past[1]]
    The new keys and values are put in front of the old ones, so the mask hides the wrong ones. Past first, then
    new.
swapped: (k, v) → (v, k)
    The second result is (values, keys). Return (keys, values), as past is read.
masked_weights: .masked_fill(hidden, -math.inf) → ; scores.softmax(-1) @ v → scores.softmax(-1) * ~hidden @ v
    The mask comes after the softmax, so hidden keys take their share and the rows no longer sum to 1. Fill the
    scores with −∞ before the softmax.
reshaped_keys: k.mT → k.reshape(*k.shape[:2], k.shape[3], S)
    reshape(…, D, S) cuts the same row of numbers anew and mixes the keys. Swap the last two axes with
    k.transpose(-2, -1).
scaled_by_values: q.shape[-1] → v.shape[-1]
    The scores are divided by the square root of v's last size. Queries and keys make them grow: use q.shape[-1].
scaled_weights: / math.sqrt(q.shape[-1]) → ; softmax(-1) @ v → softmax(-1) @ v / math.sqrt(q.shape[-1])
    The result is divided by √D, after the softmax. Divide the scores, before it.
unscaled: / math.sqrt(q.shape[-1]) →
    The scores are not divided by √D.
over_queries: softmax(-1) → softmax(-2)
    The softmax runs over the queries. The weights of each query sum to 1 over its keys: the last axis.
masked_without_past: key_at > query_at[:, None] → (key_at > query_at[:, None]) & (past is None)
    With a past there is no mask, so tokens of a longer chunk see tokens after them. Mask every chunk: query t sees
    the past and the chunk up to itself, tril with diagonal S − T.
self_hidden: key_at > query_at → key_at >= query_at
    A token does not see itself, and the first of a text sees nothing, which makes NaN. Key s is visible when s <= S
    − T + t: the diagonal S − T belongs to it.
diagonal_negative: S - T + torch.arange(T) → T - S + torch.arange(T)
    The mask's diagonal has the wrong sign, so a past hides more instead of less. It is S − T: the length of the
    past.
future_only: key_at > query_at → key_at < query_at
    Each token sees itself and what comes after it: tril and triu are exchanged. It may look at itself and what came
    before.
past_hidden: key_at > query_at[:, None] → torch.ones(T, S).tril(S - T).triu() * (key_at >= S - T) == 0
    The chunk sees itself alone, and the past is hidden. Every query sees all keys of the past, and those of the
    chunk up to itself.
joined_heads: k], dim=2 → k], dim=1 ; v], dim=2 → v], dim=1
    Past and new are joined along axis 1, as if they were more heads. Tokens are axis 2 of (B, H, T, D).
joined_sentences: k], dim=2 → k] ; v], dim=2 → v]
    Past and new are joined along axis 0, as if they were more sentences (torch.cat's default). Tokens are axis 2 of
    (B, H, T, D).
past_unpacked: past is not None → True
    At the first call past is None, and None has no entries. Join only where a past was given.
keeps_old_only: (k, v) → past
    The second result is the past as it came in, without the chunk (None at the first call). Return all keys and
    values, old and new.
divided_by_size: math.sqrt(q.shape[-1]) → q.shape[-1]
    The scores are divided by D. Divide them by its square root.
multiplied: / math.sqrt → * math.sqrt
    The scores are multiplied by √D. Divide them by it: long vectors make large scores.
scaled_by_heads: q.shape[-1] → q.shape[1]
    The scores are divided by the square root of the number of heads. The size of a query counts: q.shape[-1].
over_heads: softmax(-1) → softmax(1)
    The softmax runs over the heads. The weights of each query sum to 1 over its keys: the last axis.
past_exchanged: [past[0], k] → [past[1], k] ; [past[1], v] → [past[0], v]
    Past keys and values are exchanged: new keys follow old values. past is (keys, values), as you return it.
values_alone: torch.cat([past[1], v], dim=2) → v
    Only the keys are joined with the past. There is one weight per key, so the values need their past, too.
last_only: scores.softmax(-1) @ v → (scores.softmax(-1) @ v)[:, :, -1:]
    Only the result of the last token comes back. Return one for each token of the chunk: (B, H, T, Dv).
""",
    ),
]

EXERCISE = Exercise(
    id="cache.step",
    title="A chunk of tokens with a past",
    points=3,
    difficulty=3,
    minutes=15,
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
        Case("plan", "chunks of 2, 3 and 1 tokens, B = 1", lambda g: feed(g, [2, 3, 1], B=1, H=2, D=6, Dv=2), weight=2),
        Case(
            "random plan",
            "three chunks of random sizes",
            lambda g: feed(g, [g.integer(2, 5), g.integer(2, 5), g.integer(2, 5)]),
        ),
        Case("cost", "one token after 31: its own scores are computed, and no others", _counted),
        Case(
            "gradients",
            "three tokens after two, in float64: gradients reach q, k and v, and the keys and values returned",
            lambda g: trained(g, D=6, Dv=3, dtype=torch.float64),
        ),
    ],
    mutants=MISTAKES,
)
