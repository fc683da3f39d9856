"""Scaled dot-product attention with an optional mask."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import attention as ref

INF = math.inf


def by_einsum(q, k, v, mask=None):
    """The same with einsum and torch.where."""
    scores = torch.einsum("...td,...sd->...ts", q, k) * k.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.full_like(scores, -INF))
    return torch.einsum("...ts,...sv->...tv", torch.softmax(scores, -1).nan_to_num(0.0), v)


def by_queries(q, k, v, mask=None):
    """One query at a time; the forbidden weights are 0 because exp(−∞) is."""
    out = []
    for t in range(q.shape[-2]):
        s = (q[..., t : t + 1, :] * k).sum(-1) / math.sqrt(q.shape[-1])
        if mask is not None:
            rows = mask.expand(*mask.shape[:-2], q.shape[-2], k.shape[-2])
            s = s.masked_fill(~rows[..., t, :], -INF)
        w = ref.softmax(s)
        out.append((w[..., None] * v).sum(-2))
    return torch.stack(out, dim=-2)


def _attend(scores, v, mask, fill=-INF):
    # ref.softmax gives zeros for a row of minus infinities, as a learner's masked_softmax does.
    if mask is not None:
        scores = scores.masked_fill(~mask, fill)
    return ref.softmax(scores, -1) @ v


def nan_on_empty(q, k, v, mask=None):
    scores = ref.attention_scores(q, k)
    return torch.softmax(scores if mask is None else scores.masked_fill(~mask, -INF), -1) @ v


def no_scale(q, k, v, mask=None):
    return _attend(q @ k.mT, v, mask)


def scale_by_d(q, k, v, mask=None):
    return _attend(q @ k.mT / q.shape[-1], v, mask)


def scale_by_dv(q, k, v, mask=None):
    return _attend(q @ k.mT / math.sqrt(v.shape[-1]), v, mask)


def scale_by_keys(q, k, v, mask=None):
    return _attend(q @ k.mT / math.sqrt(k.shape[-2]), v, mask)


def scale_by_axis_one(q, k, v, mask=None):
    return _attend(q @ k.mT / math.sqrt(q.shape[1]), v, mask)


def all_axes(q, k, v, mask=None):
    return _attend(q @ k.permute(*range(k.dim())[::-1]) / math.sqrt(q.shape[-1]), v, mask)


def reshaped_keys(q, k, v, mask=None):
    return _attend(q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]) / math.sqrt(q.shape[-1]), v, mask)


def scale_after(q, k, v, mask=None):
    return _attend(q @ k.mT, v, mask) / math.sqrt(q.shape[-1])


def naive_softmax(q, k, v, mask=None):
    scores = ref.attention_scores(q, k)
    e = torch.exp(scores if mask is None else scores.masked_fill(~mask, -INF))
    return e / e.sum(-1, keepdim=True) @ v


def weights_only(q, k, v, mask=None):
    return ref.attention_weights(ref.attention_scores(q, k), mask)


def over_queries(q, k, v, mask=None):
    scores = ref.attention_scores(q, k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -INF)
    return torch.softmax(scores, -2) @ v


def ignores_q(q, k, v, mask=None):
    scores = torch.zeros(*q.shape[:-1], k.shape[-2], dtype=q.dtype)
    return _attend(scores, v, mask)


def inverted_mask(q, k, v, mask=None):
    return _attend(ref.attention_scores(q, k), v, None if mask is None else ~mask)


def mask_after(q, k, v, mask=None):
    w = torch.softmax(ref.attention_scores(q, k), -1)
    return (w if mask is None else w * mask) @ v


def zero_fill(q, k, v, mask=None):
    return _attend(ref.attention_scores(q, k), v, mask, fill=0.0)


def mask_added(q, k, v, mask=None):
    scores = ref.attention_scores(q, k)
    return _attend(scores if mask is None else scores + mask, v, None)


def mask_ignored(q, k, v, mask=None):
    return _attend(ref.attention_scores(q, k), v, None)


def _masked_call(g: Source, B: int, H: int, T: int, S: int, D: int, Dv: int, mask: Tensor) -> Program:
    return call(g.randn(B, H, T, D), g.randn(B, H, S, D), g.randn(B, H, S, Dv), mask=mask)


def _mixed_mask(g: Source, rows: int, keys: int) -> Tensor:
    """Random, but every row has an allowed and a forbidden key, so that a mask always matters."""
    mask = g.mask(rows, keys)
    mask[:, -1] = False
    return mask


EXERCISE = Exercise(
    id="attention.scaled_dot_product",
    unit="01-attention",
    title="Scaled dot-product attention",
    points=3,
    difficulty=3,
    minutes=12,
    signature="scaled_dot_product_attention(q, k, v, mask=None)",
    reference=ref.scaled_dot_product_attention,
    alternatives=[by_einsum, by_queries],
    forbidden=("scaled_dot_product_attention", "multi_head_attention_forward"),
    forbidden_message="Write the three steps: scores, weights, weighted sum.",
    cases=[
        Case(
            "by hand",
            "scores 2 ln 3 and 0 become ln 3 and 0 once divided by √4, so the weights are 3/4 and 1/4",
            lambda g: call(
                torch.tensor([[1.0, 0.0, 0.0, 0.0]]),
                torch.tensor([[2 * math.log(3), 0.0, 0.0, 0.0], [0.0, 7.0, 0.0, 0.0]]),
                torch.tensor([[0.0, 8.0], [4.0, 0.0]]),
            ),
        ),
        Case(
            "odd sizes",
            "3 queries of size 2 meet 5 keys, and values of size 7",
            lambda g: call(g.randn(3, 2), g.randn(5, 2), g.randn(5, 7)),
            weight=2,
        ),
        Case(
            "square",
            "4 queries, 4 keys, everything of size 4, so that a wrong axis cannot hide behind an error",
            lambda g: call(g.randn(4, 4), g.randn(4, 4), g.randn(4, 4)),
        ),
        Case(
            "large",
            "q and k scaled up by 30: the scores pass 1000, the result stays finite",
            lambda g: call(g.randn(4, 8, scale=30), g.randn(5, 8, scale=30), g.randn(5, 2)),
        ),
        Case(
            "mask by hand",
            "True means may look: the query sees keys 0 and 2 of three equal ones",
            lambda g: call(
                torch.zeros(1, 2),
                torch.ones(3, 2),
                torch.tensor([[2.0], [100.0], [4.0]]),
                mask=torch.tensor([[True, False, True]]),
            ),
        ),
        Case(
            "mask per query",
            "a mask of shape (T, S) for a batch of 2 with 3 heads",
            lambda g: _masked_call(g, 2, 3, 4, 7, 5, 6, _mixed_mask(g, 4, 7)),
        ),
        Case(
            "mask per key",
            "a mask of shape (B, 1, 1, S) serves all heads and all queries",
            lambda g: _masked_call(g, 2, 3, 4, 7, 5, 6, _mixed_mask(g, 2, 7)[:, None, None]),
        ),
        Case(
            "empty row",
            "the second of two queries may look at no key: its result is zeros, not NaN",
            lambda g: call(
                g.randn(2, 4),
                g.randn(3, 4),
                g.randn(3, 5),
                mask=torch.tensor([[True, True, False], [False, False, False]]),
            ),
        ),
    ],
    mutants=[
        Mutant(
            "no_scale",
            no_scale,
            "The scores are not divided by √D, so the weights are too sharp. Divide q·k by "
            "the square root of q's last size.",
        ),
        Mutant(
            "scale_by_d",
            scale_by_d,
            "The scores are divided by D. Divide by its square root: it is the standard "
            "deviation of q·k that should become 1.",
        ),
        Mutant(
            "scale_by_dv",
            scale_by_dv,
            "The scores are divided by the square root of v's last size. It is the size "
            "of q and k that makes the dot products grow: use q.shape[-1].",
        ),
        Mutant(
            "scale_by_keys",
            scale_by_keys,
            "The scores are divided by the square root of the number of keys. "
            "Divide by the square root of q's last size.",
        ),
        Mutant(
            "scale_by_axis_one",
            scale_by_axis_one,
            "q.shape[1] is D only while q has two axes; with heads it is H. Count from the end: q.shape[-1].",
        ),
        # transpose(0, 1) raises the same error, so the two share a sentence.
        Mutant(
            "all_axes",
            all_axes,
            "The transpose of k moves batch and heads too. k.T and k.transpose(0, 1) are "
            "right for two axes only: swap the last two, k.transpose(-2, -1).",
        ),
        Mutant(
            "reshaped_keys",
            reshaped_keys,
            "reshape(D, S) cuts the same row of numbers anew and mixes the keys. "
            "Swap the axes instead: k.transpose(-2, -1).",
        ),
        Mutant(
            "scale_after",
            scale_after,
            "The division by √D comes after the softmax, so the weights no longer sum "
            "to 1. Divide the scores, before the softmax.",
        ),
        Mutant(
            "naive_softmax",
            naive_softmax,
            "Large scores overflow in the softmax: ∞/∞ is NaN. Solve exercise 1 and use your softmax here.",
        ),
        Mutant("weights_only", weights_only, "These are the attention weights. One step is left: multiply them by v."),
        Mutant(
            "over_queries",
            over_queries,
            "The softmax runs over the queries. Each query shares its weight among "
            "the keys: use the last axis of the (T, S) scores.",
        ),
        Mutant(
            "ignores_q",
            ignores_q,
            "Every key gets the same weight, so q and k play no part. The weights are the softmax of q·k/√D.",
        ),
        Mutant(
            "inverted_mask",
            inverted_mask,
            "The mask is used upside down. In this course True means may look: "
            "fill the scores where the mask is False.",
        ),
        Mutant(
            "mask_after",
            mask_after,
            "The mask is applied after the softmax, so the remaining weights no longer "
            "sum to 1. Put -inf into the scores before the softmax.",
        ),
        Mutant(
            "zero_fill",
            zero_fill,
            "Forbidden scores are set to 0, and exp(0) = 1 still gets weight. Set them to -inf before the softmax.",
        ),
        Mutant(
            "mask_added",
            mask_added,
            "The mask is added to the scores: True counts as 1 and False as 0, so "
            "a forbidden key keeps its weight. Set the scores to -inf where the mask is False.",
        ),
        Mutant(
            "nan_on_empty",
            nan_on_empty,
            "A query that may look at no key gives NaN. Where there is a mask, take "
            "the weights from your masked_softmax, which gives such a row zeros.",
        ),
        Mutant(
            "mask_ignored",
            mask_ignored,
            "Without a mask this is right, but the mask is never used. Set the scores to -inf where the mask is False.",
        ),
    ],
)
