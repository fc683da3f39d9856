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
    sxy, sxx = sum(xs[i] * ys[i] for i in range(n)), sum(x * x for x in xs)
    return (n * sxy - sx * sy) / (n * sxx - sx * sx)


def trend_by_list(depths, norms):
    """The word by a lookup: twice a flat exponent rounds to 0."""
    rounded = round(2 * exponent_by_sums(depths, norms))
    return ("flat", "rises", "falls")[(rounded > 0) - (rounded < 0)]


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


def correlation(depths, norms):
    x, y = (torch.tensor(v, dtype=torch.float64).log() for v in (depths, norms))
    return torch.corrcoef(torch.stack([x, y]))[0, 1].item()


def two_divisors(depths, norms):
    x, y = (torch.tensor(v, dtype=torch.float64).log() for v in (depths, norms))
    return (((x - x.mean()) * (y - y.mean())).mean() / x.var()).item()


def covariance(depths, norms):
    x, y = (torch.tensor(v, dtype=torch.float64).log() for v in (depths, norms))
    return ((x - x.mean()) @ (y - y.mean())).item()


def _limits(low, high):
    def trend(depths, norms):
        p = ref.exponent(depths, norms)
        return "falls" if p < low else "rises" if p > high else "flat"

    return trend


def _power(low: float, high: float, noise: float = 0.05) -> Numbers:
    """Norms that follow depth^p with a few percent of noise, p between low and high."""

    def numbers(g):
        depths = [6, 12, 24, 48, 96]
        p, c = g.number(low, high), g.number(2.0, 3.0)
        return depths, [round(c * n**p * (1 + g.number(-noise, noise)), 6) for n in depths]

    return numbers


def _words(*ranges: tuple[float, float]) -> Callable[[Source], Program]:
    """``trend`` of one noisy power for each range of exponents."""

    def build(g):
        program = Program()
        for low, high in ranges:
            program.call(*_power(low, high, 0.02)(g), fn="trend")
        return program

    return build


def mean_of_steps(depths, norms):
    pairs = list(zip(depths, norms, strict=True))
    steps = [math.log(w / v) / math.log(m / n) for (n, v), (m, w) in zip(pairs, pairs[1:], strict=False)]
    return sum(steps) / len(steps)


def mean_of_ratios(depths, norms):
    return sum(math.log(v) / math.log(n) for n, v in zip(depths, norms, strict=True)) / len(depths)


EXERCISE = Exercise(
    id="placement.trend",
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
        Case(
            "falls",
            "about 1/√depth with noise falls, and so does a power not far beyond −0.25",
            _words((-0.7, -0.5), (-0.31, -0.28)),
        ),
        Case(
            "flat",
            "noise of a few percent is flat, and so are weak powers on both sides of 0",
            _words((-0.05, 0.05), (-0.225, -0.19), (0.19, 0.225)),
        ),
        Case(
            "rises",
            "about √depth with noise rises, and so does a power not far beyond 0.25",
            _words((0.55, 0.7), (0.28, 0.31)),
        ),
        Case(
            "exponent",
            "a noisy power of the depth, five depths",
            lambda g: call(*_power(-0.9, -0.6, 0.3)(g)),
            rtol=1e-4,
        ),
        Case(
            "uneven depths",
            "four depths in no order, and not powers of each other",
            lambda g: call([20, 5, 33, 7], [round(g.number(2.0, 3.5) / n**0.8, 5) for n in (20, 5, 33, 7)]),
            rtol=1e-4,
        ),
        Case(
            "two depths",
            "a norm that grows with the depth, at two depths only: the line passes through both",
            lambda g: call([3, 40], [g.number(0.1, 0.4), g.number(2.0, 3.0)]),
            rtol=1e-4,
            weight=0.5,
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
            "correlation",
            _with(correlation),
            "This is the correlation: it says how straight the line is, not how steep. Divide by Σx² alone, with x "
            "from the depths.",
        ),
        Mutant(
            "two_divisors",
            _with(two_divisors),
            "One sum is divided by n, the other by n − 1. The divisors of covariance and variance cancel only where "
            "they are the same.",
        ),
        Mutant(
            "sign",
            _with(lambda depths, norms: -_slope(math.log, math.log)(depths, norms)),
            "The exponent has the wrong sign. Norms that fall with depth have a negative one.",
        ),
        Mutant(
            "power_itself",
            _with(lambda depths, norms: math.exp(_slope(math.log, math.log)(depths, norms))),
            "This is e to the power of the slope. The slope of ln(norm) against ln(depth) is p itself.",
        ),
        Mutant(
            "without_denominator",
            _with(covariance),
            "This is Σxy, or its mean. Divide by Σx² to get a slope.",
        ),
        Mutant(
            "limits_half",
            (ref.exponent, _limits(-0.5, 0.5)),
            "The limits are at ±0.5. trend says flat from −0.25 to 0.25.",
        ),
        Mutant(
            "limits_tenth",
            (ref.exponent, _limits(-0.1, 0.1)),
            "The limits are too close to 0. trend says flat from −0.25 to 0.25.",
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
        Mutant(
            "mean_of_steps",
            _with(mean_of_steps),
            "This is the mean of the slopes between neighbors, which is no least-squares line. Use Σxy / Σx² of the "
            "centered logarithms.",
        ),
        Mutant(
            "mean_of_ratios",
            _with(mean_of_ratios),
            "ln(norm)/ln(depth) is averaged. A slope compares differences: center both logarithms first, then "
            "Σxy / Σx².",
        ),
        Mutant(
            "tensor",
            (lambda depths, norms: torch.tensor(ref.exponent(depths, norms)), ref.trend),
            "The exponent is right, but it is a tensor. A float is asked for: .item().",
        ),
        Mutant(
            "falls_below_zero",
            (ref.exponent, _limits(0.0, 0.25)),
            "trend says falls for every negative exponent. Down to −0.25 it is flat.",
        ),
        Mutant(
            "rises_above_zero",
            (ref.exponent, _limits(-0.25, 0.0)),
            "trend says rises for every positive exponent. Up to 0.25 it is flat.",
        ),
        Mutant(
            "flat_at_one",
            (ref.exponent, _limits(0.75, 1.25)),
            "trend compares with limits around 1. An exponent near 0 is flat: from −0.25 to 0.25.",
        ),
        Mutant(
            "never_rises",
            (ref.exponent, lambda depths, norms: "falls" if ref.exponent(depths, norms) < -0.25 else "flat"),
            "trend never says rises. It does where the exponent is above 0.25.",
        ),
        Mutant(
            "never_falls",
            (ref.exponent, lambda depths, norms: "rises" if ref.exponent(depths, norms) > 0.25 else "flat"),
            "trend never says falls. It does where the exponent is below −0.25.",
        ),
        Mutant(
            "two_words",
            (ref.exponent, lambda depths, norms: "rises" if ref.exponent(depths, norms) > 0.25 else "falls"),
            "trend says falls wherever it does not say rises. From −0.25 to 0.25 it is flat.",
        ),
    ],
)
