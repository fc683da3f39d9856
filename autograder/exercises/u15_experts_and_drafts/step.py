"""Weights of the wide road, and one step on it."""

from typing import Any

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Fn, Program, Source, call
from autograder.reference import wide_residual


def weights_by_parts(streams, weight, bias, scale, rounds=20, eps=1e-6):
    """Three products instead of one."""
    n = streams.shape[2]
    x = streams.reshape(*streams.shape[:2], -1)
    x = x / (x.square().mean(-1, keepdim=True) + eps).sqrt()
    read, write, mix = (
        torch.einsum("bti,oi->bto", x, weight[a:b]) * s + bias[a:b]
        for (a, b), s in zip(((0, n), (n, 2 * n), (2 * n, 2 * n + n * n)), scale, strict=True)
    )
    mix = wide_residual.doubly_stochastic(mix.reshape(*mix.shape[:2], n, n), rounds)
    return torch.sigmoid(read), torch.sigmoid(write) * 2, mix


def step_by_streams(streams, layer, read, write, mix):
    """One new stream after the other."""
    n = streams.shape[2]
    y = layer(torch.einsum("btn,btnd->btd", read, streams))
    new = [sum(mix[..., i, j, None] * streams[:, :, i] for i in range(n)) + write[..., j, None] * y for j in range(n)]
    return torch.stack(new, dim=2)


