"""The same turn as a complex product."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import rope as R


def complex_by_hand(x, angle):
    """Real and imaginary part of the product, written out."""
    if x.shape[-1] != 2:
        raise ValueError("need pairs")
    a, b, c, s = x[..., 0], x[..., 1], angle.cos(), angle.sin()
    return torch.stack([a * c - b * s, a * s + b * c], -1)


def complex_by_exp(x, angle):
    """torch.complex and exp(iφ)."""
    if x.shape[-1] != 2:
        raise ValueError("need pairs")
    turned = torch.complex(x[..., 0], x[..., 1]) * torch.exp(1j * angle)
    return torch.stack([turned.real, turned.imag], -1)


# The mutants check no shape: who makes such a mistake has often not come to the check yet.
def _product(x, factor):
    return torch.view_as_real(torch.view_as_complex(x.contiguous()) * factor)


def still_complex(x, angle):
    return torch.view_as_complex(x.contiguous()) * torch.polar(torch.ones_like(angle), angle)


def still_parts(x, angle):
    return _product(x, torch.polar(torch.ones_like(angle), angle))


def separately(x, angle):
    return torch.stack([x[..., 0] * angle.cos(), x[..., 1] * angle.sin()], -1)


def _there_and_back(g: Source) -> Program:
    x, angle = g.randn(3, 2), g.uniform(3, low=0.4, high=1.4)
    return Program().call(x, angle).call(x, -angle)


EXERCISE = Exercise(
    id="rope.rotate_complex",
    unit="06-rope",
    title="The same turn as a complex product",
    points=1,
    difficulty=2,
    minutes=8,
    signature="rotate_complex(x, angle)",
    extension=True,
    reference=R.rotate_complex,
    alternatives=[complex_by_hand, complex_by_exp],
    cases=[
        Case(
            "quarter turn",
            "(2, 1) turned by a quarter is (−1, 2)",
            lambda g: call(torch.tensor([2.0, 1.0]), torch.tensor(math.pi / 2)),
        ),
        Case(
            "one angle each",
            "four pairs, each with its own angle",
            lambda g: call(g.randn(4, 2), g.uniform(4, low=0.3, high=2.8)),
        ),
        Case(
            "shared angles",
            "a batch (3, 5, 2) shares five angles by broadcasting",
            lambda g: call(g.randn(3, 5, 2), g.uniform(5, low=-2.5, high=-0.3)),
        ),
        Case(
            "there and back",
            "turning by φ and then by −φ gives back what went in, on the way it does not",
            lambda g: _there_and_back(g),
        ),
        Case(
            "no pair",
            "a last axis of 3 is no pair: ValueError",
            lambda g: call(g.randn(4, 3), g.uniform(4)),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "conjugate",
            lambda x, angle: _product(x, torch.polar(torch.ones_like(angle), -angle)),
            "This multiplies by e^(−iφ) and turns clockwise. The factor is cos φ + i·sin φ.",
        ),
        Mutant(
            "polar_swapped",
            lambda x, angle: _product(x, torch.polar(angle, torch.ones_like(angle))),
            "torch.polar takes the length first and the angle second: polar(ones, angle).",
        ),
        Mutant(
            "parts_swapped",
            lambda x, angle: still_parts(x, angle).flip(-1),
            "Real and imaginary part come back in the wrong order. The first number of a pair is the real part.",
        ),
        Mutant(
            "separately",
            separately,
            "The two numbers are scaled separately. A turn mixes them: the real part is x₀·cos φ − x₁·sin φ.",
        ),
        Mutant(
            "still_complex",
            still_complex,
            "The result is still complex. torch.view_as_real turns it back into pairs of real numbers.",
        ),
        Mutant(
            "not_checked",
            still_parts,
            "Everything is right but the check of the last axis: raise ValueError yourself when it is not 2.",
        ),
    ],
)
