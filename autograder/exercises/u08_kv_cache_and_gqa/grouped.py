"""Keys repeated for a group, and attention without repeating them."""

import math

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import gqa

from .shared import attend


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
    H, G = q.shape[1], k.shape[1]
    if H % G:
        raise ValueError("G must divide H")
    n = H // G
    k, v = repeat_interleaved(k, n), repeat_interleaved(v, n)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ v


def _qkv(
    g: Source, H: int, G: int, T: int = 3, S: int = 5, B: int = 2, D: int = 4, Dv: int = 6
) -> tuple[Tensor, Tensor, Tensor]:
    return g.randn(B, H, T, D), g.randn(B, G, S, D), g.randn(B, G, S, Dv)


def _two_groups(g: Source) -> Program:
    q = torch.zeros(1, 4, 1, 1)
    return call(q, torch.zeros(1, 2, 1, 1), torch.tensor([10.0, 20.0]).reshape(1, 2, 1, 1), fn="grouped_attention")


def _with_gradients(g: Source) -> Program:
    q, k, v = (t.double() / 3 for t in _qkv(g, 6, 2))
    once = call(g.randn(2, 2, 3, 4, dtype=torch.float64), 2, grad=[0])
    return once.call(q, k, v, mask=g.mask(3, 5), fn="grouped_attention", grad=[0, 1, 2])


MISTAKES = changes(
    (repeat_interleaved, grouped_by_repeat),
    """
tiled: x.repeat_interleave(n, dim=1) → x.repeat(1, n, 1, 1) ; raise →
    The heads come out as a, b, a, b. Query heads of one group are neighbors: repeat each head in a row, a, a, b, b
    (repeat_interleave, not repeat).
tokens: dim=1 → dim=2 ; raise →
    Tokens are repeated instead of heads. Heads are axis 1.
first_group: x.repeat_interleave(n, dim=1) → x[:, :1].repeat(1, x.shape[1] * n, 1, 1) ; raise →
    All query heads read key-value head 0. Head h reads group h // (H/G).
tiled_inside: repeat_interleaved(k, n), repeat_interleaved(v, n) → k.repeat(1, n, 1, 1), v.repeat(1, n, 1, 1) ; raise →
    repeat_kv is right, but grouped_attention repeats the heads as a, b, a, b. Neighboring query heads share one:
    call repeat_kv there.
values_tiled: repeat_interleaved(v, n) → v.repeat(1, n, 1, 1) ; raise →
    Keys and values are repeated in different orders. Use the same repeat_kv for both.
mask_lost: scores = scores.masked_fill(~mask, -math.inf) → pass ; raise →
    repeat_kv is right, but the mask is not used. Fill the scores with −∞ where it is False.
polarity: ~mask → mask ; raise →
    The mask is read the other way round. True means may look: fill the scores with −∞ where it is False.
h_times: n = H // G → n = H ; raise →
    Each key-value head is repeated H times. It serves H/G query heads: repeat it that often.
g_times: n = H // G → n = G ; raise →
    Each key-value head is repeated G times. It serves H/G query heads: repeat it that often.
unscaled: / math.sqrt(q.shape[-1]) → ; raise →
    repeat_kv is right. In grouped_attention the scores are not divided by √D.
adds_mask: scores.masked_fill(~mask, -math.inf) → scores + mask ; raise →
    The mask is added to the scores as 0 and 1, which hides nothing. Fill the scores with −∞ where it is False.
masked_weights: scores = scores.masked_fill(~mask, -math.inf) → return scores.softmax(-1) * mask @ v ; raise →
    The mask comes after the softmax, so hidden keys take their share and the rows no longer sum to 1. Fill the
    scores with −∞ before the softmax.
reshaped_keys: k.mT → k.reshape(*k.shape[:2], k.shape[3], k.shape[2]) ; raise →
    reshape(…, D, S) cuts the same row of numbers anew and mixes the keys. Swap the last two axes with
    k.transpose(-2, -1).
mask_on_groups: k, v = repeat_interleaved(k, n), repeat_interleaved(v, n) → k, v = k[:, :, None], v[:, :, None]
; scores = q @ k.mT → scores = q.unflatten(1, (G, n)) @ k.mT
; scores.softmax(-1) @ v → (scores.softmax(-1) @ v).flatten(1, 2)
    The mask is laid on scores (B, G, H/G, T, S), so one for each head or sentence meets the wrong axes. It belongs
    to (B, H, T, S): join the two axes of heads first.
not_repeated: k, v = repeat_interleaved(k, n), repeat_interleaved(v, n) →
    The key-value heads are not repeated in grouped_attention: G of them do not fit H query heads. Repeat k and v
    H/G times with repeat_kv.
wider_head: math.sqrt(q.shape[-1]) → math.sqrt(q.shape[-1] * n) ; raise →
    The scores are divided by the square root of D times H/G. A shared head has D numbers like any other: divide by
    √D.
times_mask: scores.masked_fill(~mask, -math.inf) → scores * mask ; raise →
    Hidden scores are set to 0, and a score of 0 still gets weight. Fill them with −∞ before the softmax.
unchecked: raise →
    Grouping is right where it fits. Raise a ValueError when G does not divide H.
tokens_reshaped: dim=1) → dim=2).reshape(x.shape[0], -1, *x.shape[2:]) ; raise →
    The copies stand behind the tokens, so reshape mixes tokens into the axis of heads. Repeat along axis 1, or put
    the new axis right behind the heads: x[:, :, None].
repeated_flat: (n, dim=1) → (n) ; raise →
    repeat_interleave without dim makes one long row of all numbers. Repeat along the axis of heads: dim=1.
sentences_repeated: dim=1 → dim=0 ; raise →
    Sentences are repeated instead of heads: axis 0 is the batch. Heads are axis 1.
first_group_inside: repeat_interleaved(k, n), → k[:, :1].repeat(1, G * n, 1, 1),
; repeat_interleaved(v, n) → v[:, :1].repeat(1, G * n, 1, 1) ; raise →
    repeat_kv is right, but in grouped_attention all query heads read key-value head 0. Head h reads group h //
    (H/G).
over_queries: softmax(-1) → softmax(-2) ; raise →
    The softmax runs over the queries. The weights of each query sum to 1 over its keys: the last axis.
over_heads: softmax(-1) → softmax(1) ; raise →
    The softmax runs over the heads. The weights of each query sum to 1 over its keys: the last axis.
divided_by_size: math.sqrt(q.shape[-1]) → q.shape[-1] ; raise →
    The scores are divided by D. Divide them by its square root.
multiplied: / math.sqrt → * math.sqrt ; raise →
    The scores are multiplied by √D. Divide them by it: long vectors make large scores.
scaled_by_values: q.shape[-1] → v.shape[-1] ; raise →
    The scores are divided by the square root of v's last size. Queries and keys make them grow: use q.shape[-1].
scaled_by_heads: q.shape[-1] → q.shape[1] ; raise →
    The scores are divided by the square root of the number of heads. The size of a query counts: q.shape[-1].
inverted_ratio: n = H // G → n = G // H ; raise →
    The ratio is upside down: G // H is 0 where heads are shared, so no head is left. Repeat H // G times.
check_inverted: H % G → G % H
    The check is the wrong way round and refuses shared heads. G must divide H: raise when H % G is not 0.
""",
)

