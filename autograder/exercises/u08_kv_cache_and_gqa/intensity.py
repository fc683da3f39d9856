"""FLOPs and bytes of attention, and the time that a roofline allows."""

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference import intensity


def cost_by_tensors(B, T, S, H, G, D, itemsize=2):
    """Tensor by tensor."""
    numbers = {"q": B * H * T * D, "k": B * G * S * D, "v": B * G * S * D, "out": B * H * T * D}
    return 2 * B * H * T * D * S + 2 * B * H * T * S * D, sum(numbers.values()) * itemsize


def attention_cost(B, T, S, H, G, D, itemsize=2):
    """(FLOPs, bytes moved)."""
    return tuple(intensity.attention_cost(B, T, S, H, G, D, itemsize))


def roofline_seconds(flops, moved, peak_flops, bandwidth):
    """The slower of the two."""
    return intensity.roofline_seconds(intensity.Cost(flops, moved), peak_flops, bandwidth)


def seconds_by_ridge(flops, moved, peak_flops, bandwidth):
    """At the rate that the roofline allows."""
    return flops / sorted([peak_flops, flops / moved * bandwidth])[0]


def _cost(
    flops=lambda B, T, S, H, G, D: 4 * B * H * T * S * D,
    numbers=lambda B, T, S, H, G, D: 2 * B * D * (H * T + G * S),
    size=lambda i: i,
):
    def wrong(B, T, S, H, G, D, itemsize=2):
        return flops(B, T, S, H, G, D), size(itemsize) * numbers(B, T, S, H, G, D)

    return wrong


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


def _sizes(bytes_of):
    def wrong(B, T, S, H, G, D, itemsize=2):
        return 4 * B * H * T * S * D, bytes_of(2 * B * H * T * D, 2 * B * G * S * D, itemsize)

    return wrong


def exchanged(B, T, S, H, G, D, itemsize=2):
    return AC(B, T, S, H, G, D, itemsize)[::-1]


AC, RS = attention_cost, roofline_seconds

