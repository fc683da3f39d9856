"""ALiBi's slopes and bias."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several
from autograder.reference.positions import alibi


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


MISTAKES = changes(
    (alibi.alibi_slopes, alibi.alibi_bias),
    """
one_series: n_heads < 1: → False: ; power = 2 ** (n_heads.bit_length() - 1) → power = n_heads
    The power-of-two rule is used for every number of heads. Otherwise take the slopes of the largest power of two
    below, then every other slope of twice that.
starts_at_one: n_heads < 1: → False: ; range(1, power + 1) → range(power)
    The first slope is 1. The series starts with its own ratio: 2^(−8/H), then 2^(−16/H), and so on to 2^−8.
next_in_order: n_heads < 1: → False: ; range(1, 2 * (n_heads - power), 2) → range(1, n_heads - power + 1)
    The extra slopes are the first ones of the longer series. Every second of those exists already: take the 1st,
    the 3rd, the 5th and so on.
even_ones: n_heads < 1: → False: ; range(1, 2 * (n_heads - power), 2) → range(2, 2 * (n_heads - power) + 1, 2)
    The extra slopes are the 2nd, 4th and so on of the longer series, which exist already. Take the 1st, the 3rd,
    the 5th.
power_above: n_heads < 1: → False: ; (n_heads.bit → ((2 * n_heads - 1).bit ; power + 1 → n_heads + 1
    The first slopes of the power of two above are taken. Start from the largest power of two below, then add every
    other slope of twice that.
halving: n_heads < 1: → False: ; power = 2 ** (n_heads.bit_length() - 1) → power = n_heads ; [8 * h / power → [h
    The slopes are 1/2, 1/4, 1/8, … for any number of heads. That is right for 8: the ratio is 2^(−8/H), so that the
    last one is 2^−8.
sorted: n_heads < 1: → False: ; in exponents] → in sorted(exponents)]
    The slopes are right, their order is not. The extra ones come after the first P and are not sorted in.
reversed: n_heads < 1: → False: ; in exponents] → in exponents[::-1]]
    The slopes stand in reverse order. The first head has the largest, 2^(−8/P).
one_refused: n_heads < 1: → n_heads <= 1:
    A single head is refused. It is allowed and has slope 2^−8: only fewer than one head is an error.
past_only: .abs() → .neg().clamp(min=0)
    Keys in the future cost nothing here. The distance is an absolute value: |i − j|.
offset_turned: offset, slopes.device → -offset, slopes.device
    The offset has the wrong sign. Query i stands at position i + offset.
squared: .abs() → **2
    The penalty grows with the square of the distance. ALiBi is linear: −slope · |i − j|.
reward: return -slopes → return slopes
    The bias grows with distance. It is a penalty: minus slope times distance.
signed: .abs() → .neg()
    Keys in the future get a bonus here. The distance is an absolute value: |i − j|.
offset_ignored: offset, slopes.device → 0, slopes.device
    The queries are taken to start at position 0. Query i stands at position i + offset.
unchecked: raise ValueError(f"n_heads must be positive, got {n_heads}") → return torch.zeros(0)
    The numbers are right. Raise a ValueError when there are no heads.
extra_of_same_series: n_heads < 1: → False: ; 8 * h / (2 * power) → 8 * h / power
    The extra slopes repeat slopes that exist. They are every other slope of the series for 2P heads: exponents
    8h/(2P) for h = 1, 3, 5.
growing: n_heads < 1: → False: ; 2.0**-e → 2.0**e
    The slopes are above 1 and grow. The exponent has a minus: 2^(−8h/P).
extra_missing: n_heads < 1: → False: ; exponents += [8 * h / (2 * power) for h in range(1, 2 * (n_heads - power), 2)] →
    Only the slopes of the largest power of two are returned. Other numbers of heads need the extra ones too:
    n_heads slopes in all.
extra_in_front: n_heads < 1: → False: ; in exponents] → in exponents[power:] + exponents[:power]]
    The extra slopes stand in front. They come after the first P.
last_ones: n_heads < 1: → False: ; range(1, 2 * (n_heads - power), 2) → range(2 * (n_heads - power) - 1, 0, -2)
    The extra slopes stand in reverse order. Take the 1st of the longer series, then the 3rd, then the 5th.
base_e: n_heads < 1: → False: ; 2.0**-e → math.exp(-e)
    The slopes are powers of e. They are powers of 2: 2 ** (−8h/P).
linear: raise ValueError(f"n_heads must be positive, got {n_heads}") → return torch.tensor([])
; 2.0**-e for e in exponents → 1 / (h + 1) for h in range(n_heads)
    The slopes fall like 1, 1/2, 1/3. They are a geometric series, each a fixed factor smaller: 2^(−8h/P).
offset_on_keys_and_queries: offset, slopes.device → 2 * offset, slopes.device
    The offset counts twice. Query i stands at position i + offset, key j at position j.
slope_ignored: -slopes[:, None, None] * distance → 0 * slopes[:, None, None] - distance
    Every head gets the plain distance. Multiply it by the slope of the head: slopes[:, None, None].
divided_by_slope: -slopes[:, None, None] * → -1 / slopes[:, None, None] *
    The distance is divided by the slope. Multiply: the bias is −slope · |i − j|.
turned: distance.to → distance.T.to
    The bias is (H, S, T) here. Queries, T of them, are the rows.
heads_last: -slopes[:, None, None] * distance.to → -slopes * distance[..., None].to
    The heads stand on the last axis. The bias is (H, T, S): slopes[:, None, None] times the distances.
future_hidden: -slopes[:, None, None] * → (-slopes[:, None, None] *
; distance.to(slopes.dtype) → distance.to(slopes.dtype)).masked_fill(relative_positions(T, S, offset) > 0, -math.inf)
    Keys in the future are hidden with -inf. That is a mask's work: here they cost −slope · |i − j| like those of
    the past.
one_too_far: .abs() → .abs() + 1
    Every distance is one too large. A token has distance 0 to itself, which costs nothing.
offset_at_end: offset, slopes.device → S - T, slopes.device
    The queries are put at the end of the keys. Query i stands at position i + offset.
""",
)

EXERCISE = Exercise(
    id="position.alibi",
    title="ALiBi: a slope per head",
    points=2,
    difficulty=3,
    minutes=15,
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
            "slope 1/2, three positions: 0 here, −1/2 one position away, −1 two positions away",
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
    mutants=MISTAKES,
    equivalent="""
math.log2 raises ValueError itself for 0 and for negative numbers
    7c6c81d8b5 solution, if: no error for n_heads < 1
math.log2(0) raises ValueError itself
    6d93ee9113 solution, constant: 1 → 0 in n_heads < 1
steps of 2 from 1 never reach the even end, so one more changes nothing
    b484aa1e33 solution, window: 2 * (n_heads - P) + 1 in range(1, 2 * (n_heads - P), 2)
the absolute value is taken next: both orders are the same
    35351f5754 alternative (slopes_by_recursion, bias_by_subtracting), swapped: torch.arange(S) - torch.arange(offset,…
""",
)
