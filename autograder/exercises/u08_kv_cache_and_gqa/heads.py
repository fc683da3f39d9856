"""Fewer key-value heads: repeating, grouping, pooling a checkpoint; and one latent for all heads."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import gqa
from autograder.reference.attention import attention_weights
from autograder.reference.mla import mla_bytes_per_token

UNIT = "08-kv-cache-and-gqa"


def attend(q, k, v, mask=None):
    """Plain attention without any check, as a learner writes it."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(-1) @ v


# --- grouped-query attention ---------------------------------------------------------------------------------------
def repeat_interleaved(x, n):
    """The built-in."""
    return x.repeat_interleave(n, dim=1)


def grouped_by_loop(q, k, v, mask=None):
    """One query head at a time."""
    H, G = q.shape[1], k.shape[1]
    if H % G:
        raise ValueError("G must divide H")
    mask = None if mask is None else mask.expand(q.shape[0], H, -1, -1)
    heads = [
        attend(q[:, h], k[:, h * G // H], v[:, h * G // H], None if mask is None else mask[:, h]) for h in range(H)
    ]
    return torch.stack(heads, dim=1)


def repeat_by_index(x, n):
    """Head h is group h // n."""
    return x[:, torch.arange(x.shape[1] * n) // n]


def grouped_by_repeat(q, k, v, mask=None):
    """Repeat, then attend."""
    if q.shape[1] % k.shape[1]:
        raise ValueError("G must divide H")
    n = q.shape[1] // k.shape[1]
    return attend(q, repeat_by_index(k, n), repeat_by_index(v, n), mask)


def _grouped(repeat, use_mask=True, times=lambda H, G: H // G, repeat_v=None):
    def wrong(q, k, v, mask=None):
        n = times(q.shape[1], k.shape[1])
        return attend(q, repeat(k, n), (repeat_v or repeat)(v, n), mask if use_mask else None)

    return wrong


def _times_mask(q, k, v, mask=None):
    n = q.shape[1] // k.shape[1]
    scores = q @ repeat_interleaved(k, n).mT / math.sqrt(q.shape[-1])
    return (scores if mask is None else scores * mask).softmax(-1) @ repeat_interleaved(v, n)


def tile(x, n):
    """a b → a b a b."""
    return x.repeat(1, n, 1, 1)


def along_tokens(x, n):
    """Repeats tokens instead of heads."""
    return x.repeat_interleave(n, dim=2)


def first_group(x, n):
    """Everybody reads head 0."""
    return x[:, :1].repeat(1, x.shape[1] * n, 1, 1)


R = repeat_interleaved


def _qkv(g, H, G, T=3, S=5, B=2, D=4, Dv=6):
    return g.randn(B, H, T, D), g.randn(B, G, S, D), g.randn(B, G, S, Dv)


def _two_groups(g):
    q = torch.zeros(1, 4, 1, 1)
    return call(q, torch.zeros(1, 2, 1, 1), torch.tensor([10.0, 20.0]).reshape(1, 2, 1, 1), fn="grouped_attention")


GROUPED = Exercise(
    id="cache.grouped",
    unit=UNIT,
    title="Grouped-query attention",
    points=3,
    difficulty=3,
    minutes=15,
    signature="repeat_kv(x, n)",
    targets=("repeat_kv", "grouped_attention"),
    reference=(gqa.repeat_kv, gqa.grouped_attention),
    alternatives=[(repeat_interleaved, grouped_by_loop), (repeat_by_index, grouped_by_repeat)],
    forbidden=("scaled_dot_product_attention",),
    forbidden_message="PyTorch's attention has a switch for groups; write it yourself here.",
    cases=[
        Case(
            "repeat by hand",
            "heads 10 and 20, each twice: 10, 10, 20, 20",
            lambda g: call(torch.tensor([10.0, 20.0]).reshape(1, 2, 1, 1), 2),
        ),
        Case("groups by hand", "query heads 0 and 1 read value 10, query heads 2 and 3 read value 20", _two_groups),
        Case(
            "repeat",
            "two sequences, 3 heads, 5 tokens of 4 numbers, each head twice",
            lambda g: call(g.randn(2, 3, 5, 4), 2),
        ),
        Case(
            "groups",
            "6 query heads on 3 key-value heads, T != S, Dv != D",
            lambda g: call(*_qkv(g, 6, 3), fn="grouped_attention"),
            weight=2,
        ),
        Case(
            "multi-head", "G = H: ordinary multi-head attention", lambda g: call(*_qkv(g, 4, 4), fn="grouped_attention")
        ),
        Case(
            "multi-query",
            "G = 1: all heads share one key and one value",
            lambda g: call(*_qkv(g, 4, 1, B=1), fn="grouped_attention"),
        ),
        Case(
            "mask",
            "a boolean mask (T, S) hides keys from all heads alike",
            lambda g: call(*_qkv(g, 4, 2), mask=torch.ones(3, 5).tril(1).bool(), fn="grouped_attention"),
        ),
        Case(
            "does not fit",
            "6 query heads cannot share 4 key-value heads: grouped_attention raises ValueError",
            lambda g: call(*_qkv(g, 6, 4), fn="grouped_attention"),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "tiled",
            (tile, _grouped(tile)),
            "The heads come out as a, b, a, b. Query heads of one group are neighbors: repeat each head in a row, "
            "a, a, b, b (repeat_interleave, not repeat).",
        ),
        Mutant(
            "tokens", (along_tokens, _grouped(along_tokens)), "Tokens are repeated instead of heads. Heads are axis 1."
        ),
        Mutant(
            "first_group",
            (first_group, _grouped(first_group)),
            "All query heads read key-value head 0. Head h reads group h // (H/G).",
        ),
        Mutant(
            "values_tiled",
            (R, _grouped(R, repeat_v=tile)),
            "Keys and values are repeated in different orders. Use the same repeat_kv for both.",
        ),
        Mutant(
            "mask_lost",
            (R, _grouped(R, use_mask=False)),
            "repeat_kv is right, but the mask is not used. Fill the scores with −∞ where it is False.",
        ),
        Mutant(
            "polarity",
            (R, lambda q, k, v, mask=None: _grouped(R)(q, k, v, None if mask is None else ~mask)),
            "The mask is read the other way round. True means may look: fill the scores with −∞ where it is False.",
        ),
        Mutant(
            "h_times",
            (R, _grouped(R, times=lambda H, G: H)),
            "Each key-value head is repeated H times. It serves H/G query heads: repeat it that often.",
        ),
        Mutant(
            "g_times",
            (R, _grouped(R, times=lambda H, G: G)),
            "Each key-value head is repeated G times. It serves H/G query heads: repeat it that often.",
        ),
        Mutant(
            "unscaled",
            (R, lambda q, k, v, mask=None: _grouped(R)(q * math.sqrt(q.shape[-1]), k, v, mask)),
            "repeat_kv is right. In grouped_attention the scores are not divided by √D.",
        ),
        Mutant(
            "times_mask",
            (R, _times_mask),
            "Hidden scores are set to 0, and a score of 0 still gets weight. Fill them with −∞ before the softmax.",
        ),
        Mutant(
            "unchecked",
            (R, _grouped(R)),
            "Grouping is right where it fits. Raise a ValueError when G does not divide H.",
        ),
    ],
)


# --- from multi-head to grouped ------------------------------------------------------------------------------------
def pool_by_loop(weight, n_heads, n_kv_heads):
    """Group by group."""
    if n_heads % n_kv_heads:
        raise ValueError("G must divide H")
    heads = weight.chunk(n_heads, dim=0)
    n = n_heads // n_kv_heads
    return torch.cat([sum(heads[i * n : (i + 1) * n]) / n for i in range(n_kv_heads)])


def pool_by_matrix(weight, n_heads, n_kv_heads):
    """A matrix that averages heads."""
    if n_heads % n_kv_heads:
        raise ValueError("G must divide H")
    n = n_heads // n_kv_heads
    pool = torch.eye(n_kv_heads).repeat_interleave(n, dim=1) / n
    rest = weight.reshape(n_heads, -1)
    return (pool @ rest).reshape(-1, *weight.shape[1:])


def _pool(view, reduce):
    def wrong(weight, n_heads, n_kv_heads):
        n, D = n_heads // n_kv_heads, weight.shape[0] // n_heads
        out = reduce(weight.reshape(*view(n_kv_heads, n, D), *weight.shape[1:]))
        return out.reshape(n_kv_heads * D, *weight.shape[1:])

    return wrong


heads_in_rows = lambda G, n, D: (G, n, D)

POOL = Exercise(
    id="cache.pool_heads",
    unit=UNIT,
    title="From multi-head to grouped-query",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    signature="pool_heads(weight, n_heads, n_kv_heads)",
    reference=gqa.mean_pool_heads,
    alternatives=[pool_by_loop, pool_by_matrix],
    cases=[
        Case(
            "by hand",
            "four heads of one row, 0, 2, 10 and 20, pooled into two: 1 and 15",
            lambda g: call(torch.tensor([[0.0], [2.0], [10.0], [20.0]]), 4, 2),
        ),
        Case(
            "wide heads",
            "6 heads of 3 rows become 2 heads of 3 rows, d_model 5",
            lambda g: call(g.randn(18, 5), 6, 2),
            weight=2,
        ),
        Case(
            "one head left", "4 heads of 2 rows become one: multi-query attention", lambda g: call(g.randn(8, 7), 4, 1)
        ),
        Case("bias", "a bias of 6 heads with 2 numbers each becomes 3 heads", lambda g: call(g.randn(12), 6, 3)),
        Case("nothing to do", "4 heads stay 4 heads", lambda g: call(g.randn(8, 3), 4, 4), weight=0),
        Case(
            "does not fit",
            "6 heads cannot be pooled into 4: ValueError",
            lambda g: call(g.randn(12, 3), 6, 4),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "summed",
            _pool(heads_in_rows, lambda w: w.sum(1)),
            "The heads of a group are added. Divide by their number: the paper pools with the mean.",
        ),
        Mutant(
            "first",
            _pool(heads_in_rows, lambda w: w[:, 0]),
            "Each group keeps its first head and drops the others. Take the mean of the group.",
        ),
        Mutant(
            "strided",
            _pool(lambda G, n, D: (n, G, D), lambda w: w.mean(0)),
            "Heads 0, G, 2G, … are pooled. Query heads 0 to H/G − 1 share a group, so their keys are pooled: "
            "neighbors.",
        ),
        Mutant(
            "rows",
            _pool(lambda G, n, D: (G, D, n), lambda w: w.mean(2)),
            "Neighboring rows are averaged, inside one head. Average whole heads: row d of each head with row d of "
            "the next.",
        ),
        Mutant(
            "whole_group",
            lambda weight, n_heads, n_kv_heads: weight.unflatten(0, (n_kv_heads, -1)).mean(1),
            "Each group comes out as a single row: all its rows are averaged. A head has D rows, which stay apart; "
            "average over the heads alone.",
        ),
        Mutant(
            "largest",
            _pool(heads_in_rows, lambda w: w.amax(1)),
            "The largest entry of each group is kept. Take the mean.",
        ),
        Mutant(
            "unchecked",
            lambda weight, n_heads, n_kv_heads: torch.stack(
                [
                    h.mean(0)
                    for h in weight.reshape(n_heads, -1, *weight.shape[1:]).split(max(1, n_heads // n_kv_heads))
                ][:n_kv_heads]
            ).flatten(0, 1),
            "Pooling is right where it fits. Raise a ValueError when n_kv_heads does not divide n_heads.",
        ),
    ],
)


# --- latent attention ----------------------------------------------------------------------------------------------
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


def expanded_attention(q, c, w_uk, w_uv):
    """The same function with every head's keys and values written out."""
    keys = torch.einsum("sr,hdr->hsd", c, w_uk)
    values = torch.einsum("sr,hdr->hsd", c, w_uv)
    return attend(q, keys, values)


def latent_bytes_by_layers(n_layers, kv_rank, rope_dim, itemsize=2):
    """Layer by layer."""
    return sum((kv_rank + rope_dim) * itemsize for _ in range(n_layers))


def _absorbed(
    scale=lambda q, c: math.sqrt(q.shape[-1]), queries=absorbed_queries, up=lambda mixed, w_uv: mixed @ w_uv.mT
):
    def wrong(q, c, w_uk, w_uv):
        return up((queries(q, w_uk) @ c.mT / scale(q, c)).softmax(-1) @ c, w_uv)

    return wrong


head_zero = lambda q, w_uk: q @ w_uk[:1]
MLA = mla_bytes_per_token
A, AQ = absorbed_attention, absorbed_queries


def _latent_case(g, H=3, T=2, S=6, D=4, R=5, Dv=3):
    return call(g.randn(H, T, D), g.randn(S, R), g.randn(H, D, R), g.randn(H, Dv, R), fn="absorbed_attention")


def _latent_by_hand(g):
    one = torch.ones(1, 1, 1)
    return call(math.log(3) * one, torch.tensor([[0.0], [0.5]]), 2 * one, 8 * one, fn="absorbed_attention")


LATENT = Exercise(
    id="cache.latent",
    unit=UNIT,
    title="Attention on latents",
    points=3,
    difficulty=4,
    minutes=20,
    extension=True,
    signature="absorbed_queries(q, w_uk)",
    targets=("absorbed_queries", "absorbed_attention", "latent_bytes_per_token"),
    reference=(AQ, A, MLA),
    alternatives=[(queries_by_einsum, expanded_attention, latent_bytes_by_layers)],
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
            "bytes",
            "DeepSeek-V3: 61 layers, 512 latent and 64 rotary numbers, 2 bytes each",
            lambda g: call(61, 512, 64, fn="latent_bytes_per_token"),
        ),
        Case(
            "bytes in float32",
            "random sizes, 4 bytes each",
            lambda g: call(
                g.integer(5, 90), 16 * g.integer(5, 40), 8 * g.integer(2, 9), itemsize=4, fn="latent_bytes_per_token"
            ),
        ),
    ],
    mutants=[
        Mutant(
            "scaled_by_rank",
            (AQ, _absorbed(scale=lambda q, c: math.sqrt(c.shape[-1])), MLA),
            "The scores are divided by √R. They equal q·k of the expanded heads, which have D numbers: divide by √D.",
        ),
        Mutant("unscaled", (AQ, _absorbed(scale=lambda q, c: 1.0), MLA), "The scores are not divided by √D."),
        Mutant(
            "no_up",
            (AQ, _absorbed(up=lambda mixed, w_uv: mixed), MLA),
            "The mixed latents are returned. Each head still turns them into its values with W_UV.",
        ),
        Mutant(
            "mean_up",
            (AQ, _absorbed(up=lambda mixed, w_uv: mixed @ w_uv.mean(0).mT), MLA),
            "One W_UV, the mean over heads, serves all heads. Each head has its own.",
        ),
        Mutant(
            "head_zero",
            (head_zero, _absorbed(queries=head_zero), MLA),
            "All heads use head 0's W_UK. Multiply head by head: (H, T, D) @ (H, D, R).",
        ),
        Mutant(
            "factor_two",
            (AQ, A, lambda n_layers, kv_rank, rope_dim, itemsize=2: 2 * MLA(n_layers, kv_rank, rope_dim, itemsize)),
            "latent_bytes_per_token counts keys and values apart. One latent serves both, so there is no factor 2.",
        ),
        Mutant(
            "no_rope",
            (AQ, A, lambda n_layers, kv_rank, rope_dim, itemsize=2: n_layers * kv_rank * itemsize),
            "latent_bytes_per_token leaves out the rotary key. It is cached too: rope_dim numbers per layer, "
            "shared by all heads.",
        ),
    ],
)

EXERCISES = [GROUPED, POOL, LATENT]
