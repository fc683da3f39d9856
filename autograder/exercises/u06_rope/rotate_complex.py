"""The same turn as a complex product."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
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


def _there_and_back(g: Source) -> Program:
    x, angle = g.randn(3, 2), g.uniform(3, low=0.4, high=1.4)
    return Program().call(x, angle).call(x, -angle)


EXERCISE = Exercise(
    id="rope.rotate_complex",
    title="The same turn as a complex product",
    points=1,
    difficulty=2,
    minutes=8,
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
            "float64",
            "float64 goes in and comes out, with all its digits",
            lambda g: call(
                g.randn(2, 3, 2, dtype=torch.float64), g.uniform(2, 1, low=1.0, high=90.0, dtype=torch.float64)
            ),
        ),
        Case(
            "gradients",
            "a gradient flows back to the pairs and to the angles, which they share",
            lambda g: call(g.randn(3, 4, 2), g.uniform(4, low=-2.5, high=2.5), grad=[0, 1]),
        ),
        Case(
            "out of order",
            "pairs that lie transposed in memory, (2, T) turned round: view_as_complex wants them side by side",
            lambda g: call(g.randn(2, 5).mT, g.uniform(5, low=0.3, high=2.8)),
            weight=0.5,
        ),
        Case(
            "no pair",
            "a last axis of 3 is no pair: ValueError",
            lambda g: call(g.randn(4, 3), g.uniform(4)),
            weight=0.5,
        ),
        Case(
            "two pairs",
            "a last axis of 4 is no pair either: ValueError",
            lambda g: call(g.randn(3, 4), g.uniform(3)),
            weight=0.5,
        ),
        Case(
            "half a pair",
            "a last axis of 1 lacks its imaginary part: ValueError",
            lambda g: call(g.randn(3, 1), g.uniform(3)),
            weight=0.5,
        ),
    ],
    mutants=[
        *changes(
            R.rotate_complex,
            """
conjugate: x.shape[-1] != 2 → False ; torch.ones_like(angle), angle → torch.ones_like(angle), -angle
    This multiplies by e^(−iφ) and turns clockwise. The factor is cos φ + i·sin φ.
polar_swapped: x.shape[-1] != 2 → False ; torch.ones_like(angle), angle → angle, torch.ones_like(angle)
    torch.polar takes the length first and the angle second: polar(ones, angle).
parts_swapped: x.shape[-1] != 2 → False ; torch.view_as_real(turned) → torch.view_as_real(turned).flip(-1)
    Real and imaginary part come back in the wrong order. The first number of a pair is the real part.
sine_first: x.shape[-1] != 2 → False
; torch.polar(torch.ones_like(angle), angle) → torch.complex(angle.sin(), angle.cos())
    Sine and cosine are exchanged in the factor. Its real part is cos φ, its imaginary part sin φ.
""",
        ),
        *changes(
            complex_by_hand,
            """
real_plus: x.shape[-1] != 2 → False ; a * c - b * s → a * c + b * s
    Both products are added in the real part. i·i is −1, so it is x₀·cos φ − x₁·sin φ.
""",
        ),
        *changes(
            R.rotate_complex,
            """
turned_twice: x.shape[-1] != 2 → False ; torch.ones_like(angle), angle → torch.ones_like(angle), 2 * angle
    The pairs turn by twice the angle. Multiply by e^(iφ) once.
""",
        ),
        *changes(
            complex_by_hand,
            """
separately: x.shape[-1] != 2 → False ; a * c - b * s, a * s + b * c → a * c, b * s
    The two numbers are scaled separately. A turn mixes them: the real part is x₀·cos φ − x₁·sin φ.
""",
        ),
        *changes(
            R.rotate_complex,
            """
still_complex: x.shape[-1] != 2 → False ; torch.view_as_real(turned).to(x.dtype) → turned
    The result is still complex. torch.view_as_real turns it back into pairs of real numbers.
not_checked: x.shape[-1] != 2 → False
    Everything is right but the check of the last axis: raise ValueError yourself when it is not 2.
no_i: x.shape[-1] != 2 → False ; torch.polar(torch.ones_like(angle), angle) → angle.exp()
    The factor is exp(φ), a real number that stretches. The exponent needs the imaginary unit: exp(1j * angle), or
    torch.polar(ones, angle).
only_cosine: x.shape[-1] != 2 → False ; torch.polar(torch.ones_like(angle), angle) → angle.cos()
    The factor is cos φ alone, which only scales. Its imaginary part is missing: cos φ + i·sin φ.
""",
        ),
        *changes(
            complex_by_hand,
            """
imaginary_minus: x.shape[-1] != 2 → False ; a * s + b * c → a * s - b * c
    The imaginary part has a minus. It is x₀·sin φ + x₁·cos φ.
real_twice: x.shape[-1] != 2 → False ; a * s + b * c → a * c - b * s
    Both numbers are the real part. The second one is the imaginary part, x₀·sin φ + x₁·cos φ.
""",
        ),
        *changes(
            R.rotate_complex,
            """
real_part_only: torch.view_as_real(turned) → turned.real
    Only the real part comes back. torch.view_as_real gives both parts, in a last axis of size 2.
added: x.shape[-1] != 2 → False ; * torch.polar → + torch.polar
    The two complex numbers are added, which shifts a point. A turn is their product.
contiguous_forgotten: .contiguous() →
    view_as_complex fails where x lies transposed in memory. Call x.contiguous() before it.
only_odd_refused: x.shape[-1] != 2 → x.shape[-1] % 2
    A last axis of 4 is not refused: even is not enough. Raise ValueError unless it is exactly 2.
""",
        ),
    ],
)
