"""How much of a scale and a shift a norm lets through."""

from collections.abc import Callable

import torch

from autograder.judge.spec import Case, Exercise, Fn, Mutant, Program, Source, call

from .shared import double, t


def largest_change(norm, x, scale, shift):
    """max |norm(scale·x + shift) − norm(x)|, a float."""
    return float((norm(scale * x + shift) - norm(x)).abs().max())


def by_list(norm, x, scale, shift):
    """The same with Python's max."""
    before, after = norm(x).flatten().tolist(), norm(x * scale + shift).flatten().tolist()
    return max(abs(after[i] - before[i]) for i in range(len(before)))


def by_distance(norm, x, scale, shift):
    return torch.dist(norm(scale * x + shift), norm(x), p=torch.inf).item()


def summary(of):
    return lambda norm, x, scale, shift: of(norm, x, scale, shift)


def any_case(name: str) -> Callable[[Source], Program]:
    return lambda g: call(Fn(name), g.randn(3, 5, scale=2.0), g.number(1.5, 3.0), g.number(0.5, 2.0))


def in_place(norm, x, scale, shift):
    after = x.mul_(scale).add_(shift)
    return float((norm(after) - norm(x)).abs().max())


EXERCISE = Exercise(
    id="norm.invariance",
    title="Invariance as a number",
    points=1,
    difficulty=1,
    minutes=6,
    signature="largest_change(norm, x, scale, shift)",
    reference=largest_change,
    alternatives=[by_list, by_distance],
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
        Case(
            "double",
            "a random float64 tensor through the sine, to nine digits",
            lambda g: call(Fn("sin"), *double(g, (3, 5)), g.number(1.5, 3.0), g.number(0.5, 2.0)),
            weight=0.5,
            rtol=1e-9,
        ),
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
            "norm_of_difference",
            summary(lambda norm, x, scale, shift: float(norm(scale * x + shift - x).abs().max())),
            "norm is applied to the difference of the inputs. Apply it to each of the two, then subtract.",
        ),
        Mutant(
            "difference_of_maxima",
            summary(lambda norm, x, scale, shift: abs(float(norm(scale * x + shift).max() - norm(x).max()))),
            "The two largest outputs are compared. Subtract entry by entry, then take the largest change.",
        ),
        Mutant(
            "relative",
            summary(
                lambda norm, x, scale, shift: float(
                    ((norm(scale * x + shift) - norm(x)).abs() / (norm(x).abs() + 1e-8)).max()
                )
            ),
            "The change is divided by the old output. The absolute change is asked for.",
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
        Mutant(
            "tensor",
            lambda norm, x, scale, shift: (norm(scale * x + shift) - norm(x)).abs().max(),
            "The number is right, but it is a tensor. A float is asked for: .item().",
        ),
        Mutant(
            "in_place",
            in_place,
            "x itself is changed (*=, mul_), so both calls of norm see the changed input, and the caller's tensor is "
            "spoilt. Make a new one: scale * x + shift.",
        ),
        Mutant(
            "sum",
            lambda norm, x, scale, shift: float((norm(scale * x + shift) - norm(x)).abs().sum()),
            "The changes are added up. The largest single one is asked for.",
        ),
        Mutant(
            "length",
            lambda norm, x, scale, shift: float((norm(scale * x + shift) - norm(x)).norm()),
            "This is the length of the change, √(sum of squares). The largest single entry is asked for.",
        ),
        Mutant(
            "scale_ignored",
            lambda norm, x, scale, shift: largest_change(norm, x, 1.0, shift),
            "scale is ignored. The input becomes scale·x + shift.",
        ),
        Mutant(
            "shift_ignored",
            lambda norm, x, scale, shift: largest_change(norm, x, scale, 0.0),
            "shift is ignored. The input becomes scale·x + shift.",
        ),
        Mutant(
            "exchanged",
            lambda norm, x, scale, shift: largest_change(norm, x, shift, scale),
            "scale and shift have changed places: multiply by scale, add shift.",
        ),
        Mutant(
            "one_at_a_time",
            lambda norm, x, scale, shift: max(largest_change(norm, x, scale, 0.0), largest_change(norm, x, 1.0, shift)),
            "Scale and shift are tried one at a time. Do both to the same input: scale·x + shift.",
        ),
        Mutant(
            "output_changed",
            lambda norm, x, scale, shift: float((scale * norm(x) + shift - norm(x)).abs().max()),
            "The output is scaled and shifted. Change the input, and run norm on it: norm(scale·x + shift).",
        ),
        Mutant(
            "smallest",
            lambda norm, x, scale, shift: float((norm(scale * x + shift) - norm(x)).abs().min()),
            "This is the smallest change of an entry. The largest is asked for.",
        ),
        Mutant(
            "norm_not_called",
            lambda norm, x, scale, shift: float((scale * x + shift - x).abs().max()),
            "norm is never called: these are changes of the input. Compare norm(scale·x + shift) with norm(x).",
        ),
    ],
)
