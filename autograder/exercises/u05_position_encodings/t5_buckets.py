"""T5's buckets of distances."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference.positions import t5_buckets as t5

from .shared import buckets_by_loop


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


def _buckets(
    future=lambda r: r > 0,
    halve=True,
    causal=lambda r: (-r).clamp(min=0),
    to_whole=torch.floor,
    last=True,
    span=lambda exact, max_distance: math.log(max_distance / exact),
    side=torch.abs,
    near=1,
    first=lambda exact: exact,
    wide=lambda size, exact: size - exact,
    cap=lambda size, num_buckets: size - 1,
):
    """Bucketing with one part changed, in float64."""

    def wrong(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
        size = num_buckets // 2 if bidirectional and halve else num_buckets
        n = side(relative_position) if bidirectional else causal(relative_position)
        exact = size // 2
        ratio = torch.log(n.double().clamp(min=1) / first(exact)) / span(exact, max_distance)
        far = (near * exact + to_whole(ratio * wide(size, exact) + 1e-9)).long()
        far = far.clamp(max=cap(size, num_buckets)) if last else far
        bucket = torch.where(n < exact, n, far)
        return bucket + (size if halve else 0) * future(relative_position) if bidirectional else bucket

    return wrong


def side_always(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    bucket = _buckets(causal=torch.abs)(relative_position, bidirectional, num_buckets, max_distance)
    return bucket if bidirectional else bucket + num_buckets * (relative_position > 0)


def sides_alike(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    bucket = _buckets()(relative_position, bidirectional, num_buckets, max_distance)
    return bucket - (num_buckets // 2) * (relative_position > 0) if bidirectional else bucket


NEAR = torch.arange(0, 31)


def _side(added):
    """The future moved up by another number."""

    def wrong(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
        bucket = sides_alike(relative_position, bidirectional, num_buckets, max_distance)
        shift = added(num_buckets // 2, num_buckets) * (relative_position > 0)
        return bucket + shift if bidirectional else bucket

    return wrong


def _far(near, relative_position, bidirectional, num_buckets, max_distance):
    """The right buckets of far distances, and near(n, formula) below E."""
    size = num_buckets // 2 if bidirectional else num_buckets
    n = relative_position.abs() if bidirectional else (-relative_position).clamp(min=0)
    exact = size // 2
    share = torch.log(n.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    formula = (exact + torch.floor(share * (size - exact) + 1e-9)).long().clamp(max=size - 1)
    bucket = near(n, formula, exact)
    return bucket + size * (relative_position > 0) if bidirectional else bucket


def choice_turned(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    near = lambda n, formula, exact: torch.where(n < exact, formula, n)
    return _far(near, relative_position, bidirectional, num_buckets, max_distance)


def all_logarithmic(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    return _far(lambda n, formula, exact: formula, relative_position, bidirectional, num_buckets, max_distance)


def last_side_capped(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    bucket = _buckets()(relative_position, bidirectional, num_buckets, max_distance)
    return bucket.clamp(max=num_buckets // 2 - 1) if bidirectional else bucket


EXERCISE = Exercise(
    id="position.t5_buckets",
    title="T5's buckets",
    points=3,
    difficulty=4,
    minutes=25,
    signature="t5_relative_bucket(relative_position, bidirectional=True, num_buckets=32, max_distance=128)",
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
    mutants=[
        Mutant(
            "sides_swapped",
            _buckets(future=lambda r: r < 0),
            "Past and future are exchanged. The relative position is key minus query: positive means a key after "
            "the query, and only those take the upper half.",
        ),
        Mutant(
            "turned",
            lambda relative_position, bidirectional=True, num_buckets=32, max_distance=128: _buckets()(
                -relative_position, bidirectional, num_buckets, max_distance
            ),
            "Past and future are exchanged, with one side as with two. The relative position is key minus query: the "
            "past is negative.",
        ),
        Mutant(
            "sides_alike",
            sides_alike,
            "A key before and a key after share a bucket. Bidirectional: add N where the relative position is above 0.",
        ),
        Mutant(
            "exact_left_out",
            _buckets(near=0),
            "The wide buckets start at 0 again. They come after the exact ones: add E to the logarithmic part.",
        ),
        Mutant(
            "distance_not_divided",
            _buckets(first=lambda exact: 1),
            "The logarithm is that of n. Divide the distance by E first: the wide buckets begin at n = E, where "
            "ln(n/E) is 0.",
        ),
        Mutant(
            "times_exact",
            _buckets(wide=lambda size, exact: exact),
            "The logarithm is stretched by E. There are N − E wide buckets, which is another number where N is odd.",
        ),
        Mutant(
            "cap_of_all",
            _buckets(cap=lambda size, num_buckets: num_buckets - 1),
            "The far past spills over into the buckets of the future. Each side ends at its own N − 1, not at "
            "num_buckets − 1.",
        ),
        Mutant(
            "rounded_up",
            _buckets(to_whole=torch.ceil),
            "The logarithm is rounded up. Cut it off (floor): bucket 8 holds 8 to 11.",
        ),
        Mutant(
            "size_fixed",
            lambda relative_position, bidirectional=True, num_buckets=32, max_distance=128: _buckets()(
                relative_position, bidirectional, 32, max_distance
            ),
            "The number of buckets is always 32 here. Use the argument num_buckets: N and E follow from it.",
        ),
        Mutant(
            "zero_in_future",
            _buckets(future=lambda r: r >= 0),
            "Distance 0 is counted as future. A word itself belongs to bucket 0: the upper half is for distances "
            "above 0.",
        ),
        Mutant(
            "not_halved",
            _buckets(halve=False),
            "Both directions share all buckets, so a key before and a key after look alike. Bidirectional: half of "
            "the buckets for each side.",
        ),
        Mutant(
            "causal_abs",
            _buckets(causal=torch.abs),
            "With bidirectional=False a future key is treated like a past one. It counts as distance 0.",
        ),
        Mutant(
            "side_added_in_causal",
            side_always,
            "With bidirectional=False a future key is moved to an upper half that does not exist. It counts as "
            "distance 0, and nothing is added.",
        ),
        Mutant(
            "causal_turned",
            _buckets(causal=lambda r: r.clamp(min=0)),
            "With bidirectional=False the past counts as distance 0 and the future is sorted. A key in the past has "
            "a negative relative position: turn its sign.",
        ),
        Mutant(
            "future_is_near",
            _buckets(side=lambda r: (-r).clamp(min=0)),
            "All keys in the future get distance 0, also when both sides count. With bidirectional=True the "
            "distance is the absolute value.",
        ),
        Mutant(
            "rounded",
            _buckets(to_whole=torch.round),
            "The logarithm is rounded to the nearest whole number. Cut it off (floor): bucket 8 holds 8 to 11, not "
            "8 and 9 alone.",
        ),
        Mutant(
            "no_last_bucket",
            _buckets(last=False),
            "Far distances get buckets that do not exist. From max_distance on, everything shares the last one of "
            "its side.",
        ),
        Mutant(
            "fixed_growth",
            _buckets(span=lambda exact, max_distance: math.log(16.0)),
            "The buckets grow at a rate that fits max_distance = 128 alone. Divide by ln(max_distance / exact).",
        ),
        Mutant(
            "grows_to_distance",
            _buckets(span=lambda exact, max_distance: math.log(max_distance)),
            "The logarithm is divided by ln(max_distance). Distance max_distance should reach the end of the "
            "buckets: divide by ln(max_distance / exact).",
        ),
        Mutant(
            "largest_fixed",
            _buckets(span=lambda exact, max_distance: math.log(128 / exact)),
            "The largest distance is always 128 here. Use the argument max_distance: divide by ln(max_distance / E).",
        ),
        Mutant(
            "cap_one_too_far",
            _buckets(cap=lambda size, num_buckets: size),
            "The far past gets bucket N, which belongs to the future or to nobody. The last bucket of a side is N − 1.",
        ),
        Mutant(
            "cap_one_short",
            _buckets(cap=lambda size, num_buckets: size - 2),
            "The last bucket of each side is never used. The limit is N − 1.",
        ),
        Mutant(
            "all_added",
            _side(lambda N, num_buckets: num_buckets),
            "num_buckets is added for the future, which leaves the table. Add N, half of it.",
        ),
        Mutant(
            "exact_added",
            _side(lambda N, num_buckets: N // 2),
            "E is added for the future, so both sides overlap. Add N: a whole side.",
        ),
        Mutant(
            "sixteen_added",
            _side(lambda N, num_buckets: 16),
            "The future always starts at bucket 16 here. Add N, which follows from num_buckets.",
        ),
        Mutant(
            "not_stretched",
            _buckets(wide=lambda size, exact: 1),
            "The share of the logarithms is not multiplied by N − E, so nearly all far distances share bucket E. "
            "Multiply before floor.",
        ),
        Mutant(
            "stretched_by_all",
            _buckets(wide=lambda size, exact: size),
            "The share of the logarithms is multiplied by N. Only N − E buckets are left for far distances.",
        ),
        Mutant(
            "span_missing",
            _buckets(span=lambda exact, max_distance: 1.0),
            "The division by ln(max_distance / E) is missing: the far distances run out of buckets too early.",
        ),
        Mutant(
            "span_without_logarithm",
            _buckets(span=lambda exact, max_distance: max_distance / exact),
            "The logarithm is divided by max_distance / E itself. Divide by its logarithm.",
        ),
        Mutant(
            "other_logarithm",
            _buckets(span=lambda exact, max_distance: math.log2(max_distance / exact)),
            "The two logarithms have different bases. Take the same one above and below.",
        ),
        Mutant(
            "choice_turned",
            choice_turned,
            "The two formulas are exchanged: near distances get the logarithmic bucket, far ones their own number. "
            "Below E a distance is its own bucket.",
        ),
        Mutant(
            "all_logarithmic",
            all_logarithmic,
            "Every distance goes through the logarithm. Below E each distance is its own bucket: torch.where(n < E, "
            "n, far).",
        ),
        Mutant(
            "not_absolute",
            _buckets(side=lambda r: -r),
            "With both sides, keys in the future keep a negative distance. Take the absolute value there.",
        ),
        Mutant(
            "signed_past",
            _buckets(side=lambda r: r),
            "With both sides, keys in the past keep a negative distance. Take the absolute value.",
        ),
        Mutant(
            "causal_future_negative",
            _buckets(causal=lambda r: -r),
            "With bidirectional=False a future key gets a negative bucket. It counts as distance 0: clamp at 0.",
        ),
        Mutant(
            "causal_negative",
            _buckets(causal=lambda r: r),
            "With bidirectional=False the relative position is taken as it is: the past gets negative buckets. Turn "
            "its sign, then clamp at 0.",
        ),
        Mutant(
            "last_side_capped",
            last_side_capped,
            "The limit N − 1 is set after the future's N has been added, so the future ends in the past's last "
            "bucket. Limit first, then add N.",
        ),
    ],
)
