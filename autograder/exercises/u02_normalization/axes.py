"""Batch, instance and group norm as one function of axes."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import norms as ref

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


def batch(x):
    return over(x, (0, *range(2, x.ndim)))


def instance(x):
    return over(x, tuple(range(2, x.ndim)))


def group(x, groups):
    if x.shape[1] % groups:
        raise ValueError("the channels cannot be split evenly")
    split = x.unflatten(1, (groups, -1))
    return over(split, tuple(range(2, split.ndim))).flatten(1, 2)


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


MISTAKES = [
    *changes(
        (over, batch_norm, instance_norm, group_norm),
        """
unbiased: correction=0, →
    normalize_over divides the squares by n − 1. Norms use the biased variance: correction=0.
keepdim_lost: x.mean(axes, keepdim=True) → x.mean(axes)
; x.var(axes, correction=0, keepdim=True) → x.var(axes, correction=0)
    normalize_over needs keepdim=True: without it the means are lined up with other axes, or do not fit.
eps_lost: + eps → + 1e-5
    normalize_over does not use the eps that it is given.
eps_outside: torch.sqrt(x.var(axes, correction=0, keepdim=True) + eps) → (x.std(axes, correction=0, keepdim=True) + eps)
    normalize_over adds ε to the deviation. It stands inside the root: √(variance + ε).
not_centered: x - x.mean(axes, keepdim=True) → x
    normalize_over does not subtract the mean. Center first: x − mean over axes.
""",
    ),
    *changes(
        (over, batch, instance, group),
        """
group_is_instance: range(2, split.ndim) → range(3, split.ndim)
    Your group_norm keeps the channels of a group apart, which is instance norm. They share one mean.
batch_axis_only: (0, *range(2, x.ndim)) → (0,)
    Your batch_norm averages over the samples only. The places (axes 2 and up) belong to it as well.
batch_is_layer: (0, *range(2, x.ndim)) → tuple(range(1, x.ndim))
    Your batch_norm keeps the samples apart and mixes channels. It is the other way round.
batch_over_channels: (0, *range(2, x.ndim)) → (1,)
    Your batch_norm averages over the channels. Each channel has its own mean, taken over all the rest.
instance_over_samples: tuple(range(2, x.ndim)) → (0, 1)
    Your instance_norm averages over samples and channels. These two stay apart: it runs over the places.
instance_is_layer: tuple(range(2, x.ndim)) → tuple(range(1, x.ndim))
    Your instance_norm mixes the channels. Each channel of each sample has its own mean.
group_strided: (groups, -1) → (-1, groups) ; tuple(range(2, split.ndim)) → (1, *range(3, split.ndim))
    Your groups take every n-th channel. Groups are runs of neighbors: split axis 1 as (groups, -1).
group_by_size: (groups, -1) → (-1, groups)
    groups is taken as the size of a group. It is their number: each has C/groups channels.
group_without_places: tuple(range(2, split.ndim)) → (2,)
    Your group_norm averages over the group's channels at each place apart. The places belong to it too.
group_unchecked: if x.shape[1] % groups: → if False:
; split = x.unflatten(1, (groups, -1)) → parts = [over(part, tuple(range(1, part.ndim))) for part in x.chunk(groups, 1)]
; over(split, tuple(range(2, split.ndim))).flatten(1, 2) → torch.cat(parts, 1)
    A number of channels that cannot be split evenly should raise a ValueError.
""",
    ),
    *changes(
        (over, batch_norm, instance_norm, group_norm),
        """
no_eps: + eps →
    normalize_over leaves ε out. It is added to the variance, inside the root.
divides_by_variance: torch.sqrt( → (
    normalize_over divides by the variance. Take the root of (variance + ε) first.
deviation_plus_eps: torch.sqrt(x.var(axes, correction=0, keepdim=True) + eps) → (x.std(axes, keepdim=True) + eps)
    Two things in normalize_over: x.std divides by n − 1, and ε is added to the deviation. Use √(mean of squares +
    ε).
sum: x.var(axes, correction=0, keepdim=True) → (x - x.mean(axes, keepdim=True)).pow(2).sum(axes, keepdim=True)
    normalize_over adds the squares up. The variance is their mean over axes.
squares_of_x: x.var(axes, correction=0, keepdim=True) → x.pow(2).mean(axes, keepdim=True)
    normalize_over takes the squares of x. The variance is the mean square of the centered x.
detached: keepdim=True) + eps → keepdim=True).detach() + eps
    The numbers of normalize_over are right, but its deviation is cut off (detach, no_grad, .data). The gradient has
    to flow through it.
