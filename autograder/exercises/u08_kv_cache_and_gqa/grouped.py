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


R = repeat_interleaved


def _qkv(
    g: Source, H: int, G: int, T: int = 3, S: int = 5, B: int = 2, D: int = 4, Dv: int = 6
) -> tuple[Tensor, Tensor, Tensor]:
    return g.randn(B, H, T, D), g.randn(B, G, S, D), g.randn(B, G, S, Dv)


def _two_groups(g: Source) -> Program:
    q = torch.zeros(1, 4, 1, 1)
    return call(q, torch.zeros(1, 2, 1, 1), torch.tensor([10.0, 20.0]).reshape(1, 2, 1, 1), fn="grouped_attention")


EXERCISE = Exercise(
    id="cache.grouped",
    unit="08-kv-cache-and-gqa",
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
