"""Keys repeated for a group, and attention without repeating them."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
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


def _adds_mask(q, k, v, mask=None):
    n = q.shape[1] // k.shape[1]
    scores = q @ repeat_interleaved(k, n).mT / math.sqrt(q.shape[-1])
    return (scores if mask is None else scores + mask).softmax(-1) @ repeat_interleaved(v, n)


def _masked_weights(q, k, v, mask=None):
    n = q.shape[1] // k.shape[1]
    weights = (q @ repeat_interleaved(k, n).mT / math.sqrt(q.shape[-1])).softmax(-1)
    return (weights if mask is None else weights * mask) @ repeat_interleaved(v, n)


def _reshaped_keys(q, k, v, mask=None):
    B, G, S, D = k.shape
    return _grouped(repeat_interleaved)(q, k.reshape(B, G, D, S).mT, v, mask)


def _not_repeated(q, k, v, mask=None):
    if q.shape[1] % k.shape[1]:
        raise ValueError("G must divide H")
    return attend(q, k, v, mask)


def _mask_on_groups(q, k, v, mask=None):
    G = k.shape[1]
    if q.shape[1] % G:
        raise ValueError("G must divide H")
    out = attend(q.unflatten(1, (G, q.shape[1] // G)), k[:, :, None], v[:, :, None], mask)
    return out.flatten(1, 2)


def _wider_head(q, k, v, mask=None):
    n = q.shape[1] // k.shape[1]
    return _grouped(repeat_interleaved)(q / math.sqrt(n), k, v, mask)


def tokens_reshaped(x, n):
    """The copies stand behind the tokens, and their axis is joined with that of the heads by reshape."""
    return x.repeat_interleave(n, dim=2).reshape(x.shape[0], -1, *x.shape[2:])


def repeat_flat(x, n):
    """Without dim: everything in one row."""
    return x.repeat_interleave(n)


def sentences_repeated(x, n):
    """Repeats along the batch."""
    return x.repeat_interleave(n, dim=0)


def _softmax_over(dim):
    def wrong(q, k, v, mask=None):
        n = q.shape[1] // k.shape[1]
        scores = q @ repeat_interleaved(k, n).mT / math.sqrt(q.shape[-1])
        scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
        return scores.softmax(dim) @ repeat_interleaved(v, n)

    return wrong


def _rescaled(factor):
    return lambda q, k, v, mask=None: _grouped(repeat_interleaved)(q * factor(q, v), k, v, mask)


def _check_inverted(q, k, v, mask=None):
    if k.shape[1] % q.shape[1]:
        raise ValueError("G must divide H")
    return _grouped(repeat_interleaved)(q, k, v, mask)


R = repeat_interleaved


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


EXERCISE = Exercise(
    id="cache.grouped",
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
            "tiled_inside",
            (R, _grouped(tile)),
            "repeat_kv is right, but grouped_attention repeats the heads as a, b, a, b. Neighboring query heads share "
            "one: call repeat_kv there.",
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
            "adds_mask",
            (R, _adds_mask),
            "The mask is added to the scores as 0 and 1, which hides nothing. Fill the scores with −∞ where it is "
            "False.",
        ),
        Mutant(
            "masked_weights",
            (R, _masked_weights),
            "The mask comes after the softmax, so hidden keys take their share and the rows no longer sum to 1. Fill "
            "the scores with −∞ before the softmax.",
        ),
        Mutant(
            "reshaped_keys",
            (R, _reshaped_keys),
            "reshape(…, D, S) cuts the same row of numbers anew and mixes the keys. Swap the last two axes with "
            "k.transpose(-2, -1).",
        ),
        Mutant(
            "mask_on_groups",
            (R, _mask_on_groups),
            "The mask is laid on scores (B, G, H/G, T, S), so one for each head or sentence meets the wrong axes. It "
            "belongs to (B, H, T, S): join the two axes of heads first.",
        ),
        Mutant(
            "not_repeated",
            (R, _not_repeated),
            "The key-value heads are not repeated in grouped_attention: G of them do not fit H query heads. Repeat k "
            "and v H/G times with repeat_kv.",
        ),
        Mutant(
            "wider_head",
            (R, _wider_head),
            "The scores are divided by the square root of D times H/G. A shared head has D numbers like any other: "
            "divide by √D.",
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
        Mutant(
            "tokens_reshaped",
            (tokens_reshaped, _grouped(tokens_reshaped)),
            "The copies stand behind the tokens, so reshape mixes tokens into the axis of heads. Repeat along axis 1, "
            "or put the new axis right behind the heads: x[:, :, None].",
        ),
        Mutant(
            "repeated_flat",
            (repeat_flat, _grouped(repeat_flat)),
            "repeat_interleave without dim makes one long row of all numbers. Repeat along the axis of heads: dim=1.",
        ),
        Mutant(
            "sentences_repeated",
            (sentences_repeated, _grouped(sentences_repeated)),
            "Sentences are repeated instead of heads: axis 0 is the batch. Heads are axis 1.",
        ),
        Mutant(
            "first_group_inside",
            (R, _grouped(first_group)),
            "repeat_kv is right, but in grouped_attention all query heads read key-value head 0. Head h reads group "
            "h // (H/G).",
        ),
        Mutant(
            "over_queries",
            (R, _softmax_over(-2)),
            "The softmax runs over the queries. The weights of each query sum to 1 over its keys: the last axis.",
        ),
        Mutant(
            "over_heads",
            (R, _softmax_over(1)),
            "The softmax runs over the heads. The weights of each query sum to 1 over its keys: the last axis.",
        ),
        Mutant(
            "divided_by_size",
            (R, _rescaled(lambda q, v: q.shape[-1] ** -0.5)),
            "The scores are divided by D. Divide them by its square root.",
        ),
        Mutant(
            "multiplied",
            (R, _rescaled(lambda q, v: q.shape[-1])),
            "The scores are multiplied by √D. Divide them by it: long vectors make large scores.",
        ),
        Mutant(
            "scaled_by_values",
            (R, _rescaled(lambda q, v: math.sqrt(q.shape[-1] / v.shape[-1]))),
            "The scores are divided by the square root of v's last size. Queries and keys make them grow: use "
            "q.shape[-1].",
        ),
        Mutant(
            "scaled_by_heads",
            (R, _rescaled(lambda q, v: math.sqrt(q.shape[-1] / q.shape[1]))),
            "The scores are divided by the square root of the number of heads. The size of a query counts: "
            "q.shape[-1].",
        ),
        Mutant(
            "inverted_ratio",
            (R, _grouped(R, times=lambda H, G: G // H)),
            "The ratio is upside down: G // H is 0 where heads are shared, so no head is left. Repeat H // G times.",
        ),
        Mutant(
            "check_inverted",
            (R, _check_inverted),
            "The check is the wrong way round and refuses shared heads. G must divide H: raise when H % G is not 0.",
        ),
    ],
)
