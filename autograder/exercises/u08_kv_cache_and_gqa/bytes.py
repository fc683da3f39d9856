"""Bytes that a token occupies in a cache."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several
from autograder.reference import gqa


def kv_by_layers(n_layers, n_kv_heads, head_dim, itemsize=2):
    """Layer by layer: one key and one value."""
    return n_layers * (itemsize * (n_kv_heads * head_dim + n_kv_heads * head_dim))


def both_by_parts(n_decoder, n_heads, head_dim, source, target, itemsize=2):
    """Self-attention's part and cross-attention's part."""
    vector = n_heads * head_dim * itemsize
    return n_decoder * (2 * vector * target) + n_decoder * (2 * vector * source)


MISTAKES = changes(
    (gqa.kv_bytes_per_token, gqa.encoder_decoder_cache_bytes),
    """
keys_only: return 2 * n_layers → return n_layers
    Only one vector per head is counted. A key and a value are stored: factor 2.
one_layer: return 2 * n_layers → return 2
    The bytes are those of one layer. Each layer has a cache of its own: multiply by the number of layers.
always_two_bytes: head_dim * itemsize → head_dim * 2
    Every number is counted as 2 bytes. Use itemsize.
bits: head_dim * itemsize → head_dim * itemsize * 8
    The result is in bits. itemsize is already in bytes, so there is no factor 8.
target_only: (source + target) → target
    Cross-attention's cache is missing. Keys and values of every source token are stored too, once.
source_only: (source + target) → source
    Self-attention's cache is missing. It holds the target tokens written so far.
cross_one_layer: (source + target) → target + kv_bytes_per_token(1, n_heads, head_dim, itemsize) * source
    Cross-attention's cache is counted for one layer. Each decoder layer projects the memory itself: multiply by
    n_decoder.
product: (source + target) → (source * target)
    Source and target tokens are multiplied, as if there were an entry for each pair. The two caches lie side by
    side: add the tokens.
both_twice: (source + target) → 2 * (source + target)
    encoder_decoder_bytes is twice too large. The key and the value are already counted in kv_bytes_per_token; each
    token stands in one of the two caches.
longer_one: (source + target) → max(source, target)
    Only the longer of the two texts is counted. Both caches stay in memory together: add them.
source_per_step: (source + target) → target * (source + 1)
    The source is counted again for each target token. Its keys and values are stored once.
as_float: return 2 * n_layers → return 2.0 * n_layers
    The numbers are right, but of type float. Bytes are counted in integers: multiply ints, and divide with // where
    you must.
four_by_default: head_dim: int, itemsize: int = 2 → head_dim: int, itemsize: int = 4
; target: int, itemsize: int = 2 → target: int, itemsize: int = 4
    Without itemsize 4 bytes are counted per number. The default is 2: keep itemsize=2 as it is given.
one_head: n_kv_heads * head_dim → head_dim
    The bytes are those of one head. Each of the key-value heads stores a key and a value of its own: multiply by
    their number.
one_number: n_kv_heads * head_dim → n_kv_heads
    Each key is counted as a single number. It has head_dim of them: multiply by it.
divided: head_dim * itemsize → head_dim // itemsize
    The numbers are divided by itemsize. Each takes itemsize bytes: multiply.
itemsize_kept: n_heads, head_dim, itemsize) → n_heads, head_dim)
    encoder_decoder_bytes always counts 2 bytes per number. Hand its itemsize on to kv_bytes_per_token.
request_one_layer: kv_bytes_per_token(n_decoder, → kv_bytes_per_token(1,
    encoder_decoder_bytes counts one layer. Every decoder layer has both caches: multiply by n_decoder.
source_one_vector: (source + target) → (source + 2 * target) // 2
    For a source token a single vector is counted. Cross-attention stores its key and its value, as self-attention
    does for a target token.
target_one_vector: (source + target) → (2 * source + target) // 2
    For a target token a single vector is counted. Self-attention stores its key and its value, as cross-attention
    does for a source token.
source_twice: (source + target) → (2 * source + target)
    The source is counted twice. Its keys and values lie in the cache of cross-attention alone; self-attention
    stores the target tokens.
target_twice: (source + target) → (source + 2 * target)
    The target is counted twice. Its keys and values lie in the cache of self-attention alone; cross-attention
    stores the source tokens.
one_token: * (source + target) →
    encoder_decoder_bytes counts one token. Multiply by all tokens whose keys and values are stored, source and
    target.
source_without_brackets: (source + target) → source + target
    Only the source is multiplied by the bytes per token: brackets are missing. Write (source + target).
target_without_brackets: (source + target) → target + source
    Only the target is multiplied by the bytes per token: brackets are missing. Write (source + target).
""",
)

EXERCISE = Exercise(
    id="cache.bytes",
    title="Bytes per token",
    points=2,
    difficulty=2,
    minutes=10,
    reference=(gqa.kv_bytes_per_token, gqa.encoder_decoder_cache_bytes),
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
    mutants=MISTAKES,
    equivalent="""
the function called is a product, whose factors may stand in any order
    54e54f1795 solution, argument: kv_bytes_per_token(n_decoder, n_heads, head_dim, itemsize): arguments 1 and 2 swapp…
    899074429f solution, argument: kv_bytes_per_token(n_decoder, n_heads, head_dim, itemsize): arguments 2 and 3 swapp…
    a0ccab0bde solution, argument: kv_bytes_per_token(n_decoder, n_heads, head_dim, itemsize): arguments 3 and 4 swapp…
""",
)
