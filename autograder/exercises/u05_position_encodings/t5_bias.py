"""T5's bias per bucket and head, and attention with it."""

import math

import torch

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


def _rows(sign=1, order=(2, 0, 1), flag=lambda b: b, buckets=len, offset=lambda T, S: 0):
    def wrong(weight, T, S, bidirectional=True):
        r = sign * (torch.arange(S) - torch.arange(T)[:, None] - offset(T, S))
        bucket = t5.t5_relative_bucket(r, flag(bidirectional), buckets(weight))
        return weight[bucket].permute(*order)[None]

    return wrong


def no_first_axis(weight, T, S, bidirectional=True):
    return t5_bias(weight, T, S, bidirectional)[0]


def masked_after(scores, mask):
    return scores.softmax(-1) if mask is None else scores.softmax(-1) * mask


def filled_with_zero(scores, mask):
    return (scores if mask is None else scores.masked_fill(~mask, 0.0)).softmax(-1)


def over_queries(scores, mask):
    return attention_weights(scores.mT, None if mask is None else mask.mT).mT


def overflowing(scores, mask):
    e = scores.exp() if mask is None else scores.exp() * mask
    return e / e.sum(-1, keepdim=True)


def _attend(scores=lambda s, b, root: s + b, weigh=attention_weights):
    return lambda q, k, v, bias, mask=None: weigh(scores(q @ k.mT, bias, math.sqrt(q.shape[-1])), mask) @ v


def upside_down(q, k, v, bias, mask=None):
    if mask is None:
        return t5.t5_attention(q, k, v, bias)
    return (q @ k.mT + bias).masked_fill(mask, -math.inf).softmax(-1) @ v


def bias_after_softmax(q, k, v, bias, mask=None):
    return (attention_weights(q @ k.mT, mask) + bias) @ v


def _looked_up(weight, T, S, bidirectional):
    r = torch.arange(S) - torch.arange(T)[:, None]
    return weight[t5.t5_relative_bucket(r, bidirectional, len(weight))]


def reshaped_heads(weight, T, S, bidirectional=True):
    return _looked_up(weight, T, S, bidirectional).reshape(1, -1, T, S)


def one_head(weight, T, S, bidirectional=True):
    return t5_bias(weight[:, :1].expand_as(weight), T, S, bidirectional)


def absolute(weight, T, S, bidirectional=True):
    r = relative_positions(T, S).abs()
    return weight[t5.t5_relative_bucket(r, bidirectional, len(weight))].permute(2, 0, 1)[None]


