"""A power law fitted in logarithms, and a budget divided by it."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference import scaling


def fit_power_law(x, y):
    """(coefficient, exponent) of the least squares in the logarithms."""
    return tuple(scaling.fit_power_law(x, y))


def allocate(flops, coefficient, exponent):
    """(parameters, tokens)."""
    return tuple(scaling.allocation(flops, scaling.PowerLaw(coefficient, exponent)))


def fit_by_lstsq(x, y):
    """A matrix with a column of ones."""
    u, v = x.double().log(), y.double().log()
    intercept, slope = torch.linalg.lstsq(torch.stack([torch.ones_like(u), u], dim=1), v).solution
    return math.exp(intercept), float(slope)


def fit_by_sums(x, y):
    """The textbook's sums, in Python and to base 10."""
    u, v = [math.log10(a) for a in x.tolist()], [math.log10(b) for b in y.tolist()]
    n, su, sv = len(u), sum(u), sum(v)
    slope = (n * sum(a * b for a, b in zip(u, v, strict=True)) - su * sv) / (n * sum(a * a for a in u) - su * su)
    return 10 ** ((sv - slope * su) / n), slope


def allocate_by_tokens(flops, coefficient, exponent):
    """Tokens by the exponent that is left over."""
    return coefficient * flops**exponent, flops ** (1 - exponent) / coefficient / 6


def _line(u, v):
    slope = ((u - u.mean()) * (v - v.mean())).sum() / ((u - u.mean()) ** 2).sum()
    return (v.mean() - slope * u.mean()).item(), slope.item()


def _fit(result):
    """``result`` gets intercept and slope of the right line."""

    def wrong(x, y):
        return result(*_line(x.double().log(), y.double().log()))

    return wrong, AL


def not_logs(x, y):
    intercept, slope = _line(x.double(), y.double())
    return intercept, slope


def half_logs(x, y):
    intercept, slope = _line(x.double(), y.double().log())
    return math.exp(intercept), slope


def ends_only(x, y):
    u, v = x.double().log(), y.double().log()
    slope = ((v[-1] - v[0]) / (u[-1] - u[0])).item()
    return math.exp((v[0] - slope * u[0]).item()), slope


def slope_of_ends(x, y):
    u, v = x.double().log(), y.double().log()
    slope = (v[-1] - v[0]) / (u[-1] - u[0])
    return math.exp((v.mean() - slope * u.mean()).item()), slope.item()


def over_spread_of_y(x, y):
    u, v = x.double().log(), y.double().log()
    du, dv = u - u.mean(), v - v.mean()
    slope = (du * dv).sum() / (dv * dv).sum()
    return math.exp((v.mean() - slope * u.mean()).item()), slope.item()


def through_origin(x, y):
    u, v = x.double().log(), y.double().log()
    return 1.0, ((u * v).sum() / (u * u).sum()).item()


def as_given(x, y):
    intercept, slope = _line(x.log(), y.log())
    return math.exp(intercept), slope


def x_of_y(x, y):
    intercept, slope = _line(y.double().log(), x.double().log())
    return math.exp(intercept), slope


def inverse_slope(x, y):
    u, v = x.double().log(), y.double().log()
    _, slope = _line(v, u)
    return math.exp((v.mean() - u.mean() / slope).item()), 1 / slope


def from_first(x, y):
    u, v = x.double().log(), y.double().log()
    _, slope = _line(u, v)
    return math.exp((v[0] - slope * u[0]).item()), slope


def ten_and_e(x, y):
    intercept, slope = _line(x.double().log10(), y.double().log10())
    return math.exp(intercept), slope


def mean_of_ratios(x, y):
    u, v = x.double().log(), y.double().log()
    return 1.0, (v / u).mean().item()


FP, AL = fit_power_law, allocate


def _split(parameters=lambda C, c, e: c * C**e, tokens=lambda C, N, c, e: C / (6 * N)):
    """A wrong division of a budget; the fit is right."""

    def wrong(flops, coefficient, exponent):
        n = parameters(flops, coefficient, exponent)
        return n, tokens(flops, n, coefficient, exponent)

    return FP, wrong


def tokens_first(flops, coefficient, exponent):
    return allocate(flops, coefficient, exponent)[::-1]


def _points(g: Source, n: int = 7) -> tuple[Tensor, Tensor]:
    """Budgets that are not in order, and sizes by a law of their own with noise."""
    u = g.uniform(n, low=17, high=25, dtype=torch.float64)
    v = g.number(-2, 0) + g.number(0.3, 0.8) * u + 0.2 * g.randn(n, dtype=torch.float64)
    return 10**u, 10**v


def _close(g: Source) -> Program:
    """Budgets within two percent of each other: their logarithms, near 57, differ from the fourth digit on."""
    program = Program()
    for _ in range(2):
        u = 24.9 + g.uniform(9, low=0.0, high=0.006, dtype=torch.float64)
        v = g.number(-2, 0) + g.number(0.3, 0.8) * u + 6e-4 * g.randn(9, dtype=torch.float64)
        program.call((10**u).float(), (10**v).float())
    return program


def _exact(g: Source) -> Program:
    x = torch.tensor([1.0, 4.0, 16.0, 64.0], dtype=torch.float64)
    return call(x, 3 * x.sqrt())


