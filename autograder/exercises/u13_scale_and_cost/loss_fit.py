"""The budget divided where a fitted loss is smallest."""

import math

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call, several
from autograder.reference import scaling


def predicted_loss(parameters, tokens, fit):
    """L(N, D) of a fit (E, A, alpha, B, beta)."""
    return scaling.scaling_loss(parameters, tokens, scaling.LossFit(*fit))


def best_size(flops, fit):
    """The N of the smallest loss under 6·N·D = flops."""
    return scaling.compute_optimal(flops, scaling.LossFit(*fit)).parameters


def loss_by_terms(parameters, tokens, fit):
    """Term by term, with negative powers."""
    E, A, alpha, B, beta = fit
    return sum((E, A * parameters**-alpha, B * tokens**-beta))


def size_by_powers(flops, fit):
    """Where the slopes of both terms are equal."""
    _, A, alpha, B, beta = fit
    G = (alpha * A / (beta * B)) ** (1 / (alpha + beta))
    return G * (flops / 6) ** (beta / (alpha + beta))


def size_by_logs(flops, fit):
    """The equation of the slopes in logarithms, where it is linear."""
    _, A, alpha, B, beta = fit
    return math.exp((math.log(alpha * A / (beta * B)) + beta * math.log(flops / 6)) / (alpha + beta))


def _fit(g: Source) -> tuple[float, ...]:
    return g.number(1, 2), g.number(200, 600, 1), g.number(0.25, 0.45), g.number(300, 2500, 1), g.number(0.25, 0.45)


MISTAKES = changes(
    (loss_by_terms, size_by_powers),
    """
no_floor: (E, A → (A
    E, what no model gets below, is missing.
exponents_exchanged: parameters**-alpha, B * tokens**-beta → parameters**-beta, B * tokens**-alpha
    alpha and beta are exchanged in the loss. The fit is (E, A, alpha, B, beta): A and alpha belong to the
    parameters.
sizes_exchanged: parameters**-alpha, B * tokens**-beta → tokens**-alpha, B * parameters**-beta
    Parameters and tokens are exchanged in the loss.
growing: parameters**-alpha, B * tokens**-beta → parameters**alpha, B * tokens**beta
    The loss grows with the sizes. Divide A by N^alpha and B by D^beta.
no_tokens: , B * tokens**-beta →
    The tokens' term is missing from the loss.
no_parameters: A * parameters**-alpha, →
    The parameters' term is missing from the loss.
no_six: (flops / 6) → flops
    The factor 6 is missing: N · D = C / 6.
own_exponent: (beta / (alpha + beta)) → (alpha / (alpha + beta))
    The exponent of N is that of D. The faster the tokens' term falls, the more is left for parameters: beta /
    (alpha + beta).
equal_terms: alpha * A / (beta * B) → A / B
    The two terms are made equal. At the minimum their slopes are: alpha · A / N^alpha = beta · B / D^beta.
upside_down: G * (flops / 6) ** (beta / (alpha + beta)) → (flops / 6) ** (beta / (alpha + beta)) / G
    The constant is upside down: a larger A asks for more parameters.
tokens: G * (flops / 6) ** (beta / (alpha + beta)) → (flops / 6) ** (alpha / (alpha + beta)) / G
    The tokens come back. Return the parameters, C / (6D).
no_root: ** (1 / (alpha + beta)) →
    The constant lacks its root: the power 1 / (alpha + beta).
half: (flops / 6) ** (beta / (alpha + beta)) → math.sqrt(flops / 6)
    The budget's exponent is 1/2, whatever the fit. It is beta / (alpha + beta).
twenty: G * (flops / 6) ** (beta / (alpha + beta)) → math.sqrt(flops / 120)
    20 tokens per parameter, whatever the fit. Find where the slopes of both terms are equal.
""",
)

EXERCISE = Exercise(
    id="scale.loss_fit",
    title="Where a fitted loss is smallest",
    points=3,
    difficulty=4,
    minutes=15,
    extension=True,
    reference=(predicted_loss, best_size),
    alternatives=[(loss_by_terms, size_by_logs)],
    cases=[
        Case(
            "by hand",
            "E = 1, A = 8 over 4 to the power 0.5, B = 9 over 27 to the power 1/3: 1 + 4 + 3",
            lambda g: call(4, 27, (1.0, 8.0, 0.5, 9.0, 1 / 3)),
        ),
        Case(
            "losses",
            "three random fits and runs",
            lambda g: several(3, lambda p: p.call(g.number(0.1, 90) * 1e9, g.number(0.1, 9) * 1e12, _fit(g))),
        ),
        Case(
            "even",
            "both terms alike: 2,400 FLOPs leave 20 parameters and 20 tokens",
            lambda g: call(2400, (1.0, 5.0, 0.5, 5.0, 0.5), fn="best_size"),
            rtol=1e-6,
        ),
        Case(
            "small budgets",
            "three random fits, and a few hundred FLOPs",
            lambda g: several(3, lambda p: p.call(g.number(100, 900), _fit(g), fn="best_size")),
            rtol=1e-6,
        ),
        Case(
            "sizes",
            "four random fits and budgets",
            lambda g: several(4, lambda p: p.call(g.number(1, 9) * 10 ** g.integer(19, 26), _fit(g), fn="best_size")),
            weight=2,
            rtol=1e-6,
        ),
    ],
    mutants=MISTAKES,
)
