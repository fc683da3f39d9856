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
        shift = (relative_position > 0).long() * num_buckets
        n = n.abs()
    n = n.clamp(min=0)
    exact = num_buckets // 2
    ratio = torch.log(n.float().clamp(min=1) / exact) / math.log(max_distance / exact)
    wide = (exact + (ratio * (num_buckets - exact)).long()).clamp(max=num_buckets - 1)
    return torch.where(n < exact, n, wide) + shift


def _buckets(
    future=lambda r: r > 0,
    halve=True,
    causal=lambda r: (-r).clamp(min=0),
    to_whole=torch.floor,
    last=True,
    span=lambda exact, max_distance: math.log(max_distance / exact),
    side=torch.abs,
):
    """Bucketing with one part changed, in float64."""

    def wrong(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
        size = num_buckets // 2 if bidirectional and halve else num_buckets
        n = side(relative_position) if bidirectional else causal(relative_position)
        exact = size // 2
        ratio = torch.log(n.double().clamp(min=1) / exact) / span(exact, max_distance)
        wide = (exact + to_whole(ratio * (size - exact) + 1e-9)).long()
        wide = wide.clamp(max=size - 1) if last else wide
        bucket = torch.where(n < exact, n, wide)
        return bucket + (size if halve else 0) * future(relative_position) if bidirectional else bucket

    return wrong


def side_always(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    bucket = _buckets(causal=torch.abs)(relative_position, bidirectional, num_buckets, max_distance)
    return bucket if bidirectional else bucket + num_buckets * (relative_position > 0)


NEAR = torch.arange(0, 31)

EXERCISE = Exercise(
    id="position.t5_buckets",
    unit="05-position-encodings",
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
    ],
    mutants=[
        Mutant(
            "sides_swapped",
            _buckets(future=lambda r: r < 0),
            "Past and future are exchanged. The relative position is key minus query: positive means a key after "
            "the query, and only those take the upper half.",
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
    ],
)
