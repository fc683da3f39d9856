"""Rotations, their wrong versions and the cases that several exercises use."""

import math

import sympy as sp
import torch
from torch import Tensor

from autograder.judge.spec import Case, Program, Source, call
from autograder.reference import rope as R

theta, q0, q1, k0, k1 = sp.symbols("theta q0 q1 k0 k1", real=True)


def ramp_by_loop(D: int, base: float, original_max: int, beta_fast: float = 32, beta_slow: float = 1) -> Tensor:
    """YaRN's ramp, frequency by frequency."""
    index = lambda turns: D / 2 * math.log(original_max / (2 * math.pi * turns), base)
    low, high = max(math.floor(index(beta_fast)), 0), min(math.ceil(index(beta_slow)), D - 1)
    return torch.tensor([min(max((i - low) / (high - low), 0.0), 1.0) for i in range(D // 2)])


def tables(x: Tensor, position_ids: Tensor, base: float) -> tuple[Tensor, Tensor]:
    """cos and sin, broadcastable to (B, H, T, D/2), float32 or wider."""
    f = R.rope_frequencies(x.shape[-1], base, dtype=torch.promote_types(x.dtype, torch.float32))
    angle = R.rope_angles(position_ids, f)
    return angle.cos(), angle.sin()


def rope_by_tables(x: Tensor, position_ids: Tensor, base: float = 10000.0) -> Tensor:
    """Every feature times a cosine, plus its partner times a sine."""
    cos, sin = (t.repeat_interleave(2, -1) for t in tables(x, position_ids, base))
    partner = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
    return (x * cos + partner * sin).to(x.dtype)


def in_a_batch(g: Source) -> Program:
    """Offsets and gaps: rows start at different positions and skip some."""
    start, steps = g.integers(3, 30, 2, 1), g.integers(1, 4, 2, 5)
    return call(g.randn(2, 3, 5, 6), start + steps.cumsum(1))


def far_in_bfloat16(g: Source) -> Program:
    """Positions at which angles in bfloat16 are off by whole turns."""
    return call(g.randn(1, 2, 4, 8, dtype=torch.bfloat16), torch.tensor([[1, 301, 777, 1027]]))


def scores_of_a_shift(g: Source) -> Program:
    """The same vectors at two positions that differ by a shift, in one program."""
    x, shift = g.randn(1, 1, 4, 8), g.integer(11, 400)
    ids = torch.arange(4)
    return Program().call(x, ids).call(x, ids + shift)


def trained_through(g: Source) -> Program:
    """Gradients at positions that each text counts for itself, with some base."""
    ids = g.integers(0, 9, 2, 1) + g.integers(1, 20, 2, 4).cumsum(1)
    return call(g.randn(2, 4, 3, 6).transpose(1, 2), ids, base=g.number(20, 900), grad=[0])


OTHER_BASE = Case(
    "other base",
    "some base between 50 and 500 in place of 10,000",
    lambda g: call(g.randn(1, 2, 3, 8), torch.tensor([2, 5, 9]), base=g.number(50, 500, digits=1)),
)
# One pair: its frequency is 1, so that no rounding of frequencies hides in which precision the angles are.
FLOAT64 = Case(
    "float64",
    "float64 goes in and comes out, with all its digits, 30,000 positions on",
    lambda g: call(g.randn(2, 1, 3, 2, dtype=torch.float64), g.integers(20_000, 30_000, 2, 3)),
)
GRADIENTS = Case(
    "gradients",
    "a gradient flows back to x, which lies in memory as split_heads leaves it: transposed",
    trained_through,
)
FLOAT16 = Case(
    "float16",
    "float16 goes in, float16 comes out",
    lambda g: call(g.randn(2, 1, 3, 4, dtype=torch.float16), g.integers(1, 20, 2, 3)),
)
