"""The exponent of a power law, and the trend that it names."""

import math
from collections.abc import Callable

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
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


MISTAKES = changes(
    (ref.exponent, ref.trend),
    """
no_logarithms: .log() →
    This is the slope of the bare numbers, and it depends on their units. Take logarithms of depths and norms first.
one_logarithm: .log() → ; x - x.mean() → x.log() - x.log().mean()
    Only the depths are on a logarithmic axis. Take the logarithm of the norms too.
norms_only: .log() → ; y - y.mean() → y.log() - y.log().mean()
    Only the norms are on a logarithmic axis. Take the logarithm of the depths too.
ends_only: (x @ y) / (x @ x) → (y[-1] - y[0]) / (x[-1] - x[0])
    Only the first and the last depth count here. A least-squares line uses all of them, so that one noisy value
    matters less.
axes_exchanged: (x @ y) / (x @ x) → (x @ y) / (y @ y)
    The line is fitted with depth as a function of the norm. Divide by the spread of the depths: Σxy / Σx² with x
    from the depths.
not_centered: x, y = x - x.mean(), y - y.mean() →
    The means are not subtracted, so the line is forced through the origin. Center both lists first.
correlation: (x @ y) / (x @ x) → (x @ y) / (x.norm() * y.norm())
    This is the correlation: it says how straight the line is, not how steep. Divide by Σx² alone, with x from the
    depths.
two_divisors: (x @ y) / (x @ x) → (x * y).mean() / x.var()
    One sum is divided by n, the other by n − 1. The divisors of covariance and variance cancel only where they are
    the same.
sign: (x @ y) / (x @ x) → -(x @ y) / (x @ x)
    The exponent has the wrong sign. Norms that fall with depth have a negative one.
power_itself: (x @ y) / (x @ x) → ((x @ y) / (x @ x)).exp()
    This is e to the power of the slope. The slope of ln(norm) against ln(depth) is p itself.
without_denominator: (x @ y) / (x @ x) → x @ y
    This is Σxy, or its mean. Divide by Σx² to get a slope.
limits_half: slope < -0.25 → slope < -0.5 ; slope > 0.25 → slope > 0.5
    The limits are at ±0.5. trend says flat from −0.25 to 0.25.
limits_tenth: slope < -0.25 → slope < -0.1 ; slope > 0.25 → slope > 0.1
    The limits are too close to 0. trend says flat from −0.25 to 0.25.
words_exchanged: slope < -0.25 → slope > 0.25 ; "rises" if slope > 0.25 → "rises" if slope < -0.25
    The words are exchanged. A negative exponent means that the norm falls with depth.
never_flat: "falls" if slope < -0.25 else "rises" if slope > 0.25 else "flat" → "falls" if slope < 0 else "rises"
    Nothing is ever flat here. Noise alone gives small exponents: from −0.25 to 0.25 the answer is flat.
mean_of_steps: (x @ y) / (x @ x) → (y.diff() / x.diff()).mean()
    This is the mean of the slopes between neighbors, which is no least-squares line. Use Σxy / Σx² of the centered
    logarithms.
mean_of_ratios: x, y = x - x.mean(), y - y.mean() → ; (x @ y) / (x @ x) → (y / x).mean()
    ln(norm)/ln(depth) is averaged. A slope compares differences: center both logarithms first, then Σxy / Σx².
tensor: float((x @ y) / (x @ x)) → ((x @ y) / (x @ x)).float()
    The exponent is right, but it is a tensor. A float is asked for: .item().
falls_below_zero: slope < -0.25 → slope < 0
    trend says falls for every negative exponent. Down to −0.25 it is flat.
rises_above_zero: slope > 0.25 → slope > 0
    trend says rises for every positive exponent. Up to 0.25 it is flat.
flat_at_one: slope < -0.25 → slope < 0.75 ; slope > 0.25 → slope > 1.25
    trend compares with limits around 1. An exponent near 0 is flat: from −0.25 to 0.25.
never_rises: "falls" if slope < -0.25 else "rises" if slope > 0.25 else "flat" → "falls" if slope < -0.25 else "flat"
    trend never says rises. It does where the exponent is above 0.25.
never_falls: "falls" if slope < -0.25 else "rises" if slope > 0.25 else "flat" → "rises" if slope > 0.25 else "flat"
    trend never says falls. It does where the exponent is below −0.25.
two_words: "falls" if slope < -0.25 else "rises" if slope > 0.25 else "flat" → "rises" if slope > 0.25 else "falls"
    trend says falls wherever it does not say rises. From −0.25 to 0.25 it is flat.
""",
)

EXERCISE = Exercise(
    id="placement.trend",
    title="What is the trend?",
    points=2,
    difficulty=2,
    minutes=10,
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
    mutants=MISTAKES,
    equivalent="""
a constant added to y has no effect: it is multiplied with x, which sums to 0
    827118988c solution, arithmetic: y - y.mean() → y + y.mean()
    701b07724a solution, operand: y - y.mean() → y
    db8ecd55cd solution, name: mean → sum in y.mean()
    af8a3840cb solution, unbiased: y.mean() over n − 1
the dot product of two vectors does not depend on their order
    1f241bc019 solution, swapped: x @ y → y @ x
an exponent of exactly -0.25 is a matter of rounding: right answers may fall on either side of it
    20081b3fb1 solution, compare: p < -0.25 → p <= -0.25
an exponent of exactly 0.25 is a matter of rounding: right answers may fall on either side of it
    262b934f5a solution, compare: p > 0.25 → p >= 0.25
a sum does not depend on the order of its terms, except by rounding
    e4765923a2 alternative (exponent_by_sums, trend_by_list), reversed: range(n) reversed
""",
)
