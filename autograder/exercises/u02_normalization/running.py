"""Batch norm with running statistics, in training and after."""

from typing import Any

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Ref, Source, call

from .shared import BUILT_IN, image, t


def shape_of(x):
    return (-1,) + (1,) * (x.ndim - 2)


def batch_norm_step(x, mean, variance, training, momentum=0.1, eps=1e-5):
    """The reference: (y, mean, variance), nothing changed in place."""
    axes = (0, *range(2, x.ndim))
    if training:
        now, spread = x.mean(axes), x.var(axes, correction=0)
        n = x.numel() // x.shape[1]
        kept = (1 - momentum) * mean + momentum * now, (1 - momentum) * variance + momentum * spread * n / (n - 1)
    else:
        now, spread, kept = mean, variance, (mean, variance)
    shape = shape_of(x)
    return (x - now.view(shape)) / torch.sqrt(spread.view(shape) + eps), *kept


def by_channel(x, mean, variance, training, momentum=0.1, eps=1e-5):
    out, means, variances = [], [], []
    for c in range(x.shape[1]):
        row, m, v = x[:, c], mean[c], variance[c]
        if training:
            m, v = row.mean(), ((row - row.mean()) ** 2).mean()
            n = row.numel()
            means.append(mean[c] + momentum * (m - mean[c]))
            variances.append(variance[c] + momentum * (v * n / (n - 1) - variance[c]))
        out.append((row - m) / (v + eps) ** 0.5)
    y = torch.stack(out, dim=1)
    return (y, torch.stack(means), torch.stack(variances)) if training else (y, mean, variance)


def by_lerp(x, mean, variance, training, momentum=0.1, eps=1e-5):
    flat = x.transpose(0, 1).flatten(1)  # (C, all the rest)
    if not training:
        y = (flat - mean[:, None]) * torch.rsqrt(variance[:, None] + eps)
    else:
        y = (flat - flat.mean(1, keepdim=True)) * torch.rsqrt(flat.var(1, correction=0, keepdim=True) + eps)
        mean, variance = torch.lerp(mean, flat.mean(1), momentum), torch.lerp(variance, flat.var(1), momentum)
    return y.unflatten(1, (x.shape[0], *x.shape[2:])).transpose(0, 1), mean, variance


def two_batches(g: Source) -> Program:
    """Two training steps and an evaluation, each with what the one before has kept."""
    return (
        Program()
        .call(image(g, 4, 3, 2), torch.zeros(3), torch.ones(3), True)
        .call(image(g, 4, 3, 2), Ref(0, 1), Ref(0, 2), True)
        .call(image(g, 2, 3, 2), Ref(1, 1), Ref(1, 2), False)
    )


def other_arguments(g: Source) -> Program:
    given: dict[str, Any] = dict(momentum=g.number(0.2, 0.8), eps=g.number(0.1, 0.9))
    program = Program().call(image(g, 3, 2, 4), g.randn(2), g.uniform(2, low=0.5, high=2.0), True, **given)
    return program.call(image(g, 3, 2), g.randn(2), g.uniform(2, low=0.5, high=2.0), False, **given)


def small_doubles(g: Source) -> Program:
    x = lambda *shape: 3e-3 * g.randn(*shape, dtype=torch.float64)
    variance = lambda: g.uniform(3, low=5e-6, high=5e-5, dtype=torch.float64)
    program = Program().call(x(4, 3, 2), x(3), variance(), True)
    return program.call(x(4, 3, 2), x(3), variance(), False)


def gradients(g: Source) -> Program:
    program = Program()
    for training in (True, False):
        variance = g.uniform(2, low=0.5, high=2.0)
        program.call(image(g, 3, 2, 4), g.randn(2), variance, training, grad=[0], cotangent=g.randn(3, 2, 4))
    return program


