"""Gradients of attention, block by block, from what the forward pass kept."""

import math

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import online_softmax

from .shared import qkv


def recomputed(q, k, v, out, lse, d_out, block):
    """As in the solution."""
    root, dq, dk, dv = math.sqrt(q.shape[-1]), torch.zeros_like(q), [], []
    mean = (d_out * out).sum(-1, keepdim=True)
    for keys, values in zip(k.split(block, -2), v.split(block, -2), strict=True):
        weights = (q @ keys.mT / root - lse[..., None]).exp()
        d_scores = weights * (d_out @ values.mT - mean) / root
        dq = dq + d_scores @ keys
        dk.append(d_scores.mT @ q)
        dv.append(weights.mT @ d_out)
    return dq, torch.cat(dk, -2), torch.cat(dv, -2)


def by_einsum(q, k, v, out, lse, d_out, block):
    """Writes into slices of results made at the start."""
    dq, dk, dv = (torch.zeros(t.shape, dtype=t.dtype) for t in (q, k, v))
    scale = q.shape[-1] ** -0.5
    for s in range(0, k.shape[-2], block):
        part = slice(s, s + block)
        w = torch.exp(torch.einsum("...td,...sd->...ts", q, k[..., part, :]) * scale - lse.unsqueeze(-1))
        dv[..., part, :] = torch.einsum("...ts,...te->...se", w, d_out)
        dw = torch.einsum("...te,...se->...ts", d_out, v[..., part, :])
        ds = w * (dw - torch.einsum("...te,...te->...t", d_out, out).unsqueeze(-1))
        dq += torch.einsum("...ts,...sd->...td", ds, k[..., part, :]) * scale
        dk[..., part, :] = torch.einsum("...ts,...td->...sd", ds, q) * scale
    return dq, dk, dv


def _dense(q, k, v, out, lse, d_out, block):
    return recomputed(q, k, v, out, lse, d_out, k.shape[-2])


MISTAKES = [
    Mutant(
        "dense",
        _dense,
        "The numbers are right, but all T × S weights are made at once. Loop over the keys, block by block, as in the "
        "forward pass.",
    ),
    *changes(
        recomputed,
        """
no_mean: (d_out @ values.mT - mean) → (d_out @ values.mT)
    The softmax's own derivative is missing: every weight lowers the others. Subtract the row's sum of d_out · out.
mean_of_values: mean = (d_out * out).sum(-1, keepdim=True) → mean = (d_out * out).mean(-1, keepdim=True)
    The mean of d_out · out is subtracted. It is the sum over the Dv numbers: a product of two vectors.
mean_of_the_block: d_scores = weights → d_weights = d_out @ values.mT; d_scores = weights
; (d_out @ values.mT - mean) → (d_weights - (weights * d_weights).sum(-1, keepdim=True))
    The row's sum is taken over the block alone. It belongs to all keys, and d_out · out gives it before the loop.
mean_of_d_out: mean = (d_out * out).sum(-1, keepdim=True) → mean = d_out.sum(-1, keepdim=True)
    The sum of d_out alone is subtracted. It is the product of d_out with the result.
block_softmax: (q @ keys.mT / root - lse[..., None]).exp() → (q @ keys.mT / root).softmax(-1)
    The weights are a softmax over one block, so they are too large. With the lse of all keys, a weight is e to (score −
    lse).
lse_of_the_block: lse[..., None]).exp() → (q @ keys.mT / root).amax(-1, keepdim=True)).exp()
    The block's maximum is subtracted instead of the lse, so the weights do not sum to 1 over all keys.
unscaled_scores: q @ keys.mT / root - → q @ keys.mT -
    The scores are recomputed without the division by √D, so they do not belong to the lse.
unscaled_gradient: (d_out @ values.mT - mean) / root → (d_out @ values.mT - mean)
    The gradients of q and k lack the factor 1/√D. The scores were divided by it, so their derivative is, too.
weights_missing: d_scores = weights * (d_out → d_scores = (d_out
    The derivative of the scores lacks the weights. It is weight times (d_out · v − the row's sum).
dq_of_last: dq = dq + d_scores @ keys → dq = d_scores @ keys
    Only the last block's part of the queries' gradient is returned. Every block adds to it.
exchanged: dk.append(d_scores.mT @ q) → dk.append(d_scores.mT @ d_out[..., : q.shape[-1]])
    The keys' gradient is mixed from d_out. It is mixed from the queries.
dv_by_scores: dv.append(weights.mT @ d_out) → dv.append(d_scores.mT @ d_out)
    The values' gradient is mixed by the derivative of the scores. It is mixed by the weights.
dv_by_out: dv.append(weights.mT @ d_out) → dv.append(weights.mT @ out)
    The values' gradient is mixed from the result. It is mixed from d_out.
sum_over_keys: (d_out * out).sum(-1, keepdim=True) → (d_out * out).sum((-2, -1), keepdim=True)
    One number is subtracted for the whole text. Each query has its own: sum over the last axis alone.
negative: d_scores = weights → d_scores = -weights
    The gradients of q and k have the wrong sign. It is d_out · v minus the row's sum.
order: return dq, torch.cat(dk, -2), torch.cat(dv, -2) → return dq, torch.cat(dv, -2), torch.cat(dk, -2)
    The gradients of k and v are exchanged. Return them in the order q, k, v.
""",
    ),
]


