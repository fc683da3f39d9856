"""Batch, instance and group norm as one function of axes."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import norms as ref

from ._axes import (
    by_chunks,
    channels_only,
    grouped,
    images_by_axes,
    images_only,
    layer_of_channels,
    normed,
    not_checked,
    not_joined,
    over_samples_too,
    strided,
)
from .shared import BUILT_IN, image, t


def normalize_over(x, axes, eps=1e-5):
    """The reference under the argument names of the exercise."""
    return ref.normalize_over(x, axes, eps)


def batch_norm(x):
    return ref.batch_norm(x)


def instance_norm(x):
    return ref.instance_norm(x)


def group_norm(x, groups):
    return ref.group_norm(x, groups)


NORMS = (normalize_over, batch_norm, instance_norm, group_norm)


def over(x, axes, eps=1e-5):
    """Mean and biased variance over the given axes."""
    return (x - x.mean(axes, keepdim=True)) / torch.sqrt(x.var(axes, correction=0, keepdim=True) + eps)


def batch_by_rows(x):
    """Each channel as one long row."""
    rows = x.movedim(1, 0)
    return over(rows.reshape(len(rows), -1), (1,)).reshape(rows.shape).movedim(0, 1)


def instance_by_places(x):
    return torch.stack([torch.stack([over(channel, tuple(range(channel.ndim))) for channel in image]) for image in x])


def instance_flat(x):
    return over(x.flatten(2), (2,)).view_as(x)


def group_by_loop(x, groups):
    size, rest = divmod(x.shape[1], groups)
    if rest:
        raise ValueError("the channels cannot be split evenly")
    y = torch.empty_like(x)
    for start in range(0, groups * size, size):
        part = x[:, start : start + size]
        y[:, start : start + size] = over(part.flatten(1), (1,)).view_as(part)
    return y


def group_as_batch(x, groups):
    """Every group as a sample of its own."""
    if x.shape[1] % groups:
        raise ValueError(f"{groups} groups of {x.shape[1]} channels")
    return over(x.reshape(x.shape[0] * groups, -1), (1,)).reshape(x.shape)


def small_doubles(g: Source) -> Program:
    x = lambda *shape: 3e-3 * g.randn(*shape, dtype=torch.float64)
    program = Program().call(x(3, 4), (0,), fn="normalize_over").call(x(3, 4, 2), fn="batch_norm")
    return program.call(x(3, 2, 5), fn="instance_norm").call(x(2, 6, 3), 2, fn="group_norm")


def gradients(g: Source) -> Program:
    program = Program().call(image(g, 3, 4), (1,), fn="normalize_over", grad=[0])
    program.call(image(g, 3, 2, 2), fn="batch_norm", grad=[0])
    program.call(image(g, 2, 2, 4), fn="instance_norm", grad=[0])
    return program.call(image(g, 2, 4, 2), 2, fn="group_norm", grad=[0])


def instead(position, wrong):
    return (*NORMS[:position], wrong, *NORMS[position + 1 :])


EXERCISE = Exercise(
    id="norm.axes",
    title="Batch, instance and group norm differ by axes alone",
    points=3,
    difficulty=3,
    minutes=20,
    extension=True,
    signature="normalize_over(x, axes, eps=1e-5)",
    targets=("normalize_over", "batch_norm", "instance_norm", "group_norm"),
    reference=NORMS,
    alternatives=[
        (over, batch_by_rows, instance_flat, group_by_loop),
        (over, batch_by_rows, instance_by_places, group_as_batch),
    ],
    forbidden=BUILT_IN,
    forbidden_message="A mean and a variance over axes are enough.",
    cases=[
        Case(
            "columns",
            "two rows 1, 10 and 3, 30 over axis 0: every column becomes −1, 1",
            lambda g: call(t([1, 10], [3, 30]), (0,)),
        ),
        Case("rows", "the same over axis 1, with ε = 1", lambda g: call(t([1, 10], [3, 30]), (1,), eps=1.0)),
        Case(
            "two axes", "a tensor of shape (2, 3, 4) over its axes 0 and 2", lambda g: call(image(g, 2, 3, 4), (0, 2))
        ),
        Case(
            "batch",
            "batch norm: one mean per channel, over all samples and places",
            lambda g: Program().call(image(g, 3, 2, 2, 2), fn="batch_norm"),
        ),
        Case(
            "instance",
            "instance norm: one mean per sample and channel, over the places",
            lambda g: Program().call(image(g, 3, 2, 2, 3), fn="instance_norm"),
        ),
        Case(
            "group",
            "six channels in three groups: channels 0 and 1 belong together",
            lambda g: Program().call(image(g, 2, 6, 2, 2), 3, fn="group_norm"),
        ),
        Case(
            "one group",
            "one group is LayerNorm over channels and places",
            lambda g: Program().call(image(g, 2, 4, 3), 1, fn="group_norm"),
            weight=0.5,
        ),
        Case(
            "text",
            "batch and instance norm of shape (B, d, T): the features are the channels",
            lambda g: Program().call(image(g, 3, 4, 5), fn="batch_norm").call(image(g, 3, 4, 5), fn="instance_norm"),
        ),
        Case(
            "own groups",
            "as many groups as channels: each channel by itself, as in instance norm",
            lambda g: Program().call(image(g, 2, 4, 3), 4, fn="group_norm"),
            weight=0.5,
        ),
        Case(
            "double",
            "float64 entries near 0.003 through all four: the results are float64, and ε = 1e-5 counts",
            small_doubles,
        ),
        Case(
            "gradients",
            "the gradient of x flows through all four",
            gradients,
        ),
        Case(
            "error",
            "five channels cannot be split into two groups: a ValueError",
            lambda g: Program().call(image(g, 2, 5, 2), 2, fn="group_norm"),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "unbiased",
            instead(
                0,
                lambda x, axes, eps=1e-5: (
                    (x - x.mean(axes, keepdim=True)) / torch.sqrt(x.var(axes, keepdim=True) + eps)
                ),
            ),
            "normalize_over divides the squares by n − 1. Norms use the biased variance: correction=0.",
        ),
        Mutant(
            "keepdim_lost",
            instead(0, lambda x, axes, eps=1e-5: (x - x.mean(axes)) / torch.sqrt(x.var(axes, correction=0) + eps)),
            "normalize_over needs keepdim=True: without it the means are lined up with other axes, or do not fit.",
        ),
        Mutant(
            "eps_lost",
            instead(0, lambda x, axes, eps=1e-5: over(x, axes)),
            "normalize_over does not use the eps that it is given.",
        ),
        Mutant(
            "eps_outside",
            instead(
                0,
                lambda x, axes, eps=1e-5: (
                    (x - x.mean(axes, keepdim=True)) / (x.std(axes, correction=0, keepdim=True) + eps)
                ),
            ),
            "normalize_over adds ε to the deviation. It stands inside the root: √(variance + ε).",
        ),
        Mutant(
            "not_centered",
            instead(
                0,
                lambda x, axes, eps=1e-5: x / torch.sqrt(x.var(axes, correction=0, keepdim=True) + eps),
            ),
            "normalize_over does not subtract the mean. Center first: x − mean over axes.",
        ),
        Mutant(
            "group_is_instance",
            instead(3, grouped(lambda x, groups: over(x, tuple(range(2, x.ndim))))),
            "Your group_norm keeps the channels of a group apart, which is instance norm. They share one mean.",
        ),
        Mutant(
            "batch_axis_only",
            instead(1, lambda x: over(x, (0,))),
            "Your batch_norm averages over the samples only. The places (axes 2 and up) belong to it as well.",
        ),
        Mutant(
            "batch_is_layer",
            instead(1, lambda x: over(x, tuple(range(1, x.ndim)))),
            "Your batch_norm keeps the samples apart and mixes channels. It is the other way round.",
        ),
        Mutant(
            "batch_over_channels",
            instead(1, lambda x: over(x, (1,))),
            "Your batch_norm averages over the channels. Each channel has its own mean, taken over all the rest.",
        ),
        Mutant(
            "instance_over_samples",
            instead(2, lambda x: over(x, (0, 1))),
            "Your instance_norm averages over samples and channels. These two stay apart: it runs over the places.",
        ),
        Mutant(
            "instance_is_layer",
            instead(2, lambda x: over(x, tuple(range(1, x.ndim)))),
            "Your instance_norm mixes the channels. Each channel of each sample has its own mean.",
        ),
        Mutant(
            "group_strided",
            instead(3, grouped(strided)),
            "Your groups take every n-th channel. Groups are runs of neighbors: split axis 1 as (groups, -1).",
        ),
        Mutant(
            "group_by_size",
            instead(3, grouped(lambda x, groups: by_chunks(x, x.shape[1] // groups))),
            "groups is taken as the size of a group. It is their number: each has C/groups channels.",
        ),
        Mutant(
            "group_without_places",
            instead(3, grouped(channels_only)),
            "Your group_norm averages over the group's channels at each place apart. The places belong to it too.",
        ),
        Mutant(
            "group_unchecked",
            instead(3, lambda x, groups: by_chunks(x, groups)),
            "A number of channels that cannot be split evenly should raise a ValueError.",
        ),
        Mutant(
            "no_eps",
            instead(0, normed(lambda centered, variance, eps: centered / torch.sqrt(variance))),
            "normalize_over leaves ε out. It is added to the variance, inside the root.",
        ),
        Mutant(
            "divides_by_variance",
            instead(0, normed(lambda centered, variance, eps: centered / (variance + eps))),
            "normalize_over divides by the variance. Take the root of (variance + ε) first.",
        ),
        Mutant(
            "deviation_plus_eps",
            instead(
                0,
                lambda x, axes, eps=1e-5: (x - x.mean(axes, keepdim=True)) / (x.std(axes, keepdim=True) + eps),
            ),
            "Two things in normalize_over: x.std divides by n − 1, and ε is added to the deviation. Use "
            "√(mean of squares + ε).",
        ),
        Mutant(
            "sum",
            instead(
                0,
                lambda x, axes, eps=1e-5: (
                    (x - x.mean(axes, keepdim=True))
                    / torch.sqrt((x - x.mean(axes, keepdim=True)).pow(2).sum(axes, keepdim=True) + eps)
                ),
            ),
            "normalize_over adds the squares up. The variance is their mean over axes.",
        ),
        Mutant(
            "squares_of_x",
            instead(
                0,
                lambda x, axes, eps=1e-5: (
                    (x - x.mean(axes, keepdim=True)) / torch.sqrt(x.pow(2).mean(axes, keepdim=True) + eps)
                ),
            ),
            "normalize_over takes the squares of x. The variance is the mean square of the centered x.",
        ),
        Mutant(
            "detached",
            instead(0, normed(lambda centered, variance, eps: centered / torch.sqrt(variance.detach() + eps))),
            "The numbers of normalize_over are right, but its deviation is cut off (detach, no_grad, .data). The "
            "gradient "
            "has to flow through it.",
        ),
        Mutant(
            "batch_images_only",
            instead(1, lambda x: over(x, (0, 2, 3))),
            "Your batch_norm names the axes of an image, (0, 2, 3). There may be one axis of places: (0, *range(2, "
            "x.ndim)).",
        ),
        Mutant(
            "instance_images_only",
            instead(2, lambda x: over(x, (2, 3))),
            "Your instance_norm names the axes of an image, (2, 3). There may be one axis of places: "
            "tuple(range(2, x.ndim)).",
        ),
        Mutant(
            "group_images_only",
            instead(3, grouped(images_only)),
            "Your group_norm fails where x has one axis of places. Name no H and W: x.unflatten(1, (groups, -1)), then "
            "all axes from 2 on.",
        ),
        Mutant(
            "group_image_axes",
            instead(3, grouped(images_by_axes)),
            "Your group_norm names the axes of a split image, (2, 3, 4). There may be fewer: tuple(range(2, "
            "split.ndim)).",
        ),
        Mutant(
            "batch_is_instance",
            instead(1, lambda x: over(x, tuple(range(2, x.ndim)))),
            "Your batch_norm keeps the samples apart, which is instance norm. Its means run over axis 0 as well.",
        ),
        Mutant(
            "batch_whole_tensor",
            instead(1, lambda x: over(x, tuple(range(x.ndim)))),
            "Your batch_norm has one mean for the whole tensor. Each channel has its own: leave axis 1 out.",
        ),
        Mutant(
            "batch_and_channels",
            instead(1, lambda x: over(x, (0, 1))),
            "Your batch_norm averages over samples and channels. Channels stay apart: samples and places are averaged.",
        ),
        Mutant(
            "batch_last_axis",
            instead(1, lambda x: over(x, (0, -1))),
            "Your batch_norm averages over the samples and the last axis. All axes from 2 on are places.",
        ),
        Mutant(
            "instance_is_batch",
            instead(2, lambda x: over(x, (0, *range(2, x.ndim)))),
            "Your instance_norm mixes the samples, which is batch norm. Each sample has its own means: leave axis 0 "
            "out.",
        ),
        Mutant(
            "instance_last_axis",
            instead(2, lambda x: over(x, (-1,))),
            "Your instance_norm averages over the last axis alone. All axes from 2 on are places.",
        ),
        Mutant(
            "instance_over_channels",
            instead(2, lambda x: over(x, (1,))),
            "Your instance_norm averages over the channels at each place. It is the other way round: the places are "
            "averaged.",
        ),
        Mutant(
            "groups_together",
            instead(3, grouped(layer_of_channels)),
            "Your group_norm has one mean for all channels of a sample. Each group has its own: after the split, leave "
            "axis 1 out.",
        ),
        Mutant(
            "group_over_samples",
            instead(3, grouped(over_samples_too)),
            "Your group_norm averages over the samples too. Each sample has its own means: leave axis 0 out.",
        ),
        Mutant(
            "group_not_joined",
            instead(3, grouped(not_joined)),
            "Your group_norm returns the split tensor. Bring it back to the shape of x: flatten(1, 2).",
        ),
        Mutant(
            "group_error_of_torch",
            instead(3, not_checked),
            "Five channels in two groups end in torch's own RuntimeError. Check first, and raise a ValueError "
            "yourself.",
        ),
    ],
)
