"""Weights as small integers, with one scale per group of neighbors."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Ref, Source, call, several
from autograder.reference import grouped_weights


def quantize_by_groups(w, group, bits):
    """One group after the other."""
    m, n = w.shape
    if n % group != 0:
        raise ValueError("group")
    top = 2 ** (bits - 1) - 1
    codes, scales = torch.zeros(m, n, dtype=torch.int8), w.new_zeros(m, n // group)
    for i in range(m):
        for j in range(n // group):
            part = w[i, j * group : (j + 1) * group]
            scale = part.abs().max() / top
            scales[i, j] = scale
            if scale > 0:
                codes[i, j * group : (j + 1) * group] = torch.round(part / scale).to(torch.int8)
    return codes, scales


def restore_by_repeat(codes, scale):
    """A scale for every weight."""
    return codes.to(scale.dtype) * scale.repeat_interleave(codes.shape[1] // scale.shape[1], dim=1)


def bits_together(bits, group, scale_bits=16):
    """Bits of a group over its size."""
    return (bits * group + scale_bits) / group


def _by_hand(g: Source) -> Program:
    return call(torch.tensor([[0.1, -0.2, 0.3, 6.0]]) * 1.01, 2, 3)


def _zeros(g: Source) -> Program:
    w = 1 + g.uniform(3, 8)
    w[:2, :4], w[2, 4:] = 0, 0
    return call(w, 4, 4)


MISTAKES = changes(
    (grouped_weights.quantize_groups, grouped_weights.restore_groups, grouped_weights.bits_per_weight),
    """
whole_rows: w.unflatten(-1, (-1, group)) → w[:, None]
; parts.abs().amax(-1) → parts.abs().amax(-1).expand(-1, w.shape[1] // group)
; safe[..., None]).round().flatten(1) → safe[:, :1, None]).round().flatten(1)
    A whole row shares one scale. Cut each row into groups of `group` neighbors first.
strided: parts = w.unflatten(-1, (-1, group)) → parts = w.unflatten(-1, (group, -1)).mT
; .round().flatten(1).to → .round().mT.flatten(1).to
    A group takes every n-th weight of a row. Its members are neighbors: unflatten(-1, (-1, group)).
group_count: w.unflatten(-1, (-1, group)) → w.unflatten(-1, (group, -1))
    group is taken as the number of groups in a row. It is the number of weights in one: unflatten(-1, (-1, group)).
signed: parts.abs().amax(-1) → parts.amax(-1)
    The largest value is taken, but the largest magnitude may be negative. Use abs first.
one_level_more: (2 ** (bits - 1) - 1) → 2 ** (bits - 1)
    The scale divides by 2^(bits−1), a code that the type has only with a minus. Divide by the largest code,
    2^(bits−1) − 1.
unsigned: (2 ** (bits - 1) - 1) → (2**bits - 1)
    The scale divides by 2^bits − 1, as for codes without a sign. The largest code is 2^(bits−1) − 1.
eight_bits: (2 ** (bits - 1) - 1) → 127
    The largest code is always 127. It is 2^(bits−1) − 1.
truncated: .round().flatten → .trunc().flatten
    The codes are cut off toward zero. Round them.
floored: .round().flatten → .floor().flatten
    The codes are rounded down. Round to the nearest.
wasteful: .flatten(1).to(torch.int8) → .flatten(1)
    The codes are floats, so nothing is saved. Convert them to torch.int8.
scale_of_one: to(torch.int8), scale → to(torch.int8), safe
    A group of zeros comes with scale 1. Divide by 1 there, but return the scale as it is: 0.
floor_of_scale: / (2 ** (bits - 1) - 1) → / (2 ** (bits - 1) - 1) + 1e-8
    A small number is added to every scale. Only a scale of 0 needs another divisor, and it stays 0.
