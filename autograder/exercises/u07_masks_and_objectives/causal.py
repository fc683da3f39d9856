"""Attention that cannot see ahead."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Source, call
from autograder.reference import masks as ref
from autograder.reference.attention import scaled_dot_product_attention

INF = math.inf


def causal_attention(q, k, v):
    """Self-attention in which query t sees keys 0 … t."""
    return scaled_dot_product_attention(q, k, v, ref.causal_mask(q.shape[-2], device=q.device))


def by_prefixes(q, k, v):
    """One query at a time, with a list of keys that ends at itself: nothing has to be masked."""
    out = []
    for t, query in enumerate(q.unbind(-2)):
        scores = (query[..., None, :] * k[..., : t + 1, :]).sum(-1) / math.sqrt(q.shape[-1])
        out.append((torch.softmax(scores, -1)[..., None] * v[..., : t + 1, :]).sum(-2))
    return torch.stack(out, dim=-2)


def by_adding(q, k, v):
    """An additive mask of 0 and −∞."""
    T = q.shape[-2]
    bias = torch.full((T, T), -INF).to(q.dtype).triu(1)
    return torch.softmax(torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5 + bias, -1) @ v


def _scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


def _ones(q, offset=0):
    T = q.shape[-2]
    return torch.ones(T, T, dtype=torch.bool).tril(offset)


def _fill(may, fill=-INF, scores=_scores):
    def wrong(q, k, v):
        return torch.softmax(scores(q, k).masked_fill(~may(q), fill), -1) @ v

    return wrong


def after_softmax(q, k, v):
    return torch.softmax(_scores(q, k), -1) * _ones(q) @ v


def over_queries(q, k, v):
    return torch.softmax(_scores(q, k).masked_fill(~_ones(q), -INF), -2) @ v


def key_reshaped(q, k, v):
    T, D = k.shape[-2:]
    scores = q @ k.reshape(*k.shape[:-2], D, T) / math.sqrt(D)
    return torch.softmax(scores.masked_fill(~_ones(q), -INF), -1) @ v


def scaled_after(q, k, v):
    weights = torch.softmax((q @ k.mT).masked_fill(~_ones(q), -INF), -1)
    return weights / math.sqrt(q.shape[-1]) @ v


def mean_of_the_past(q, k, v):
    return v.cumsum(-2) / torch.arange(1, v.shape[-2] + 1, dtype=v.dtype)[:, None]


def detached_weights(q, k, v):
    return torch.softmax(_scores(q, k).masked_fill(~_ones(q), -INF), -1).detach() @ v


def _row(g: Source, row: int, *shape: int) -> Tensor:
    """Cotangent that asks for one row of the output."""
    out = torch.zeros(*shape)
    out[row] = g.randn(shape[-1]) + 3
    return out


def zeros_hidden(q, k, v):
    scores = _scores(q, k).tril()
    return torch.softmax(scores.masked_fill(scores == 0, -INF), -1) @ v


def zero_times_infinity(q, k, v):
    return torch.softmax(_scores(q, k) + (~_ones(q)).to(q.dtype) * -INF, -1) @ v


EXERCISE = Exercise(
    id="mask.causal",
    title="Attention that cannot see ahead",
    points=3,
    difficulty=2,
    minutes=12,
    signature="causal_attention(q, k, v)",
    reference=causal_attention,
    alternatives=[by_prefixes, by_adding],
    forbidden=("scaled_dot_product_attention", "multi_head_attention_forward"),
    forbidden_message="Build the mask yourself and put it between the scores and the softmax.",
    cases=[
        Case(
            "by hand",
            "three equal scores: word 0 gets 2, word 1 the mean of 2 and 4, word 2 the mean of all three",
            lambda g: call(torch.zeros(3, 2), torch.ones(3, 2), torch.tensor([[2.0], [4.0], [9.0]])),
        ),
        Case(
            "batch",
            "two sentences, three heads, five words, values of another size",
            lambda g: call(g.randn(2, 3, 5, 4), g.randn(2, 3, 5, 4), g.randn(2, 3, 5, 7)),
        ),
        Case(
            "loud future",
            "the last key scores 10000, the others −200, and the earlier queries do not notice",
            lambda g: call(
                torch.ones(4, 2), torch.cat([g.randn(3, 2) - 142, torch.full((1, 2), 7072.0)]), g.randn(4, 3)
            ),
        ),
        Case(
            "no leak",
            "the gradient of word 1's output is 0 at words 2 and 3: the upper triangle of the Jacobian",
            lambda g: call(g.randn(4, 2), g.randn(4, 2), g.randn(4, 3), grad=[0, 1, 2], cotangent=_row(g, 1, 4, 3)),
            weight=2,
        ),
        Case(
            "sees the past",
            "the gradient of the last word's output reaches all four words: the lower triangle",
            lambda g: call(g.randn(4, 2), g.randn(4, 2), g.randn(4, 3), grad=[1, 2], cotangent=_row(g, 3, 4, 3)),
        ),
        Case(
            "float64",
            "six words in float64, two sentences of two heads: float64 comes back",
            lambda g: call(*(g.randn(2, 2, 6, d, dtype=torch.float64) for d in (3, 3, 2))),
        ),
        Case(
            "bfloat16",
            "seven words in bfloat16, which comes back as bfloat16",
            lambda g: call(*(g.randn(7, d, dtype=torch.bfloat16) for d in (4, 4, 6))),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "no_mask",
            _fill(lambda q: _ones(q, 99)),
            "Every word sees every word. Fill the scores of later keys with -inf before the softmax.",
        ),
        Mutant(
            "sees_next",
            _fill(lambda q: _ones(q, 1)),
            "Each word also sees the next one, which is the word it will have to predict. The last allowed key is "
            "the word itself: tril with offset 0.",
        ),
        Mutant(
            "not_itself",
            _fill(lambda q: _ones(q, -1)),
            "A word does not see itself, so word 0 sees nothing and its softmax is 0/0. The diagonal belongs to the "
            "allowed half.",
        ),
        Mutant(
            "future_only",
            _fill(lambda q: _ones(q).mT),
            "This is the other triangle: each word sees itself and what comes after it. Rows are queries, so allow "
            "the lower triangle.",
        ),
        Mutant(
            "itself_only",
            _fill(lambda q: torch.eye(q.shape[-2], dtype=torch.bool)),
            "Nothing leaks, but nothing is read either: each word sees itself alone. Allow the whole lower "
            "triangle, not the diagonal.",
        ),
        Mutant(
            "after_softmax",
            after_softmax,
            "The mask comes after the softmax. The sum below the fraction has counted the future already, so its "
            "gradient leaks, and rows no longer sum to 1.",
        ),
        Mutant(
            "over_queries",
            over_queries,
            "The softmax runs over the queries, so the columns sum to 1. Each query shares its weight among the "
            "keys: use the last axis.",
        ),
        Mutant(
            "zero_fill",
            _fill(_ones, 0.0),
            "Later scores are set to 0, and exp(0) = 1 still gets weight. Set them to -inf.",
        ),
        Mutant(
            "finite_fill",
            _fill(_ones, -100.0),
            "Later scores are set to a number that an allowed score can fall below. Set them to -inf.",
        ),
        Mutant(
            "upside_down",
            _fill(lambda q: ~_ones(q)),
            "The mask is upside down: what is allowed was filled with -inf. masked_fill fills where its mask is "
            "True, so give it ~may.",
        ),
        Mutant(
            "no_scale",
            _fill(_ones, scores=lambda q, k: q @ k.mT),
            "The mask is right. The scores are not divided by √D.",
        ),
        Mutant(
            "divided_by_d",
            _fill(_ones, scores=lambda q, k: q @ k.mT / q.shape[-1]),
            "The mask is right. The scores are divided by D, not by its square root.",
        ),
        Mutant(
            "scaled_after",
            scaled_after,
            "√D divides the weights, so that they no longer sum to 1. Divide the scores by it, before the softmax.",
        ),
        Mutant(
            "key_reshaped",
            key_reshaped,
            "reshape to (D, T) cuts the keys into pieces of other words. Swap the last two axes: transpose(-2, -1).",
        ),
        Mutant(
            "mean_of_the_past",
            mean_of_the_past,
            "Every word gets the plain mean of the values so far: q and k play no part. Weigh by the softmax of their "
            "scores.",
        ),
        Mutant(
            "detached_weights",
            detached_weights,
            "The numbers are right, but no gradient reaches q and k: the weights are cut off (no_grad or detach), so "
            "nothing can learn where to look.",
        ),
        Mutant(
            "scaled_by_length",
            _fill(_ones, scores=lambda q, k: q @ k.mT / math.sqrt(q.shape[-2])),
            "The number of words T stands under the root. D is the size of the vectors, the last axis: divide by √D.",
        ),
        Mutant(
            "times_root",
            _fill(_ones, scores=lambda q, k: q @ k.mT * math.sqrt(q.shape[-1])),
            "The scores are multiplied by √D. Divide by it.",
        ),
        Mutant(
            "zeros_hidden",
            zeros_hidden,
            "Every score that is exactly 0 counts as hidden. A real score can be 0: hide by place, with a mask, and "
            "not by value.",
        ),
        Mutant(
            "zero_times_infinity",
            zero_times_infinity,
            "0 times -inf is NaN, so allowed scores are lost. Fill with masked_fill or torch.where; don't multiply by "
            "-inf.",
        ),
        Mutant(
            "mask_added",
            lambda q, k, v: torch.softmax(_scores(q, k) + _ones(q), -1) @ v,
            "The mask is added to the scores, so an allowed key gains 1 and nothing is hidden. Fill later keys with "
            "-inf.",
        ),
        Mutant(
            "keys_ask",
            _fill(_ones, scores=lambda q, k: _scores(k, q)),
            "Queries and keys are exchanged. The rows of the scores are queries: q @ k.transpose(-2, -1).",
        ),
        Mutant(
            "softmax_twice",
            lambda q, k, v: torch.softmax(torch.softmax(_scores(q, k).masked_fill(~_ones(q), -INF), -1), -1) @ v,
            "The softmax is taken twice: the second one gives the hidden keys weight again. Take it once.",
        ),
        Mutant(
            "masked_between",
            lambda q, k, v: torch.softmax(torch.softmax(_scores(q, k), -1).masked_fill(~_ones(q), -INF), -1) @ v,
            "The scores are not masked but the weights, with a second softmax after it. Mask the scores, then take "
            "one softmax.",
        ),
        Mutant(
            "no_softmax",
            lambda q, k, v: _scores(q, k).masked_fill(~_ones(q), 0.0) @ v,
            "The softmax is missing: scores are no weights. Take softmax over the last axis after masking.",
        ),
        Mutant(
            "weights_only",
            lambda q, k, v: torch.softmax(_scores(q, k).masked_fill(~_ones(q), -INF), -1),
            "These are the weights. One step is left: multiply them by v.",
        ),
    ],
)
