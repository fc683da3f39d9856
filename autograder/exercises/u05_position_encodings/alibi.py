"""ALiBi's slopes and bias."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference.positions import alibi

B = alibi.alibi_bias


def slopes_by_recursion(n_heads):
    """The authors' way: a power of two, or the one below it and every other slope of the one above."""
    if n_heads < 1:
        raise ValueError("no heads")
    if n_heads & (n_heads - 1) == 0:
        return torch.tensor([2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)])
    power = 2 ** int(math.log2(n_heads))
    return torch.cat([slopes_by_recursion(power), slopes_by_recursion(2 * power)[::2][: n_heads - power]])


def bias_by_subtracting(slopes, T, S, offset=0):
    """Outer difference, then one product."""
    r = torch.arange(S) - torch.arange(offset, offset + T)[:, None]
    return -r.abs() * slopes[:, None, None]


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
    distance = torch.tensor([[abs(i + offset - j) for j in range(S)] for i in range(T)])
    return torch.stack([-m * distance for m in slopes])


def _slopes(exponents):
    """Slopes 2^-e for the exponents of a wrong rule."""
    return lambda n_heads: torch.tensor([2.0**-e for e in exponents(n_heads)])


def _power(n):
    return 2 ** (n.bit_length() - 1)


def power_above(n):
    P = _power(2 * n - 1)
    return [8 * h / P for h in range(1, n + 1)]


def in_order(n):
    """The right slopes, from the largest to the smallest."""
    return sorted(right(n))


def right(n):
    P = _power(n)
    return [8 * h / P for h in range(1, P + 1)] + [4 * h / P for h in range(1, 2 * (n - P), 2)]


def one_refused(n_heads):
    if n_heads <= 1:
        raise ValueError("no heads")
    return alibi.alibi_slopes(n_heads)


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


def _distance(change, offset_factor=1):
    def wrong(slopes, T, S, offset=0):
        r = torch.arange(S) - torch.arange(T)[:, None] - offset_factor * offset
        return slopes[:, None, None] * change(r).to(slopes.dtype)

    return wrong


def future_hidden(slopes, T, S, offset=0):
    return B(slopes, T, S, offset).masked_fill(torch.ones(T, S).triu(offset + 1).bool(), -math.inf)