""",
    ),
    *changes(
        (over, batch, instance, group),
        """
batch_images_only: (0, *range(2, x.ndim)) → (0, 2, 3)
    Your batch_norm names the axes of an image, (0, 2, 3). There may be one axis of places: (0, *range(2, x.ndim)).
instance_images_only: tuple(range(2, x.ndim)) → (2, 3)
    Your instance_norm names the axes of an image, (2, 3). There may be one axis of places: tuple(range(2, x.ndim)).
group_images_only: split = x.unflatten(1, (groups, -1)) → n, c, h, w = x.shape; split = x.reshape(n, groups, -1, h, w)
    Your group_norm fails where x has one axis of places. Name no H and W: x.unflatten(1, (groups, -1)), then all
    axes from 2 on.
group_image_axes: tuple(range(2, split.ndim)) → (2, 3, 4)
    Your group_norm names the axes of a split image, (2, 3, 4). There may be fewer: tuple(range(2, split.ndim)).
batch_is_instance: (0, *range(2, x.ndim)) → tuple(range(2, x.ndim))
    Your batch_norm keeps the samples apart, which is instance norm. Its means run over axis 0 as well.
batch_whole_tensor: (0, *range(2, x.ndim)) → tuple(range(x.ndim))
    Your batch_norm has one mean for the whole tensor. Each channel has its own: leave axis 1 out.
batch_and_channels: (0, *range(2, x.ndim)) → (0, 1)
    Your batch_norm averages over samples and channels. Channels stay apart: samples and places are averaged.
batch_last_axis: (0, *range(2, x.ndim)) → (0, -1)
    Your batch_norm averages over the samples and the last axis. All axes from 2 on are places.
instance_is_batch: tuple(range(2, x.ndim)) → (0, *range(2, x.ndim))
    Your instance_norm mixes the samples, which is batch norm. Each sample has its own means: leave axis 0 out.
instance_last_axis: tuple(range(2, x.ndim)) → (-1,)
    Your instance_norm averages over the last axis alone. All axes from 2 on are places.
instance_over_channels: tuple(range(2, x.ndim)) → (1,)
    Your instance_norm averages over the channels at each place. It is the other way round: the places are averaged.
groups_together: tuple(range(2, split.ndim)) → tuple(range(1, split.ndim))
    Your group_norm has one mean for all channels of a sample. Each group has its own: after the split, leave axis 1
    out.
group_over_samples: tuple(range(2, split.ndim)) → (0, *range(2, split.ndim))
    Your group_norm averages over the samples too. Each sample has its own means: leave axis 0 out.
group_not_joined: .flatten(1, 2) →
    Your group_norm returns the split tensor. Bring it back to the shape of x: flatten(1, 2).
group_error_of_torch: if x.shape[1] % groups: → if False:
    Five channels in two groups end in torch's own RuntimeError. Check first, and raise a ValueError yourself.
""",
    ),
]

EXERCISE = Exercise(
    id="norm.axes",
    title="Batch, instance and group norm differ by axes alone",
    points=3,
    difficulty=3,
    minutes=20,
    extension=True,
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
    mutants=MISTAKES,
    equivalent="""
Mean and variance do not depend on the order in which axes are named.
    7e1607d4c7 solution, reversed: range(2, x.ndim) reversed
    90b27f2a3a solution, reversed: range(2, x.ndim) reversed
    0aca9ad8bf solution, reversed: range(2, split.ndim) reversed
    816b66f255 alternative (over, batch_by_rows, instance_by_places, group_as_batch), reversed: range(channel.ndim) re…
Axes 0 and 1 change places: moving either past the other is the same.
    071d234b17 alternative (over, batch_by_rows, instance_flat, group_by_loop), argument: x.movedim(1, 0): arguments 1…
    f7366bb3a9 alternative (over, batch_by_rows, instance_flat, group_by_loop), argument: over(rows.reshape(len(rows),…
The groups are independent of each other: their order changes nothing.
    eca844b230 alternative (over, batch_by_rows, instance_flat, group_by_loop), reversed: range(0, groups * size, size…
The step past the last group is an empty slice, in which nothing is written.
    0573662bca alternative (over, batch_by_rows, instance_flat, group_by_loop), window: groups * size + 1 in range(0, …
""",
)
