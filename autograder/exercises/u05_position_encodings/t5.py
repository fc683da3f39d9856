"""T5: a trained number for each bucket of distances."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference.attention import attention_weights
from autograder.reference.positions import t5_buckets as t5

UNIT = "05-position-encodings"


# --- T5: buckets ---------------------------------------------------------------------------------------------------
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


def buckets_by_loop(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    """Number by number, with the starts of the buckets."""
    size = num_buckets // 2 if bidirectional else num_buckets
    starts = t5.t5_bucket_starts(size, max_distance)

    def one(r):
        n = abs(r) if bidirectional else max(-r, 0)
        bucket = max(b for b, start in enumerate(starts) if n >= start)
        return bucket + (size if bidirectional and r > 0 else 0)

    return torch.tensor([one(r) for r in relative_position.flatten().tolist()]).view(relative_position.shape)


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

T5_BUCKETS = Exercise(
    id="position.t5_buckets",
    unit=UNIT,
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
            "causal buckets of two past and two future keys: the future is bucket 0, a mask hides it",
            lambda g: call(torch.stack([-g.integers(1, 60, 2), g.integers(1, 60, 2)]), bidirectional=False),
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


# --- T5: attention -------------------------------------------------------------------------------------------------
def t5_bias(weight, T, S, bidirectional=True):
    """weight (num_buckets, H) → (1, H, T, S)."""
    layer = t5.T5RelativeBias(weight.shape[1], bidirectional, weight.shape[0])
    layer.weight = torch.nn.Parameter(weight, requires_grad=False)
    return layer(T, S)


def bias_by_loop(weight, T, S, bidirectional=True):
    """Pair by pair."""
    out = torch.empty(1, weight.shape[1], T, S, dtype=weight.dtype)
    for i in range(T):
        for j in range(S):
            bucket = buckets_by_loop(torch.tensor([j - i]), bidirectional, weight.shape[0])
            out[0, :, i, j] = weight[bucket[0]]
    return out


def attention_by_exp(q, k, v, bias, mask=None):
    """exp of scores and of bias multiplied: adding a bias multiplies a weight."""
    scores = q @ k.mT
    e = torch.exp(scores - scores.amax(-1, keepdim=True)) * torch.exp(bias)
    e = e if mask is None else e * mask
    return e / e.sum(-1, keepdim=True) @ v


def _rows(sign=1, order=(2, 0, 1), flag=lambda b: b):
    def wrong(weight, T, S, bidirectional=True):
        r = sign * (torch.arange(S) - torch.arange(T)[:, None])
        bucket = t5.t5_relative_bucket(r, flag(bidirectional), weight.shape[0])
        return weight[bucket].permute(*order)[None]

    return wrong


def _attend(scores):
    return lambda q, k, v, bias, mask=None: attention_weights(scores(q @ k.mT, bias, math.sqrt(q.shape[-1])), mask) @ v


def upside_down(q, k, v, bias, mask=None):
    if mask is None:
        return t5.t5_attention(q, k, v, bias)
    return torch.where((~mask).any(-1, keepdim=True), t5.t5_attention(q, k, v, bias, ~mask), math.nan)


def bias_after_softmax(q, k, v, bias, mask=None):
    return (attention_weights(q @ k.mT, mask) + bias) @ v


T5_BIAS = Exercise(
    id="position.t5_bias",
    unit=UNIT,
    title="A number per bucket and head",
    points=2,
    difficulty=2,
    minutes=12,
    signature="t5_bias(weight, T, S, bidirectional=True)",
    targets=("t5_bias", "t5_attention"),
    reference=(t5_bias, t5.t5_attention),
    alternatives=[
        (bias_by_loop, attention_by_exp),
        (
            _rows(),
            lambda q, k, v, bias, mask=None: attention_weights(torch.einsum("bhtd,bhsd->bhts", q, k) + bias, mask) @ v,
        ),
    ],
    cases=[
        Case(
            "bias by hand",
            "one head, weight[b] = b, three places: 0 here, 1 and 2 in the past, 17 and 18 in the future",
            lambda g: call(torch.arange(32.0)[:, None], 3, 3),
        ),
        Case(
            "several heads",
            "three heads, five queries, seven keys: shape (1, 3, 5, 7)",
            lambda g: call(g.randn(32, 3), 5, 7),
        ),
        Case(
            "causal bias",
            "causal buckets, two heads, 20 places",
            lambda g: call(g.randn(32, 2), 20, 20, bidirectional=False),
        ),
        Case(
            "attention by hand",
            "D = 4, q·k = ln 3 for the first key, bias 0: weights 3/4 and 1/4, nothing divided by 2",
            lambda g: call(
                torch.tensor([[[[1.0, 0.0, 0.0, 0.0]]]]),
                torch.tensor([[[[math.log(3), 0.0, 0.0, 0.0], [0.0] * 4]]]),
                torch.tensor([[[[4.0], [8.0]]]]),
                torch.zeros(1, 1, 1, 2),
                fn="t5_attention",
            ),
        ),
        Case(
            "random",
            "two sentences, two heads, a bias for both",
            lambda g: call(
                g.randn(2, 2, 5, 4), g.randn(2, 2, 6, 4), g.randn(2, 2, 6, 3), g.randn(1, 2, 5, 6), fn="t5_attention"
            ),
            weight=2,
        ),
        Case(
            "masked",
            "causal mask and bias together",
            lambda g: call(
                g.randn(1, 2, 4, 4),
                g.randn(1, 2, 4, 4),
                g.randn(1, 2, 4, 3),
                g.randn(1, 2, 4, 4),
                torch.ones(4, 4).tril().bool(),
                fn="t5_attention",
            ),
        ),
    ],
    mutants=[
        Mutant(
            "all_scaled",
            (t5_bias, _attend(lambda s, b, root: (s + b) / root)),
            "Scores and bias are both divided by √D. T5 divides neither: softmax(q·k + bias).",
        ),
        Mutant(
            "scores_scaled",
            (t5_bias, _attend(lambda s, b, root: s / root + b)),
            "The scores are divided by √D. T5 leaves that out; its initial weights are smaller instead.",
        ),
        Mutant(
            "after_softmax",
            (t5_bias, bias_after_softmax),
            "The bias is added to the weights. Add it to the scores, before the softmax, so that weights still sum "
            "to 1.",
        ),
        Mutant("no_bias", (t5_bias, _attend(lambda s, b, root: s)), "The bias is never added to the scores."),
        Mutant(
            "reversed",
            (_rows(sign=-1), t5.t5_attention),
            "The relative position is taken as query minus key. Buckets expect key minus query.",
        ),
        Mutant(
            "distance_as_bucket",
            (
                lambda weight, T, S, bidirectional=True: weight[torch.arange(S) - torch.arange(T)[:, None]].permute(
                    2, 0, 1
                )[None],
                t5.t5_attention,
            ),
            "The distance itself is used as a row of weight. Turn it into a bucket first, with t5_relative_bucket.",
        ),
        Mutant(
            "flag_ignored",
            (_rows(flag=lambda b: True), t5.t5_attention),
            "The argument bidirectional is ignored. Pass it on to t5_relative_bucket.",
        ),
        Mutant(
            "heads_last",
            (
                lambda weight, T, S, bidirectional=True: weight[
                    t5.t5_relative_bucket(torch.arange(S) - torch.arange(T)[:, None], bidirectional, weight.shape[0])
                ][None],
                t5.t5_attention,
            ),
            "The heads stand on the last axis. Scores have shape (B, H, T, S): move the heads to the front.",
        ),
        Mutant(
            "axes_exchanged",
            (_rows(order=(2, 1, 0)), t5.t5_attention),
            "Queries and keys are exchanged: (1, H, S, T). permute(2, 0, 1) keeps the queries before the keys.",
        ),
        Mutant(
            "mask_ignored",
            (t5_bias, lambda q, k, v, bias, mask=None: t5.t5_attention(q, k, v, bias)),
            "The mask is not used. Fill forbidden scores with -inf before the softmax.",
        ),
        Mutant(
            "mask_upside_down",
            (t5_bias, upside_down),
            "The mask is upside down. True means may look, so fill where it is False: ~mask.",
        ),
    ],
)

EXERCISES = [T5_BUCKETS, T5_BIAS]
