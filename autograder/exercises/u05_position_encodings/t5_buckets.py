"""T5's buckets of distances."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference.positions import t5_buckets as t5

from .shared import buckets_by_loop


def t5_relative_bucket(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    """N buckets for each side, E of them exact; the logarithm in float64, with a little more against its rounding."""
    N = num_buckets // 2 if bidirectional else num_buckets
    E = N // 2
    n = relative_position.abs() if bidirectional else (-relative_position).clamp(min=0)
    share = torch.log(n.double().clamp(min=1) / E) / math.log(max_distance / E)
    far = (E + torch.floor(share * (N - E) + 1e-9)).long().clamp(max=N - 1)
    bucket = torch.where(n < E, n, far)
    return bucket + N * (relative_position > 0) if bidirectional else bucket


def buckets_by_log(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    """The logarithm of the paper's code, in float32."""
    shift, n = 0, -relative_position
    if bidirectional:
        num_buckets //= 2
        shift = (relative_position > 0) * num_buckets
        n = n.abs()
    n = n.clamp(min=0)
    exact = num_buckets // 2
    growth = math.log(max_distance / exact) / (num_buckets - exact)
    wide = (torch.log(n.clamp(min=exact) / exact) / growth).long()
    return (n.clamp(max=exact) + wide).clamp(max=num_buckets - 1) + shift


NEAR = torch.arange(0, 31)


MISTAKES = changes(
    t5_relative_bucket,
    """
sides_swapped: position > 0 → position < 0
    Past and future are exchanged. The relative position is key minus query: positive means a key after the query,
    and only those take the upper half.
turned: N = num_buckets // 2 → relative_position = -relative_position; N = num_buckets // 2
    Past and future are exchanged, with one side as with two. The relative position is key minus query: the past is
    negative.
sides_alike: + N * (relative_position > 0) if bidirectional else bucket →
    A key before and a key after share a bucket. Bidirectional: add N where the relative position is above 0.
exact_left_out: (E + torch → (torch
    The wide buckets start at 0 again. They come after the exact ones: add E to the logarithmic part.
distance_not_divided: clamp(min=1) / E → clamp(min=1)
    The logarithm is that of n. Divide the distance by E first: the wide buckets begin at n = E, where ln(n/E) is 0.
times_exact: (N - E) → E
    The logarithm is stretched by E. There are N − E wide buckets, which is another number where N is odd.
cap_of_all: max=N → max=num_buckets
    The far past spills over into the buckets of the future. Each side ends at its own N − 1, not at num_buckets −
    1.
rounded_up: torch.floor → torch.ceil
    The logarithm is rounded up. Cut it off (floor): bucket 8 holds 8 to 11.
size_fixed: num_buckets // 2 if bidirectional else num_buckets → 16 if bidirectional else 32
    The number of buckets is always 32 here. Use the argument num_buckets: N and E follow from it.
zero_in_future: position > 0 → position >= 0
    Distance 0 is counted as future. The token itself belongs to bucket 0: the upper half is for distances above 0.
not_halved: num_buckets // 2 if bidirectional else num_buckets → num_buckets
; + N * (relative_position > 0) if bidirectional else bucket →
    Both directions share all buckets, so a key before and a key after look alike. Bidirectional: half of the
    buckets for each side.
causal_abs: (-relative_position).clamp(min=0) → relative_position.abs()
    With bidirectional=False a future key is treated like a past one. It counts as distance 0.
side_added_in_causal: (-relative_position).clamp(min=0) → relative_position.abs()
; > 0) if bidirectional else bucket → > 0)
    With bidirectional=False a future key is moved to an upper half that does not exist. It counts as distance 0,
    and nothing is added.
causal_turned: (-relative_position).clamp → relative_position.clamp
    With bidirectional=False the past counts as distance 0 and the future is sorted. A key in the past has a
    negative relative position: turn its sign.
future_is_near: relative_position.abs() if bidirectional else →
    All keys in the future get distance 0, also when both sides count. With bidirectional=True the distance is the
    absolute value.
rounded: torch.floor → torch.round
    The logarithm is rounded to the nearest whole number. Cut it off (floor): bucket 8 holds 8 to 11, not 8 and 9
    alone.
no_last_bucket: .clamp(max=N - 1) →
    Far distances get buckets that do not exist. From max_distance on, everything shares the last one of its side.
fixed_growth: math.log(max_distance / E) → math.log(16.0)
    The buckets grow at a rate that fits max_distance = 128 alone. Divide by ln(max_distance / exact).
grows_to_distance: max_distance / E → max_distance
    The logarithm is divided by ln(max_distance). Distance max_distance should reach the end of the buckets: divide
    by ln(max_distance / exact).
largest_fixed: max_distance / E → 128 / E
    The largest distance is always 128 here. Use the argument max_distance: divide by ln(max_distance / E).
cap_one_too_far: max=N - 1 → max=N
    The far past gets bucket N, which belongs to the future or to nobody. The last bucket of a side is N − 1.
cap_one_short: max=N - 1 → max=N - 2
    The last bucket of each side is never used. The limit is N − 1.
all_added: N * (relative → num_buckets * (relative
    num_buckets is added for the future, which leaves the table. Add N, half of it.
exact_added: N * (relative → E * (relative
    E is added for the future, so both sides overlap. Add N: a whole side.
sixteen_added: N * (relative → 16 * (relative
    The future always starts at bucket 16 here. Add N, which follows from num_buckets.
not_stretched: share * (N - E) → share
    The share of the logarithms is not multiplied by N − E, so nearly all far distances share bucket E. Multiply
    before floor.
stretched_by_all: (N - E) → N
    The share of the logarithms is multiplied by N. Only N − E buckets are left for far distances.
span_missing: / math.log(max_distance / E) →
    The division by ln(max_distance / E) is missing: the far distances run out of buckets too early.
span_without_logarithm: math.log(max_distance / E) → (max_distance / E)
    The logarithm is divided by max_distance / E itself. Divide by its logarithm.
other_logarithm: math.log( → math.log2(
    The two logarithms have different bases. Take the same one above and below.
choice_turned: torch.where(n < E, n, far) → torch.where(n < E, far, n)
    The two formulas are exchanged: near distances get the logarithmic bucket, far ones their own number. Below E a
    distance is its own bucket.
all_logarithmic: torch.where(n < E, n, far) → far
    Every distance goes through the logarithm. Below E each distance is its own bucket: torch.where(n < E, n, far).
not_absolute: relative_position.abs() → -relative_position
    With both sides, keys in the future keep a negative distance. Take the absolute value there.
signed_past: relative_position.abs() → relative_position
    With both sides, keys in the past keep a negative distance. Take the absolute value.
causal_future_negative: (-relative_position).clamp(min=0) → -relative_position
    With bidirectional=False a future key gets a negative bucket. It counts as distance 0: clamp at 0.
causal_negative: (-relative_position).clamp(min=0) → relative_position
    With bidirectional=False the relative position is taken as it is: the past gets negative buckets. Turn its sign,
    then clamp at 0.
last_side_capped: return bucket → return (bucket ; > 0) → > 0)).clamp(max=N - 1)
    The limit N − 1 is set after the future's N has been added, so the future ends in the past's last bucket. Limit
    first, then add N.
""",
)

