"""Unit 02, third part: batch, instance and group norm by their axes, and what a norm costs."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import norms as ref

from .norms import BUILT_IN, UNIT, t

# ---- axes -------------------------------------------------------------------------------------------------


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


def image(g, *shape):
    """Random values around another mean and with another size in each sample and channel."""
    return g.randn(*shape) * g.uniform(*shape[:2], *[1] * (len(shape) - 2), low=0.5, high=2.0) + 2 * g.randn(
        *shape[:2], *[1] * (len(shape) - 2)
    )


axes = Exercise(
    id="norm.axes",
    unit=UNIT,
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

# ---- cost -------------------------------------------------------------------------------------------------

COSTS = (ref.layer_norm_cost, ref.rms_norm_cost)


def both(
    layer_flops=lambda n, d: n * (7 * d + 5),
    rms_flops=lambda n, d: n * (4 * d + 4),
    layer_bytes=lambda n, d, size, reads: ((reads + 1) * n * d + 2 * d) * size,
    rms_bytes=lambda n, d, size, reads: ((reads + 1) * n * d + d) * size,
):
    """Both cost functions from their formulas."""
    return (
        lambda tokens, d, itemsize, reads=1: (layer_flops(tokens, d), layer_bytes(tokens, d, itemsize, reads)),
        lambda tokens, d, itemsize, reads=1: (rms_flops(tokens, d), rms_bytes(tokens, d, itemsize, reads)),
    )


def by_parts(per_entry, per_row, vectors):
    def cost(tokens, d, itemsize, reads=1):
        entries = tokens * d
        traffic = entries * reads + entries + vectors * d
        return [sum(per_entry) * entries + sum(per_row) * tokens, traffic * itemsize]

    return cost


def sizes(g):
    return g.integer(100, 999), g.integer(500, 5000), g.choice((2, 4)), g.integer(2, 4)


def random_sizes(g):
    numbers = sizes(g)
    return Program().call(*numbers).call(*numbers, fn="rms_norm_cost")


cost = Exercise(
    id="norm.cost",
    unit=UNIT,
    title="What a norm costs",
    points=2,
    difficulty=2,
    minutes=12,
    signature="layer_norm_cost(tokens, d, itemsize, reads=1)",
    targets=("layer_norm_cost", "rms_norm_cost"),
    reference=COSTS,
    alternatives=[both(), (by_parts((1, 1, 2, 1, 2), (2, 1, 1, 1), 2), by_parts((2, 1, 1), (1, 1, 1, 1), 1))],
    cases=[
        Case(
            "by hand", "LayerNorm of one token of 4 float16 numbers: 33 operations, 32 bytes", lambda g: call(1, 4, 2)
        ),
        Case(
            "rms by hand",
            "RMSNorm of the same token: 20 operations, 24 bytes",
            lambda g: Program().call(1, 4, 2, fn="rms_norm_cost"),
        ),
        Case(
            "llama",
            "4096 tokens of 4096 bfloat16 numbers, both norms",
            lambda g: Program().call(4096, 4096, 2).call(4096, 4096, 2, fn="rms_norm_cost"),
        ),
        Case(
            "passes",
            "three reads for LayerNorm and two for RMSNorm, when each pass goes to memory",
            lambda g: Program().call(10, 8, 4, reads=3).call(10, 8, 4, reads=2, fn="rms_norm_cost"),
        ),
        Case("random", "random sizes", random_sizes),
    ],
    mutants=[
        Mutant(
            "no_write",
            both(
                layer_bytes=lambda n, d, size, reads: (reads * n * d + 2 * d) * size,
                rms_bytes=lambda n, d, size, reads: (reads * n * d + d) * size,
            ),
            "The result is written to memory too: one more pass over tokens · d entries.",
        ),
        Mutant(
            "large_terms_only",
            both(
                lambda n, d: 7 * n * d,
                lambda n, d: 4 * n * d,
                lambda n, d, size, reads: (reads + 1) * n * d * size,
                lambda n, d, size, reads: (reads + 1) * n * d * size,
            ),
            "The small terms are missing: 5 and 4 operations per token, and the vectors, which are read too.",
        ),
        Mutant(
            "vectors_forgotten",
            both(
                layer_bytes=lambda n, d, size, reads: (reads + 1) * n * d * size,
                rms_bytes=lambda n, d, size, reads: (reads + 1) * n * d * size,
            ),
            "Weight and bias are read too: d entries each, once in all.",
        ),
        Mutant(
            "entries_not_bytes",
            both(
                layer_bytes=lambda n, d, size, reads: (reads + 1) * n * d + 2 * d,
                rms_bytes=lambda n, d, size, reads: (reads + 1) * n * d + d,
            ),
            "These are entries. Multiply by itemsize to get bytes.",
        ),
        Mutant(
            "vectors_per_token",
            both(
                layer_bytes=lambda n, d, size, reads: (reads + 3) * n * d * size,
                rms_bytes=lambda n, d, size, reads: (reads + 2) * n * d * size,
            ),
            "Weight and bias are counted once per token. They are read once in all: d entries each.",
        ),
        Mutant(
            "reads_ignored",
            both(
                layer_bytes=lambda n, d, size, reads: (2 * n * d + 2 * d) * size,
                rms_bytes=lambda n, d, size, reads: (2 * n * d + d) * size,
            ),
            "reads is ignored: it says how often x is read.",
        ),
        Mutant(
            "rms_has_bias",
            both(rms_bytes=lambda n, d, size, reads: ((reads + 1) * n * d + 2 * d) * size),
            "RMSNorm has no bias: only one vector of d entries is read beside x.",
        ),
        Mutant(
            "same_operations",
            both(rms_flops=lambda n, d: n * (7 * d + 5)),
            "RMSNorm needs fewer operations: no sum for the mean, no centering, no bias.",
        ),
        Mutant(
            "row_forgotten",
            both(layer_flops=lambda n, d: 7 * n * d, rms_flops=lambda n, d: 4 * n * d),
            "The few operations per token are missing: 5 for LayerNorm, 4 for RMSNorm.",
        ),
    ],
)

EXERCISES = [cost, axes]
