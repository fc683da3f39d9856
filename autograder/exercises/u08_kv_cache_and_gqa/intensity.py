"""FLOPs and bytes of attention, and the time that a roofline allows."""

from autograder.judge.spec import Case, Exercise, Mutant, call, several
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
    """By comparison with the ridge point."""
    attainable = peak_flops if flops * bandwidth >= moved * peak_flops else flops / moved * bandwidth
    return flops / attainable


def _cost(
    flops=lambda B, T, S, H, G, D: 4 * B * H * T * S * D,
    numbers=lambda B, T, S, H, G, D: 2 * B * D * (H * T + G * S),
    size=lambda i: i,
):
    def wrong(B, T, S, H, G, D, itemsize=2):
        return flops(B, T, S, H, G, D), size(itemsize) * numbers(B, T, S, H, G, D)

    return wrong


AC, RS = attention_cost, roofline_seconds

EXERCISE = Exercise(
    id="cache.intensity",
    unit="08-kv-cache-and-gqa",
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
            "no_result",
            (_cost(numbers=lambda B, T, S, H, G, D: B * D * (H * T + 2 * G * S)), RS),
            "The result is not counted. It is written to memory once, and is as large as the queries.",
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
            "fastest",
            (AC, lambda flops, moved, peak_flops, bandwidth: min(flops / peak_flops, moved / bandwidth)),
            "The faster of the two times is returned. A step is done when both are: take the maximum.",
        ),
    ],
)