EXERCISE = Exercise(
    id="scale.allocation",
    title="A budget divided",
    points=2,
    difficulty=2,
    minutes=11,
    signature="fit_power_law(x, y)",
    targets=("fit_power_law", "allocate"),
    reference=(FP, AL),
    alternatives=[(fit_by_lstsq, allocate_by_tokens), (fit_by_sums, allocate_by_tokens)],
    cases=[
        Case("exact law", "3, 6, 12, 24 at 1, 4, 16, 64: 3 times the root", _exact, rtol=1e-6),
        Case(
            "with noise",
            "seven budgets that are not in order, sizes off the line",
            lambda g: call(*_points(g)),
            weight=2,
            rtol=1e-9,
        ),
        Case("two points", "the line goes through both", lambda g: call(*_points(g, n=2)), rtol=1e-6),
        Case(
            "float32",
            "twice nine budgets that are close to each other, in float32, as are the sizes",
            _close,
            rtol=1e-5,
        ),
        Case(
            "by hand",
            "2,400 FLOPs, N = 2 · C^0.5 / √6: 40 parameters, and 10 tokens are left for them",
            lambda g: call(2400, 2 / math.sqrt(6), 0.5, fn="allocate"),
        ),
        Case(
            "budgets",
            "three random budgets and laws",
            lambda g: several(
                3,
                lambda p: p.call(
                    g.number(1, 9) * 10 ** g.integer(19, 26), g.number(0.05, 0.5), g.number(0.4, 0.7), fn="allocate"
                ),
            ),
            weight=2,
        ),
    ],
    mutants=[
        Mutant(
            "not_logs",
            (not_logs, AL),
            "A straight line is fitted to x and y as they are. A power law is straight in the logarithms of both.",
        ),
        Mutant(
            "half_logs", (half_logs, AL), "Only y is taken as a logarithm: that fits an exponential. Take both logs."
        ),
        Mutant(
            "log_coefficient",
            _fit(lambda a, b: (a, b)),
            "The coefficient is still a logarithm. Take the exponential of the intercept.",
        ),
        Mutant(
            "ten_and_e",
            (ten_and_e, AL),
            "Logarithms to base 10 come back with exp. Use one base: log10 and 10**, or log and exp.",
        ),
        Mutant(
            "ten_of_ln",
            _fit(lambda a, b: (10**a, b)),
            "Natural logarithms come back with powers of 10. Use one base: log and exp, or log10 and 10**.",
        ),
        Mutant(
            "exchanged", _fit(lambda a, b: (b, math.exp(a))), "The two results are exchanged: (coefficient, exponent)."
        ),
        Mutant(
            "ends_only",
            (ends_only, AL),
            "The line goes through the first and the last point. Use all of them: least squares.",
        ),
        Mutant(
            "slope_of_ends",
            (slope_of_ends, AL),
            "The exponent comes from the first and the last point alone. Least squares takes all of them.",
        ),
        Mutant(
            "over_spread_of_y",
            (over_spread_of_y, AL),
            "The exponent is divided by the spread of log y. The line is y over x: divide by the squares of log x "
            "less its mean.",
        ),
        Mutant(
            "through_origin",
            (through_origin, AL),
            "The line is forced through the origin, as if the coefficient were 1. Fit the intercept, too.",
        ),
        Mutant(
            "mean_of_ratios",
            (mean_of_ratios, AL),
            "The exponent is the mean of log y / log x, as if the coefficient were 1. Fit slope and intercept.",
        ),
        Mutant(
            "as_given",
            (as_given, AL),
            "Right in float64, but these numbers come in float32, and so do your logarithms. Of seven digits the "
            "difference to the mean takes most away. Convert first: x.double().log().",
        ),
        Mutant("x_of_y", (x_of_y, AL), "x is fitted as a law of y. Exchange the two: y is what follows."),
        Mutant(
            "inverse_slope",
            (inverse_slope, AL),
            "The slope is that of x over y, turned round: it minimizes errors of x. Minimize those of log y.",
        ),
        Mutant(
            "from_first",
            (from_first, AL),
            "The intercept makes the line meet the first point. It should meet the means of both logarithms.",
        ),
        Mutant(
            "all_tokens",
            _split(tokens=lambda C, N, c, e: C / N),
            "The factor 6 is missing from the tokens: D = C / (6N).",
        ),
        Mutant(
            "six_times",
            _split(tokens=lambda C, N, c, e: 6 * C / N),
            "The tokens are multiplied by 6. From C = 6ND follows D = C / (6N).",
        ),
        Mutant(
            "twenty",
            _split(tokens=lambda C, N, c, e: 20 * N),
            "The tokens are 20 times the parameters, whatever the law. Take what the budget leaves: D = C / (6N).",
        ),
        Mutant(
            "same_law",
            _split(tokens=lambda C, N, c, e: c * C ** (1 - e)),
            "The tokens use the parameters' coefficient. What the budget leaves decides: D = C / (6N).",
        ),
        Mutant(
            "sixth_first",
            _split(lambda C, c, e: c * (C / 6) ** e),
            "The budget is divided by 6 before the law is used. The law is one of C, not of C / 6.",
        ),
        Mutant(
            "exponent_times",
            _split(lambda C, c, e: c * C * e),
            "The budget is multiplied by the exponent. Raise it to that power: **.",
        ),
        Mutant(
            "power_of_both",
            _split(lambda C, c, e: (c * C) ** e),
            "The coefficient is raised to the power, too. Only the budget is: coefficient · C^exponent.",
        ),
        Mutant(
            "tokens_first",
            (FP, tokens_first),
            "Parameters and tokens are exchanged. Return (parameters, tokens).",
        ),
    ],
)