EXERCISE = Exercise(
    id="cache.grouped",
    title="Grouped-query attention",
    points=3,
    difficulty=3,
    minutes=15,
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
            "repeat thrice",
            "two heads, each three times; then three heads once: nothing changes",
            lambda g: call(g.randn(1, 2, 3, 2), 3).call(g.randn(2, 3, 2, 4), 1, fn="repeat_kv"),
        ),
        Case(
            "mask per head",
            "a mask (B, H, T, S): each of the 6 heads, in groups of 3, hides keys of its own",
            lambda g: call(*_qkv(g, 6, 2), mask=g.mask(2, 6, 3, 5, keep=0.5), fn="grouped_attention"),
        ),
        Case(
            "mask per sentence",
            "a mask (B, 1, T, S): the two sentences hide different keys, 6 heads on 3",
            lambda g: call(*_qkv(g, 6, 3), mask=g.mask(2, 1, 3, 5, keep=0.5), fn="grouped_attention"),
        ),
        Case(
            "gradients",
            "gradients reach the repeated head, and q, k and v of 6 query heads on 2, in float64",
            _with_gradients,
        ),
        Case(
            "does not fit",
            "6 query heads cannot share 4 key-value heads: grouped_attention raises ValueError",
            lambda g: call(*_qkv(g, 6, 4), fn="grouped_attention"),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
what does not divide evenly has raised an error already
    e4204d883b solution, arithmetic: H // G rounded up
    939aa4fa46 solution, arithmetic: H // G rounded up
    53414700e5 alternative (repeat_by_index, grouped_by_repeat), arithmetic: H // G rounded up
""",
)
