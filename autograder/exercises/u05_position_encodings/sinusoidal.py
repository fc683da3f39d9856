"""The sinusoidal table."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference.positions import sinusoidal as ref

from .shared import half


def sinusoid_by_loop(positions, d_model, base=10000.0):
    """Column by column."""
    if d_model % 2:
        raise ValueError("d_model must be even")
    angles = [positions / base ** ((c - c % 2) / d_model) for c in range(d_model)]
    return torch.stack([a.cos() if c % 2 else a.sin() for c, a in enumerate(angles)], dim=-1)


def sinusoid_by_exp(positions, d_model, base=10000.0):
    """exp of a logarithm in float32, written into slices."""
    if d_model % 2:
        raise ValueError(f"{d_model} is odd")
    w = torch.exp(torch.arange(0, d_model, 2) * (-math.log(base) / d_model))
    out = torch.empty(*positions.shape, d_model)
    out[..., ::2] = torch.sin(positions[..., None] * w)
    out[..., 1::2] = torch.cos(positions[..., None] * w)
    return out


def _table(positions, frequencies):
    angles = positions.double()[..., None] * frequencies.double()
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2).float()


def column_index(positions, d_model, base=10000.0):
    columns = torch.arange(d_model, dtype=torch.float64)
    angles = positions.double()[..., None] * base ** (-2 * columns / d_model)
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos()).float()


def half_split(positions, d_model, base=10000.0):
    angles = positions.double()[..., None] * base ** (-2 * half(d_model) / d_model)
    return torch.cat([angles.sin(), angles.cos()], -1).float()


def cosine_first(positions, d_model, base=10000.0):
    angles = positions.double()[..., None] * base ** (-2 * half(d_model) / d_model)
    return torch.stack([angles.cos(), angles.sin()], -1).flatten(-2).float()


def column_index_halved(positions, d_model, base=10000.0):
    columns = torch.arange(d_model, dtype=torch.float64)
    angles = positions.double()[..., None] * base ** (-columns / d_model)
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos()).float()


def one_axis_only(positions, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError("odd")
    out = torch.zeros(len(positions), d_model)
    w = torch.exp(torch.arange(0, d_model, 2) * (-math.log(base) / d_model))
    out[:, 0::2] = torch.sin(positions[:, None] * w)
    out[:, 1::2] = torch.cos(positions[:, None] * w)
    return out


# The mistakes leave the ValueError out: only cases that fail are compared with a mistake.


def _waves(even, odd, shift=0):
    """even of pair i at feature 2i, odd at 2i + 1 of the pair ``shift`` further on."""

    def wrong(positions, d_model, base=10000.0):
        angles = lambda i: positions.double()[..., None] * base ** (-2 * i / d_model)
        return torch.stack([even(angles(half(d_model))), odd(angles(half(d_model) + shift))], -1).flatten(-2).float()

    return wrong


def list_only(positions, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError("odd")
    out = torch.zeros(len(positions), d_model)
    for row, p in enumerate(positions.tolist()):
        for i in range(d_model // 2):
            out[row, 2 * i] = math.sin(p * base ** (-2 * i / d_model))
            out[row, 2 * i + 1] = math.cos(p * base ** (-2 * i / d_model))
    return out


def refused_by_half(positions, d_model, base=10000.0):
    if d_model % 4:
        raise ValueError("d_model must be even")
    return ref.sinusoid(positions, d_model, base)


EXERCISE = Exercise(
    id="position.sinusoidal",
    title="The sinusoidal table",
    points=2,
    difficulty=2,
    minutes=12,
    signature="sinusoid(positions, d_model, base=10000.0)",
    reference=ref.sinusoid,
    alternatives=[sinusoid_by_loop, sinusoid_by_exp],
    cases=[
        Case(
            "by hand",
            "base 100 and 4 features: frequencies 1 and 0.1, so position 1 is sin 1, cos 1, sin 0.1, cos 0.1",
            lambda g: call(torch.tensor([0, 1]), 4, base=100.0),
        ),
        Case(
            "eight features", "positions 0 to 5 with the usual base 10000", lambda g: call(torch.arange(6), 8), weight=2
        ),
        Case(
            "six features",
            "a number of pairs that is not a power of two, random positions",
            lambda g: call(g.integers(2, 12, 5), 6),
        ),
        Case("another base", "the base is an argument", lambda g: call(g.integers(2, 9, 4), 6, base=g.number(20, 60))),
        Case("negative", "positions before 0 are encoded as well", lambda g: call(torch.tensor([-3, -1, 0, 2]), 4)),
        Case("batch", "positions of shape (2, 3) give (2, 3, 8)", lambda g: call(g.integers(1, 12, 2, 3), 8)),
        Case(
            "one pair",
            "single positions of shape () and 2 features: sine and cosine of the position itself",
            lambda g: several(2, lambda p: p.call(g.integers(1, 400).squeeze(), 2)),
            weight=0.5,
        ),
        Case("odd size", "5 features cannot be paired: ValueError", lambda g: call(torch.arange(3), 5), weight=0.5),
    ],
    mutants=[
        Mutant(
            "column_index",
            column_index,
            "The column number stands in the exponent. Here i counts pairs, 0 … d_model/2 − 1: features 2i and 2i + "
            "1 share one frequency.",
        ),
        Mutant(
            "column_halved",
            column_index_halved,
            "Every column has a frequency of its own: its number stands in the exponent. Features 2i and 2i + 1 share "
            "one: base^(−2i/d_model) for both.",
        ),
        Mutant(
            "half_split",
            half_split,
            "All sines come first and then all cosines. Here they alternate: sine at 2i, cosine at 2i + 1.",
        ),
        Mutant("cosine_first", cosine_first, "Sine and cosine are exchanged: the even features are sines."),
        Mutant(
            "counts_from_one",
            lambda positions, d_model, base=10000.0: ref.sinusoid(positions + 1, d_model, base),
            "Every position is one too large. Encode the positions as they are given; they count from 0.",
        ),
        Mutant(
            "positions_ignored",
            lambda positions, d_model, base=10000.0: ref.sinusoid(
                torch.arange(positions.shape[-1]).expand(positions.shape), d_model, base
            ),
            "The rows are numbered 0, 1, 2, … whatever was asked. Encode the values in positions: they may start "
            "anywhere, repeat, or be negative.",
        ),
        Mutant(
            "no_sign",
            lambda positions, d_model, base=10000.0: ref.sinusoid(positions.abs(), d_model, base),
            "Positions before 0 are encoded like those after it. Keep the sign: the sine of a negative angle is "
            "negative.",
        ),
        Mutant(
            "one_axis_only",
            one_axis_only,
            "This is right for a row of positions only. Any shape is allowed: index from the end, positions[..., None] "
            "and out[..., 0::2].",
        ),
        Mutant(
            "flattened",
            lambda positions, d_model, base=10000.0: ref.sinusoid(positions.flatten(), d_model, base),
            "The shape of positions is lost. The result has that shape with one axis more: (..., d_model).",
        ),
        Mutant(
            "double",
            lambda positions, d_model, base=10000.0: ref.sinusoid(positions.double(), d_model, base),
            "The numbers are right, in float64. Return float32: add .float() at the end.",
        ),
        Mutant(
            "no_two",
            lambda positions, d_model, base=10000.0: _table(positions, base ** (-half(d_model) / d_model)),
            "The exponent is i/d_model. It is 2i/d_model, so that the last frequency comes close to 1/base.",
        ),
        Mutant(
            "twice_two",
            lambda positions, d_model, base=10000.0: _table(positions, base ** (-4 * half(d_model) / d_model)),
            "The exponent is 4i/d_model: torch.arange(0, d_model, 2) is 2i already, do not double it again.",
        ),
        Mutant(
            "reaches_base",
            lambda positions, d_model, base=10000.0: _table(
                positions, base ** (-half(d_model) / max(d_model // 2 - 1, 1))
            ),
            "The exponent ends at exactly 1. Some libraries do that; the paper divides 2i by d_model, so it stops "
            "one step before.",
        ),
        Mutant(
            "growing",
            lambda positions, d_model, base=10000.0: _table(positions, base ** (2 * half(d_model) / d_model)),
            "The frequencies grow. Divide the position by base^(2i/d_model), so that later pairs turn more slowly.",
        ),
        Mutant(
            "base_fixed",
            lambda positions, d_model, base=10000.0: _table(positions, 10000.0 ** (-2 * half(d_model) / d_model)),
            "The base is always 10000 here. Use the argument base.",
        ),
        Mutant(
            "unchecked",
            lambda positions, d_model, base=10000.0: _table(
                positions, base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
            ),
            "The numbers are right. Raise a ValueError when d_model is odd: the last sine would have no cosine.",
        ),
        Mutant(
            "list_only",
            list_only,
            "The code takes positions for a flat list of numbers: a single position () and a table (2, 3) fail. Work "
            "with tensors of any shape: positions[..., None] times the frequencies.",
        ),
        Mutant(
            "sines_only",
            _waves(torch.sin, torch.sin),
            "Every feature is a sine. The odd features, 2i + 1, are the cosine of the same angle.",
        ),
        Mutant(
            "cosine_next_pair",
            _waves(torch.sin, torch.cos, shift=1),
            "The cosine has the frequency of the next pair. Features 2i and 2i + 1 share one angle, that of pair i.",
        ),
        Mutant(
            "no_logarithm",
            lambda positions, d_model, base=10000.0: _table(positions, (-2 * half(d_model) / d_model).exp()),
            "The base has no effect: the frequencies are powers of e. With exp it is exp(−2i/d_model · ln(base)), "
            "else base ** (−2i/d_model).",
        ),
        Mutant(
            "base_times_exponent",
            lambda positions, d_model, base=10000.0: _table(
                positions, 1 / (base * 2 * half(d_model) / d_model).clamp(min=1)
            ),
            "The base is multiplied by the exponent. It is a power: base ** (2i/d_model).",
        ),
        Mutant(
            "reaches_base_nan",
            lambda positions, d_model, base=10000.0: _table(positions, base ** (-2 * half(d_model) / (d_model - 2))),
            "The exponent ends at exactly 1 and is 0/0 for a single pair. The paper divides 2i by d_model, so it "
            "stops one step before.",
        ),
        Mutant(
            "not_divided",
            lambda positions, d_model, base=10000.0: _table(positions, base ** (-2 * half(d_model))),
            "The exponent is not divided by d_model, so the frequencies fall far too fast. It is 2i/d_model, always "
            "below 1.",
        ),
        Mutant(
            "power_divided",
            lambda positions, d_model, base=10000.0: _table(positions, base ** (-2 * half(d_model)) / d_model),
            "d_model divides the power and not the exponent: brackets are missing. Write base ** (−2i / d_model).",
        ),
        Mutant(
            "odd_and_even_refused",
            refused_by_half,
            "Some even sizes are refused. Only an odd d_model is an error: two features a pair, any number of pairs.",
        ),
    ],
)