fits_not: raise ValueError( → w = w[:, : w.shape[1] // group * group]
; f"groups of {group} do not fit rows of {w.shape[1]}") →
    Weights behind the last whole group are dropped. Raise a ValueError if groups don't fit.
divided_back: parts * scale[..., None] → parts / scale[..., None]
    restore_groups divides by the scale. The codes are w / scale, so the way back multiplies.
scale_forgotten: parts * scale[..., None] → parts.to(scale.dtype)
    restore_groups returns the codes. Multiply them by their scales.
first_scale: parts * scale[..., None] → parts * scale[:, :1, None]
    restore_groups uses the first scale of a row for all its groups. Each has its own.
back_strided: parts = codes.unflatten(-1, (scale.shape[1], -1)) → parts = codes.unflatten(-1, (-1, scale.shape[1])).mT
; (parts * scale[..., None]).flatten(1) → (parts * scale[..., None]).mT.flatten(1)
    restore_groups gives neighbors different scales. The members of a group are neighbors: cut the codes into as many
    groups as there are scales.
scale_free: bits + scale_bits / group → float(bits)
    The scale's own bits are left out. Each weight pays its part of it.
scale_each: bits + scale_bits / group → float(bits + scale_bits)
    Every weight pays a whole scale. A group shares it: scale_bits / group.
sixteen: scale_bits / group → 16 / group
    A scale always takes 16 bits here. Use scale_bits.
whole_bits: bits + scale_bits / group → bits + scale_bits // group
    The part of the scale is rounded down. It may be a fraction of a bit.
""",
)

EXERCISE = Exercise(
    id="bits.groups",
    title="Weights in a few bits",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    reference=(grouped_weights.quantize_groups, grouped_weights.restore_groups, grouped_weights.bits_per_weight),
    alternatives=[(quantize_by_groups, restore_by_repeat, bits_together)],
    cases=[
        Case("by hand", "nearly the row of the example, in groups of two and 3 bits", _by_hand),
        Case(
            "back by hand",
            "codes 2, −3, 0, 3 with scales 0.1 and 2",
            lambda g: call(
                torch.tensor([[2, -3, 0, 3]], dtype=torch.int8), torch.tensor([[0.1, 2.0]]), fn="restore_groups"
            ),
        ),
        Case(
            "four bits", "three rows of 12 weights, in groups of four", lambda g: call(g.randn(3, 12), 4, 4), weight=2
        ),
        Case(
            "eight bits",
            "two rows of 15 weights, in groups of three, in float64",
            lambda g: call(g.randn(2, 15, dtype=torch.float64), 3, 8),
        ),
        Case(
            "transposed",
            "a matrix that lies transposed in memory, in groups of two",
            lambda g: call(g.randn(6, 4).T, 2, 3),
        ),
        Case(
            "there and back",
            "quantized in 5 bits, and restored, in both precisions",
            lambda g: (
                call(g.randn(4, 12), 6, 5)
                .call(Ref(0, 0), Ref(0, 1), fn="restore_groups")
                .call(g.randn(2, 8, dtype=torch.float64), 2, 4)
                .call(Ref(2, 0), Ref(2, 1), fn="restore_groups")
            ),
            weight=2,
        ),
        Case("zeros", "three groups of zeros have scale 0 and codes 0", _zeros, weight=0.5),
        Case("small", "weights of a hundred-millionth", lambda g: call(1e-8 * (1 + g.uniform(2, 6)), 3, 4), weight=0.5),
        Case(
            "does not fit",
            "groups of four in rows of ten: ValueError",
            lambda g: call(g.randn(2, 10), 4, 4),
            weight=0.5,
        ),
        Case(
            "cost",
            "3 bits and groups of two: 11; then four random ones, with and without scales of 16 bits",
            lambda g: several(
                4,
                lambda p: p.call(
                    g.integer(2, 9), g.integer(3, 50), scale_bits=g.choice((8, 24, 32)), fn="bits_per_weight"
                ),
            ).call(3, 2, fn="bits_per_weight"),
        ),
    ],
    mutants=MISTAKES,
    unasked="""
codes are whole numbers, so nothing is trained through them
    gradient of quantize_groups
    gradient of restore_groups
""",
    equivalent="""
moved by hand, from counts, or made of whole numbers: nothing is trained through it
    de8d57f94a solution, result: return ((parts / safe[..., None]).round().flatten(1).to(torch.int8), …: result detach
    ea9035402f solution, result: return (parts * scale[..., None]).flatten(1): result detach
0/0 is NaN, and NaN as int8 is 0 on this machine; elsewhere it is undefined, which no input can show here
    81ad70ec2f solution, constant: 1.0 → 2.0 in torch.where(scale == 0, 1.0, scale)
    b2dc98fe1b solution, constant: 1.0 → 0.0 in torch.where(scale == 0, 1.0, scale)
    3949635b5d solution, constant: 0 → 1 in scale == 0
    8bf507b5dd solution, constant: 0 → -1 in scale == 0
    1cf1256a71 alternative (quantize_by_groups, restore_by_repeat, bits_together), if: if scale > 0 always
    c31637c231 alternative (quantize_by_groups, restore_by_repeat, bits_together), compare: scale > 0 → scale >= 0
equal in value: codes go into a tensor of int8, the sizes divide evenly, and whole numbers have no gradient
    49d01c6208 alternative (quantize_by_groups, restore_by_repeat, bits_together), result: return (codes, scales): res…
    29de2546a1 alternative (quantize_by_groups, restore_by_repeat, bits_together), argument: torch.round(part / scale)…
    f132356cb0 alternative (quantize_by_groups, restore_by_repeat, bits_together), call: torch.round(part / scale).to(…
    a7ceeca889 alternative (quantize_by_groups, restore_by_repeat, bits_together), arithmetic: codes.shape[1] // scale…
the order of the loop changes nothing, since each turn is on its own or makes the same step
    f0027b5150 alternative (quantize_by_groups, restore_by_repeat, bits_together), reversed: range(m) reversed
    c5a236ee6d alternative (quantize_by_groups, restore_by_repeat, bits_together), reversed: range(n // group) reversed
equal in value: it divides evenly, has one axis, has converged, or is converted anyway
    a2f9fce3ad alternative (quantize_by_groups, restore_by_repeat, bits_together), arithmetic: n // group rounded up
    52c6a5d7fe alternative (quantize_by_groups, restore_by_repeat, bits_together), arithmetic: n // group rounded up
    e1ef36993e alternative (quantize_by_groups, restore_by_repeat, bits_together), result: return codes.to(scale.dtype…
    5d695b4a07 alternative (quantize_by_groups, restore_by_repeat, bits_together), argument: codes.to(scale.dtype) wit…
    6f3739df1e alternative (quantize_by_groups, restore_by_repeat, bits_together), call: codes.to(scale.dtype) → codes
""",
)