def _given(
    g: Source, T: int, S: int, dtype: torch.dtype = torch.float32, B: int = 2, H: int = 3, D: int = 4, Dv: int = 5
) -> tuple[Tensor, ...]:
    """q, k, v, the result, the lse, and a gradient of the result."""
    q, k, v = qkv(g, T, S, B=B, H=H, D=D, Dv=Dv, dtype=dtype)
    out, lse = online_softmax.attention_in_blocks(q, k, v, 512)
    return q, k, v, out, lse, g.randn(*out.shape, dtype=dtype)


def _by_hand(g: Source) -> Program:
    number = lambda *x: torch.tensor(x).reshape(1, -1, 1)
    return call(
        number(1.0),
        number(0.0, math.log(3)),
        number(0.0, 4.0),
        number(3.0),
        torch.tensor([[math.log(4)]]),
        number(1.0),
        1,
    )


def _counted(g: Source) -> Program:
    """A block of weights has 2,048 numbers, all of them 16,384."""
    return call(*_given(g, 128, 128, B=1, H=1, D=8, Dv=8), 16).within(
        largest=6_000, because="a block of 16 keys has 2,048 weights"
    )


def _long(g: Source) -> Program:
    n = g.size(shown=40, graded=3_000)
    return call(*_given(g, n, n, B=1, H=1, D=4, Dv=2), 512)


EXERCISE = Exercise(
    id="tiles.backward",
    title="Backward by recomputing",
    points=3,
    difficulty=4,
    minutes=20,
    extension=True,
    reference=online_softmax.attention_backward,
    alternatives=[recomputed, by_einsum],
    forbidden=("autograd", "scaled_dot_product_attention"),
    forbidden_message="Write the derivative by hand.",
    cases=[
        Case("by hand", "weights 1/4 and 3/4, values 0 and 4: the scores' gradients are −0.75 and 0.75", _by_hand),
        Case(
            "blocks of 2",
            "six keys in three blocks, two sentences, three heads",
            lambda g: call(*_given(g, 4, 6), 2),
            weight=2,
        ),
        Case("a short last block", "seven keys in blocks of 3", lambda g: call(*_given(g, 5, 7), 3), weight=2),
        Case("one block", "blocks longer than the text, T = 1", lambda g: call(*_given(g, 1, 5, B=1), 64)),
        Case("float64", "blocks of 1, in float64", lambda g: call(*_given(g, 3, 4, torch.float64), 1)),
        Case("cost", "128 keys in blocks of 16: no tensor has 6,000 numbers or more", _counted, weight=3),
        Case("long text", "as many as 3,000 tokens in grading, in blocks of 512 keys", _long),
    ],
    mutants=MISTAKES,
    unasked="""
its results are gradients already, and gradients of gradients are not asked for
    gradient of attention_backward
""",
    equivalent="""
gradients of these gradients are not asked for
    9d4b8afb07 solution, result: return (dq, torch.cat(dk, -2), torch.cat(dv, -2)): result detach
    2aa68b236b alternative recomputed, result: return (dq, torch.cat(dk, -2), torch.cat(dv, -2)): result detach
    9daff52c60 alternative by_einsum, result: return (dq, dk, dv): result detach
keys and values are cut alike
    020b0dd6d4 alternative recomputed, keyword: zip(k.split(block, -2), v.split(block, -2), strict=True) without stric…
a block that starts behind the end is empty
    656b6702de alternative by_einsum, window: k.shape[-2] + 1 in range(0, k.shape[-2], block)
a product of two vectors is symmetric
    7a3e45c912 alternative by_einsum, argument: torch.einsum('...te,...te->...t', d_out, out): arguments 2 and 3 swapp…
blocks of one key are right too, and hold the fewest weights
    6d32c90aa0 solution, ignored: attention_backward: block is always ones
    a0da906be9 alternative recomputed, ignored: recomputed: block is always ones
    be7c3d6ec5 alternative by_einsum, ignored: by_einsum: block is always ones
all parts are cut alike, so they are equally many
    0201eaa95b solution, keyword: zip(k.split(block, -2), v.split(block, -2), strict=True) without strict=True
    42bff3ee40 solution, flag: True → False in strict=True
    13bee842fc alternative recomputed, flag: True → False in strict=True
sums and single entries do not depend on the order
    e3b0758942 alternative by_einsum, reversed: range(0, k.shape[-2], block) reversed
""",
)
