"""Gradients per layer by hooks, and the trend of a measurement against depth."""

import functools
import math

import torch

from autograder.judge.spec import Case, Exercise, Fn, Mutant, call
from autograder.reference import residual as ref

UNIT = "03-norm-placement"


# --- hooks ---------------------------------------------------------------------------------------------------------
def at_the_front(layers, x):
    """The last layer's hook runs first, so each number goes to the front."""
    norms = []
    for layer in layers:
        x = layer(x)
        x.register_hook(lambda g: norms.insert(0, g.norm().item()))
    return x, norms


def _keep(norms, i, g):
    norms[i] = math.sqrt(g.square().sum().item())


def by_partial(layers, x):
    """The place bound by functools.partial."""
    norms = [None] * len(layers)
    for i, layer in enumerate(layers):
        x = layer(x)
        x.register_hook(functools.partial(_keep, norms, i))
    return x, norms


def appended(layers, x):
    norms = []
    for layer in layers:
        x = layer(x)
        x.register_hook(lambda g: norms.append(g.norm().item()))
    return x, norms


def late_binding(layers, x):
    norms = [None] * len(layers)
    for i, layer in enumerate(layers):
        x = layer(x)
        x.register_hook(lambda g: norms.__setitem__(i, g.norm().item()))  # noqa: B023  the mistake itself
    return x, norms


def at_inputs(layers, x):
    norms = [None] * len(layers)
    for i, layer in enumerate(layers):
        x.register_hook(functools.partial(lambda i, g: norms.__setitem__(i, g.norm().item()), i))
        x = layer(x)
    return x, norms


def not_chained(layers, x):
    norms = [None] * len(layers)
    total = 0
    for i, layer in enumerate(layers):
        y = layer(x)
        y.register_hook(functools.partial(lambda i, g: norms.__setitem__(i, g.norm().item()), i))
        total = total + y
    return total, norms


def _measured(size):
    def wrong(layers, x):
        norms = [None] * len(layers)
        for i, layer in enumerate(layers):
            x = layer(x)
            x.register_hook(functools.partial(lambda i, g: norms.__setitem__(i, size(g).item()), i))
        return x, norms

    return wrong


def activations(layers, x):
    norms = []
    for layer in layers:
        x = layer(x)
        norms.append(x.norm().item())
    return x, norms


def hook_returns(layers, x):
    norms = [None] * len(layers)
    for i, layer in enumerate(layers):
        x = layer(x)

        def hook(g, i=i):
            norms[i] = g.norm().item()
            return g / g.norm()

        x.register_hook(hook)
    return x, norms


def _run(names, *shape):
    return lambda g: call([Fn(n) for n in names], g.randn(*shape), grad=[1], cotangent=g.randn(*shape))


# Sums over many numbers in another order differ by more than a few rounding steps.
HOOKS = Exercise(
    id="placement.hooks",
    unit=UNIT,
    title="Listen to the gradient",
    points=2,
    difficulty=3,
    minutes=15,
    signature="watch(layers, x)",
    reference=ref.watch,
    alternatives=[at_the_front, by_partial],
    cases=[
        Case(
            "by hand",
            "from 3 and 4 through identity and square: gradients (6, 8) and (1, 1), norms 10 and 1.414",
            lambda g: call(
                [Fn("identity"), Fn("square")], torch.tensor([3.0, 4.0]), grad=[1], cotangent=torch.tensor([1.0, 1.0])
            ),
            rtol=1e-4,
        ),
        Case("three layers", "sin, square and tanh on (2, 3, 5)", _run(("sin", "square", "tanh"), 2, 3, 5), rtol=1e-4),
        Case(
            "five layers",
            "five layers, two of them the same function",
            _run(("tanh", "sin", "sigmoid", "sin", "square"), 1, 4, 3),
            rtol=1e-4,
        ),
        Case(
            "one layer",
            "a single layer: its gradient is the one that arrives from outside",
            _run(("sin",), 2, 3),
            rtol=1e-4,
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "appended",
            appended,
            "The list is in the order in which the hooks ran, which is backwards: the last layer's gradient exists "
            "first. Write each norm to its layer's place.",
        ),
        Mutant(
            "late_binding",
            late_binding,
            "All hooks write to one place. They look at i when they run, and by then the loop has ended; bind it "
            "when the hook is made, e.g. def hook(g, i=i).",
        ),
        Mutant(
            "at_inputs",
            at_inputs,
            "These are gradients of what enters each layer. Register the hook on what the layer gives, after the call.",
        ),
        Mutant(
            "not_chained",
            not_chained,
            "Every layer gets the first x. Feed each layer with what the one before gave: x = layer(x).",
        ),
        Mutant(
            "squared",
            _measured(lambda g: g.square().sum()),
            "The squares are summed, but the root is missing. The L2 norm is g.norm().",
        ),
        Mutant(
            "mean_size",
            _measured(lambda g: g.abs().mean()),
            "This is the mean size of an entry. The L2 norm, g.norm(), is the root of the sum of squares.",
        ),
        Mutant(
            "activations",
            activations,
            "These are norms of the layers' outputs. The gradient comes later, in the backward pass: only a hook "
            "sees it.",
        ),
        Mutant(
            "hook_returns",
            hook_returns,
            "The hook returns something, and torch uses that in place of the gradient. A hook that only listens "
            "returns nothing.",
        ),
        Mutant(
            "nothing_heard",
            lambda layers, x: (ref.watch(layers, x)[0], [None] * len(layers)),
            "The entries are still None after the backward pass: no hook has written to them. x.grad is empty for "
            "what is computed on the way; register a hook on it.",
        ),
    ],
)


