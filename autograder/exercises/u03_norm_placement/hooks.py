"""Norms of the gradients at each layer, collected by hooks."""

import functools
import math
from collections.abc import Callable, Sequence

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Fn, Program, Source, call
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


def _run(names: Sequence[str], *shape: int, dtype: torch.dtype = torch.float32) -> Callable[[Source], Program]:
    return lambda g: call(
        [Fn(n) for n in names], g.randn(*shape, dtype=dtype), grad=[1], cotangent=g.randn(*shape, dtype=dtype)
    )


MISTAKES = changes(
    ref.watch,
    """
appended: norms.append(None) → ; norms[i] = gradient.norm().item() → norms.append(gradient.norm().item())
    The list is in the order in which the hooks ran, which is backwards: the last layer's gradient exists first. Write
    each norm to its layer's entry.
late_binding: , i: int = i →
    All hooks write to one entry. They look at i when they run, and by then the loop has ended; bind it when the hook is
    made, e.g. def hook(g, i=i).
at_inputs: x = layer(x) → ; x.register_hook(hook) → x.register_hook(hook); x = layer(x)
    These are gradients of what enters each layer. Register the hook on what the layer gives, after the call.
not_chained: = [] → = []; total = 0 ; x = layer(x) → y = layer(x)
; x.register_hook(hook) → y.register_hook(hook); total = total + y ; return x → return total
    Every layer gets the first x. Feed each layer with what the one before gave: x = layer(x).
squared: gradient.norm() → gradient.square().sum()
    The squares are summed, but the root is missing. The L2 norm is g.norm().
sum_of_sizes: gradient.norm() → gradient.abs().sum()
    The entries' sizes are added up: that is the L1 norm. The L2 norm, g.norm(), is the root of the sum of squares.
largest: gradient.norm() → gradient.abs().max()
    This is the largest entry. The L2 norm, g.norm(), is the root of the sum of squares of all entries.
root_mean_square: gradient.norm() → gradient.square().mean().sqrt()
    This is the root of the mean square. The L2 norm sums the squares, g.norm(), and does not divide by their
    number.
first_sentence: gradient.norm() → gradient[0].norm()
    Only the first part of the gradient is measured. The norm is taken over all entries: g.norm().
another_graph: x = layer(x) → x, y = layer(x), layer(x) ; x.register_hook(hook) → y.register_hook(hook)
    The hooks sit on other tensors than those that the result is made of, so they never run. Run each layer once,
    and hook what you pass on.
last_skipped: x.register_hook(hook) → if i < len(layers) - 1: x.register_hook(hook)
    The last layer's output has no hook, so its entry stays None. Register one after every call of a layer.
mean_size: gradient.norm() → gradient.abs().mean()
    This is the mean size of an entry. The L2 norm, g.norm(), is the root of the sum of squares.
activations: norms.append(None) → norms.append(x.norm().item()) ; x.register_hook(hook) →
    These are norms of the layers' outputs. The gradient comes later, in the backward pass: only a hook sees it.
hook_returns: norms[i] = gradient.norm().item() → norms[i] = gradient.norm().item(); return gradient / gradient.norm()
    The hook returns something, and torch uses that in place of the gradient. A hook that only listens returns
    nothing.
nothing_heard: x.register_hook(hook) →
    The entries are still None after the backward pass: no hook has written to them. x.grad is empty for what is
    computed on the way; register a hook on it.
tensors: gradient.norm().item() → gradient.norm()
    The entries are tensors. Floats are asked for: gradient.norm().item().
gradients_themselves: gradient.norm().item() → gradient.clone()
    The entries are whole gradients. Store their length, a float: gradient.norm().item().
mean_over_tokens: gradient.norm() → gradient.norm(dim=-1).mean()
    This is the mean of the tokens' lengths. The norm is taken over all entries at once: gradient.norm().
sum_over_tokens: gradient.norm() → gradient.norm(dim=-1).sum()
    The tokens' lengths are added up. The norm is taken over all entries at once: gradient.norm().
sum: gradient.norm() → gradient.sum()
    The entries are added up with their signs. The L2 norm, gradient.norm(), is the root of the sum of squares.
spread: gradient.norm() → gradient.std()
    This is the standard deviation of the entries. The L2 norm, gradient.norm(), is the root of the sum of squares.
appended_to_nones: norms[i] = gradient.norm().item() → norms.append(gradient.norm().item())
    The list grows behind its len(layers) Nones, last layer first. Write each norm to its layer's entry: norms[i] = ….
inserted_into_nones: norms[i] = gradient.norm().item() → norms.insert(0, gradient.norm().item())
    The list grows in front of its len(layers) Nones. Write each norm to its layer's entry: norms[i] = ….
""",
)

# Sums over many numbers in another order differ by more than a few rounding steps.
EXERCISE = Exercise(
    id="placement.hooks",
    title="Listen to the gradient",
    points=2,
    difficulty=3,
    minutes=15,
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
    mutants=MISTAKES,
)
