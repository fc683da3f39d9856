"""Scaled dot-product attention with an optional mask."""

import math

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import attention as ref

INF = math.inf


def scaled_dot_product_attention(q, k, v, mask=None):
    """Scores, weights, weighted sum."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -INF)
    return ref.softmax(scores) @ v


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


def _masked_call(g: Source, B: int, H: int, T: int, S: int, D: int, Dv: int, mask: Tensor) -> Program:
    return call(g.randn(B, H, T, D), g.randn(B, H, S, D), g.randn(B, H, S, Dv), mask=mask)


def _mixed_mask(g: Source, rows: int, keys: int) -> Tensor:
    """Random, but every row has an allowed and a forbidden key, so that a mask always matters."""
    mask = g.mask(rows, keys)
    mask[:, -1] = False
    return mask


def _with_gradients(g: Source) -> Program:
    q, k, v = (g.randn(n, 2, 4, dtype=torch.float64).transpose(0, 1) for n in (3, 5, 5))
    mask = _mixed_mask(g, 3, 5)
    mask[1] = False
    return call(q, k, v, mask=mask, grad=[0, 1, 2])


MISTAKES = changes(
    scaled_dot_product_attention,
    """
no_scale: / math.sqrt(q.shape[-1]) →
    The scores are not divided by √D, so the weights are too sharp. Divide q·k by the square root of q's last size.
scale_by_d: math.sqrt(q.shape[-1]) → q.shape[-1]
    The scores are divided by D. Divide by its square root: it is the standard deviation of q·k that should become
    1.
scale_by_dv: q.shape[-1] → v.shape[-1]
    The scores are divided by the square root of v's last size. It is the size of q and k that makes the dot
    products grow: use q.shape[-1].
scale_by_keys: q.shape[-1] → k.shape[-2]
    The scores are divided by the square root of the number of keys. Divide by the square root of q's last size.
scale_by_axis_one: q.shape[-1] → q.shape[1]
    q.shape[1] is D only while q has two axes; with heads it is H. Count from the end: q.shape[-1].
all_axes: k.mT → k.permute(*range(k.dim())[::-1])
    The transpose of k moves batch and heads too. k.T and k.transpose(0, 1) are right for two axes only: swap the
    last two, k.transpose(-2, -1).
reshaped_keys: k.mT → k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])
    reshape(D, S) cuts the same row of numbers anew and mixes the keys. Swap the axes instead: k.transpose(-2, -1).
scale_after: / math.sqrt(q.shape[-1]) → ; ref.softmax(scores) @ v → ref.softmax(scores) @ v / math.sqrt(q.shape[-1])
    The division by √D comes after the softmax, so the weights no longer sum to 1. Divide the scores, before the
    softmax.
naive_softmax: ref.softmax(scores) → torch.exp(scores) / torch.exp(scores).sum(-1, keepdim=True)
    Large scores overflow in the softmax: ∞/∞ is NaN. Solve exercise 1 and use your softmax here.
weights_only: @ v →
    These are the attention weights. One step is left: multiply them by v.
over_queries: ref.softmax(scores) → torch.softmax(scores, -2)
    The softmax runs over the queries. Each query shares its weight among the keys: use the last axis of the (T, S)
    scores.
ignores_q: q @ k.mT / math.sqrt(q.shape[-1]) → torch.zeros(*q.shape[:-1], k.shape[-2], dtype=q.dtype)
    Every key gets the same weight, so q and k play no part. The weights are the softmax of q·k/√D.
inverted_mask: ~mask → mask
    The mask is used upside down. In this course True means may look: fill the scores where the mask is False.
mask_after: scores = scores.masked_fill(~mask, -INF) → return ref.softmax(scores) * mask @ v
    The mask is applied after the softmax, so the remaining weights no longer sum to 1. Put -inf into the scores
    before the softmax.
zero_fill: -INF → 0.0
    Forbidden scores are set to 0, and exp(0) = 1 still gets weight. Set them to -inf before the softmax.
mask_added: scores.masked_fill(~mask, -INF) → scores + mask
    The mask is added to the scores: True counts as 1 and False as 0, so a forbidden key keeps its weight. Set the
    scores to -inf where the mask is False.
nan_on_empty: ref.softmax(scores) → torch.softmax(scores, -1)
    A query that may look at no key gives NaN. Where there is a mask, take the weights from your masked_softmax,
    which gives such a row zeros.
mask_ignored: scores = scores.masked_fill(~mask, -INF) → pass
    Without a mask this is right, but the mask is never used. Set the scores to -inf where the mask is False.
over_queries_unmasked: ref.softmax(scores) → ref.softmax(scores, -2 if mask is None else -1)
    With a mask this is right. Without one the softmax runs over the queries: use the last axis, the keys.
over_axis_one: ref.softmax(scores) → ref.softmax(scores, 1 if mask is None else -1)
    Axis 1 of the scores holds the keys only while there are two axes; with heads it is another. Count from the end:
    softmax(scores, dim=-1).
axes_one_and_two: k.mT → k.transpose(1, 2)
    k.transpose(1, 2) fits three axes only. k may have two or four: swap the last two, k.transpose(-2, -1).
