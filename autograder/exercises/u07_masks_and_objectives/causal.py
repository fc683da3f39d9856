"""Attention that cannot see ahead."""

import math

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call
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


def by_filling(q, k, v):
    """Later scores are filled with −∞."""
    T, D = q.shape[-2:]
    may = torch.ones(T, T, dtype=torch.bool).tril()
    scores = q @ k.mT / math.sqrt(D)
    weights = torch.softmax(scores.masked_fill(~may, -INF), -1)
    return weights @ v


def _row(g: Source, row: int, *shape: int) -> Tensor:
    """Cotangent that asks for one row of the output."""
    out = torch.zeros(*shape)
    out[row] = g.randn(shape[-1]) + 3
    return out


MISTAKES = changes(
    by_filling,
    """
no_mask: scores.masked_fill(~may, -INF) → scores
    Every token sees every token. Fill the scores of later keys with -inf before the softmax.
sees_next: .tril() → .tril(1)
    Each token also sees the next one, which it will have to predict. The last allowed key is the token itself: tril
    with offset 0.
not_itself: .tril() → .tril(-1)
    A token does not see itself, so token 0 sees nothing and its softmax is 0/0. The diagonal belongs to the allowed
    half.
future_only: .tril() → .triu()
    This is the other triangle: each token sees itself and what comes after it. Rows are queries, so allow the lower
    triangle.
itself_only: torch.ones(T, T, dtype=torch.bool).tril() → torch.eye(T, dtype=torch.bool)
    Nothing leaks, but nothing is read either: each token sees itself alone. Allow the whole lower triangle, not the
    diagonal.
after_softmax: torch.softmax(scores.masked_fill(~may, -INF), -1) → torch.softmax(scores, -1) * may
    The mask comes after the softmax. The sum below the fraction has counted the future already, so its gradient
    leaks, and rows no longer sum to 1.
over_queries: -INF), -1) → -INF), -2)
    The softmax runs over the queries, so the columns sum to 1. Each query shares its weight among the keys: use the
    last axis.
zero_fill: ~may, -INF → ~may, 0.0
    Later scores are set to 0, and exp(0) = 1 still gets weight. Set them to -inf.
finite_fill: ~may, -INF → ~may, -100.0
    Later scores are set to a number that an allowed score can fall below. Set them to -inf.
upside_down: ~may, -INF → may, -INF
    The mask is upside down: what is allowed was filled with -inf. masked_fill fills where its mask is True, so give
    it ~may.
no_scale: / math.sqrt(D) →
    The mask is right. The scores are not divided by √D.
divided_by_d: / math.sqrt(D) → / D
    The mask is right. The scores are divided by D, not by its square root.
scaled_after: / math.sqrt(D) → ; weights @ v → weights / math.sqrt(D) @ v
    √D divides the weights, so that they no longer sum to 1. Divide the scores by it, before the softmax.
key_reshaped: k.mT → k.reshape(*k.shape[:-2], D, T)
    reshape to (D, T) cuts the keys into pieces of other tokens. Swap the last two axes: transpose(-2, -1).
mean_of_the_past: weights @ v → v.cumsum(-2) / torch.arange(1, T + 1, dtype=v.dtype)[:, None]
    Every token gets the plain mean of the values so far: q and k play no part. Weigh by the softmax of their
    scores.
detached_weights: weights @ v → weights.detach() @ v
    The numbers are right, but no gradient reaches q and k: the weights are cut off (no_grad or detach), so nothing
    can learn where to look.
scaled_by_length: / math.sqrt(D) → / math.sqrt(T)
    The number of tokens T stands under the root. D is the size of the vectors, the last axis: divide by √D.
times_root: / math.sqrt(D) → * math.sqrt(D)
    The scores are multiplied by √D. Divide by it.
zeros_hidden: q @ k.mT / math.sqrt(D) → (q @ k.mT / math.sqrt(D)).tril() ; ~may → scores == 0
    Every score that is exactly 0 counts as hidden. A real score can be 0: hide by position, with a mask, and not by
    value.
zero_times_infinity: scores.masked_fill(~may, -INF) → scores + (~may).to(q.dtype) * -INF
    0 times -inf is NaN, so allowed scores are lost. Fill with masked_fill or torch.where; don't multiply by -inf.
mask_added: scores.masked_fill(~may, -INF) → scores + may
    The mask is added to the scores, so an allowed key gains 1 and nothing is hidden. Fill later keys with -inf.
keys_ask: q @ k.mT → k @ q.mT
    Queries and keys are exchanged. The rows of the scores are queries: q @ k.transpose(-2, -1).
softmax_twice: weights @ v → torch.softmax(weights, -1) @ v
    The softmax is taken twice: the second one gives the hidden keys weight again. Take it once.
masked_between: scores.masked_fill → torch.softmax(scores, -1).masked_fill
    The scores are not masked but the weights, with a second softmax after it. Mask the scores, then take one
    softmax.
no_softmax: torch.softmax(scores.masked_fill(~may, -INF), -1) → scores.masked_fill(~may, 0.0)
    The softmax is missing: scores are no weights. Take softmax over the last axis after masking.
weights_only: weights @ v → weights
    These are the weights. One step is left: multiply them by v.
""",
)

EXERCISE = Exercise(
    id="mask.causal",
    title="Attention that cannot see ahead",
    points=3,
    difficulty=2,
    minutes=12,
    reference=causal_attention,
    alternatives=[by_prefixes, by_adding],
    forbidden=("scaled_dot_product_attention", "multi_head_attention_forward"),
    forbidden_message="Build the mask yourself and put it between the scores and the softmax.",
    cases=[
        Case(
            "by hand",
            "three equal scores: token 0 gets 2, token 1 the mean of 2 and 4, token 2 the mean of all three",
            lambda g: call(torch.zeros(3, 2), torch.ones(3, 2), torch.tensor([[2.0], [4.0], [9.0]])),
        ),
        Case(
            "batch",
            "two sentences, three heads, five tokens, values of another size",
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
            "the gradient of token 1's output is 0 at tokens 2 and 3: the upper triangle of the Jacobian",
            lambda g: call(g.randn(4, 2), g.randn(4, 2), g.randn(4, 3), grad=[0, 1, 2], cotangent=_row(g, 1, 4, 3)),
            weight=2,
        ),
        Case(
            "sees the past",
            "the gradient of the last token's output reaches all four tokens: the lower triangle",
            lambda g: call(g.randn(4, 2), g.randn(4, 2), g.randn(4, 3), grad=[1, 2], cotangent=_row(g, 3, 4, 3)),
        ),
        Case(
            "float64",
            "six tokens in float64, two sentences of two heads: float64 comes back",
            lambda g: call(*(g.randn(2, 2, 6, d, dtype=torch.float64) for d in (3, 3, 2))),
        ),
        Case(
            "bfloat16",
            "seven tokens in bfloat16, which comes back as bfloat16",
            lambda g: call(*(g.randn(7, d, dtype=torch.bfloat16) for d in (4, 4, 6))),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
)