EXERCISE = Exercise(
    id="position.t5_buckets",
    title="T5's buckets",
    points=3,
    difficulty=4,
    minutes=25,
    reference=t5.t5_relative_bucket,
    alternatives=[buckets_by_log, buckets_by_loop],
    cases=[
        Case(
            "near past",
            "distances 0 to 7 have buckets of their own, 8 to 11 share bucket 8, 12 to 15 bucket 9",
            lambda g: call(-torch.arange(16)),
        ),
        Case(
            "far past",
            "16 to 22 share bucket 10, 23 to 30 bucket 11; from 91 on everything is in bucket 15",
            lambda g: call(-torch.tensor([16, 22, 23, 30, 45, 60, 90, 92, 127, 128, 5000])),
        ),
        Case("future", "keys after the query take buckets 17 to 31", lambda g: call(NEAR[1:])),
        Case(
            "causal",
            "all 32 buckets for the past: 0 to 15 exact, then 16 to 18 share bucket 16",
            lambda g: call(-NEAR, bidirectional=False),
        ),
        Case(
            "causal future",
            "causal buckets of six past and six future keys: the future is bucket 0, a mask hides it",
            lambda g: call(torch.stack([-g.integers(1, 60, 6), g.integers(1, 60, 6)]), bidirectional=False),
        ),
        Case(
            "other sizes",
            "20 buckets that end at distance 50, random distances on both sides",
            lambda g: call(g.integers(-70, 70, 4, 6), num_buckets=20, max_distance=50),
            weight=2,
        ),
        Case(
            "other causal sizes",
            "12 buckets that end at distance 40, causal",
            lambda g: call(-g.integers(1, 60, 20), bidirectional=False, num_buckets=12, max_distance=40),
        ),
        Case(
            "odd half",
            "14 buckets, 7 for each side: 3 exact ones and 4 wide ones; distance 0 stands in each row",
            lambda g: call(
                torch.cat([g.integers(0, 1, 3, 1), g.integers(-40, 40, 3, 7)], 1),
                num_buckets=14,
                max_distance=g.choice([25, 26, 28, 31]),
            ),
        ),
        Case(
            "almost all exact",
            "20 causal buckets that end at 12: the formula would give far too little for a near distance",
            lambda g: call(-g.integers(0, 14, 20), False, 20, 12),
            weight=0.5,
        ),
        Case(
            "fewest",
            "3 causal buckets that end at 3: one for distance 0, one for 1, one for all beyond",
            lambda g: call(
                torch.cat([-NEAR[:5], -g.integers(2, 60, 4)]), bidirectional=False, num_buckets=3, max_distance=3
            ),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
at n = E both branches give E: ln(E / E) is 0
    a4aef9e005 solution, compare: n < E → n <= E
    3aac97bd15 solution, window: E + 1 in n < E
it matters for n = 0 alone, and torch.where takes n there, since E is 1 or more
    85b9eff44a solution, call: n.clamp(min=1) → n
    6d0f7d547e solution, constant: 1 → 0 in min=1
floor and truncation differ for n < E alone, where the logarithm is negative, and torch.where takes n there
    c9f86573a9 solution, call: (share * (N - E)).floor() → share * (N - E)
the quotient is never negative, so long() cuts off what // cuts off
    43c11392ef alternative buckets_by_log, arithmetic: torch.log(n.clamp(min=exact) / exact) / growth → torch.log(n.cl…
""",
)
