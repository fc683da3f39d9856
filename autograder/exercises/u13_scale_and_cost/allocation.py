"""A power law fitted in logarithms, and a budget divided by it."""

import math

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
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


def fit_by_means(x, y):
    """Through the mean of both logarithms."""
    u, v = x.double().log(), y.double().log()
    du, dv = u - u.mean(), v - v.mean()
    slope = (du * dv).sum() / (du * du).sum()
    intercept = v.mean() - slope * u.mean()
    return math.exp(intercept), slope.item()


def allocate_what_is_left(flops, coefficient, exponent):
    """Parameters by the law, and the tokens that the budget leaves for them."""
    parameters = coefficient * flops**exponent
    return parameters, flops / (6 * parameters)


def allocate_by_tokens(flops, coefficient, exponent):
    """Tokens by the exponent that is left over."""
    return coefficient * flops**exponent, flops ** (1 - exponent) / coefficient / 6


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


MISTAKES = changes(
    (fit_by_means, allocate_what_is_left),
    """
not_logs: x.double().log(), y.double().log() → x.double(), y.double() ; math.exp(intercept) → intercept.item()
    A straight line is fitted to x and y as they are. A power law is straight in the logarithms of both.
half_logs: x.double().log() → x.double()
    Only y is taken as a logarithm: that fits an exponential. Take both logs.
log_coefficient: math.exp(intercept) → intercept.item()
    The coefficient is still a logarithm. Take the exponential of the intercept.
ten_and_e: x.double().log(), y.double().log() → x.double().log10(), y.double().log10()
    Logarithms to base 10 come back with exp. Use one base: log10 and 10**, or log and exp.
ten_of_ln: math.exp(intercept) → 10 ** intercept.item()
    Natural logarithms come back with powers of 10. Use one base: log and exp, or log10 and 10**.
exchanged: math.exp(intercept), slope.item() → slope.item(), math.exp(intercept)
    The two results are exchanged: (coefficient, exponent).
ends_only: (du * dv).sum() / (du * du).sum() → (v[-1] - v[0]) / (u[-1] - u[0])
; v.mean() - slope * u.mean() → v[0] - slope * u[0]
    The line goes through the first and the last point. Use all of them: least squares.
slope_of_ends: (du * dv).sum() / (du * du).sum() → (v[-1] - v[0]) / (u[-1] - u[0])
    The exponent comes from the first and the last point alone. Least squares takes all of them.
over_spread_of_y: (du * du) → (dv * dv)
    The exponent is divided by the spread of log y. The line is y over x: divide by the squares of log x less its
    mean.
through_origin: u - u.mean(), v - v.mean() → u, v ; math.exp(intercept) → 1.0
    The line is forced through the origin, as if the coefficient were 1. Fit the intercept, too.
mean_of_ratios: (du * dv).sum() / (du * du).sum() → (v / u).mean() ; math.exp(intercept) → 1.0
    The exponent is the mean of log y / log x, as if the coefficient were 1. Fit slope and intercept.
as_given: x.double().log(), y.double().log() → x.log(), y.log()
    Right in float64, but these numbers come in float32, and so do your logarithms. Of seven digits the difference
    to the mean takes most away. Convert first: x.double().log().
x_of_y: u, v = → v, u =
    x is fitted as a law of y. Exchange the two: y is what follows.
inverse_slope: (du * dv).sum() / (du * du).sum() → (dv * dv).sum() / (du * dv).sum()
    The slope is that of x over y, turned round: it minimizes errors of x. Minimize those of log y.
from_first: v.mean() - slope * u.mean() → v[0] - slope * u[0]
    The intercept makes the line meet the first point. It should meet the means of both logarithms.
all_tokens: flops / (6 * parameters) → flops / parameters
    The factor 6 is missing from the tokens: D = C / (6N).
six_times: flops / (6 * parameters) → 6 * flops / parameters
    The tokens are multiplied by 6. From C = 6ND follows D = C / (6N).
twenty: flops / (6 * parameters) → 20 * parameters
    The tokens are 20 times the parameters, whatever the law. Take what the budget leaves: D = C / (6N).
same_law: flops / (6 * parameters) → coefficient * flops ** (1 - exponent)
    The tokens use the parameters' coefficient. What the budget leaves decides: D = C / (6N).
sixth_first: flops**exponent → (flops / 6) ** exponent
    The budget is divided by 6 before the law is used. The law is one of C, not of C / 6.
exponent_times: flops**exponent → flops * exponent
    The budget is multiplied by the exponent. Raise it to that power: **.
power_of_both: coefficient * flops**exponent → (coefficient * flops) ** exponent
    The coefficient is raised to the power, too. Only the budget is: coefficient · C^exponent.
tokens_first: parameters, flops / (6 * parameters) → flops / (6 * parameters), parameters
    Parameters and tokens are exchanged. Return (parameters, tokens).
""",
)

EXERCISE = Exercise(
    id="scale.allocation",
    title="A budget divided",
    points=2,
    difficulty=2,
    minutes=11,
    reference=(fit_power_law, allocate),
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
    mutants=MISTAKES,
    equivalent="""
the deviations of u sum to 0, so any constant may be taken from v
    0d83ad997d solution, arithmetic: v - v.mean() → v + v.mean()
    bdb2d36ab5 solution, operand: v - v.mean() → v
    701b23a2d3 solution, name: mean → sum in v.mean()
    c4a98fce4e solution, unbiased: v.mean() over n − 1
math.log10 takes the entries of a tensor as well
    3a9f970a2f alternative (fit_by_sums, allocate_by_tokens), call: x.tolist() → x
    7c84d96b79 alternative (fit_by_sums, allocate_by_tokens), call: y.tolist() → y
both lists have the length of the given tensors
    665653f00c alternative (fit_by_sums, allocate_by_tokens), keyword: zip(u, v, strict=True) without strict=True
    9946448bf0 alternative (fit_by_sums, allocate_by_tokens), flag: True → False in strict=True
a product does not depend on its order
    be3c4acb36 alternative (fit_by_sums, allocate_by_tokens), argument: zip(u, v, strict=True): arguments 1 and 2 swap…
""",
)
