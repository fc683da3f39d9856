"""Attention of a chunk of tokens with a past."""

import math

import torch

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
    key_at = torch.arange(k.shape[2])
    query_at = key_at[-q.shape[2] :]
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


def _hidden_zero(q, k, v, past=None):
    if past is not None:
        k, v = torch.cat([past[0], k], dim=-2), torch.cat([past[1], v], dim=-2)
    T, S = q.shape[-2], k.shape[-2]
    return (q @ k.mT / math.sqrt(q.shape[-1]) * torch.ones(T, S).tril(S - T)).softmax(-1) @ v, (k, v)


def _masked_weights(q, k, v, past=None):
    if past is not None:
        k, v = torch.cat([past[0], k], dim=-2), torch.cat([past[1], v], dim=-2)
    T, S = q.shape[-2], k.shape[-2]
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) * torch.ones(T, S).tril(S - T) @ v, (k, v)


def _reshaped_keys(q, k, v, past=None):
    _, stored = cached_attention(q, k, v, past)
    *outer, S, D = stored[0].shape
    scores = q @ stored[0].reshape(*outer, D, S) / math.sqrt(D)
    mask = torch.ones(q.shape[-2], S).tril(S - q.shape[-2]) == 0
    return scores.masked_fill(mask, -math.inf).softmax(-1) @ stored[1], stored


def _scaled_by_values(q, k, v, past=None):
    return cached_attention(q * math.sqrt(q.shape[-1] / v.shape[-1]), k, v, past)


def _scaled_weights(q, k, v, past=None):
    out, stored = cached_attention(q * math.sqrt(q.shape[-1]), k, v, past)
    return out / math.sqrt(q.shape[-1]), stored


def _masked_without_past(q, k, v, past=None):
    if past is None:
        return cached_attention(q, k, v)
    k, v = torch.cat([past[0], k], dim=-2), torch.cat([past[1], v], dim=-2)
    return attend(q, k, v), (k, v)


def _past_unpacked(q, k, v, past=None):
    k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
    return cached_attention(q, k, v)


def _old_pair(q, k, v, past=None):
    return cached_attention(q, k, v, past)[0], past


def _past_exchanged(q, k, v, past=None):
    return cached_attention(q, k, v, past if past is None else past[::-1])


def _values_alone(q, k, v, past=None):
    stored = cached_attention(q, k, v, past)[1]
    T, S = q.shape[-2], stored[0].shape[-2]
    scores = (q @ stored[0].mT / math.sqrt(q.shape[-1])).masked_fill(torch.ones(T, S).tril(S - T) == 0, -math.inf)
    return scores.softmax(-1) @ v, (stored[0], v)


def _last_only(q, k, v, past=None):
    out, stored = cached_attention(q, k, v, past)
    return out[:, :, -1:], stored


EXERCISE = Exercise(
    id="cache.step",
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
    mutants=[
        Mutant(
            "all_queries",
            _all_queries,
            "The result is right, but scores are computed for the tokens of the past too, S × S of them. Only the new "
            "queries are needed: q stays (B, H, T, D).",
        ),
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
        Mutant(
            "masked_weights",
            _masked_weights,
            "The mask comes after the softmax, so hidden keys take their share and the rows no longer sum to 1. Fill "
            "the scores with −∞ before the softmax.",
        ),
        Mutant(
            "reshaped_keys",
            _reshaped_keys,
            "reshape(…, D, S) cuts the same row of numbers anew and mixes the keys. Swap the last two axes with "
            "k.transpose(-2, -1).",
        ),
        Mutant(
            "scaled_by_values",
            _scaled_by_values,
            "The scores are divided by the square root of v's last size. Queries and keys make them grow: use "
            "q.shape[-1].",
        ),
        Mutant(
            "scaled_weights",
            _scaled_weights,
            "The result is divided by √D, after the softmax. Divide the scores, before it.",
        ),
        Mutant("unscaled", _step(scale=lambda q: 1.0), "The scores are not divided by √D."),
        Mutant(
            "over_queries",
            _step(dim=-2),
            "The softmax runs over the queries. The weights of each query sum to 1 over its keys: the last axis.",
        ),
        Mutant(
            "masked_without_past",
            _masked_without_past,
            "With a past there is no mask, so tokens of a longer chunk see tokens after them. Mask every chunk: query "
            "t sees the past and the chunk up to itself, tril with diagonal S − T.",
        ),
        Mutant(
            "self_hidden",
            _step(mask=lambda T, S: torch.ones(T, S).tril(S - T - 1)),
            "A token does not see itself, and the first of a text sees nothing, which makes NaN. Key s is visible "
            "when s <= S − T + t: the diagonal S − T belongs to it.",
        ),
        Mutant(
            "diagonal_negative",
            _step(mask=lambda T, S: torch.ones(T, S).tril(T - S)),
            "The mask's diagonal has the wrong sign, so a past hides more instead of less. It is S − T: the length of "
            "the past.",
        ),
        Mutant(
            "future_only",
            _step(mask=lambda T, S: torch.ones(T, S).triu(S - T)),
            "Each token sees itself and what comes after it: tril and triu are exchanged. It may look at itself and "
            "what came before.",
        ),
        Mutant(
            "past_hidden",
            _step(mask=lambda T, S: torch.ones(T, S).tril(S - T).triu() * (torch.arange(S) >= S - T)),
            "The chunk sees itself alone, and the past is hidden. Every query sees all keys of the past, and those of "
            "the chunk up to itself.",
        ),
        Mutant(
            "joined_heads",
            _step(join=lambda old, new: torch.cat([old, new], dim=1)),
            "Past and new are joined along axis 1, as if they were more heads. Tokens are axis 2 of (B, H, T, D).",
        ),
        Mutant(
            "joined_sentences",
            _step(join=lambda old, new: torch.cat([old, new])),
            "Past and new are joined along axis 0, as if they were more sentences (torch.cat's default). Tokens are "
            "axis 2 of (B, H, T, D).",
        ),
        Mutant(
            "past_unpacked",
            _past_unpacked,
            "At the first call past is None, and None has no entries. Join only where a past was given.",
        ),
        Mutant(
            "keeps_old_only",
            _old_pair,
            "The second result is the past as it came in, without the chunk (None at the first call). Return all keys "
            "and values, old and new.",
        ),
        Mutant(
            "divided_by_size",
            _step(scale=lambda q: q.shape[-1]),
            "The scores are divided by D. Divide them by its square root.",
        ),
        Mutant(
            "multiplied",
            _step(scale=lambda q: 1 / math.sqrt(q.shape[-1])),
            "The scores are multiplied by √D. Divide them by it: long vectors make large scores.",
        ),
        Mutant(
            "scaled_by_heads",
            _step(scale=lambda q: math.sqrt(q.shape[1])),
            "The scores are divided by the square root of the number of heads. The size of a query counts: "
            "q.shape[-1].",
        ),
        Mutant(
            "over_heads",
            _step(dim=1),
            "The softmax runs over the heads. The weights of each query sum to 1 over its keys: the last axis.",
        ),
        Mutant(
            "past_exchanged",
            _past_exchanged,
            "Past keys and values are exchanged: new keys follow old values. past is (keys, values), as you return it.",
        ),
        Mutant(
            "values_alone",
            _values_alone,
            "Only the keys are joined with the past. There is one weight per key, so the values need their past, too.",
        ),
        Mutant(
            "last_only",
            _last_only,
            "Only the result of the last token comes back. Return one for each token of the chunk: (B, H, T, Dv).",
        ),
    ],
)
