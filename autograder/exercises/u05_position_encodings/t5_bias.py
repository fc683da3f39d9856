"""T5's bias per bucket and head, and attention with it."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference.attention import attention_weights
from autograder.reference.positions import t5_buckets as t5

from .shared import buckets_by_loop


def t5_bias(weight, T, S, bidirectional=True):
    """weight (num_buckets, H) → (1, H, T, S)."""
    layer = t5.T5RelativeBias(weight.shape[1], bidirectional, weight.shape[0])
    layer.weight = torch.nn.Parameter(weight, requires_grad=False)
    return layer(T, S)


def bias_by_loop(weight, T, S, bidirectional=True):
    """Pair by pair."""
    out = torch.empty(1, weight.shape[1], T, S, dtype=weight.dtype)
    for i in range(T):
        for j in range(S):
            bucket = buckets_by_loop(torch.tensor([j - i]), bidirectional, weight.shape[0])
            out[0, :, i, j] = weight[bucket[0]]
    return out


def attention_by_exp(q, k, v, bias, mask=None):
    """exp of scores and of bias multiplied: adding a bias multiplies a weight."""
    scores = q @ k.mT
    e = torch.exp(scores - scores.amax(-1, keepdim=True)) * torch.exp(bias)
    e = e if mask is None else e * mask
    return e / e.sum(-1, keepdim=True) @ v


def _rows(sign=1, order=(2, 0, 1), flag=lambda b: b):
    def wrong(weight, T, S, bidirectional=True):
        r = sign * (torch.arange(S) - torch.arange(T)[:, None])
        bucket = t5.t5_relative_bucket(r, flag(bidirectional), weight.shape[0])
        return weight[bucket].permute(*order)[None]

    return wrong


def _attend(scores):
    return lambda q, k, v, bias, mask=None: attention_weights(scores(q @ k.mT, bias, math.sqrt(q.shape[-1])), mask) @ v


def upside_down(q, k, v, bias, mask=None):
    if mask is None:
        return t5.t5_attention(q, k, v, bias)
    return torch.where((~mask).any(-1, keepdim=True), t5.t5_attention(q, k, v, bias, ~mask), math.nan)


def bias_after_softmax(q, k, v, bias, mask=None):
    return (attention_weights(q @ k.mT, mask) + bias) @ v


EXERCISE = Exercise(
    id="position.t5_bias",
    unit="05-position-encodings",
    title="A number per bucket and head",
    points=2,
    difficulty=2,
    minutes=12,
    signature="t5_bias(weight, T, S, bidirectional=True)",
    targets=("t5_bias", "t5_attention"),
    reference=(t5_bias, t5.t5_attention),
    alternatives=[
        (bias_by_loop, attention_by_exp),
        (
            _rows(),
            lambda q, k, v, bias, mask=None: attention_weights(torch.einsum("bhtd,bhsd->bhts", q, k) + bias, mask) @ v,
        ),
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
    ],
)
