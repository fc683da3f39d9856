"""Attention on latents with absorbed projections."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference.attention import attention_weights
from autograder.reference.mla import mla_bytes_per_token

from .shared import attend


def absorbed_queries(q, w_uk):
    """q (H, T, D), w_uk (H, D, R) → (H, T, R)."""
    return q @ w_uk


def absorbed_attention(q, c, w_uk, w_uv):
    """Attention on latents c (S, R); w_uv (H, Dv, R) → (H, T, Dv)."""
    scores = absorbed_queries(q, w_uk) @ c.mT / math.sqrt(q.shape[-1])
    return attention_weights(scores) @ c @ w_uv.mT


def queries_by_einsum(q, w_uk):
    """Named axes."""
    return torch.einsum("htd,hdr->htr", q, w_uk)


def absorbed_by_heads(q, c, w_uk, w_uv):
    """One head at a time."""
    scores = [q[h] @ w_uk[h] @ c.T / math.sqrt(q.shape[-1]) for h in range(len(q))]
    return torch.stack([s.softmax(-1) @ c @ w_uv[h].T for h, s in enumerate(scores)])


def expanded_attention(q, c, w_uk, w_uv):
    """The same numbers from every head's keys and values written out."""
    keys = torch.einsum("sr,hdr->hsd", c, w_uk)
    values = torch.einsum("sr,hdr->hsd", c, w_uv)
    return attend(q, keys, values)


def latent_bytes_by_layers(n_layers, kv_rank, rope_dim, itemsize=2):
    """The latents, then the rotary keys."""
    return n_layers * kv_rank * itemsize + n_layers * rope_dim * itemsize


def _latent_case(g: Source, H: int = 3, T: int = 2, S: int = 6, D: int = 4, R: int = 5, Dv: int = 3) -> Program:
    return call(g.randn(H, T, D), g.randn(S, R), g.randn(H, D, R), g.randn(H, Dv, R), fn="absorbed_attention")


def _latent_by_hand(g: Source) -> Program:
    one = torch.ones(1, 1, 1)
    return call(math.log(3) * one, torch.tensor([[0.0], [0.5]]), 2 * one, 8 * one, fn="absorbed_attention")


def _with_gradients(g: Source) -> Program:
    draw = lambda *shape: g.randn(*shape, dtype=torch.float64)
    queries = call(draw(2, 3, 4), draw(2, 4, 5), grad=[0, 1])
    return queries.call(
        draw(2, 3, 4), draw(6, 5), draw(2, 4, 5), draw(2, 3, 5), fn="absorbed_attention", grad=[0, 1, 2, 3]
    )


def _counted(g: Source) -> Program:
    """Right ways take up to 45,000 operations, keys and values per head 330,000 and more."""
    decoding = _latent_case(g, H=4, T=1, S=256, D=16, R=8, Dv=32)
    return decoding.within(work=120_000, because="a query that was mapped once meets latents of 8 numbers as they are")


def _long(g: Source) -> Program:
    H, S, D = (g.size(shown=s, graded=n) for s, n in ((4, 64), (48, 65_536), (8, 128)))
    return _latent_case(g, H=H, T=1, S=S, D=D, R=4, Dv=D)