def _road(g: Source, B: int, T: int, n: int, d: int, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    k = 2 * n + n * n
    draw = lambda *shape: g.randn(*shape, **kwargs)
    return draw(B, T, n, d) * 2, draw(k, n * d) / (n * d) ** 0.5, draw(k), g.uniform(3, low=0.3, high=1.5, **kwargs)


def _step(g: Source, layer: str, B: int, T: int, n: int, d: int, grad: bool = False, **kwargs: Any) -> Program:
    streams = g.randn(B, T, n, d, **kwargs)
    read, write = (g.uniform(B, T, n, **kwargs) for _ in range(2))
    mix = wide_residual.doubly_stochastic(g.randn(B, T, n, n, **kwargs))
    wanted = [0, 2, 3, 4] if grad else None
    return call(streams, Fn(layer), read, write, mix, fn="wide_step", grad=wanted)


def _by_hand(g: Source) -> Program:
    streams = torch.tensor([1.0, 3.0]).reshape(1, 1, 2, 1)
    mix = torch.tensor([[0.75, 0.25], [0.25, 0.75]]).reshape(1, 1, 2, 2)
    read, write = torch.tensor([[[0.5, 0.5]]]), torch.tensor([[[1.0, 2.0]]])
    return call(streams, Fn("square"), read, write, mix, fn="wide_step")


MISTAKES = changes(
    (wide_residual.road_weights, wide_residual.wide_step),
    """
not_transposed: mix.mT @ streams → mix @ streams
    mix is used the other way round. mix[i, j] says how much of stream i goes to stream j: sum over its rows, mix.mT @
    streams.
no_mix: mix.mT @ streams → streams
    The streams are not mixed. New stream j is the sum of mix[i, j] times stream i, plus what the layer writes.
no_residual: return mix.mT @ streams + write → return write
    The old streams are lost. Add the mixed streams to what the layer writes.
write_lost: write[..., None] * y[..., None, :] → y[..., None, :]
    Every stream gets the whole output. Multiply it by the stream's own entry of write.
read_lost: (read[..., None] * streams).sum(-2) → streams.sum(-2)
    The streams are added to make the layer's input. Multiply each by its entry of read first.
read_averaged: (read[..., None] * streams).sum(-2) → (read[..., None] * streams).mean(-2)
    The layer's input is a mean of the streams. Add them, each times its entry of read.
layer_reads_mixed: y = layer((read[..., None] * streams) → y = layer((read[..., None] * (mix.mT @ streams))
    The layer reads streams that are mixed already. It reads those that came in.
written_first: mix.mT @ streams + write → mix.mT @ (streams + write ; y[..., None, :] → y[..., None, :])
    What the layer writes is mixed, too. Mix the old streams alone, then add what it writes.
layer_each: layer((read[..., None] * streams).sum(-2)) → (read[..., None] * layer(streams)).sum(-2)
    The layer reads each stream by itself. It reads one input, the sum of the streams times read.
residual_inside: y = layer((read[..., None] * streams).sum(-2)) → y = layer(x := (read[..., None] * streams).sum(2)) + x
    The layer's input is added to its output. The old streams are carried on by mix alone.
exchanged_weights: (read[..., None] * streams) → (write[..., None] * streams) ; + write[..., None] → + read[..., None]
    read and write are exchanged in the step.
write_not_doubled: 2 * write.sigmoid() → write.sigmoid()
    write is a sigmoid, between 0 and 1. It is twice that, so that a stream can get the whole output: 1 lies in the
    middle.
read_softmax: read.sigmoid() → read.softmax(-1)
    read is a softmax. It is a sigmoid of each number.
read_raw: return read.sigmoid() → return read
    read has no sigmoid.
mix_raw: doubly_stochastic(mix.unflatten(-1, (n, n)), rounds) → mix.unflatten(-1, (n, n))
    mix is not doubly stochastic. Apply your function to it.
mix_softmax: doubly_stochastic(mix.unflatten(-1, (n, n)), rounds) → mix.unflatten(-1, (n, n)).softmax(-1)
    Only the rows of mix sum to 1. Apply doubly_stochastic.
mix_transposed: mix.unflatten(-1, (n, n)) → mix.unflatten(-1, (n, n)).mT
    The n² numbers fill mix column by column. They are its rows, one after the other.
rounds_lost: (n, n)), rounds) → (n, n)))
    rounds is not handed on to doubly_stochastic.
not_normed: flat * torch.rsqrt(flat.pow(2).mean(-1, keepdim=True) + eps) → flat
    The streams are not divided by their root mean square before the matrix.
each_normed: streams.flatten(2) → (streams * torch.rsqrt(streams.pow(2).mean(-1, keepdim=True) + eps)).flatten(2)
    Each stream is divided by its own root mean square. All n · d numbers of a token have one in common.
eps_outside: torch.rsqrt(flat → 1 / (flat ; keepdim=True) + eps) → keepdim=True).sqrt() + eps)
    eps is added to the root. It stands inside: √(mean square + eps).
norm_summed: flat.pow(2).mean(-1, keepdim=True) → flat.pow(2).sum(-1, keepdim=True)
    The streams are divided by their length. Take the mean of the squares, not the sum.
bias_scaled: part * s + b → (part + b) * s
    The bias is multiplied by the scale, too. First the scale, then the bias.
one_scale: part * s + b → part * scale[0] + b
    All three parts use the first scale. Each has its own.
scale_lost: part * s + b → part + b
    The three scales are not used. Multiply each part by its own before the bias.
bias_lost: part * s + b → part * s
    The bias is not added.
order: split([n, n, n * n], -1) → split([n, n, n * n], -1)[::-1]
; bias.split([n, n, n * n]) → bias.split([n, n, n * n])[::-1]
; read, write, mix = (part * s + b for part, b, s in parts) → mix, write, read = (part * s + b for part, b, s in parts)
    Each part meets the wrong scale. The order is read, write, mix, for the scales too.
""",
)

EXERCISE = Exercise(
    id="streams.step",
    title="One step on the wide road",
    points=3,
    difficulty=4,
    minutes=16,
    extension=True,
    reference=(wide_residual.road_weights, wide_residual.wide_step),
    alternatives=[(weights_by_parts, step_by_streams)],
    cases=[
        Case("step by hand", "streams 1 and 3, read at a half each; the layer squares its input", _by_hand),
        Case(
            "weights",
            "two texts of three tokens, three streams of four numbers",
            lambda g: call(*_road(g, 2, 3, 3, 4)),
            weight=2,
        ),
        Case(
            "few rounds",
            "two streams, two rounds and a large eps, in float64",
            lambda g: call(*_road(g, 1, 4, 2, 3, dtype=torch.float64), rounds=2, eps=g.number(0.3, 0.9)),
        ),
        Case("step", "four streams of five numbers", lambda g: _step(g, "sin", 2, 3, 4, 5), weight=2),
        Case("another layer", "three streams, in float64", lambda g: _step(g, "tanh", 1, 4, 3, 2, dtype=torch.float64)),
        Case(
            "gradients",
            "gradients of the weights, and of a step, in float64",
            lambda g: call(*_road(g, 2, 2, 2, 3, dtype=torch.float64), grad=[0, 1, 2, 3]),
        ),
        Case(
            "gradients of a step",
            "gradients reach the streams, read, write and mix, in float64",
            lambda g: _step(g, "sin", 2, 2, 3, 4, grad=True, dtype=torch.float64),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
equal in value: it divides evenly, has one axis, has converged, or is converted anyway
    bd7344ee23 solution, default: rounds=20 → 21
    43652fcad6 solution, default: rounds=20 → 40
    ef0b1dd5dd solution, argument: zip(made, scale, bias.split([n, n, n * n])): arguments 1 and 2 swapped
    cce495bf55 alternative (weights_by_parts, step_by_streams), default: rounds=20 → 21
    f79d4bef60 alternative (weights_by_parts, step_by_streams), default: rounds=20 → 40
    143a4fadf7 alternative (weights_by_parts, step_by_streams), constant: 20 → 19 in streams, weight, bias, scale, rou…
    82d7bbe0bf alternative (weights_by_parts, step_by_streams), keyword: zip(((0, n), (n, 2 * n), (2 * n, 2 * n + n * …
    f640d600cf alternative (weights_by_parts, step_by_streams), constant: 2 → 3 in 2 * n
    1bb6d7e747 alternative (weights_by_parts, step_by_streams), constant: 2 → 4 in 2 * n
both have one entry per turn, so there is nothing to refuse
    0b423dc9ff alternative (weights_by_parts, step_by_streams), flag: True → False in strict=True
the order of the loop changes nothing, since each turn is on its own or makes the same step
    3fe42cc1e4 alternative (weights_by_parts, step_by_streams), reversed: range(n) reversed
""",
)
