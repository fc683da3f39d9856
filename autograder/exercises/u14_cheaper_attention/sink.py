"""Attention with a sink in its denominator."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import sinks

from .shared import qkv


def with_column(q, k, v, sink, mask=None):
    """As in the solution."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    column = sink[:, None, None].expand(*scores.shape[:-1], 1)
    weights = torch.cat([scores, column], dim=-1).softmax(-1)
    return weights[..., :-1] @ v


def with_empty_token(q, k, v, sink, mask=None):
    """One more key, whose score is the sink and whose value is 0."""
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    column = sink.reshape(1, -1, 1, 1) + torch.zeros_like(scores[..., :1])
    values = torch.cat([torch.zeros_like(v[:, :, :1]), v], 2)
    return torch.cat([column, scores], -1).softmax(-1) @ values


def by_logsumexp(q, k, v, sink, mask=None):
    """The share that the keys have of the whole denominator, without a softmax."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    whole = torch.logaddexp(scores.logsumexp(-1), sink[:, None])
    return (scores - whole[..., None]).exp() @ v


MISTAKES = changes(
    with_column,
    """
no_sink: torch.cat([scores, column], dim=-1) → torch.cat([scores, column * 0 - math.inf], dim=-1)
    The sink has no effect, and the weights sum to 1. Join it to the scores before the softmax.
renormalized: weights[..., :-1] @ v → (weights[..., :-1] / weights[..., :-1].sum(-1, keepdim=True)).nan_to_num() @ v
    After the sink is dropped, the weights are divided by their sum, which undoes it. Leave them as they are.