EXERCISE = Exercise(
    id="position.alibi",
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
        Case(
            "random",
            "four numbers of heads, with and without extra slopes",
            lambda g: several(4, lambda p: p.call(g.integer(9, 33))),
        ),
        Case("one head", "a single head: 1/256", lambda g: call(1), weight=0.5),
        Case("three heads", "two slopes of two heads, then one of four: 1/4", lambda g: call(3), weight=0.5),
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
        Case(
            "double",
            "float64 slopes give a float64 bias, also for keys after the query",
            lambda g: call(
                g.uniform(3, low=0.1, high=0.9, dtype=torch.float64), 4, 6, g.integer(1, 3), fn="alibi_bias"
            ),
            weight=0.5,
        ),
        Case(
            "gradients",
            "the gradient of a trained slope: minus the sum over all distances",
            lambda g: call(g.uniform(2, low=0.1, high=0.9), 3, 6, offset=1, grad=[0], fn="alibi_bias"),
            weight=0.5,
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
            "power_above",
            (_slopes(power_above), B),
            "The first slopes of the power of two above are taken. Start from the largest power of two below, then add "
            "every other slope of twice that.",
        ),
        Mutant(
            "halving",
            (_slopes(lambda n: list(range(1, n + 1))), B),
            "The slopes are 1/2, 1/4, 1/8, … for any number of heads. That is right for 8: the ratio is 2^(−8/H), so "
            "that the last one is 2^−8.",
        ),
        Mutant(
            "sorted",
            (_slopes(in_order), B),
            "The slopes are right, their order is not. The extra ones come after the first P and are not sorted in.",
        ),
        Mutant(
            "reversed",
            (_slopes(lambda n: right(n)[::-1]), B),
            "The slopes stand in reverse order. The first head has the largest, 2^(−8/P).",
        ),
        Mutant(
            "one_refused",
            (one_refused, B),
            "A single head is refused. It is allowed and has slope 2^−8: only fewer than one head is an error.",
        ),
        Mutant(
            "past_only",
            (alibi.alibi_slopes, _distance(lambda r: r.clamp(max=0))),
            "Keys in the future cost nothing here. The distance is an absolute value: |i − j|.",
        ),
        Mutant(
            "offset_turned",
            (alibi.alibi_slopes, _distance(lambda r: -r.abs(), offset_factor=-1)),
            "The offset has the wrong sign. Query i stands at position i + offset.",
        ),
        Mutant(
            "squared",
            (alibi.alibi_slopes, _distance(lambda r: -(r**2))),
            "The penalty grows with the square of the distance. ALiBi is linear: −slope · |i − j|.",
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
            (alibi.alibi_slopes, _distance(lambda r: -r.abs(), offset_factor=0)),
            "The queries are taken to start at position 0. Query i stands at position i + offset.",
        ),
        Mutant(
            "unchecked",
            (lambda n_heads: alibi.alibi_slopes(n_heads) if n_heads else torch.zeros(0), B),
            "The numbers are right. Raise a ValueError when there are no heads.",
        ),
        Mutant(
            "extra_of_same_series",
            (_slopes(lambda n: right(_power(n)) + [8 * h / _power(n) for h in range(1, 2 * (n - _power(n)), 2)]), B),
            "The extra slopes repeat slopes that exist. They are every other slope of the series for 2P heads: "
            "exponents 8h/(2P) for h = 1, 3, 5.",
        ),
        Mutant(
            "growing",
            (_slopes(lambda n: [-e for e in right(n)]), B),
            "The slopes are above 1 and grow. The exponent has a minus: 2^(−8h/P).",
        ),
        Mutant(
            "extra_missing",
            (_slopes(lambda n: right(_power(n))), B),
            "Only the slopes of the largest power of two are returned. Other numbers of heads need the extra ones "
            "too: n_heads slopes in all.",
        ),
        Mutant(
            "extra_in_front",
            (_slopes(lambda n: right(n)[_power(n) :] + right(n)[: _power(n)]), B),
            "The extra slopes stand in front. They come after the first P.",
        ),
        Mutant(
            "last_ones",
            (_slopes(_between(lambda m: range(2 * m - 1, 0, -2))), B),
            "The extra slopes stand in reverse order. Take the 1st of the longer series, then the 3rd, then the 5th.",
        ),
        Mutant(
            "base_e",
            (_slopes(lambda n: [e / math.log(2) for e in right(n)]), B),
            "The slopes are powers of e. They are powers of 2: 2 ** (−8h/P).",
        ),
        Mutant(
            "linear",
            (lambda n_heads: torch.tensor([1 / (h + 1) for h in range(n_heads)]), B),
            "The slopes fall like 1, 1/2, 1/3. They are a geometric series, each a fixed factor smaller: 2^(−8h/P).",
        ),
        Mutant(
            "offset_on_keys_and_queries",
            (alibi.alibi_slopes, _distance(lambda r: -r.abs(), offset_factor=2)),
            "The offset counts twice. Query i stands at position i + offset, key j at position j.",
        ),
        Mutant(
            "slope_ignored",
            (
                alibi.alibi_slopes,
                lambda slopes, T, S, offset=0: B(torch.ones_like(slopes), T, S, offset) + 0 * slopes[:, None, None],
            ),
            "Every head gets the plain distance. Multiply it by the slope of the head: slopes[:, None, None].",
        ),
        Mutant(
            "divided_by_slope",
            (alibi.alibi_slopes, lambda slopes, T, S, offset=0: B(1 / slopes, T, S, offset)),
            "The distance is divided by the slope. Multiply: the bias is −slope · |i − j|.",
        ),
        Mutant(
            "turned",
            (alibi.alibi_slopes, lambda slopes, T, S, offset=0: B(slopes, T, S, offset).mT),
            "The bias is (H, S, T) here. Queries, T of them, are the rows.",
        ),
        Mutant(
            "heads_last",
            (alibi.alibi_slopes, lambda slopes, T, S, offset=0: B(slopes, T, S, offset).movedim(0, -1)),
            "The heads stand on the last axis. The bias is (H, T, S): slopes[:, None, None] times the distances.",
        ),
        Mutant(
            "future_hidden",
            (alibi.alibi_slopes, future_hidden),
            "Keys in the future are hidden with -inf. That is a mask's work: here they cost −slope · |i − j| like "
            "those of the past.",
        ),
        Mutant(
            "one_too_far",
            (alibi.alibi_slopes, lambda slopes, T, S, offset=0: B(slopes, T, S, offset) - slopes[:, None, None]),
            "Every distance is one too large. The word itself has distance 0 and costs nothing.",
        ),
        Mutant(
            "offset_at_end",
            (alibi.alibi_slopes, lambda slopes, T, S, offset=0: B(slopes, T, S, S - T)),
            "The queries are put at the end of the keys. Query i stands at position i + offset.",
        ),
    ],
)
