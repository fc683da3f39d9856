"""Batch norm with running statistics, in training and after."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Ref, Source, call

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


def wrong(change):
    """A mutant: ``change(x, mean, variance, training, momentum, eps, right)`` gives the result."""

    def mutant(x, mean, variance, training, momentum=0.1, eps=1e-5):
        return change(
            x, mean, variance, training, momentum, eps, batch_norm_step(x, mean, variance, training, momentum, eps)
        )

    return mutant


def always_batch(x, mean, variance, training, momentum, eps, right):
    return right if training else (batch_norm_step(x, mean, variance, True, momentum, eps)[0], mean, variance)


def uses_kept(x, mean, variance, training, momentum, eps, right):
    """Normalizes with the averages that were just updated."""
    return (batch_norm_step(x, right[1], right[2], False, momentum, eps)[0], *right[1:]) if training else right


def biased(x, mean, variance, training, momentum, eps, right):
    n = x.numel() // x.shape[1]
    spread = (right[2] - (1 - momentum) * variance) * (n - 1) / n
    return (*right[:2], (1 - momentum) * variance + spread) if training else right


def unbiased(x, mean, variance, training, momentum, eps, right):
    n = x.numel() // x.shape[1]
    axes = (0, *range(2, x.ndim))
    y = (x - x.mean(axes, keepdim=True)) / torch.sqrt(x.var(axes, keepdim=True) + eps)
    return (y, *right[1:]) if training and n > 1 else right


def turned(x, mean, variance, training, momentum, eps, right):
    return (right[0], *batch_norm_step(x, mean, variance, training, 1 - momentum, eps)[1:])


def always_updates(x, mean, variance, training, momentum, eps, right):
    return (right[0], *batch_norm_step(x, mean, variance, True, momentum, eps)[1:])


def never_updates(x, mean, variance, training, momentum, eps, right):
    return right[0], mean, variance


def two_batches(g: Source) -> Program:
    """Two training steps and an evaluation, each with what the one before has kept."""
    return (
        Program()
        .call(image(g, 4, 3, 2), torch.zeros(3), torch.ones(3), True)
        .call(image(g, 4, 3, 2), Ref(0, 1), Ref(0, 2), True)
        .call(image(g, 2, 3, 2), Ref(1, 1), Ref(1, 2), False)
    )


EXERCISE = Exercise(
    id="norm.running",
    unit="02-normalization",
    title="What batch norm remembers",
    points=2,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="batch_norm_step(x, mean, variance, training, momentum=0.1, eps=1e-5)",
    reference=batch_norm_step,
    alternatives=[by_channel, by_lerp],
    forbidden=BUILT_IN,
    forbidden_message="mean and var over axes are enough.",
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
        Case("three steps", "two batches in training, then one in evaluation", two_batches, weight=2),
    ],
    mutants=[
        Mutant(
            "always_batch",
            wrong(always_batch),
            "In evaluation you still normalize by this batch. There the averages that were kept are used.",
        ),
        Mutant(
            "uses_kept",
            wrong(uses_kept),
            "In training you normalize by the running averages. The batch's own mean and variance do that.",
        ),
        Mutant(
            "biased",
            wrong(biased),
            "The variance that is kept should divide by n − 1; the one that normalizes divides by n.",
        ),
        Mutant(
            "unbiased",
            wrong(unbiased),
            "The variance that normalizes should divide by n. Only the one that is kept divides by n − 1.",
        ),
        Mutant(
            "turned",
            wrong(turned),
            "momentum is the share of the new batch here: (1 − momentum) · old + momentum · new.",
        ),
        Mutant(
            "always_updates", wrong(always_updates), "The averages change in evaluation. They are for training alone."
        ),
        Mutant(
            "never_updates",
            wrong(never_updates),
            "The averages come back as they were. In training a share of this batch enters them.",
        ),
    ],
)
