"""ALiBi's slopes and bias."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference.positions import alibi


def slopes_by_recursion(n_heads):
    """The authors' way: a power of two, or the one below it and every other slope of the one above."""
    if n_heads < 1:
        raise ValueError("no heads")
    if n_heads & (n_heads - 1) == 0:
        return torch.tensor([2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)])
    power = 2 ** int(math.log2(n_heads))
    return torch.cat([slopes_by_recursion(power), slopes_by_recursion(2 * power)[0::2][: n_heads - power]])


def bias_by_subtracting(slopes, T, S, offset=0):
    """Outer difference, then one product."""
    i, j = torch.arange(offset, offset + T), torch.arange(S)
    return torch.einsum("h,ts->hts", slopes, -(i[:, None] - j[None, :]).abs().to(slopes.dtype))


def slopes_by_series(n_heads):
    """Repeated multiplication."""
    if n_heads <= 0:
        raise ValueError(n_heads)
    P = 1
    while 2 * P <= n_heads:
        P *= 2
    first = [(2 ** (-8 / P)) ** (h + 1) for h in range(P)]
    rest = [(2 ** (-4 / P)) ** (2 * h + 1) for h in range(n_heads - P)]
    return torch.tensor(first + rest)


def bias_by_loop_of_heads(slopes, T, S, offset=0):
    """Head by head."""
    distance = torch.tensor([[float(abs(i + offset - j)) for j in range(S)] for i in range(T)])
    return torch.stack([-m * distance for m in slopes])


def _slopes(exponents):
    """Slopes 2^-e for the exponents of a wrong rule."""
    return lambda n_heads: torch.tensor([2.0**-e for e in exponents(n_heads)])


def _power(n):
    return 2 ** (n.bit_length() - 1)


def from_zero(n):
    return (
        [8 * h / n for h in range(n)]
        if n == _power(n)
        else [8 * h / _power(n) for h in range(_power(n))]
        + [4 * h / _power(n) for h in range(1, 2 * (n - _power(n)), 2)]
    )


def _between(steps):
    """The first slopes right, the extra ones at steps(count) of the longer series."""

    def exponents(n):
        P = _power(n)
        return [8 * h / P for h in range(1, P + 1)] + [4 * h / P for h in steps(n - P)]

    return exponents


def _distance(change, offset_used=True):
    def wrong(slopes, T, S, offset=0):
        r = torch.arange(S) - torch.arange(T)[:, None] - (offset if offset_used else 0)
        return slopes[:, None, None] * change(r).to(slopes.dtype)

    return wrong


B = alibi.alibi_bias

EXERCISE = Exercise(
    id="position.alibi",
    unit="05-position-encodings",
    title="ALiBi: a slope per head",
    points=2,
    difficulty=3,
    minutes=15,
    signature="alibi_slopes(n_heads)",
    targets=("alibi_slopes", "alibi_bias"),
    reference=(alibi.alibi_slopes, alibi.alibi_bias),
    alternatives=[(slopes_by_recursion, bias_by_subtracting), (slopes_by_series, bias_by_loop_of_heads)],
    cases=[
        Case("eight heads", "1/2, 1/4, … 1/256", lambda g: call(8)),
        Case(
            "twelve heads",
            "the eight of above, then every other slope of sixteen: 0.7071, 0.3536, 0.1768, 0.0884",
            lambda g: call(12),
            weight=2,
        ),
        Case("four heads", "1/4, 1/16, 1/64, 1/256", lambda g: call(4)),
        Case("six heads", "four slopes of four heads, then two of eight: 1/2 and 1/8", lambda g: call(6)),
        Case("no heads", "0 heads raise ValueError", lambda g: call(0), weight=0.5),
        Case(
            "bias by hand",
            "slope 1/2, three places: 0 here, −1/2 one place away, −1 two places away",
            lambda g: call(torch.tensor([0.5]), 3, 3, fn="alibi_bias"),
        ),
        Case(
            "more keys",
            "two heads, two queries that start at position 3, five keys",
            lambda g: call(g.uniform(2, low=0.1, high=0.9), 2, 5, offset=3, fn="alibi_bias"),
        ),
    ],
    mutants=[
        Mutant(
            "one_series",
            (_slopes(lambda n: [8 * (h + 1) / n for h in range(n)]), B),
            "The power-of-two rule is used for every number of heads. Otherwise take the slopes of the largest "
            "power of two below, then every other slope of twice that.",
        ),
        Mutant(
            "starts_at_one",
            (_slopes(from_zero), B),
            "The first slope is 1. The series starts with its own ratio: 2^(−8/H), then 2^(−16/H), and so on to 2^−8.",
        ),
        Mutant(
            "next_in_order",
            (_slopes(_between(lambda m: range(1, m + 1))), B),
            "The extra slopes are the first ones of the longer series. Every second of those exists already: take "
            "the 1st, the 3rd, the 5th and so on.",
        ),
        Mutant(
            "even_ones",
            (_slopes(_between(lambda m: range(2, 2 * m + 1, 2))), B),
            "The extra slopes are the 2nd, 4th and so on of the longer series, which exist already. Take the 1st, "
            "the 3rd, the 5th.",
        ),
        Mutant(
            "reward",
            (alibi.alibi_slopes, _distance(lambda r: r.abs())),
            "The bias grows with distance. It is a penalty: minus slope times distance.",
        ),
        Mutant(
            "signed",
            (alibi.alibi_slopes, _distance(lambda r: r)),
            "Keys in the future get a bonus here. The distance is an absolute value: |i − j|.",
        ),
        Mutant(
            "offset_ignored",
            (alibi.alibi_slopes, _distance(lambda r: -r.abs(), offset_used=False)),
            "The queries are taken to start at position 0. Query i stands at position i + offset.",
        ),
        Mutant(
            "unchecked",
            (lambda n_heads: alibi.alibi_slopes(n_heads) if n_heads else torch.zeros(0), B),
            "The numbers are right. Raise a ValueError when there are no heads.",
        ),
    ],
)
