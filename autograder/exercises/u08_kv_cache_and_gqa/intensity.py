"""FLOPs and bytes of attention, and the time that a roofline allows."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
from autograder.reference import intensity


def cost_by_tensors(B, T, S, H, G, D, itemsize=2):
    """Tensor by tensor."""
    scores = weighted_sum = 2 * B * H * T * S * D
    q = out = B * H * T * D
    k = v = B * G * S * D
    return scores + weighted_sum, (q + k + v + out) * itemsize


def attention_cost(B, T, S, H, G, D, itemsize=2):
    """(FLOPs, bytes moved)."""
    return tuple(intensity.attention_cost(B, T, S, H, G, D, itemsize))


def roofline_seconds(flops, moved, peak_flops, bandwidth):
    """The slower of the two."""
    return intensity.roofline_seconds(intensity.Cost(flops, moved), peak_flops, bandwidth)


def seconds_by_ridge(flops, moved, peak_flops, bandwidth):
    """At the rate that the roofline allows."""
    rate = min(peak_flops, flops / moved * bandwidth)
    return flops / rate


def _devices(g: Source) -> Program:
    program = Program()
    for flops, moved in ((10**12, 10**6), (10**8, 10**9)) * 2:
        peak, bandwidth = g.integer(60, 900) * 1e12, g.integer(500, 4000) * 1e9
        program.call(
            flops * g.integer(2, 40) + g.integer(0, 999),
            moved * g.integer(2, 40),
            peak,
            bandwidth,
            fn="roofline_seconds",
        )
    return program


MISTAKES = changes(
    (cost_by_tensors, seconds_by_ridge),
    """
half_flops: scores + weighted_sum → scores
    Half of the FLOPs are missing: a multiply-add counts 2, and there are two products, scores and weighted sum.
grouped_flops: 2 * B * H → 2 * B * G
    The FLOPs are counted for G heads. Every one of the H query heads computes scores: sharing keys saves bytes, not
    FLOPs.
repeated: k = v = B * G → k = v = B * H
    Keys and values are read for H heads. Only G of them are stored: that is the saving.
keys_only: q + k + v + out → q + k + out
    Either keys or values are missing from the bytes. Both are read.
cache_only: q + k + v + out → k + v
    The queries that are read and the result that is written are missing from the bytes.
shared_by_users: k = v = B * G → k = v = G
    One cache is counted for all users. Each of the B users has keys and values of their own.
shared_queries: q = out = B * H → q = out = B * G
    Queries and results are counted for G heads. Only keys and values are shared: there are H query heads.
no_result: q + k + v + out → q + k + v
    The queries or the result are missing from the bytes. The queries are read, and the result, as large as they
    are, is written.
scores_moved: q + k + v + out → q + k + v + out + B * H * T * S
    The scores are counted as bytes. They stay on the chip: only q, k, v and the result are moved.
one_query: T * S * D → S * D
    The FLOPs are those of one query. Each of the T queries meets S keys.
