"""The exponent of a power law, and the trend that it names."""

import math
from collections.abc import Callable

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import residual as ref

Numbers = Callable[[Source], tuple[list[int], list[float]]]


def exponent_by_sums(depths, norms):
    """Least squares by the normal equations."""
    xs, ys = [math.log10(n) for n in depths], [math.log10(v) for v in norms]
    n, sx, sy = len(xs), sum(xs), sum(ys)
    sxy, sxx = sum(x * y for x, y in zip(xs, ys, strict=True)), sum(x * x for x in xs)
    return (n * sxy - sx * sy) / (n * sxx - sx * sx)


def trend_by_list(depths, norms):
    """The word by a lookup."""
    slope = exponent_by_sums(depths, norms)
    return ["falls", "flat", "rises"][(slope >= -0.25) + (slope > 0.25)]


def _slope(fx, fy):
    def fitted(depths, norms):
        x = torch.tensor([fx(v) for v in depths], dtype=torch.float64)
        y = torch.tensor([fy(v) for v in norms], dtype=torch.float64)
        x, y = x - x.mean(), y - y.mean()
        return float((x @ y) / (x @ x))

    return fitted


def _word(slope):
    def trend(depths, norms):
        s = slope(depths, norms)
        return "falls" if s < -0.25 else "rises" if s > 0.25 else "flat"

    return trend


def _with(slope):
    return slope, _word(slope)


same = lambda v: v
ends = lambda depths, norms: math.log(norms[-1] / norms[0]) / math.log(depths[-1] / depths[0])
other_way = lambda depths, norms: _slope(math.log, math.log)(norms, depths)

no_mean = lambda depths, norms: (
    sum(math.log(n) * math.log(v) for n, v in zip(depths, norms, strict=True)) / sum(math.log(n) ** 2 for n in depths)
)


def _power(low: float, high: float, noise: float = 0.05) -> Numbers:
    """Norms that follow depth^p with a few percent of noise, p between low and high."""

    def numbers(g):
        depths = [6, 12, 24, 48, 96]
        p, c = g.number(low, high), g.number(2.0, 3.0)
        return depths, [round(c * n**p * (1 + g.number(-noise, noise)), 6) for n in depths]

    return numbers


def _case(fn: str | None, numbers: Numbers) -> Callable[[Source], Program]:
    return lambda g: call(*numbers(g), fn=fn)


EXERCISE = Exercise(
    id="placement.trend",
    unit="03-norm-placement",
    title="What is the trend?",
    points=2,
    difficulty=2,
    minutes=10,
    signature="exponent(depths, norms)",
    targets=("exponent", "trend"),
    reference=(ref.exponent, ref.trend),
    alternatives=[(exponent_by_sums, trend_by_list)],
    cases=[
        Case(
            "by hand",
            "1, 0.5 and 0.25 at depths 4, 16 and 64: the depth grows fourfold, the norm halves: −0.5",
            lambda g: call([4, 16, 64], [1.0, 0.5, 0.25]),
            rtol=1e-4,
        ),
        Case("word by hand", "the same numbers fall", lambda g: call([4, 16, 64], [1.0, 0.5, 0.25], fn="trend")),
        Case("falls", "about 1/√depth with noise falls", _case("trend", _power(-0.7, -0.4))),
        Case("flat", "noise of a few percent, and nothing else, is flat", _case("trend", _power(-0.05, 0.05))),
        Case("rises", "about √depth with noise rises", _case("trend", _power(0.4, 0.7))),
        Case("exponent", "a noisy power of the depth, five depths", _case(None, _power(-0.9, -0.6, 0.3)), rtol=1e-4),
        Case(
            "uneven depths",
            "four depths that are not powers of each other",
            lambda g: call([5, 7, 20, 33], [round(g.number(2.0, 3.5) / n**0.8, 5) for n in (5, 7, 20, 33)]),
            rtol=1e-4,
        ),
    ],
    mutants=[
        Mutant(
            "no_logarithms",
            _with(_slope(same, same)),
            "This is the slope of the bare numbers, and it depends on their units. Take logarithms of depths and "
            "norms first.",
        ),
        Mutant(
            "one_logarithm",
            _with(_slope(math.log, same)),
            "Only the depths are on a logarithmic axis. Take the logarithm of the norms too.",
        ),
        Mutant(
            "norms_only",
            _with(_slope(same, math.log)),
            "Only the norms are on a logarithmic axis. Take the logarithm of the depths too.",
        ),
        Mutant(
            "ends_only",
            _with(ends),
            "Only the first and the last depth count here. A least-squares line uses all of them, so that one noisy "
            "value matters less.",
        ),
        Mutant(
            "axes_exchanged",
            _with(other_way),
            "The line is fitted with depth as a function of the norm. Divide by the spread of the depths: Σxy / Σx² "
            "with x from the depths.",
        ),
        Mutant(
            "not_centered",
            _with(no_mean),
            "The means are not subtracted, so the line is forced through the origin. Center both lists first.",
        ),
        Mutant(
            "words_exchanged",
            (
                ref.exponent,
                lambda depths, norms: {"falls": "rises", "rises": "falls", "flat": "flat"}[ref.trend(depths, norms)],
            ),
            "The words are exchanged. A negative exponent means that the norm falls with depth.",
        ),
        Mutant(
            "never_flat",
            (ref.exponent, lambda depths, norms: "falls" if ref.exponent(depths, norms) < 0 else "rises"),
            "Nothing is ever flat here. Noise alone gives small exponents: from −0.25 to 0.25 the answer is flat.",
        ),
    ],
)
