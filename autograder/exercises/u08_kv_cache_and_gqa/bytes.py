"""Bytes that a token occupies in a cache."""

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import gqa

KV, BOTH = gqa.kv_bytes_per_token, gqa.encoder_decoder_cache_bytes


def kv_by_layers(n_layers, n_kv_heads, head_dim, itemsize=2):
    """Layer by layer: one key and one value."""
    return n_layers * (itemsize * (n_kv_heads * head_dim + n_kv_heads * head_dim))


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


def four_by_default(n_layers, n_kv_heads, head_dim, itemsize=4):
    """Another default."""
    return KV(n_layers, n_kv_heads, head_dim, itemsize)


def both_four_by_default(n_decoder, n_heads, head_dim, source, target, itemsize=4):
    """Another default."""
    return BOTH(n_decoder, n_heads, head_dim, source, target, itemsize)


as_float = _kv(lambda N, G, D, b: float(KV(N, G, D, b)))
one_head = _kv(lambda N, G, D, b: 2 * N * D * b)
one_number = _kv(lambda N, G, D, b: 2 * N * G * b)
divided = _kv(lambda N, G, D, b: 2 * N * G * D // b)


EXERCISE = Exercise(
    id="cache.bytes",
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
            "two models of random sizes, 4 bytes per number",
            lambda g: several(2, lambda p: p.call(g.integer(3, 90), g.integer(2, 9), 8 * g.integer(2, 20), itemsize=4)),
        ),
        Case(
            "both caches by hand",
            "one layer, one head of 4: 16 bytes for each of 3 source and 2 target tokens",
            lambda g: call(1, 1, 4, 3, 2, fn="encoder_decoder_bytes"),
        ),
        Case(
            "both caches",
            "six layers, twice a long source and a short target",
            lambda g: several(
                2, lambda p: p.call(6, 8, 64, g.integer(300, 3000), g.integer(10, 90), fn="encoder_decoder_bytes")
            ),
        ),
        Case(
            "both caches in one byte",
            "12 layers, 1 byte per number, twice a short source and a long target",
            lambda g: several(
                2,
                lambda p: p.call(
                    12, 12, 64, g.integer(10, 90), g.integer(300, 3000), itemsize=1, fn="encoder_decoder_bytes"
                ),
            ),
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
            "cross_one_layer",
            (
                KV,
                lambda N, H, D, source, target, itemsize=2: (
                    KV(N, H, D, itemsize) * target + KV(1, H, D, itemsize) * source
                ),
            ),
            "Cross-attention's cache is counted for one layer. Each decoder layer projects the memory itself: multiply "
            "by n_decoder.",
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
        Mutant(
            "as_float",
            (as_float, _both(tokens, as_float)),
            "The numbers are right, but of type float. Bytes are counted in integers: multiply ints, and divide with "
            "// where you must.",
        ),
        Mutant(
            "four_by_default",
            (four_by_default, both_four_by_default),
            "Without itemsize 4 bytes are counted per number. The default is 2: keep itemsize=2 as it is given.",
        ),
        Mutant(
            "one_head",
            (one_head, _both(tokens, one_head)),
            "The bytes are those of one head. Each of the key-value heads stores a key and a value of its own: "
            "multiply by their number.",
        ),
        Mutant(
            "one_number",
            (one_number, _both(tokens, one_number)),
            "Each key is counted as a single number. It has head_dim of them: multiply by it.",
        ),
        Mutant(
            "divided",
            (divided, _both(tokens, divided)),
            "The numbers are divided by itemsize. Each takes itemsize bytes: multiply.",
        ),
        Mutant(
            "itemsize_kept",
            (KV, _both(tokens, lambda N, H, D, itemsize: KV(N, H, D))),
            "encoder_decoder_bytes always counts 2 bytes per number. Hand its itemsize on to kv_bytes_per_token.",
        ),
        Mutant(
            "request_one_layer",
            (KV, _both(tokens, lambda N, H, D, itemsize: KV(1, H, D, itemsize))),
            "encoder_decoder_bytes counts one layer. Every decoder layer has both caches: multiply by n_decoder.",
        ),
        Mutant(
            "source_one_vector",
            (KV, lambda N, H, D, source, target, itemsize=2: KV(N, H, D, itemsize) * (source + 2 * target) // 2),
            "For a source token a single vector is counted. Cross-attention stores its key and its value, as "
            "self-attention does for a target token.",
        ),
        Mutant(
            "target_one_vector",
            (KV, lambda N, H, D, source, target, itemsize=2: KV(N, H, D, itemsize) * (2 * source + target) // 2),
            "For a target token a single vector is counted. Self-attention stores its key and its value, as "
            "cross-attention does for a source token.",
        ),
        Mutant(
            "source_twice",
            (KV, _both(lambda source, target: 2 * source + target)),
            "The source is counted twice. Its keys and values lie in the cache of cross-attention alone; "
            "self-attention stores the target tokens.",
        ),
        Mutant(
            "target_twice",
            (KV, _both(lambda source, target: source + 2 * target)),
            "The target is counted twice. Its keys and values lie in the cache of self-attention alone; "
            "cross-attention stores the source tokens.",
        ),
        Mutant(
            "one_token",
            (KV, _both(lambda source, target: 1)),
            "encoder_decoder_bytes counts one token. Multiply by all tokens whose keys and values are stored, source "
            "and target.",
        ),
        Mutant(
            "source_without_brackets",
            (KV, lambda N, H, D, source, target, itemsize=2: KV(N, H, D, itemsize) * source + target),
            "Only the source is multiplied by the bytes per token: brackets are missing. Write (source + target).",
        ),
        Mutant(
            "target_without_brackets",
            (KV, lambda N, H, D, source, target, itemsize=2: KV(N, H, D, itemsize) * target + source),
            "Only the target is multiplied by the bytes per token: brackets are missing. Write (source + target).",
        ),
    ],
)
