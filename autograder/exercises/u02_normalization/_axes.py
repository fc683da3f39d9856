"""Wrong ways to average over axes."""

import torch

from autograder.reference.norms import normalize_over as over


def grouped(split):
    """A group_norm whose way of forming (N, groups, C/groups, …) is given."""

    def group_norm(x, groups):
        if x.shape[1] % groups:
            raise ValueError(f"{x.shape[1]} channels cannot be split into {groups} groups")
        return split(x, groups)

    return group_norm


def by_chunks(x, groups):
    return torch.cat([over(c, tuple(range(1, x.ndim))) for c in x.chunk(groups, dim=1)], dim=1)


def strided(x, groups):
    """Every groups-th channel together."""
    split = x.unflatten(1, (-1, groups))
    return over(split, (1, *range(3, split.ndim))).flatten(1, 2)


def channels_only(x, groups):
    return over(x.unflatten(1, (groups, -1)), (2,)).flatten(1, 2)


def layer_of_channels(x, groups):
    return over(x, tuple(range(1, x.ndim)))


def images_only(x, groups):
    n, c, h, w = x.shape
    return over(x.reshape(n, groups, c // groups, h, w), (2, 3, 4)).reshape(n, c, h, w)


def images_by_axes(x, groups):
    return over(x.unflatten(1, (groups, -1)), (2, 3, 4)).flatten(1, 2)


def over_samples_too(x, groups):
    split = x.unflatten(1, (groups, -1))
    return over(split, (0, *range(2, split.ndim))).flatten(1, 2)


def not_joined(x, groups):
    split = x.unflatten(1, (groups, -1))
    return over(split, tuple(range(2, split.ndim)))


def not_checked(x, groups):
    split = x.unflatten(1, (groups, -1))
    return over(split, tuple(range(2, split.ndim))).flatten(1, 2)


def normed(divide):
    """A normalize_over that divides the centered x in another way: ``divide(centered, squares' mean, eps)``."""

    def normalize_over(x, axes, eps=1e-5):
        centered = x - x.mean(axes, keepdim=True)
        return divide(centered, centered.pow(2).mean(axes, keepdim=True), eps)

    return normalize_over
