"""Bytes per token, users per GPU, and what a decoding step waits for."""

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import gqa, intensity

UNIT = "08-kv-cache-and-gqa"
KV, BOTH, USERS = gqa.kv_bytes_per_token, gqa.encoder_decoder_cache_bytes, gqa.users_that_fit


# --- bytes ---------------------------------------------------------------------------------------------------------
def kv_by_layers(n_layers, n_kv_heads, head_dim, itemsize=2):
    """Layer by layer: one key and one value."""
    return sum(itemsize * (n_kv_heads * head_dim + n_kv_heads * head_dim) for _ in range(n_layers))


def both_by_parts(n_decoder, n_heads, head_dim, source, target, itemsize=2):
    """Self-attention's part and cross-attention's part."""
    vector = n_heads * head_dim * itemsize
    return n_decoder * (2 * vector * target) + n_decoder * (2 * vector * source)


def _kv(factor):
    return lambda n_layers, n_kv_heads, head_dim, itemsize=2: factor(n_layers, n_kv_heads, head_dim, itemsize)


def _both(tokens, kv=KV):
    def wrong(n_decoder, n_heads, head_dim, source, target, itemsize=2):
        return kv(n_decoder, n_heads, head_dim, itemsize) * tokens(source, target)

    return wrong


half = _kv(lambda N, G, D, b: N * G * D * b)
one_layer = _kv(lambda N, G, D, b: 2 * G * D * b)
always_two = _kv(lambda N, G, D, b: 4 * N * G * D)
bits = _kv(lambda N, G, D, b: 16 * N * G * D * b)
tokens = lambda source, target: source + target

BYTES = Exercise(
    id="cache.bytes",
    unit=UNIT,
    title="Bytes per token",
    points=2,
    difficulty=2,
    minutes=10,
    signature="kv_bytes_per_token(n_layers, n_kv_heads, head_dim, itemsize=2)",
    targets=("kv_bytes_per_token", "encoder_decoder_bytes"),
    reference=(KV, BOTH),
    alternatives=[(kv_by_layers, both_by_parts)],
    cases=[
        Case(
            "by hand",
            "one layer, one head of 4 numbers in 2 bytes: 8 for the key, 8 for the value",
            lambda g: call(1, 1, 4),
        ),
        Case("LLaMA-2-7B", "32 layers, 32 key-value heads of 128 numbers", lambda g: call(32, 32, 128)),
        Case("Llama-3-8B", "32 layers, 8 key-value heads of 128 numbers", lambda g: call(32, 8, 128)),
        Case(
            "float32",
            "random sizes, 4 bytes per number",
            lambda g: call(g.integer(3, 90), g.integer(2, 9), 8 * g.integer(2, 20), itemsize=4),
        ),
        Case(
            "both caches by hand",
            "one layer, one head of 4: 16 bytes for each of 3 source and 2 target tokens",
            lambda g: call(1, 1, 4, 3, 2, fn="encoder_decoder_bytes"),
        ),
        Case(
            "both caches",
            "six layers, a long source and a short target",
            lambda g: call(6, 8, 64, g.integer(300, 900), g.integer(10, 90), fn="encoder_decoder_bytes"),
        ),
        Case(
            "both caches in one byte",
            "12 layers, 1 byte per number, a short source and a long target",
            lambda g: call(12, 12, 64, g.integer(10, 90), g.integer(300, 900), itemsize=1, fn="encoder_decoder_bytes"),
        ),
    ],
    mutants=[
        Mutant(
            "keys_only",
            (half, _both(tokens, half)),
            "Only one vector per head is counted. A key and a value are stored: factor 2.",
        ),
        Mutant(
            "one_layer",
            (one_layer, _both(tokens, one_layer)),
            "The bytes are those of one layer. Each layer has a cache of its own: multiply by the number of layers.",
        ),
        Mutant(
            "always_two_bytes",
            (always_two, _both(tokens, always_two)),
            "Every number is counted as 2 bytes. Use itemsize.",
        ),
        Mutant(
            "bits",
            (bits, _both(tokens, bits)),
            "The result is in bits. itemsize is already in bytes, so there is no factor 8.",
        ),
        Mutant(
            "target_only",
            (KV, _both(lambda source, target: target)),
            "Cross-attention's cache is missing. Keys and values of every source token are stored too, once.",
        ),
        Mutant(
            "source_only",
            (KV, _both(lambda source, target: source)),
            "Self-attention's cache is missing. It holds the target tokens written so far.",
        ),
        Mutant(
            "product",
            (KV, _both(lambda source, target: source * target)),
            "Source and target tokens are multiplied, as if there were an entry for each pair. The two caches lie "
            "side by side: add the tokens.",
        ),
        Mutant(
            "both_twice",
            (KV, _both(lambda source, target: 2 * (source + target))),
            "encoder_decoder_bytes is twice too large. The key and the value are already counted in "
            "kv_bytes_per_token; each token stands in one of the two caches.",
        ),
        Mutant(
            "longer_one",
            (KV, _both(max)),
            "Only the longer of the two texts is counted. Both caches stay in memory together: add them.",
        ),
        Mutant(
            "source_per_step",
            (KV, _both(lambda source, target: target * (source + 1))),
            "The source is counted again for each target token. Its keys and values are stored once.",
        ),
    ],
)


