"""Norms of the gradients at each layer, collected by hooks."""

import functools
import math
from collections.abc import Callable, Sequence

import torch

from autograder.judge.spec import Case, Exercise, Fn, Mutant, Program, Source, call
from autograder.reference import residual as ref


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


def for_the_sum(layers, x):
    """Runs the layers twice: the hooks sit on a copy of the graph that nobody goes back through."""
    norms = ref.watch(layers, x)[1]
    for layer in layers:
        x = layer(x)
    return x, norms


def last_skipped(layers, x):
    norms = [None] * len(layers)
    for i, layer in enumerate(layers):
        if i > 0:
            x.register_hook(functools.partial(lambda i, g: norms.__setitem__(i - 1, g.norm().item()), i))
        x = layer(x)
    return x, norms


def _run(names: Sequence[str], *shape: int, dtype: torch.dtype = torch.float32) -> Callable[[Source], Program]:
    return lambda g: call(
        [Fn(n) for n in names], g.randn(*shape, dtype=dtype), grad=[1], cotangent=g.randn(*shape, dtype=dtype)
    )


def appended_to_nones(layers, x):
    norms = [None] * len(layers)
    for layer in layers:
        x = layer(x)
        x.register_hook(lambda g: norms.append(g.norm().item()))
    return x, norms


def inserted_into_nones(layers, x):
    norms = [None] * len(layers)
    for layer in layers:
        x = layer(x)
        x.register_hook(lambda g: norms.insert(0, g.norm().item()))
    return x, norms


def _kept(keep):
    """The hooks store what ``keep`` makes of the gradient."""

    def wrong(layers, x):
        norms = [None] * len(layers)
        for i, layer in enumerate(layers):
            x = layer(x)
            x.register_hook(functools.partial(lambda i, g: norms.__setitem__(i, keep(g)), i))
        return x, norms

    return wrong


# Sums over many numbers in another order differ by more than a few rounding steps.
EXERCISE = Exercise(
    id="placement.hooks",
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
            "five layers in float64, two of them the same function",
            _run(("tanh", "sin", "sigmoid", "sin", "square"), 1, 4, 3, dtype=torch.float64),
            rtol=1e-9,
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
            "sum_of_sizes",
            _measured(lambda g: g.abs().sum()),
            "The entries' sizes are added up: that is the L1 norm. The L2 norm, g.norm(), is the root of the sum of "
            "squares.",
        ),
        Mutant(
            "largest",
            _measured(lambda g: g.abs().max()),
            "This is the largest entry. The L2 norm, g.norm(), is the root of the sum of squares of all entries.",
        ),
        Mutant(
            "root_mean_square",
            _measured(lambda g: g.square().mean().sqrt()),
            "This is the root of the mean square. The L2 norm sums the squares, g.norm(), and does not divide by "
            "their number.",
        ),
        Mutant(
            "first_sentence",
            _measured(lambda g: g[0].norm()),
            "Only the first part of the gradient is measured. The norm is taken over all entries: g.norm().",
        ),
        Mutant(
            "another_graph",
            for_the_sum,
            "The hooks sit on other tensors than those that the result is made of, so they never run. Run each layer "
            "once, and hook what you pass on.",
        ),
        Mutant(
            "last_skipped",
            last_skipped,
            "The last layer's output has no hook, so its entry stays None. Register one after every call of a layer.",
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
        Mutant(
            "tensors",
            _kept(lambda g: g.norm()),
            "The entries are tensors. Floats are asked for: gradient.norm().item().",
        ),
        Mutant(
            "gradients_themselves",
            _kept(lambda g: g.clone()),
            "The entries are whole gradients. Store their length, a float: gradient.norm().item().",
        ),
        Mutant(
            "mean_over_tokens",
            _measured(lambda g: g.norm(dim=-1).mean()),
            "This is the mean of the tokens' lengths. The norm is taken over all entries at once: gradient.norm().",
        ),
        Mutant(
            "sum_over_tokens",
            _measured(lambda g: g.norm(dim=-1).sum()),
            "The tokens' lengths are added up. The norm is taken over all entries at once: gradient.norm().",
        ),
        Mutant(
            "sum",
            _measured(lambda g: g.sum()),
            "The entries are added up with their signs. The L2 norm, gradient.norm(), is the root of the sum of "
            "squares.",
        ),
        Mutant(
            "spread",
            _measured(lambda g: g.std()),
            "This is the standard deviation of the entries. The L2 norm, gradient.norm(), is the root of the sum of "
            "squares.",
        ),
        Mutant(
            "appended_to_nones",
            appended_to_nones,
            "The list grows behind its len(layers) Nones, last layer first. Write each norm to its layer's place: "
            "norms[i] = ….",
        ),
        Mutant(
            "inserted_into_nones",
            inserted_into_nones,
            "The list grows in front of its len(layers) Nones. Write each norm to its layer's place: norms[i] = ….",
        ),
    ],
)