sink_divided: column = sink[ → column = sink[:] / math.sqrt(q.shape[-1]); column = column[
    The sink is divided by √D. It is a learned number as it stands: divide the products q·k alone.
sink_masked: torch.cat([scores, column], dim=-1) → torch.cat([scores, column.masked_fill(hidden, -math.inf)], dim=-1)
; column = sink → hidden = False if mask is None else ~mask[..., -1:].expand(*scores.shape[:-1], 1); column = sink
    The sink is masked together with the last key, so some rows lose it. It is no key: mask the scores first, then
    join the sink.
sink_as_exponential: column = sink[ → column = sink.log().nan_to_num(nan=-math.inf)[
    The sink is added to the denominator as it stands. It is a logit: e to the sink is added.
exponential_twice: column = sink[ → column = sink.exp()[
    e to the sink is joined to the scores, and the softmax takes e to it once more. Join the sink itself.
maximum_of_scores: torch.cat([scores, column], dim=-1).softmax(-1) → torch.cat([scores, column], dim=-1)
; return weights[..., :-1] @ v → e = (weights - top).exp(); return e[..., :-1] / e.sum(-1, keepdim=True) @ v
; column = sink → top = scores.amax(-1, keepdim=True).detach().clamp(min=-1e30); column = sink
    The largest score is subtracted, but the sink may be larger, and e to the difference overflows. Subtract the largest
    of the scores and the sink, or use softmax.
every_sink: sink[:, None, None].expand(*scores.shape[:-1], 1) → sink.expand(*scores.shape[:-1], -1)
; weights[..., :-1] → weights[..., : k.shape[2]]
    Every head has the sinks of all heads in its denominator. Each has its own: shape it (H, 1, 1).
one_in_denominator: column = sink[ → column = torch.zeros_like(sink)[
    A 1 is added to the denominator whatever the sink is. Add e to the head's sink.
first_head: column = sink[:, None, None] → column = sink[:1, None, None]
    All heads use the first one's sink. Each head has its own: shape it (H, 1, 1).
mean_sink: column = sink[:, None, None] → column = sink.mean(0, keepdim=True)[:, None, None]
    All heads use the mean of the sinks. Each head has its own.
added_to_scores: torch.cat([scores, column], dim=-1) → torch.cat([scores + column, column], dim=-1)
    The sink is added to the head's scores as well. It is an entry of its own beside them.
value_of_last: weights[..., :-1] @ v → weights[..., :-1] @ v + weights[..., -1:] * v[:, :, -1:]
    The sink's weight goes to the last value. It goes nowhere: no value belongs to it.
mean_value: weights[..., :-1] @ v → weights[..., :-1] @ v + weights[..., -1:] * v.mean(2, keepdim=True)
    The sink's weight goes to the mean of the values. It goes nowhere: no value belongs to it.
first_dropped: weights[..., :-1] → weights[..., 1:]
    The first weight is dropped instead of the sink's, so every key meets its neighbor's weight. The sink was joined at
    the end: drop the last.
subtracted: column = sink[ → column = -sink[
    The sink has the wrong sign. A larger sink takes more weight.
unscaled: / math.sqrt(q.shape[-1]) →
    The scores are not divided by √D.
divided_by_size: math.sqrt(q.shape[-1]) → q.shape[-1]
    The scores are divided by D. Divide them by its square root.
scaled_by_values: math.sqrt(q.shape[-1]) → math.sqrt(v.shape[-1])
    The scores are divided by the square root of v's last size. Queries and keys make them grow: use q.shape[-1].
polarity: ~mask → mask
    The mask is read the other way round. True means may look: fill the scores with −∞ where it is False.
mask_ignored: scores.masked_fill(~mask, -math.inf) → scores
    The mask is not used. Fill the scores with −∞ where it is False.
hidden_zero: masked_fill(~mask, -math.inf) → masked_fill(~mask, 0.0)
    Hidden scores are set to 0, and a score of 0 still gets weight. Fill them with −∞.
over_queries: softmax(-1) → softmax(-2)
    The softmax runs over the queries. The weights of each query and its sink sum to 1: the last axis.
overflow: torch.cat([scores, column], dim=-1).softmax(-1) → torch.cat([scores, column], dim=-1).exp()
; return weights[..., :-1] @ v → return (weights / weights.sum(-1, keepdim=True))[..., :-1] @ v
    e to a large score overflows. Use softmax, which subtracts the largest of the scores and the sink first.
""",
)


def _sink(g: Source, H: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return g.randn(H, dtype=dtype) + 0.5


def _by_hand(g: Source) -> Program:
    zeros = lambda T: torch.zeros(1, 1, T, 1)
    return call(zeros(1), zeros(2), torch.tensor([10.0, 30.0]).reshape(1, 1, 2, 1), torch.tensor([math.log(2)]))


def _hidden(g: Source) -> Program:
    mask = g.mask(4, 6)
    mask[1] = False
    mask[2, -1], mask[3, -1] = True, False
    return call(*qkv(g, 4, 6), _sink(g, 3), mask)


def _far(g: Source) -> Program:
    sink = g.randn(3, dtype=torch.float64) + torch.tensor([-900.0, 0.0, 900.0])
    return call(*qkv(g, 3, 4, B=1, dtype=torch.float64), sink, grad=[0, 1, 2, 3])


EXERCISE = Exercise(
    id="gate.sink",
    title="A sink in the denominator",
    points=1,
    difficulty=2,
    minutes=7,
    reference=sinks.sink_attention,
    alternatives=[with_column, with_empty_token, by_logsumexp],
    forbidden=("scaled_dot_product_attention",),
    forbidden_message="Write scores, sink and softmax yourself; the softmax built in is welcome.",
    cases=[
        Case("by hand", "scores 0 and 0, sink ln 2, values 10 and 30: a quarter of each makes 10", _by_hand),
        Case(
            "several heads",
            "two sentences, three heads, T ≠ S, Dv ≠ D",
            lambda g: call(*qkv(g, 4, 6), _sink(g, 3)),
            weight=2,
        ),
        Case("causal", "a causal mask (T, T)", lambda g: call(*qkv(g, 5), _sink(g, 3), torch.ones(5, 5).tril().bool())),
        Case("hidden", "a mask (T, S); one query may look nowhere and gets 0", _hidden, weight=2),
        Case(
            "mask per sentence",
            "a mask (B, 1, T, S)",
            lambda g: call(*qkv(g, 4, 6, H=2, D=6), _sink(g, 2), mask=g.mask(2, 1, 4, 6)),
        ),
        Case(
            "large scores",
            "scores of about 1,000, and sinks as large",
            lambda g: call(*qkv(g, 3, 5, B=1, scale=30.0), 900.0 + 200.0 * g.randn(3)),
        ),
        Case("large sinks", "sinks of about −900, 0 and 900, in float64: gradients stay finite", _far),
        Case(
            "gradients",
            "in float64: gradients reach q, k, v and the sinks",
            lambda g: call(
                *qkv(g, 3, 4, dtype=torch.float64),
                _sink(g, 3, torch.float64),
                mask=torch.ones(3, 4).tril(1).bool(),
                grad=[0, 1, 2, 3],
            ),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
zeros may be subtracted as well
    d1d4dc379d alternative with_empty_token, arithmetic: sink.reshape(1, -1, 1, 1) + torch.zeros_like(scores[..., :1])…
logaddexp is symmetric
    fb5b439a49 alternative by_logsumexp, argument: torch.logaddexp(scores.logsumexp(-1), sink[:, None]): arguments 1 a…
""",
)
