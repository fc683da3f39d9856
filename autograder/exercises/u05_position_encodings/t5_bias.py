"""T5's bias per bucket and head, and attention with it."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference.attention import attention_weights
from autograder.reference.positions import t5_buckets as t5
from autograder.reference.positions.relative import relative_positions

from .shared import buckets_by_loop


def t5_bias(weight, T, S, bidirectional=True):
    """weight (num_buckets, H) → (1, H, T, S), with gradients."""
    bucket = t5.t5_relative_bucket(relative_positions(T, S), bidirectional, len(weight))
    return weight[bucket].permute(2, 0, 1)[None]


def bias_by_loop(weight, T, S, bidirectional=True):
    """Pair by pair."""
    at = lambda r: weight[buckets_by_loop(torch.tensor(r), bidirectional, len(weight))]
    return torch.stack([torch.stack([at(j - i) for j in range(S)], -1) for i in range(T)], -2)[None]


def bias_by_one_hot(weight, T, S, bidirectional=True):
    """A product with one-hot rows."""
    bucket = t5.t5_relative_bucket(relative_positions(T, S), bidirectional, len(weight))
    return torch.einsum("tsb,bh->hts", torch.eye(len(weight), dtype=weight.dtype)[bucket], weight)[None]


def attention_by_logarithm(q, k, v, bias, mask=None):
    """exp of the scores less the logarithm of their sum."""
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) + bias
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    return (scores - scores.logsumexp(-1, keepdim=True)).exp() @ v


def attention_by_shift(q, k, v, bias, mask=None):
    """The softmax written out, with a shift by the largest score."""
    scores = q @ k.mT + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return e @ v / e.sum(-1, keepdim=True)


def over_queries(q, k, v, bias, mask=None):
    return attention_weights((q @ k.mT + bias).mT, None if mask is None else mask.mT).mT @ v


MISTAKES = [
    *changes(
        (t5_bias, attention_by_shift),
        """
all_scaled: q @ k.mT + bias → (q @ k.mT + bias) / math.sqrt(q.shape[-1])
    Scores and bias are both divided by √D. T5 divides neither: softmax(q·k + bias).
scores_scaled: q @ k.mT + bias → q @ k.mT / math.sqrt(q.shape[-1]) + bias
    The scores are divided by √D. T5 leaves that out; its initial weights are smaller instead.
after_softmax: q @ k.mT + bias → q @ k.mT ; e @ v / e.sum(-1, keepdim=True) → (e / e.sum(-1, keepdim=True) + bias) @ v
    The bias is added to the weights. Add it to the scores, before the softmax, so that weights still sum to 1.
subtracted: + bias → - bias
    The bias is subtracted. It is added to the scores: a trained number can be negative by itself.
bias_twice: + bias → + 2 * bias
    The bias is added twice. The scores are q · k + bias.
masked_after_softmax: scores.masked_fill(~mask, -math.inf) → scores
; e @ v / e.sum(-1, keepdim=True) → (e / e.sum(-1, keepdim=True) * (1 if mask is None else mask)) @ v
    The mask is applied after the softmax, so the weights no longer sum to 1. Fill forbidden scores with -inf before
    it.
filled_with_zero: ~mask, -math.inf → ~mask, 0.0
    Forbidden scores are set to 0, which still gets weight. Fill them with -inf before the softmax.
""",
    ),
    Mutant(
        "softmax_over_queries",
        (t5_bias, over_queries),
        "The softmax runs over the queries. The weights of each query sum to 1 over the keys: the last axis.",
    ),
    *changes(
        (t5_bias, attention_by_shift),
        """
overflow: scores.masked_fill(~mask, -math.inf) → scores
; torch.exp(scores - scores.amax(-1, keepdim=True)) → torch.exp(scores) * (1 if mask is None else mask)
    exp of a large score overflows to infinity, and infinity by infinity is NaN. Use softmax, or take the largest
    score off first.