multiplied_by_root: / math → * math
    The scores are multiplied by √D. Divide by it: they should get smaller.
scale_by_queries: q.shape[-1] → q.shape[-2]
    The scores are divided by the square root of the number of queries. Divide by the square root of q's last size,
    q.shape[-1].
scale_by_axis_zero: q.shape[-1] → q.shape[0]
    The scores are divided by the square root of q's first size, words or sentences. D is its last one: q.shape[-1].
scale_by_two: math.sqrt(q.shape[-1]) → 2
    The scores are always divided by 2, the √4 of the worked example. D differs from call to call: take q.shape[-1].
half_of_d: math.sqrt(q.shape[-1]) → (q.shape[-1] / 2)
    The scores are divided by D/2. D ** 1/2 is (D ** 1)/2: write D ** 0.5 or math.sqrt(D).
divided_by_two_d: math.sqrt(q.shape[-1]) → (2 * q.shape[-1])
    The scores are divided by 2·D. D ** -1/2 is (D ** -1)/2: write D ** -0.5, or divide by math.sqrt(D).
unscaled_with_mask: scores.masked_fill → (q @ k.mT).masked_fill
    Without a mask this is right. With one the scores are not divided by √D: scale before you branch.
unscaled_without_mask: / math.sqrt(q.shape[-1]) → ; (~mask, -INF) → (~mask, -INF) / math.sqrt(q.shape[-1])
    With a mask this is right. Without one the scores are not divided by √D: scale before you branch.
pair_returned: ref.softmax(scores) @ v → ref.softmax(scores) @ v, ref.softmax(scores)
    Two tensors are returned, result and weights. Return the result alone.
keys_for_values: @ v → @ k
    The weights are multiplied by the keys. Keys are there to be found, values to be read: weights @ v.
weights_transposed: ref.softmax(scores) → ref.softmax(scores).mT
    The weights are transposed before they meet v. Their rows are queries, their columns keys: weights @ v.
scores_transposed: q @ k.mT → k @ q.mT
; scores = scores.masked_fill(~mask, -INF) → return ref.attention_weights(scores, mask) @ v
    The scores are k·q, with a row for each key. Rows are queries: q @ k.transpose(-2, -1).
large_negative: -INF → -1e9
    A query that may look at no key gets the mean of all values: a row of -1e9 has equal scores. Take the weights
    from your masked_softmax.
truth_of_mask: if mask is not None → if mask
    A tensor of several entries is neither true nor false. Ask `if mask is None`, not `if mask`.
no_softmax: ref.softmax(scores) → (scores if mask is None else ref.softmax(scores))
    Without a mask the scores are multiplied by v as they are. They go through a softmax first.
softmax_twice: q @ k.mT / math.sqrt(q.shape[-1]) → ref.softmax(q @ k.mT / math.sqrt(q.shape[-1]))
    The scores go through the softmax twice. Once is enough: masked_softmax takes scores, not weights.
detached: ref.softmax(scores) @ v → (ref.softmax(scores) @ v).detach()
    The numbers are right, but no gradient can flow back: the result was cut off from q, k and v. Stay with torch
    operations, without detach or torch.tensor(…).
renormalized: scores = scores.masked_fill(~mask, -INF) → w = ref.softmax(scores) * mask; return w / w.sum(-1, True) @ v
    Weights are hidden after the softmax and divided by what is left: 0/0 where that is nothing. Take the weights
    from your masked_softmax.
softmax_before_mask: scores.masked_fill → ref.softmax(scores).masked_fill
    With a mask the scores go through two softmaxes. masked_softmax takes the scores, not the weights.
mask_not_optional: if mask is not None → if True
    Without a mask this fails: mask is None there. Ask `if mask is None`, and take the plain softmax then.
scale_by_keys_axis_zero: q.shape[-1] → k.shape[0]
    The scores are divided by the square root of k's first size, words or sentences. D is the last size:
    k.shape[-1].
floored_root: math.sqrt → math.isqrt
    The root of D is rounded down to a whole number. Divide by math.sqrt(D) as it is.
floor_division: / math → // math
    // rounds every score down to a whole number. Divide with a single /.
""",
)

EXERCISE = Exercise(
    id="attention.scaled_dot_product",
    title="Scaled dot-product attention",
    points=3,
    difficulty=3,
    minutes=12,
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
            "heads without a mask",
            "2 sentences, 3 heads, 4 queries and 5 keys, no mask: all leading axes are kept",
            lambda g: call(g.randn(2, 3, 4, 6), g.randn(2, 3, 5, 6), g.randn(2, 3, 5, 2)),
            weight=0.5,
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
        Case(
            "mask per head",
            "a mask of shape (H, T, S): each of the 3 heads hides keys of its own",
            lambda g: _masked_call(g, 2, 3, 4, 5, 6, 2, torch.stack([_mixed_mask(g, 4, 5) for _ in range(3)])),
        ),
        Case(
            "gradients",
            "gradients reach float64 q, k and v, transposed as split_heads leaves them; an empty row brings no NaN",
            _with_gradients,
        ),
    ],
    mutants=MISTAKES,
)
