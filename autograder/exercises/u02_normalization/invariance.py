"""How much of a scale and a shift a norm lets through."""

from collections.abc import Callable

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Fn, Program, Source, call

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


def any_case(name: str) -> Callable[[Source], Program]:
    return lambda g: call(Fn(name), g.randn(3, 5, scale=2.0), g.number(1.5, 3.0), g.number(0.5, 2.0))


MISTAKES = changes(
    largest_change,
    """
signed: .abs() →
    The largest signed change. An entry may also fall: take the absolute value first.
abs_last: .abs().max() → .max().abs()
    The maximum comes before the absolute value, so an entry that falls is overlooked. Take abs first.
mean: .max() → .mean()
    This is the mean change. The largest is asked for.
norm_of_difference: + shift) - norm(x) → + shift - x)
    norm is applied to the difference of the inputs. Apply it to each of the two, then subtract.
difference_of_maxima: + shift) - norm(x)).abs().max() → + shift).max() - norm(x).max()).abs()
    The two largest outputs are compared. Subtract entry by entry, then take the largest change.
relative: float((norm → float(((norm ; .abs() → .abs() / (norm(x).abs() + 1e-8))
    The change is divided by the old output. The absolute change is asked for.
shift_first: scale * x + shift → scale * (x + shift)
    The shift is scaled as well: scale·(x + shift). Scale first, then shift.
against_input: - norm(x) → - x
    Compared with x itself. Compare with norm(x).
against_scaled: - norm(x) → - (scale * norm(x) + shift)
    Compared with the scaled and shifted output. Invariant means: the output stays norm(x).
tensor: float((norm → (norm ; .max()) → .max()
    The number is right, but it is a tensor. A float is asked for: .item().
in_place: scale * x + shift → x.mul_(scale).add_(shift)
    x itself is changed (*=, mul_), so both calls of norm see the changed input, and the caller's tensor is spoilt.
    Make a new one: scale * x + shift.
sum: .max() → .sum()
    The changes are added up. The largest single one is asked for.
length: .abs().max() → .norm()
    This is the length of the change, √(sum of squares). The largest single entry is asked for.
scale_ignored: scale * x → x
    scale is ignored. The input becomes scale·x + shift.
shift_ignored: scale * x + shift → scale * x
    shift is ignored. The input becomes scale·x + shift.
exchanged: scale * x + shift → shift * x + scale
    scale and shift have changed places: multiply by scale, add shift.
one_at_a_time: norm(scale * x + shift) → torch.stack([norm(scale * x), norm(x + shift)])
    Scale and shift are tried one at a time. Do both to the same input: scale·x + shift.
output_changed: norm(scale * x + shift) → scale * norm(x) + shift
    The output is scaled and shifted. Change the input, and run norm on it: norm(scale·x + shift).
smallest: .max() → .min()
    This is the smallest change of an entry. The largest is asked for.
norm_not_called: norm(scale * x + shift) - norm(x) → scale * x + shift - x
    norm is never called: these are changes of the input. Compare norm(scale·x + shift) with norm(x).
""",
)

EXERCISE = Exercise(
    id="norm.invariance",
    title="Invariance as a number",
    points=1,
    difficulty=1,
    minutes=6,
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
    mutants=MISTAKES,
    equivalent="""
A maximum does not depend on the order of its entries.
    6569f50efb alternative by_list, reversed: range(len(before)) reversed
A distance is the same from either end.
    62bf2fa53f alternative by_distance, argument: torch.dist(norm(scale * x + shift), norm(x), p=torch.inf): arguments…
""",
)