EXERCISE = Exercise(
    id="cache.intensity",
    title="FLOPs per byte",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="attention_cost(B, T, S, H, G, D, itemsize=2)",
    targets=("attention_cost", "roofline_seconds"),
    reference=(AC, RS),
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
    mutants=[
        Mutant(
            "half_flops",
            (_cost(flops=lambda B, T, S, H, G, D: 2 * B * H * T * S * D), RS),
            "Half of the FLOPs are missing: a multiply-add counts 2, and there are two products, scores and "
            "weighted sum.",
        ),
        Mutant(
            "grouped_flops",
            (_cost(flops=lambda B, T, S, H, G, D: 4 * B * G * T * S * D), RS),
            "The FLOPs are counted for G heads. Every one of the H query heads computes scores: sharing keys saves "
            "bytes, not FLOPs.",
        ),
        Mutant(
            "repeated",
            (_cost(numbers=lambda B, T, S, H, G, D: 2 * B * D * (H * T + H * S)), RS),
            "Keys and values are read for H heads. Only G of them are stored: that is the saving.",
        ),
        Mutant(
            "keys_only",
            (_cost(numbers=lambda B, T, S, H, G, D: B * D * (2 * H * T + G * S)), RS),
            "Either keys or values are missing from the bytes. Both are read.",
        ),
        Mutant(
            "cache_only",
            (_cost(numbers=lambda B, T, S, H, G, D: 2 * B * D * G * S), RS),
            "The queries that are read and the result that is written are missing from the bytes.",
        ),
        Mutant(
            "shared_by_users",
            (_cost(numbers=lambda B, T, S, H, G, D: 2 * D * (B * H * T + G * S)), RS),
            "One cache is counted for all users. Each of the B users has keys and values of their own.",
        ),
        Mutant(
            "shared_queries",
            (_cost(numbers=lambda B, T, S, H, G, D: 2 * B * D * (G * T + G * S)), RS),
            "Queries and results are counted for G heads. Only keys and values are shared: there are H query heads.",
        ),
        Mutant(
            "no_result",
            (_cost(numbers=lambda B, T, S, H, G, D: B * D * (H * T + 2 * G * S)), RS),
            "The queries or the result are missing from the bytes. The queries are read, and the result, as large as "
            "they are, is written.",
        ),
        Mutant(
            "scores_moved",
            (_cost(numbers=lambda B, T, S, H, G, D: 2 * B * D * (H * T + G * S) + B * H * T * S), RS),
            "The scores are counted as bytes. They stay on the chip: only q, k, v and the result are moved.",
        ),
        Mutant(
            "one_query",
            (_cost(flops=lambda B, T, S, H, G, D: 4 * B * H * S * D), RS),
            "The FLOPs are those of one query. Each of the T queries meets S keys.",
        ),
        Mutant(
            "seen_pairs",
            (_cost(flops=lambda B, T, S, H, G, D: 4 * B * H * D * (T * (S - T) + T * (T + 1) // 2)), RS),
            "The masked pairs are left out of the FLOPs. They are computed here like all others: T queries times S "
            "keys.",
        ),
        Mutant(
            "numbers",
            (_cost(size=lambda i: 1), RS),
            "The second result counts numbers. Multiply by itemsize to get bytes.",
        ),
        Mutant(
            "sum",
            (AC, lambda flops, moved, peak_flops, bandwidth: flops / peak_flops + moved / bandwidth),
            "The two times are added. They overlap: the slower one decides, so take the maximum.",
        ),
        Mutant(
            "rate",
            (AC, lambda flops, moved, peak_flops, bandwidth: min(peak_flops, flops / moved * bandwidth)),
            "roofline_seconds returns a rate, in FLOP per second. The time is the FLOPs divided by it.",
        ),
        Mutant(
            "rates_exchanged",
            (AC, lambda flops, moved, peak_flops, bandwidth: max(flops / bandwidth, moved / peak_flops)),
            "The FLOPs are divided by the bandwidth. FLOPs belong to peak_flops, bytes to bandwidth.",
        ),
        Mutant(
            "fastest",
            (AC, lambda flops, moved, peak_flops, bandwidth: min(flops / peak_flops, moved / bandwidth)),
            "The faster of the two times is returned. A step is done when both are: take the maximum.",
        ),
        Mutant(
            "scores_and_weights_moved",
            (_cost(numbers=lambda B, T, S, H, G, D: 2 * B * D * (H * T + G * S) + 2 * B * H * T * S), RS),
            "Scores and weights, or scores written and read, are counted as bytes. They stay on the chip: only q, k, v "
            "and the result are moved.",
        ),
        Mutant(
            "one_user_flops",
            (_cost(flops=lambda B, T, S, H, G, D: 4 * H * T * S * D), RS),
            "The FLOPs are those of one user. Multiply by B.",
        ),
        Mutant(
            "one_user",
            (
                _cost(lambda B, T, S, H, G, D: 4 * H * T * S * D, lambda B, T, S, H, G, D: 2 * D * (H * T + G * S)),
                RS,
            ),
            "FLOPs and bytes are those of one user. Multiply both by B.",
        ),
        Mutant(
            "one_user_bytes",
            (_cost(numbers=lambda B, T, S, H, G, D: 2 * D * (H * T + G * S)), RS),
            "The bytes are those of one user. Each of the B users brings queries and keys: multiply by B.",
        ),
        Mutant(
            "whole_text",
            (_cost(flops=lambda B, T, S, H, G, D: 4 * B * H * S * S * D), RS),
            "The FLOPs are those of S queries. Only the T new ones meet the S keys.",
        ),
        Mutant(
            "chunk_alone",
            (_cost(flops=lambda B, T, S, H, G, D: 4 * B * H * T * T * D), RS),
            "The FLOPs are those of T keys. Each of the T queries meets all S keys.",
        ),
        Mutant(
            "new_keys",
            (_cost(numbers=lambda B, T, S, H, G, D: 2 * B * D * (H * T + G * T)), RS),
            "Keys and values are counted for T tokens. All S of them are read.",
        ),
        Mutant(
            "no_head_size",
            (_cost(flops=lambda B, T, S, H, G, D: 4 * B * H * T * S), RS),
            "The FLOPs leave out D. A score is a sum of D products, and each value has D numbers.",
        ),
        Mutant(
            "result_shared",
            (_cost(numbers=lambda B, T, S, H, G, D: B * D * (H * T + G * T + 2 * G * S)), RS),
            "The queries or the result are counted for G heads. Only keys and values are shared: both have H heads.",
        ),
        Mutant(
            "two_bytes",
            (_cost(size=lambda i: 2), RS),
            "Every number is counted as 2 bytes. Use itemsize.",
        ),
        Mutant(
            "size_of_cache",
            (_sizes(lambda queries, cache, size: queries + cache * size), RS),
            "Only keys and values are multiplied by itemsize: brackets are missing around the sum. All four tensors "
            "have itemsize bytes per number.",
        ),
        Mutant(
            "size_of_queries",
            (_sizes(lambda queries, cache, size: queries * size + cache), RS),
            "Only the queries and the result are multiplied by itemsize: brackets are missing around the sum. All four "
            "tensors have itemsize bytes per number.",
        ),
        Mutant(
            "exchanged",
            (exchanged, RS),
            "The two results are exchanged. Return (FLOPs, bytes).",
        ),
        Mutant(
            "whole_seconds",
            (AC, lambda flops, moved, peak_flops, bandwidth: max(flops // peak_flops, moved // bandwidth)),
            "The seconds are rounded down to whole ones. A step takes a small part of a second: divide with /.",
        ),
        Mutant(
            "upside_down",
            (AC, lambda flops, moved, peak_flops, bandwidth: max(peak_flops / flops, bandwidth / moved)),
            "The quotients are upside down. Seconds are FLOPs / peak_flops and bytes / bandwidth.",
        ),
        Mutant(
            "compute_only",
            (AC, lambda flops, moved, peak_flops, bandwidth: flops / peak_flops),
            "Only computing takes time here. Fetching takes moved / bandwidth, and the slower of the two decides.",
        ),
        Mutant(
            "fetch_only",
            (AC, lambda flops, moved, peak_flops, bandwidth: moved / bandwidth),
            "Only fetching takes time here. Computing takes flops / peak_flops, and the slower of the two decides.",
        ),
        Mutant(
            "one_head_flops",
            (_cost(flops=lambda B, T, S, H, G, D: 4 * B * T * S * D), RS),
            "The FLOPs are those of one head. Each of the H query heads computes scores and a sum: multiply by H.",
        ),
        Mutant(
            "queries_only",
            (_cost(numbers=lambda B, T, S, H, G, D: 2 * B * D * H * T), RS),
            "Keys and values are missing from the bytes. All S of them are read, in G heads.",
        ),
        Mutant(
            "two_of_four",
            (_cost(numbers=lambda B, T, S, H, G, D: B * D * (H * T + G * S)), RS),
            "Half of the bytes are missing. Four tensors are moved: q and the result, k and v.",
        ),
    ],
)