MISTAKES = [
    *changes(
        (absorbed_queries, absorbed_attention, mla_bytes_per_token),
        """
scaled_by_rank: q.shape[-1] → c.shape[-1]
    The scores are divided by √R. They equal q·k of the expanded heads, which have D numbers: divide by √D.
""",
    ),
    Mutant(
        "expanded",
        (absorbed_queries, expanded_attention, mla_bytes_per_token),
        "The numbers are right, but a key and a value per head are made from every latent. Map the query with "
        "absorbed_queries, compare it with c itself, and apply W_UV to the mix at the end.",
    ),
    *changes(
        (absorbed_queries, absorbed_attention, mla_bytes_per_token),
        """
values_expanded: @ c @ w_uv.mT → @ (c @ w_uv.mT)
    The numbers are right, but every head still makes a value from every latent. Mix the latents first, weights @ c,
    and apply W_UV to the mix.
scaled_twice: return q @ w_uk → return q @ w_uk / math.sqrt(q.shape[-1])
    absorbed_queries divides by √D, and the scores are divided again. Divide once, the scores.
over_heads: attention_weights(scores) → scores.softmax(0)
    The softmax runs over the heads. The weights of each query sum to 1 over the latents: the last axis.
over_queries: attention_weights(scores) → scores.softmax(-2)
    The softmax runs over the queries. The weights of each query sum to 1 over the latents: the last axis.
scaled_by_values: q.shape[-1] → w_uv.shape[1]
    The scores are divided by the square root of the values' size. Queries and keys make them grow: use q.shape[-1].
unscaled: / math.sqrt(q.shape[-1]) →
    The scores are not divided by √D.
no_up: @ w_uv.mT →
    The mixed latents are returned. Each head still turns them into its values with W_UV.
mean_up: w_uv.mT → w_uv.mean(0).mT
    One W_UV, the mean over heads, serves all heads. Each head has its own.
head_zero: return q @ w_uk → return q @ w_uk[:1]
    All heads use head 0's W_UK. Multiply head by head: (H, T, D) @ (H, D, R).
factor_two: return n_layers → return 2 * n_layers
    latent_bytes_per_token counts keys and values apart. One latent serves both, so there is no factor 2.
latent_one_layer: return n_layers * → return
    latent_bytes_per_token counts one layer. Each layer stores latents of its own: multiply by n_layers.
latent_two_bytes: * itemsize → * 2
    latent_bytes_per_token counts 2 bytes per number, whatever itemsize says. Use itemsize.
no_rope: (kv_rank + rope_dim) * → kv_rank *
    latent_bytes_per_token leaves out the rotary key. It is cached too: rope_dim numbers per layer, shared by all
    heads.
keys_expanded: absorbed_queries(q, w_uk) @ c.mT → q @ (c @ w_uk.mT).mT
    The numbers are right, but every head still makes a key from every latent. Map the query with absorbed_queries,
    and compare it with c itself.
up_reshaped: w_uv.mT → w_uv.reshape(len(w_uv), -1, w_uv.shape[1])
    w_uv is reshaped to (H, R, Dv), which cuts the same row of numbers anew. Swap its last two axes with
    transpose(-2, -1).
latents_reshaped: c.mT → c.reshape(c.shape[1], c.shape[0])
    c is reshaped to (R, S), which cuts the same row of numbers anew. Swap its axes with c.T.
up_zero: w_uv.mT → w_uv[0].mT
    All heads use head 0's W_UV. Each has its own: (H, T, R) @ (H, R, Dv).
up_by_keys: w_uv.mT → w_uk.mT
    The mix goes through W_UK. The values come from W_UV, the last argument.
causal: attention_weights(scores → attention_weights(scores, torch.ones(scores.shape[1:]).tril(len(c) - q.shape[1]) > 0
    A causal mask hides latents. Here every query sees all of them.
divided_by_size: math.sqrt(q.shape[-1]) → q.shape[-1]
    The scores are divided by D. Divide them by its square root.
multiplied: / math.sqrt → * math.sqrt
    The scores are multiplied by √D. Divide them by it: long vectors make large scores.
scaled_queries: return q @ w_uk → return q @ w_uk / math.sqrt(q.shape[-1]) ; absorbed_queries(q, w_uk) @ → q @ w_uk @
    absorbed_queries divides by √D. It returns the mapped queries as they are; the scores are divided in
    absorbed_attention.
heads_summed: return q @ w_uk → return torch.einsum("htd,ndr->htr", q, w_uk)
    Every query meets the sum of all heads' matrices. Give q and w_uk the same letter for the heads, or multiply
    head by head: q @ w_uk.
latent_twice: (kv_rank + rope_dim) * → (2 * kv_rank + rope_dim) *
    latent_bytes_per_token counts the latent twice. One latent serves keys and values, so there is no factor 2.
rope_twice: (kv_rank + rope_dim) * → (kv_rank + 2 * rope_dim) *
    latent_bytes_per_token counts the rotary key twice. Values have no rotary part: it is stored once per layer.
rope_in_bytes: rope_dim) * itemsize → rope_dim * itemsize)
    Only the rotary part of latent_bytes_per_token is multiplied by itemsize: brackets are missing. Add first,
    (kv_rank + rope_dim), then multiply.
latent_in_bytes: (kv_rank + rope_dim) * itemsize → (kv_rank * itemsize + rope_dim)
    Only the latent part of latent_bytes_per_token is multiplied by itemsize: brackets are missing. Add first,
    (kv_rank + rope_dim), then multiply.
rope_in_one_layer: n_layers * (kv_rank + rope_dim) → (n_layers * kv_rank + rope_dim)
    latent_bytes_per_token counts the rotary key in one layer. Each layer stores latents and a rotary key: n_layers
    * (kv_rank + rope_dim).
product: (kv_rank + rope_dim) * → kv_rank * rope_dim *
    latent_bytes_per_token multiplies the two sizes. Latent and rotary key lie side by side: add them.
""",
    ),
]

EXERCISE = Exercise(
    id="cache.latent",
    title="Attention on latents",
    points=3,
    difficulty=4,
    minutes=20,
    extension=True,
    reference=(absorbed_queries, absorbed_attention, mla_bytes_per_token),
    alternatives=[(queries_by_einsum, absorbed_by_heads, latent_bytes_by_layers)],
    cases=[
        Case(
            "queries by hand",
            "q = (1, 2) and W = ((1, 0, 3), (0, 1, 1)) make (1, 2, 5)",
            lambda g: call(torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[1.0, 0.0, 3.0], [0.0, 1.0, 1.0]]])),
        ),
        Case(
            "attention by hand",
            "latents 0 and 0.5, W_UK = 2, so scores 0 and ln 3, weights 1/4 and 3/4; W_UV = 8 makes 0.375 into 3",
            _latent_by_hand,
        ),
        Case(
            "queries",
            "three heads with matrices of their own, R = 5, D = 4",
            lambda g: call(g.randn(3, 2, 4), g.randn(3, 4, 5)),
        ),
        Case("attention", "three heads, two queries, six latents of 5 numbers, D = 4, Dv = 3", _latent_case, weight=2),
        Case(
            "wide latent",
            "R = 16 and D = 4: the scale is that of the head, not of the latent",
            lambda g: _latent_case(g, R=16),
            weight=2,
        ),
        Case(
            "gradients",
            "in float64: gradients reach the queries, the latents and both matrices",
            _with_gradients,
        ),
        Case("cost", "one query per head on 256 latents takes at most 120,000 operations", _counted, weight=4),
        Case(
            "long text",
            "so many latents, in grading, that keys for each head find no room in memory",
            _long,
            weight=4,
        ),
        Case(
            "bytes",
            "DeepSeek-V3: 61 layers, 512 latent and 64 rotary numbers, 2 bytes each",
            lambda g: call(61, 512, 64, fn="latent_bytes_per_token"),
        ),
        Case(
            "bytes in float32",
            "two models of random sizes, 4 bytes each",
            lambda g: several(
                2,
                lambda p: p.call(
                    g.integer(5, 90),
                    16 * g.integer(5, 40),
                    8 * g.integer(2, 9),
                    itemsize=4,
                    fn="latent_bytes_per_token",
                ),
            ),
        ),
    ],
    mutants=MISTAKES,
)