MISTAKES = changes(
    batch_norm_step,
    """
always_batch: kept = mean, variance, → kept = x.mean(axes), x.var(axes, correction=0),
    In evaluation you still normalize by this batch. There the averages that were kept are used.
uses_kept: n / (n - 1) → n / (n - 1); now, spread = kept
    In training you normalize by the running averages. The batch's own mean and variance do that.
biased: spread * n / (n - 1) → spread
    The variance that is kept should divide by n − 1; the one that normalizes divides by n.
unbiased: x.var(axes, correction=0) → x.var(axes) ; spread * n / (n - 1) → spread
    The variance that normalizes should divide by n. Only the one that is kept divides by n − 1.
turned: (1 - momentum) * mean + momentum * now → momentum * mean + (1 - momentum) * now
; (1 - momentum) * variance + momentum * spread → momentum * variance + (1 - momentum) * spread
    momentum is the share of the new batch here: (1 − momentum) · old + momentum · new.
samples_counted: n = x.numel() // x.shape[1] → n = x.shape[0]
    n is taken as the number of samples. The places count too: n = x.numel() / C.
momentum_fixed: (1 - momentum) * mean + momentum * now → 0.9 * mean + 0.1 * now
; (1 - momentum) * variance + momentum * spread → 0.9 * variance + 0.1 * spread
    momentum stands in your code as a number. Use the argument, which may be another.
eps_fixed: + eps → + 1e-5
    ε stands in your code as a number. Use the argument eps, which may be another.
eps_outside: torch.sqrt(spread.view(shape) + eps) → (spread.view(shape).sqrt() + eps)
    ε is added after the root. It stands inside: √(variance + ε).
always_updates: if training: → if True: ; else: → if not training:
; spread, kept = mean, variance, (mean, variance) → spread = mean, variance
    The averages change in evaluation. They are for training alone.
never_updates: *kept → mean, variance
    The averages come back as they were. In training a share of this batch enters them.
always_batch_by_helper: kept = mean, variance, → kept = x.mean(axes), x.var(axes, correction=0), ; + eps → + 1e-5
    This batch normalizes in evaluation too, and the argument eps is not used. There the averages normalize: (x −
    mean) / √(variance + eps).
uses_old: n / (n - 1) → n / (n - 1); now, spread = mean, variance
    In training you normalize by the averages that came in. The batch's own mean and variance do that.
inverted: if training: → if not training:
    The two modes are exchanged. In training the batch's statistics are used and kept, afterwards the averages.
no_view: now.view(shape) → now ; spread.view(shape) → spread
    Mean and variance are not brought into shape, so (C,) lines up with the last axis. Use .view(shape).
no_view_in_evaluation: shape = shape_of(x) → shape = shape_of(x) if training else (-1,)
    In evaluation the averages are not brought into shape, so (C,) lines up with the last axis. Use .view(shape).
statistics_detached: now.view(shape) → now.detach().view(shape) ; spread.view(shape) → spread.detach().view(shape)
    The numbers are right, but the batch's mean and variance are cut off (detach, no_grad). The gradient of x has to
    flow through them.
no_eps: + eps →
    ε is missing. Add it to the variance that normalizes, inside the root.
divides_by_variance: torch.sqrt(spread → (spread
    The result is divided by the variance. Take the root of (variance + ε).
averages_exchanged: *kept → *kept[::-1]
    The averages have changed places: return y, mean, variance in this order.
old_not_reduced: (1 - momentum) * mean → mean ; (1 - momentum) * variance → variance
    The old averages enter whole, so they grow without end. Their share is 1 − momentum.
replaced: (1 - momentum) * mean + momentum * now → now ; (1 - momentum) * variance + momentum * spread → spread
    The batch's statistics replace the averages. Only a share of them enters: (1 − momentum) · old + momentum · new.
variance_not_kept: *kept → kept[0], variance
    The average of the variance comes back as it was. In training it moves as that of the mean does.
mean_not_kept: *kept → mean, kept[1]
    The average of the mean comes back as it was. In training it moves as that of the variance does.
turned_for_variance: (1 - momentum) * variance + momentum * spread → momentum * variance + (1 - momentum) * spread
    For the variance the shares are exchanged: (1 − momentum) · old + momentum · new, as for the mean.
deviation_kept: spread * n / (n - 1) → x.std(axes)
    The standard deviation enters the average of the variance. Let x.var(axes) enter it.
""",
)

EXERCISE = Exercise(
    id="norm.running",
    title="What batch norm remembers",
    points=2,
    difficulty=3,
    minutes=15,
    extension=True,
    reference=batch_norm_step,
    alternatives=[by_channel, by_lerp],
    forbidden=BUILT_IN,
    forbidden_message="A mean and a variance over axes are enough.",
    cases=[
        Case(
            "one column",
            "1 and 3 in training, averages 0 and 1: the result is −1, 1; kept are 0.2 and 1.1",
            lambda g: call(t([1], [3]), torch.zeros(1), torch.ones(1), True),
        ),
        Case(
            "evaluation",
            "the same batch afterwards, with averages 2 and 4: −0.5 and 0.5, and nothing is kept anew",
            lambda g: call(t([1], [3]), torch.full((1,), 2.0), torch.full((1,), 4.0), False),
        ),
        Case(
            "one sample",
            "a single sample of two places in evaluation: the averages alone count",
            lambda g: call(image(g, 1, 3, 2), g.randn(3), g.uniform(3, low=0.5, high=2.0), False),
        ),
        Case(
            "places",
            "channels of an image in training: samples and places count alike",
            lambda g: call(image(g, 3, 2, 2, 2), g.randn(2), g.uniform(2, low=0.5, high=2.0), True, eps=0.1),
        ),
        Case(
            "momentum",
            "a third of the new batch enters the averages",
            lambda g: call(image(g, 5, 4), g.randn(4), g.uniform(4, low=0.5, high=2.0), True, momentum=1 / 3),
        ),
        Case(
            "both arguments",
            "another momentum and another ε, in training and in evaluation",
            other_arguments,
        ),
        Case(
            "double",
            "float64 entries near 0.003: all results are float64, and the default ε = 1e-5 counts",
            small_doubles,
            weight=0.5,
        ),
        Case(
            "gradients",
            "the gradient of x flows through the batch's mean and variance in training, and past the averages after it",
            gradients,
        ),
        Case("three steps", "two batches in training, then one in evaluation", two_batches, weight=2),
    ],
    mutants=MISTAKES,
)
