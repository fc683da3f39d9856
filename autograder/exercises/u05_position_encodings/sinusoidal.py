"""The sinusoidal table."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference.positions import sinusoidal as ref


def sinusoid(positions, d_model, base=10000.0):
    """Sine and cosine of each pair's angle, in float64."""
    if d_model % 2:
        raise ValueError("odd size")
    i = torch.arange(d_model // 2, dtype=torch.float64)
    angles = positions.double()[..., None] * base ** (-2 * i / d_model)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2).float()


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


def list_only(positions, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError("odd")
    out = torch.zeros(len(positions), d_model)
    for row, p in enumerate(positions.tolist()):
        for i in range(d_model // 2):
            out[row, 2 * i] = math.sin(p * base ** (-2 * i / d_model))
            out[row, 2 * i + 1] = math.cos(p * base ** (-2 * i / d_model))
    return out


MISTAKES = [
    *changes(
        sinusoid,
        """
column_index: d_model // 2 → d_model
; torch.stack([angles.sin(), angles.cos()], -1).flatten(-2) → torch.where(i % 2 == 0, angles.sin(), angles.cos())
; raise ValueError("odd size") → pass
    The column number stands in the exponent. Here i counts pairs, 0 … d_model/2 − 1: features 2i and 2i + 1 share
    one frequency.
column_halved: d_model // 2 → d_model ; -2 * i → -i
; torch.stack([angles.sin(), angles.cos()], -1).flatten(-2) → torch.where(i % 2 == 0, angles.sin(), angles.cos())
; raise ValueError("odd size") → pass
    Every column has a frequency of its own: its number stands in the exponent. Features 2i and 2i + 1 share one:
    base^(−2i/d_model) for both.
half_split: torch.stack([angles.sin(), angles.cos()], -1).flatten(-2) → torch.cat([angles.sin(), angles.cos()], -1)
; raise ValueError("odd size") → pass
    All sines come first and then all cosines. Here they alternate: sine at 2i, cosine at 2i + 1.
cosine_first: angles.sin(), angles.cos() → angles.cos(), angles.sin() ; raise ValueError("odd size") → pass
    Sine and cosine are exchanged: the even features are sines.
counts_from_one: positions.double() → (positions + 1).double()
    Every position is one too large. Encode the positions as they are given; they count from 0.
positions_ignored: positions.double() → torch.arange(positions.shape[-1]).expand(positions.shape).double()
    The rows are numbered 0, 1, 2, … whatever was asked. Encode the values in positions: they may start anywhere,
    repeat, or be negative.
no_sign: positions.double() → positions.abs().double()
    Positions before 0 are encoded like those after it. Keep the sign: the sine of a negative angle is negative.
""",
    ),
    *changes(
        sinusoid_by_exp,
        """
one_axis_only: *positions.shape → len(positions) ; sin(positions[..., None] → sin(positions[:, None]
; cos(positions[..., None] → cos(positions[:, None]
    This is right for a row of positions only. Any shape is allowed: index from the end, positions[..., None] and
    out[..., 0::2].
""",
    ),
    *changes(
        sinusoid,
        """
flattened: positions.double() → positions.flatten().double()
    The shape of positions is lost. The result has that shape with one axis more: (..., d_model).
double: .float() →
    The numbers are right, in float64. Return float32: add .float() at the end.
no_two: -2 * i → -i ; raise ValueError("odd size") → pass
    The exponent is i/d_model. It is 2i/d_model, so that the last frequency comes close to 1/base.
twice_two: -2 * i → -4 * i ; raise ValueError("odd size") → pass
    The exponent is 4i/d_model: torch.arange(0, d_model, 2) is 2i already, do not double it again.
reaches_base: -2 * i / d_model → -i / max(d_model // 2 - 1, 1) ; raise ValueError("odd size") → pass
    The exponent ends at exactly 1. Some libraries do that; the paper divides 2i by d_model, so it stops one step
    before.
growing: -2 * i → 2 * i ; raise ValueError("odd size") → pass
    The frequencies grow. Divide the position by base^(2i/d_model), so that later pairs turn more slowly.
base_fixed: base ** → 10000.0 ** ; raise ValueError("odd size") → pass
    The base is always 10000 here. Use the argument base.
unchecked: d_model // 2 → (d_model + 1) // 2 ; raise ValueError("odd size") → pass
    The numbers are right. Raise a ValueError when d_model is odd: the last sine would have no cosine.
""",
    ),
    Mutant(
        "list_only",
        list_only,
        "The code takes positions for a flat list of numbers: a single position () and a table (2, 3) fail. Work "
        "with tensors of any shape: positions[..., None] times the frequencies.",
    ),
    *changes(
        sinusoid,
        """
sines_only: angles.cos() → angles.sin() ; raise ValueError("odd size") → pass
    Every feature is a sine. The odd features, 2i + 1, are the cosine of the same angle.
cosine_next_pair: angles.cos() → (angles * base ** (-2 / d_model)).cos() ; raise ValueError("odd size") → pass
    The cosine has the frequency of the next pair. Features 2i and 2i + 1 share one angle, that of pair i.
no_logarithm: base ** (-2 * i / d_model) → torch.exp(-2 * i / d_model) ; raise ValueError("odd size") → pass
    The base has no effect: the frequencies are powers of e. With exp it is exp(−2i/d_model · ln(base)), else base
    ** (−2i/d_model).
base_times_exponent: base ** (-2 * i / d_model) → 1 / (base * 2 * i / d_model).clamp(min=1)
; raise ValueError("odd size") → pass
    The base is multiplied by the exponent. It is a power: base ** (2i/d_model).
reaches_base_nan: / d_model) → / (d_model - 2)) ; raise ValueError("odd size") → pass
    The exponent ends at exactly 1 and is 0/0 for a single pair. The paper divides 2i by d_model, so it stops one
    step before.
not_divided: / d_model → ; raise ValueError("odd size") → pass
    The exponent is not divided by d_model, so the frequencies fall far too fast. It is 2i/d_model, always below 1.
power_divided: i / d_model) → i) / d_model ; raise ValueError("odd size") → pass
    d_model divides the power and not the exponent: brackets are missing. Write base ** (−2i / d_model).
odd_and_even_refused: d_model % 2 → d_model % 4
    Some even sizes are refused. Only an odd d_model is an error: two features a pair, any number of pairs.
""",
    ),
]

EXERCISE = Exercise(
    id="position.sinusoidal",
    title="The sinusoidal table",
    points=2,
    difficulty=2,
    minutes=12,
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
    mutants=MISTAKES,
    equivalent="""
d_model is even here, an odd one has raised: steps of 2 never reach d_model - 1
    2f960b6594 solution, window: d_model - 1 in torch.arange(0, d_model, 2)
    8779786779 alternative sinusoid_by_exp, window: d_model - 1 in torch.arange(0, d_model, 2)
""",
)