reshaped_keys: k.mT → k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])
    The keys are reshaped, which mixes up their entries. Exchange the last two axes: k.transpose(-2, -1).
queries_at_end: relative_positions(T, S) → relative_positions(T, S, S - T)
    The queries stand at the end of the keys here. Queries and keys both start at position 0.
sizes_exchanged: relative_positions(T, S) → relative_positions(S, T)
    T and S have changed places: the result is (1, H, S, T). Queries, T of them, are the rows.
buckets_fixed: len(weight) → 32
    The number of buckets is always 32 here. It is the number of rows of weight: pass it on.
no_first_axis: [None] →
    The numbers are right, one axis is missing. The result is (1, H, T, S), so that it is added to every sentence:
    [None].
no_bias: q @ k.mT + bias → q @ k.mT
    The bias is never added to the scores.
reversed: relative_positions(T, S) → -relative_positions(T, S)
    The relative position is taken as query minus key. Buckets expect key minus query.
distance_as_bucket: t5.t5_relative_bucket( → ( ; , bidirectional, len(weight) →
    The distance itself is used as a row of weight. Turn it into a bucket first, with t5_relative_bucket.
flag_ignored: bidirectional, len → True, len
    The argument bidirectional is ignored. Pass it on to t5_relative_bucket.
heads_last: .permute(2, 0, 1) →
    The heads stand on the last axis. Scores have shape (B, H, T, S): move the heads to the front.
axes_exchanged: (2, 0, 1) → (2, 1, 0)
    Queries and keys are exchanged: (1, H, S, T). permute(2, 0, 1) keeps the queries before the keys.
mask_ignored: scores.masked_fill(~mask, -math.inf) → scores
    The mask is not used. Fill forbidden scores with -inf before the softmax.
mask_upside_down: ~mask → mask
    The mask is upside down. True means may look, so fill where it is False: ~mask.
reshaped_heads: .permute(2, 0, 1)[None] → .reshape(1, -1, T, S)
    The numbers are regrouped by view or reshape, which mixes heads and positions. Move the axis of the heads
    instead: permute(2, 0, 1).
no_softmax: ~mask, -math.inf → ~mask, 0.0 ; e @ v / e.sum(-1, keepdim=True) → scores @ v
    The softmax is missing: scores are no weights. Take softmax over the keys, the last axis.
softmax_before_bias: e @ v / e.sum(-1, keepdim=True) → (e / e.sum(-1, keepdim=True)).softmax(-1) @ v
    The softmax is taken twice. Once is enough: the weights sum to 1 already.
mask_added: scores.masked_fill(~mask, -math.inf) → scores + mask
    The mask is added to the scores, so an allowed key gains 1. Fill forbidden scores with -inf.
divided_by_d: q @ k.mT + bias → (q @ k.mT + bias) / q.shape[-1]
    Scores and bias are divided by D. T5 divides by nothing: softmax(q·k + bias).
scores_by_d: q @ k.mT + bias → q @ k.mT / q.shape[-1] + bias
    The scores are divided by D. T5 divides by nothing: softmax(q·k + bias).
bias_multiplied: + bias → * bias
    The bias is multiplied with the scores. It is added to them: q · k + bias.
bias_by_root: + bias → + bias / math.sqrt(q.shape[-1])
    The bias is divided by √D. T5 divides by nothing: softmax(q·k + bias).
result_scaled: e @ v / e.sum(-1, keepdim=True) → e @ v / e.sum(-1, keepdim=True) / math.sqrt(q.shape[-1])
    The result is divided by √D. T5 divides by nothing: softmax(q·k + bias) v.
one_head: weight[bucket] → weight[:, :1].expand_as(weight)[bucket]
    Every head gets the numbers of the first. weight[bucket] has one number per head on its last axis: keep them
    all.
absolute: relative_positions(T, S) → relative_positions(T, S).abs()
    Buckets are looked up for the absolute distance, so both sides read the same rows. Pass key minus query with its
    sign.
always_causal: bidirectional, len → False, len
    All buckets are used for the past, whatever was asked. Pass the argument bidirectional on to t5_relative_bucket.
flag_turned: bidirectional, len → not bidirectional, len
    bidirectional is turned over: True gives causal buckets. Pass it on as it is.
""",
    ),
]

EXERCISE = Exercise(
    id="position.t5_bias",
    title="A number per bucket and head",
    points=2,
    difficulty=2,
    minutes=12,
    reference=(t5_bias, t5.t5_attention),
    alternatives=[
        (bias_by_loop, attention_by_logarithm),
        (bias_by_one_hot, attention_by_shift),
    ],
    cases=[
        Case(
            "bias by hand",
            "one head, weight[b] = b, three positions: 0 here, 1 and 2 in the past, 17 and 18 in the future",
            lambda g: call(torch.arange(32.0)[:, None], 3, 3),
        ),
        Case(
            "several heads",
            "three heads, five queries, seven keys: shape (1, 3, 5, 7)",
            lambda g: call(g.randn(32, 3), 5, 7),
        ),
        Case(
            "causal bias",
            "causal buckets, two heads, 20 positions",
            lambda g: call(g.randn(32, 2), 20, 20, bidirectional=False),
        ),
        Case(
            "other sizes",
            "20 buckets and two heads, float64: 10 buckets for each side",
            lambda g: call(g.randn(20, 2, dtype=torch.float64), 9, 15),
        ),
        Case(
            "bias gradient",
            "a number that several pairs look up gets the sum of their gradients",
            lambda g: call(g.randn(32, 2), 4, 6, grad=[0]),
        ),
        Case(
            "attention by hand",
            "D = 4, q·k = ln 3 for the first key, bias 0: weights 3/4 and 1/4, nothing divided by 2",
            lambda g: call(
                torch.tensor([[[[1.0, 0.0, 0.0, 0.0]]]]),
                torch.tensor([[[[math.log(3), 0.0, 0.0, 0.0], [0.0] * 4]]]),
                torch.tensor([[[[4.0], [8.0]]]]),
                torch.zeros(1, 1, 1, 2),
                fn="t5_attention",
            ),
        ),
        Case(
            "random",
            "two sentences, two heads, a bias for both",
            lambda g: call(
                g.randn(2, 2, 5, 4), g.randn(2, 2, 6, 4), g.randn(2, 2, 6, 3), g.randn(1, 2, 5, 6), fn="t5_attention"
            ),
            weight=2,
        ),
        Case(
            "masked",
            "causal mask and bias together",
            lambda g: call(
                g.randn(1, 2, 4, 4),
                g.randn(1, 2, 4, 4),
                g.randn(1, 2, 4, 3),
                g.randn(1, 2, 4, 4),
                torch.ones(4, 4).tril().bool(),
                fn="t5_attention",
            ),
        ),
        Case(
            "large scores",
            "float64, scores of several thousand, one mask for each sentence: no NaN may come out",
            lambda g: call(
                g.randn(2, 2, 3, 4, scale=60.0, dtype=torch.float64),
                g.randn(2, 2, 5, 4, scale=60.0, dtype=torch.float64),
                g.randn(2, 2, 5, 3, dtype=torch.float64),
                g.randn(1, 2, 3, 5, scale=60.0, dtype=torch.float64),
                g.randn(2, 1, 1, 5).argsort(-1) < 2,  # two keys each: hides the largest score of some query
                fn="t5_attention",
            ),
        ),
        Case(
            "attention gradients",
            "gradients of queries, keys, values and bias, with a mask of its own for each head",
            lambda g: call(
                g.randn(1, 2, 3, 4, scale=0.5),
                g.randn(1, 2, 4, 4, scale=0.5),
                g.randn(1, 2, 4, 2),
                g.randn(1, 2, 3, 4),
                g.mask(2, 3, 4),
                grad=[0, 1, 2, 3],
                fn="t5_attention",
            ),
        ),
    ],
    mutants=MISTAKES,
)
