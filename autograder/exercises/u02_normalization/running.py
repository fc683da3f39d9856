"""Batch norm with running statistics, in training and after."""

from typing import Any

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


def samples_counted(x, mean, variance, training, momentum, eps, right):
    """n is the number of samples, without the places."""
    n, samples = x.numel() // x.shape[1], x.shape[0]
    if not training or samples < 2:
        return right
    added = (right[2] - (1 - momentum) * variance) * ((n - 1) / n) * (samples / (samples - 1))
    return *right[:2], (1 - momentum) * variance + added


def turned(x, mean, variance, training, momentum, eps, right):
    return (right[0], *batch_norm_step(x, mean, variance, training, 1 - momentum, eps)[1:])


def eps_outside(x, mean, variance, training, momentum, eps, right):
    axes = (0, *range(2, x.ndim))
    now, spread = (x.mean(axes), x.var(axes, correction=0)) if training else (mean, variance)
    shape = shape_of(x)
    return ((x - now.view(shape)) / (spread.view(shape).sqrt() + eps), *right[1:])


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


def always_helper(x, mean, variance, training, momentum, eps, right):
    """The earlier batch_norm, which knows one eps."""
    return (batch_norm_step(x, mean, variance, True)[0], *right[1:])


def uses_old(x, mean, variance, training, momentum, eps, right):
    return (batch_norm_step(x, mean, variance, False, momentum, eps)[0], *right[1:])


def inverted(x, mean, variance, training, momentum, eps, right):
    return batch_norm_step(x, mean, variance, not training, momentum, eps)


def statistics(x):
    axes = (0, *range(2, x.ndim))
    return x.mean(axes), x.var(axes, correction=0)


def no_view(x, mean, variance, training, momentum=0.1, eps=1e-5):
    now, spread = statistics(x) if training else (mean, variance)
    y = (x - now) / torch.sqrt(spread + eps)
    return y, *batch_norm_step(x, mean, variance, training, momentum, eps)[1:]


def no_view_in_evaluation(x, mean, variance, training, momentum=0.1, eps=1e-5):
    return (batch_norm_step if training else no_view)(x, mean, variance, training, momentum, eps)


def statistics_detached(x, mean, variance, training, momentum=0.1, eps=1e-5):
    right = batch_norm_step(x, mean, variance, training, momentum, eps)
    if not training:
        return right
    return batch_norm_step(x, *statistics(x.detach()), False, momentum, eps)[0], *right[1:]


def divided(by):
    """A mutant that divides by another function of variance and eps."""

    def change(x, mean, variance, training, momentum, eps, right):
        now, spread = statistics(x) if training else (mean, variance)
        return (x - now.view(shape_of(x))) / by(spread.view(shape_of(x)), eps), *right[1:]

    return change


def old_not_reduced(x, mean, variance, training, momentum, eps, right):
    return (right[0], right[1] + momentum * mean, right[2] + momentum * variance) if training else right


def turned_variance(x, mean, variance, training, momentum, eps, right):
    return (*right[:2], batch_norm_step(x, mean, variance, training, 1 - momentum, eps)[2])


def deviation_kept(x, mean, variance, training, momentum, eps, right):
    new = x.std((0, *range(2, x.ndim)))
    return (*right[:2], (1 - momentum) * variance + momentum * new) if training else right


EXERCISE = Exercise(
    id="norm.running",
    title="What batch norm remembers",
    points=2,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="batch_norm_step(x, mean, variance, training, momentum=0.1, eps=1e-5)",
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
            "samples_counted",
            wrong(samples_counted),
            "n is taken as the number of samples. The places count too: n = x.numel() / C.",
        ),
        Mutant(
            "momentum_fixed",
            wrong(
                lambda x, mean, variance, training, momentum, eps, right: batch_norm_step(
                    x, mean, variance, training, 0.1, eps
                )
            ),
            "momentum stands in your code as a number. Use the argument, which may be another.",
        ),
        Mutant(
            "eps_fixed",
            wrong(
                lambda x, mean, variance, training, momentum, eps, right: batch_norm_step(
                    x, mean, variance, training, momentum
                )
            ),
            "ε stands in your code as a number. Use the argument eps, which may be another.",
        ),
        Mutant(
            "eps_outside",
            wrong(eps_outside),
            "ε is added after the root. It stands inside: √(variance + ε).",
        ),
        Mutant(
            "always_updates", wrong(always_updates), "The averages change in evaluation. They are for training alone."
        ),
        Mutant(
            "never_updates",
            wrong(never_updates),
            "The averages come back as they were. In training a share of this batch enters them.",
        ),
        Mutant(
            "always_batch_by_helper",
            wrong(always_helper),
            "This batch normalizes in evaluation too, and the argument eps is not used. There the averages normalize: "
            "(x − mean) / √(variance + eps).",
        ),
        Mutant(
            "uses_old",
            wrong(uses_old),
            "In training you normalize by the averages that came in. The batch's own mean and variance do that.",
        ),
        Mutant(
            "inverted",
            wrong(inverted),
            "The two modes are exchanged. In training the batch's statistics are used and kept, afterwards the "
            "averages.",
        ),
        Mutant(
            "no_view",
            no_view,
            "Mean and variance are not brought into shape, so (C,) lines up with the last axis. Use .view(shape).",
        ),
        Mutant(
            "no_view_in_evaluation",
            no_view_in_evaluation,
            "In evaluation the averages are not brought into shape, so (C,) lines up with the last axis. Use "
            ".view(shape).",
        ),
        Mutant(
            "statistics_detached",
            statistics_detached,
            "The numbers are right, but the batch's mean and variance are cut off (detach, no_grad). The gradient of x "
            "has to flow through them.",
        ),
        Mutant(
            "no_eps",
            wrong(divided(lambda spread, eps: spread.sqrt())),
            "ε is missing. Add it to the variance that normalizes, inside the root.",
        ),
        Mutant(
            "divides_by_variance",
            wrong(divided(lambda spread, eps: spread + eps)),
            "The result is divided by the variance. Take the root of (variance + ε).",
        ),
        Mutant(
            "averages_exchanged",
            wrong(lambda x, mean, variance, training, momentum, eps, right: (right[0], right[2], right[1])),
            "The averages have changed places: return y, mean, variance in this order.",
        ),
        Mutant(
            "old_not_reduced",
            wrong(old_not_reduced),
            "The old averages enter whole, so they grow without end. Their share is 1 − momentum.",
        ),
        Mutant(
            "replaced",
            wrong(
                lambda x, mean, variance, training, momentum, eps, right: (
                    right[0],
                    *batch_norm_step(x, mean, variance, training, 1.0, eps)[1:],
                )
            ),
            "The batch's statistics replace the averages. Only a share of them enters: (1 − momentum) · old + momentum "
            "· new.",
        ),
        Mutant(
            "variance_not_kept",
            wrong(lambda x, mean, variance, training, momentum, eps, right: (*right[:2], variance)),
            "The average of the variance comes back as it was. In training it moves as that of the mean does.",
        ),
        Mutant(
            "mean_not_kept",
            wrong(lambda x, mean, variance, training, momentum, eps, right: (right[0], mean, right[2])),
            "The average of the mean comes back as it was. In training it moves as that of the variance does.",
        ),
        Mutant(
            "turned_for_variance",
            wrong(turned_variance),
            "For the variance the shares are exchanged: (1 − momentum) · old + momentum · new, as for the mean.",
        ),
        Mutant(
            "deviation_kept",
            wrong(deviation_kept),
            "The standard deviation enters the average of the variance. Let x.var(axes) enter it.",
        ),
    ],
)
