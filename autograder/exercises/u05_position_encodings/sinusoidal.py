"""The sinusoidal table."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference.positions import sinusoidal as ref

from .shared import half


def sinusoid_by_loop(positions, d_model, base=10000.0):
    """Entry by entry, with Python's math."""
    if d_model < 2 or d_model % 2:
        raise ValueError("d_model must be even")
    out = torch.empty(*positions.shape, d_model)
    for i in range(d_model // 2):
        angle = positions.double() / base ** (2 * i / d_model)
        out[..., 2 * i], out[..., 2 * i + 1] = angle.sin(), angle.cos()
    return out


def sinusoid_by_exp(positions, d_model, base=10000.0):
    """exp of a logarithm in float32, written into slices."""
    if d_model % 2 != 0:
        raise ValueError(f"{d_model} is odd")
    w = torch.exp(torch.arange(0, d_model, 2) * (-math.log(base) / d_model))
    out = torch.zeros(*positions.shape, d_model)
    out[..., 0::2] = torch.sin(positions[..., None].float() * w)
    out[..., 1::2] = torch.cos(positions[..., None].float() * w)
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


# The mistakes leave the ValueError out: only cases that fail are compared with a mistake.
EXERCISE = Exercise(
    id="position.sinusoidal",
    unit="05-position-encodings",
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
    ],
)