EXERCISE = Exercise(
    id="position.t5_bias",
    title="A number per bucket and head",
    points=2,
    difficulty=2,
    minutes=12,
    signature="t5_bias(weight, T, S, bidirectional=True)",
    targets=("t5_bias", "t5_attention"),
    reference=(t5_bias, t5.t5_attention),
    alternatives=[
        (bias_by_loop, attention_by_logarithm),
        (bias_by_one_hot, attention_by_shift),
    ],
    cases=[
        Case(
            "bias by hand",
            "one head, weight[b] = b, three places: 0 here, 1 and 2 in the past, 17 and 18 in the future",
            lambda g: call(torch.arange(32.0)[:, None], 3, 3),
        ),
        Case(
            "several heads",
            "three heads, five queries, seven keys: shape (1, 3, 5, 7)",
            lambda g: call(g.randn(32, 3), 5, 7),
        ),
        Case(
            "causal bias",
            "causal buckets, two heads, 20 places",
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
    mutants=[
        Mutant(
            "all_scaled",
            (t5_bias, _attend(lambda s, b, root: (s + b) / root)),
            "Scores and bias are both divided by √D. T5 divides neither: softmax(q·k + bias).",
        ),
        Mutant(
            "scores_scaled",
            (t5_bias, _attend(lambda s, b, root: s / root + b)),
            "The scores are divided by √D. T5 leaves that out; its initial weights are smaller instead.",
        ),
        Mutant(
            "after_softmax",
            (t5_bias, bias_after_softmax),
            "The bias is added to the weights. Add it to the scores, before the softmax, so that weights still sum "
            "to 1.",
        ),
        Mutant(
            "subtracted",
            (t5_bias, _attend(lambda s, b, root: s - b)),
            "The bias is subtracted. It is added to the scores: a trained number can be negative by itself.",
        ),
        Mutant(
            "bias_twice",
            (t5_bias, _attend(lambda s, b, root: s + 2 * b)),
            "The bias is added twice. The scores are q · k + bias.",
        ),
        Mutant(
            "masked_after_softmax",
            (t5_bias, _attend(weigh=masked_after)),
            "The mask is applied after the softmax, so the weights no longer sum to 1. Fill forbidden scores with -inf "
            "before it.",
        ),
        Mutant(
            "filled_with_zero",
            (t5_bias, _attend(weigh=filled_with_zero)),
            "Forbidden scores are set to 0, which still gets weight. Fill them with -inf before the softmax.",
        ),
        Mutant(
            "softmax_over_queries",
            (t5_bias, _attend(weigh=over_queries)),
            "The softmax runs over the queries. The weights of each query sum to 1 over the keys: the last axis.",
        ),
        Mutant(
            "overflow",
            (t5_bias, _attend(weigh=overflowing)),
            "exp of a large score overflows to infinity, and infinity by infinity is NaN. Use softmax, or take the "
            "largest score off first.",
        ),
        Mutant(
            "reshaped_keys",
            (
                t5_bias,
                lambda q, k, v, bias, mask=None: t5.t5_attention(
                    q, k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]).mT, v, bias, mask
                ),
            ),
            "The keys are reshaped, which mixes up their entries. Exchange the last two axes: k.transpose(-2, -1).",
        ),
        Mutant(
            "queries_at_end",
            (_rows(offset=lambda T, S: S - T), t5.t5_attention),
            "The queries stand at the end of the keys here. Queries and keys both start at position 0.",
        ),
        Mutant(
            "sizes_exchanged",
            (lambda weight, T, S, bidirectional=True: t5_bias(weight, S, T, bidirectional), t5.t5_attention),
            "T and S have changed places: the result is (1, H, S, T). Queries, T of them, are the rows.",
        ),
        Mutant(
            "buckets_fixed",
            (_rows(buckets=lambda weight: 32), t5.t5_attention),
            "The number of buckets is always 32 here. It is the number of rows of weight: pass it on.",
        ),
        Mutant(
            "no_first_axis",
            (no_first_axis, t5.t5_attention),
            "The numbers are right, one axis is missing. The result is (1, H, T, S), so that it is added to every "
            "sentence: [None].",
        ),
        Mutant("no_bias", (t5_bias, _attend(lambda s, b, root: s)), "The bias is never added to the scores."),
        Mutant(
            "reversed",
            (_rows(sign=-1), t5.t5_attention),
            "The relative position is taken as query minus key. Buckets expect key minus query.",
        ),
        Mutant(
            "distance_as_bucket",
            (
                lambda weight, T, S, bidirectional=True: weight[torch.arange(S) - torch.arange(T)[:, None]].permute(
                    2, 0, 1
                )[None],
                t5.t5_attention,
            ),
            "The distance itself is used as a row of weight. Turn it into a bucket first, with t5_relative_bucket.",
        ),
        Mutant(
            "flag_ignored",
            (_rows(flag=lambda b: True), t5.t5_attention),
            "The argument bidirectional is ignored. Pass it on to t5_relative_bucket.",
        ),
        Mutant(
            "heads_last",
            (
                lambda weight, T, S, bidirectional=True: weight[
                    t5.t5_relative_bucket(torch.arange(S) - torch.arange(T)[:, None], bidirectional, weight.shape[0])
                ][None],
                t5.t5_attention,
            ),
            "The heads stand on the last axis. Scores have shape (B, H, T, S): move the heads to the front.",
        ),
        Mutant(
            "axes_exchanged",
            (_rows(order=(2, 1, 0)), t5.t5_attention),
            "Queries and keys are exchanged: (1, H, S, T). permute(2, 0, 1) keeps the queries before the keys.",
        ),
        Mutant(
            "mask_ignored",
            (t5_bias, lambda q, k, v, bias, mask=None: t5.t5_attention(q, k, v, bias)),
            "The mask is not used. Fill forbidden scores with -inf before the softmax.",
        ),
        Mutant(
            "mask_upside_down",
            (t5_bias, upside_down),
            "The mask is upside down. True means may look, so fill where it is False: ~mask.",
        ),
        Mutant(
            "reshaped_heads",
            (reshaped_heads, t5.t5_attention),
            "The numbers are regrouped by view or reshape, which mixes heads and places. Move the axis of the heads "
            "instead: permute(2, 0, 1).",
        ),
        Mutant(
            "no_softmax",
            (t5_bias, _attend(weigh=lambda s, m: s if m is None else s.masked_fill(~m, 0.0))),
            "The softmax is missing: scores are no weights. Take softmax over the keys, the last axis.",
        ),
        Mutant(
            "softmax_before_bias",
            (t5_bias, _attend(weigh=lambda s, m: attention_weights(s, m).softmax(-1))),
            "The softmax is taken twice. Once is enough: the weights sum to 1 already.",
        ),
        Mutant(
            "mask_added",
            (t5_bias, _attend(weigh=lambda s, m: (s if m is None else s + m).softmax(-1))),
            "The mask is added to the scores, so an allowed key gains 1. Fill forbidden scores with -inf.",
        ),
        Mutant(
            "divided_by_d",
            (t5_bias, _attend(lambda s, b, root: (s + b) / root**2)),
            "Scores and bias are divided by D. T5 divides by nothing: softmax(q·k + bias).",
        ),
        Mutant(
            "scores_by_d",
            (t5_bias, _attend(lambda s, b, root: s / root**2 + b)),
            "The scores are divided by D. T5 divides by nothing: softmax(q·k + bias).",
        ),
        Mutant(
            "bias_multiplied",
            (t5_bias, _attend(lambda s, b, root: s * b)),
            "The bias is multiplied with the scores. It is added to them: q · k + bias.",
        ),
        Mutant(
            "bias_by_root",
            (t5_bias, _attend(lambda s, b, root: s + b / root)),
            "The bias is divided by √D. T5 divides by nothing: softmax(q·k + bias).",
        ),
        Mutant(
            "result_scaled",
            (t5_bias, lambda q, k, v, bias, mask=None: t5.t5_attention(q, k, v, bias, mask) / math.sqrt(q.shape[-1])),
            "The result is divided by √D. T5 divides by nothing: softmax(q·k + bias) v.",
        ),
        Mutant(
            "one_head",
            (one_head, t5.t5_attention),
            "Every head gets the numbers of the first. weight[bucket] has one number per head on its last axis: keep "
            "them all.",
        ),
        Mutant(
            "absolute",
            (absolute, t5.t5_attention),
            "Buckets are looked up for the absolute distance, so both sides read the same rows. Pass key minus query "
            "with its sign.",
        ),
        Mutant(
            "always_causal",
            (_rows(flag=lambda b: False), t5.t5_attention),
            "All buckets are used for the past, whatever was asked. Pass the argument bidirectional on to "
            "t5_relative_bucket.",
        ),
        Mutant(
            "flag_turned",
            (_rows(flag=lambda b: not b), t5.t5_attention),
            "bidirectional is turned over: True gives causal buckets. Pass it on as it is.",
        ),
    ],
)
