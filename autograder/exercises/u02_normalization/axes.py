"""Batch, instance and group norm as one function of axes."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import norms as ref

from .shared import BUILT_IN, image, t


def normalize_over(x, axes, eps=1e-5):
    """The reference under the argument names of the exercise."""
    return ref.normalize_over(x, axes, eps)


NORMS = (normalize_over, ref.batch_norm, ref.instance_norm, ref.group_norm)


def over(x, axes, eps=1e-5):
    """Mean and biased variance over the given axes."""
    return (x - x.mean(axes, keepdim=True)) / torch.sqrt(x.var(axes, correction=0, keepdim=True) + eps)


def grouped(split):
    """A group_norm whose way of forming (N, groups, C/groups, …) is given."""

    def group_norm(x, groups):
        if x.shape[1] % groups:
            raise ValueError(f"{x.shape[1]} channels cannot be split into {groups} groups")
        return split(x, groups)

    return group_norm


def by_chunks(x, groups):
    return torch.cat([over(c, tuple(range(1, x.ndim))) for c in x.chunk(groups, dim=1)], dim=1)


def by_reshape(x, groups):
    return over(x.reshape(x.shape[0], groups, -1), (2,)).reshape(x.shape)


def strided(x, groups):
    """Every groups-th channel together."""
    split = x.unflatten(1, (-1, groups))
    return over(split, (1, *range(3, split.ndim))).flatten(1, 2)


def channels_only(x, groups):
    return over(x.unflatten(1, (groups, -1)), (2,)).flatten(1, 2)


def instead(position, wrong):
    return (*NORMS[:position], wrong, *NORMS[position + 1 :])


EXERCISE = Exercise(
    id="norm.axes",
    unit="02-normalization",
    title="Batch, instance and group norm differ by axes alone",
    points=3,
    difficulty=3,
    minutes=20,
    extension=True,
    signature="normalize_over(x, axes, eps=1e-5)",
    targets=("normalize_over", "batch_norm", "instance_norm", "group_norm"),
    reference=NORMS,
    alternatives=[
        (
            over,
            lambda x: over(x, (0, *range(2, x.ndim))),
            lambda x: over(x.flatten(2), (2,)).view_as(x),
            grouped(by_chunks),
        ),
        (
            over,
            lambda x: over(x.transpose(0, 1).flatten(1), (1,)).unflatten(1, (x.shape[0], *x.shape[2:])).transpose(0, 1),
            lambda x: over(x, tuple(range(2, x.ndim))),
            grouped(by_reshape),
        ),
    ],
    forbidden=BUILT_IN,
    forbidden_message="mean and var over axes are enough.",
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
    ],
)