# --- users ---------------------------------------------------------------------------------------------------------
def users_by_subtraction(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    """divmod, with the errors spelled out."""
    if memory_bytes < 0 or weight_bytes < 0:
        raise ValueError("negative memory")
    if bytes_per_token <= 0 or tokens_per_user <= 0:
        raise ValueError("a user needs at least one byte")
    free = memory_bytes - weight_bytes
    return divmod(free, bytes_per_token * tokens_per_user)[0] if free > 0 else 0


def _users(count):
    def wrong(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
        return count(memory_bytes, weight_bytes, bytes_per_token * tokens_per_user, bytes_per_token)

    return wrong


def users_checked(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    if min(bytes_per_token, tokens_per_user) < 1:
        raise ValueError("a user needs at least one byte")
    return max(0, memory_bytes - weight_bytes) // (bytes_per_token * tokens_per_user)


def sizes_checked(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user):
    if min(memory_bytes, weight_bytes) < 0:
        raise ValueError("negative size")
    return max(0, memory_bytes - weight_bytes) // (bytes_per_token * tokens_per_user)


GB = 10**9

USERS_THAT_FIT = Exercise(
    id="cache.users",
    unit=UNIT,
    title="How many users fit",
    points=1,
    difficulty=2,
    minutes=8,
    signature="users_that_fit(memory_bytes, weight_bytes, bytes_per_token, tokens_per_user)",
    reference=USERS,
    alternatives=[users_by_subtraction],
    cases=[
        Case(
            "by hand",
            "100 bytes, 30 of weights, users of 4 × 5 bytes: 70 / 20 makes three",
            lambda g: call(100, 30, 4, 5),
        ),
        Case(
            "80 GB",
            "13.5 GB of weights, 524,288 bytes per token, 4,096 tokens per user",
            lambda g: call(80 * GB, 13_500_000_000, 524_288, 4096),
        ),
        Case(
            "random",
            "random sizes that do not divide evenly",
            lambda g: call(24 * GB + g.integer(0, 1000), g.integer(2, 9) * GB + 1, 131_072, g.integer(1000, 9000)),
        ),
        Case(
            "too large", "weights that do not fit leave room for nobody: 0", lambda g: call(24 * GB, 26 * GB, 1000, 10)
        ),
        Case("no tokens", "users of no tokens: ValueError", lambda g: call(24 * GB, 2 * GB, 1000, 0), weight=0.5),
        Case("negative", "weights of −1 bytes: ValueError", lambda g: call(24 * GB, -1, 1000, 10), weight=0.5),
    ],
    mutants=[
        Mutant(
            "weights_forgotten",
            _users(lambda m, w, user, token: m // user),
            "The weights take memory too. Subtract them first.",
        ),
        Mutant(
            "rounded_up",
            _users(lambda m, w, user, token: -(-max(0, m - w) // user)),
            "The number is rounded up. Part of a user does not fit: round down.",
        ),
        Mutant(
            "negative",
            _users(lambda m, w, user, token: (m - w) // user),
            "Where the weights alone do not fit, the result is negative. Nobody fits then: return 0.",
        ),
        Mutant(
            "fraction",
            _users(lambda m, w, user, token: max(0, m - w) / user),
            "The result is a fraction of a user. Use // to get a whole number.",
        ),
        Mutant(
            "tokens",
            _users(lambda m, w, user, token: max(0, m - w) // token),
            "This is the number of tokens that fit. Each user needs tokens_per_user of them.",
        ),
        Mutant(
            "users_checked",
            users_checked,
            "Right for what can be. Raise a ValueError for negative memory or weights as well.",
        ),
        Mutant(
            "sizes_checked",
            sizes_checked,
            "A user without any tokens makes this divide by zero. Raise a ValueError first: a user needs at least "
            "one byte and one token.",
        ),
        Mutant(
            "unchecked",
            _users(lambda m, w, user, token: max(0, m - w) // user),
            "The numbers are right. Raise a ValueError for negative sizes, or users without tokens.",
        ),
    ],
)


# --- intensity -----------------------------------------------------------------------------------------------------
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

INTENSITY = Exercise(
    id="cache.intensity",
    unit=UNIT,
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
            "random sizes, 4 bytes per number",
            lambda g: call(g.integer(2, 5), g.integer(5, 9), g.integer(50, 90), 6, 3, 8 * g.integer(2, 5), itemsize=4),
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

EXERCISES = [BYTES, USERS_THAT_FIT, INTENSITY]