# --- trend ---------------------------------------------------------------------------------------------------------
def exponent_by_sums(depths, norms):
    """Least squares by the normal equations."""
    xs, ys = [math.log10(n) for n in depths], [math.log10(v) for v in norms]
    n, sx, sy = len(xs), sum(xs), sum(ys)
    sxy, sxx = sum(x * y for x, y in zip(xs, ys, strict=True)), sum(x * x for x in xs)
    return (n * sxy - sx * sy) / (n * sxx - sx * sx)


def trend_by_list(depths, norms):
    """The word by a lookup."""
    slope = exponent_by_sums(depths, norms)
    return ["falls", "flat", "rises"][(slope >= -0.25) + (slope > 0.25)]


def _slope(fx, fy):
    def fitted(depths, norms):
        x = torch.tensor([fx(v) for v in depths], dtype=torch.float64)
        y = torch.tensor([fy(v) for v in norms], dtype=torch.float64)
        x, y = x - x.mean(), y - y.mean()
        return float((x @ y) / (x @ x))

    return fitted


def _word(slope):
    def trend(depths, norms):
        s = slope(depths, norms)
        return "falls" if s < -0.25 else "rises" if s > 0.25 else "flat"

    return trend


def _with(slope):
    return slope, _word(slope)


same = lambda v: v
ends = lambda depths, norms: math.log(norms[-1] / norms[0]) / math.log(depths[-1] / depths[0])
other_way = lambda depths, norms: _slope(math.log, math.log)(norms, depths)
no_mean = lambda depths, norms: (
    sum(math.log(n) * math.log(v) for n, v in zip(depths, norms, strict=True)) / sum(math.log(n) ** 2 for n in depths)
)


def _power(low, high, noise=0.05):
    """Norms that follow depth^p with a few percent of noise, p between low and high."""

    def numbers(g):
        depths = [6, 12, 24, 48, 96]
        p, c = g.number(low, high), g.number(2.0, 3.0)
        return depths, [round(c * n**p * (1 + g.number(-noise, noise)), 6) for n in depths]

    return numbers


def _case(fn, numbers):
    return lambda g: call(*numbers(g), fn=fn)


TREND = Exercise(
    id="placement.trend",
    unit=UNIT,
    title="What is the trend?",
    points=2,
    difficulty=2,
    minutes=10,
    signature="exponent(depths, norms)",
    targets=("exponent", "trend"),
    reference=(ref.exponent, ref.trend),
    alternatives=[(exponent_by_sums, trend_by_list)],
    cases=[
        Case(
            "by hand",
            "1, 0.5 and 0.25 at depths 4, 16 and 64: the depth grows fourfold, the norm halves: −0.5",
            lambda g: call([4, 16, 64], [1.0, 0.5, 0.25]),
            rtol=1e-4,
        ),
        Case("word by hand", "the same numbers fall", lambda g: call([4, 16, 64], [1.0, 0.5, 0.25], fn="trend")),
        Case("falls", "about 1/√depth with noise falls", _case("trend", _power(-0.7, -0.4))),
        Case("flat", "noise of a few percent, and nothing else, is flat", _case("trend", _power(-0.05, 0.05))),
        Case("rises", "about √depth with noise rises", _case("trend", _power(0.4, 0.7))),
        Case("exponent", "a noisy power of the depth, five depths", _case(None, _power(-0.9, -0.6, 0.3)), rtol=1e-4),
        Case(
            "uneven depths",
            "four depths that are not powers of each other",
            lambda g: call([5, 7, 20, 33], [round(g.number(2.0, 3.5) / n**0.8, 5) for n in (5, 7, 20, 33)]),
            rtol=1e-4,
        ),
    ],
    mutants=[
        Mutant(
            "no_logarithms",
            _with(_slope(same, same)),
            "This is the slope of the bare numbers, and it depends on their units. Take logarithms of depths and "
            "norms first.",
        ),
        Mutant(
            "one_logarithm",
            _with(_slope(math.log, same)),
            "Only the depths are on a logarithmic axis. Take the logarithm of the norms too.",
        ),
        Mutant(
            "norms_only",
            _with(_slope(same, math.log)),
            "Only the norms are on a logarithmic axis. Take the logarithm of the depths too.",
        ),
        Mutant(
            "ends_only",
            _with(ends),
            "Only the first and the last depth count here. A least-squares line uses all of them, so that one noisy "
            "value matters less.",
        ),
        Mutant(
            "axes_exchanged",
            _with(other_way),
            "The line is fitted with depth as a function of the norm. Divide by the spread of the depths: Σxy / Σx² "
            "with x from the depths.",
        ),
        Mutant(
            "not_centered",
            _with(no_mean),
            "The means are not subtracted, so the line is forced through the origin. Center both lists first.",
        ),
        Mutant(
            "words_exchanged",
            (
                ref.exponent,
                lambda depths, norms: {"falls": "rises", "rises": "falls", "flat": "flat"}[ref.trend(depths, norms)],
            ),
            "The words are exchanged. A negative exponent means that the norm falls with depth.",
        ),
        Mutant(
            "never_flat",
            (ref.exponent, lambda depths, norms: "falls" if ref.exponent(depths, norms) < 0 else "rises"),
            "Nothing is ever flat here. Noise alone gives small exponents: from −0.25 to 0.25 the answer is flat.",
        ),
    ],
)

EXERCISES = [HOOKS, TREND]