seen_pairs: T * S * D → (T * (S - T) + T * (T + 1) // 2) * D
    The masked pairs are left out of the FLOPs. They are computed here like all others: T queries times S keys.
numbers: (q + k + v + out) * itemsize → q + k + v + out
    The second result counts numbers. Multiply by itemsize to get bytes.
sum: flops / rate → flops / peak_flops + moved / bandwidth
    The two times are added. They overlap: the slower one decides, so take the maximum.
rate: flops / rate → rate
    roofline_seconds returns a rate, in FLOP per second. The time is the FLOPs divided by it.
rates_exchanged: min(peak_flops, flops / moved * bandwidth) → min(bandwidth, flops / moved * peak_flops)
    The FLOPs are divided by the bandwidth. FLOPs belong to peak_flops, bytes to bandwidth.
fastest: min( → max(
    The faster of the two times is returned. A step is done when both are: take the maximum.
scores_and_weights_moved: q + k + v + out → q + k + v + out + 2 * B * H * T * S
    Scores and weights, or scores written and read, are counted as bytes. They stay on the chip: only q, k, v and
    the result are moved.
one_user_flops: 2 * B * H → 2 * H
    The FLOPs are those of one user. Multiply by B.
one_user: 2 * B * H → 2 * H ; q = out = B * → q = out = ; k = v = B * → k = v =
    FLOPs and bytes are those of one user. Multiply both by B.
one_user_bytes: q = out = B * → q = out = ; k = v = B * → k = v =
    The bytes are those of one user. Each of the B users brings queries and keys: multiply by B.
whole_text: T * S * D → S * S * D
    The FLOPs are those of S queries. Only the T new ones meet the S keys.
chunk_alone: T * S * D → T * T * D
    The FLOPs are those of T keys. Each of the T queries meets all S keys.
new_keys: G * S → G * T
    Keys and values are counted for T tokens. All S of them are read.
no_head_size: T * S * D → T * S
    The FLOPs leave out D. A score is a sum of D products, and each value has D numbers.
result_shared: q + k + v + out → q + k + v + B * G * T * D
    The queries or the result are counted for G heads. Only keys and values are shared: both have H heads.
two_bytes: * itemsize → * 2
    Every number is counted as 2 bytes. Use itemsize.
size_of_cache: (q + k + v + out) * itemsize → q + out + (k + v) * itemsize
    Only keys and values are multiplied by itemsize: brackets are missing around the sum. All four tensors have
    itemsize bytes per number.
size_of_queries: (q + k + v + out) * itemsize → (q + out) * itemsize + k + v
    Only the queries and the result are multiplied by itemsize: brackets are missing around the sum. All four
    tensors have itemsize bytes per number.
exchanged: scores + weighted_sum, (q + k + v + out) * itemsize → (q + k + v + out) * itemsize, scores + weighted_sum
    The two results are exchanged. Return (FLOPs, bytes).
whole_seconds: flops / rate → max(flops // peak_flops, moved // bandwidth)
    The seconds are rounded down to whole ones. A step takes a small part of a second: divide with /.
upside_down: flops / rate → max(peak_flops / flops, bandwidth / moved)
    The quotients are upside down. Seconds are FLOPs / peak_flops and bytes / bandwidth.
compute_only: flops / rate → flops / peak_flops
    Only computing takes time here. Fetching takes moved / bandwidth, and the slower of the two decides.
fetch_only: flops / rate → moved / bandwidth
    Only fetching takes time here. Computing takes flops / peak_flops, and the slower of the two decides.
one_head_flops: 2 * B * H → 2 * B
    The FLOPs are those of one head. Each of the H query heads computes scores and a sum: multiply by H.
queries_only: q + k + v + out → q + out
    Keys and values are missing from the bytes. All S of them are read, in G heads.
two_of_four: q + k + v + out → q + k
    Half of the bytes are missing. Four tensors are moved: q and the result, k and v.
""",
)

EXERCISE = Exercise(
    id="cache.intensity",
    title="FLOPs per byte",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    reference=(attention_cost, roofline_seconds),
    alternatives=[(cost_by_tensors, seconds_by_ridge)],
    cases=[
        Case(
            "by hand",
            "one query of 2 numbers on 3 keys: 12 FLOPs for scores, 12 for the sum; 16 numbers of 2 bytes",
            lambda g: call(1, 1, 3, 1, 1, 2),
        ),
        Case(
            "decode",
            "two users, 8 query heads on 2 key-value heads, one token on 1,000",
            lambda g: call(2, 1, 1000, 8, 2, 64),
        ),
        Case("prefill", "a prompt of 512 tokens, multi-head attention", lambda g: call(1, 512, 512, 8, 8, 64)),
        Case(
            "float32",
            "three times random sizes, 4 bytes per number",
            lambda g: several(
                3,
                lambda p: p.call(
                    g.integer(2, 5), g.integer(5, 9), g.integer(50, 90), 6, 3, 8 * g.integer(2, 5), itemsize=4
                ),
            ),
        ),
        Case(
            "memory is slower",
            "10 FLOPs at 10 per second wait for 100 bytes at 5 per second: 20 seconds",
            lambda g: call(10, 100, 10, 5, fn="roofline_seconds"),
        ),
        Case(
            "compute is slower",
            "1,000 FLOPs at 10 per second take 100 seconds, 100 bytes at 5 only 20",
            lambda g: call(1000, 100, 10, 5, fn="roofline_seconds"),
        ),
        Case(
            "real devices",
            "random sizes at 60 to 900 TFLOP/s and 0.5 to 4 TB/s: twice much to compute, twice much to fetch",
            _devices,
        ),
    ],
    mutants=MISTAKES,
)
