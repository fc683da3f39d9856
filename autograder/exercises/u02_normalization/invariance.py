"""How much of a scale and a shift a norm lets through."""

from collections.abc import Callable

import torch

from autograder.judge.spec import Case, Exercise, Fn, Mutant, Program, Source, call

from .shared import t


def largest_change(norm, x, scale, shift):
    """max |norm(scale·x + shift) − norm(x)|, a float."""
    return float((norm(scale * x + shift) - norm(x)).abs().max())


def by_list(norm, x, scale, shift):
    """The same with Python's max."""
    before, after = norm(x), norm(x * scale + shift)
    return max(abs(b - a) for a, b in zip(before.flatten().tolist(), after.flatten().tolist(), strict=True))


def summary(of):
    return lambda norm, x, scale, shift: of(norm, x, scale, shift)


def any_case(name: str) -> Callable[[Source], Program]:
    return lambda g: call(Fn(name), g.randn(3, 5, scale=2.0), g.number(1.5, 3.0), g.number(0.5, 2.0))


EXERCISE = Exercise(
    id="norm.invariance",
    unit="02-normalization",
    title="Invariance as a number",
    points=1,
    difficulty=1,
    minutes=6,
    signature="largest_change(norm, x, scale, shift)",
    reference=largest_change,
    alternatives=[
        by_list,
        summary(lambda norm, x, scale, shift: torch.dist(norm(scale * x + shift), norm(x), p=torch.inf)),
    ],
    cases=[
        Case(
            "scale",
            "the identity on 1, 3, 5 with scale 0.5: the last entry moves by 2.5",
            lambda g: call(Fn("identity"), t(1, 3, 5), 0.5, 0.0),
            rtol=1e-4,
        ),
        Case(
            "shift",
            "the identity with shift 10: every entry moves by 10",
            lambda g: call(Fn("identity"), t(1, 3, 5), 1.0, 10.0),
            rtol=1e-4,
        ),
        Case(
            "both", "first scaled, then shifted: 2·x + 3", lambda g: call(Fn("identity"), t(1, -4), 2.0, 3.0), rtol=1e-4
        ),
        Case(
            "constant",
            "a function that always gives 1 notices nothing",
            lambda g: call(Fn("ones"), t(1, 3, 5), 2.0, 3.0),
            weight=0,
        ),
        Case("tanh", "a random tensor through tanh", any_case("tanh"), rtol=1e-3),
        Case("square", "a random tensor through the square", any_case("square"), rtol=1e-3),
    ],
    mutants=[
        Mutant(
            "signed",
            summary(lambda norm, x, scale, shift: float((norm(scale * x + shift) - norm(x)).max())),
            "The largest signed change. An entry may also fall: take the absolute value first.",
        ),
        Mutant(
            "abs_last",
            summary(lambda norm, x, scale, shift: abs(float((norm(scale * x + shift) - norm(x)).max()))),
            "The maximum comes before the absolute value, so an entry that falls is overlooked. Take abs first.",
        ),
        Mutant(
            "mean",
            summary(lambda norm, x, scale, shift: float((norm(scale * x + shift) - norm(x)).abs().mean())),
            "This is the mean change. The largest is asked for.",
        ),
        Mutant(
            "shift_first",
            summary(lambda norm, x, scale, shift: largest_change(norm, x, scale, scale * shift)),
            "The shift is scaled as well: scale·(x + shift). Scale first, then shift.",
        ),
        Mutant(
            "against_input",
            summary(lambda norm, x, scale, shift: float((norm(scale * x + shift) - x).abs().max())),
            "Compared with x itself. Compare with norm(x).",
        ),
        Mutant(
            "against_scaled",
            summary(
                lambda norm, x, scale, shift: float((norm(scale * x + shift) - (scale * norm(x) + shift)).abs().max())
            ),
            "Compared with the scaled and shifted output. Invariant means: the output stays norm(x).",
        ),
    ],
)
