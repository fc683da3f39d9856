"""FLOPs and bytes of LayerNorm and RMSNorm."""

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import norms as ref

COSTS = (ref.layer_norm_cost, ref.rms_norm_cost)


def both(
    layer_flops=lambda n, d: n * (7 * d + 5),
    rms_flops=lambda n, d: n * (4 * d + 4),
    layer_bytes=lambda n, d, size, reads: ((reads + 1) * n * d + 2 * d) * size,
    rms_bytes=lambda n, d, size, reads: ((reads + 1) * n * d + d) * size,
):
    """Both cost functions from their formulas."""
    return (
        lambda tokens, d, itemsize, reads=1: (layer_flops(tokens, d), layer_bytes(tokens, d, itemsize, reads)),
        lambda tokens, d, itemsize, reads=1: (rms_flops(tokens, d), rms_bytes(tokens, d, itemsize, reads)),
    )


def by_parts(per_entry, per_row, vectors):
    def cost(tokens, d, itemsize, reads=1):
        entries = tokens * d
        traffic = entries * reads + entries + vectors * d
        return [sum(per_entry) * entries + sum(per_row) * tokens, traffic * itemsize]

    return cost


def layer_by_rows(tokens, d, itemsize, reads=1):
    row = itemsize * d
    return 7 * tokens * d + 5 * tokens, tokens * row * reads + tokens * row + 2 * row


def rms_by_rows(tokens, d, itemsize, reads=1):
    row = itemsize * d
    return 4 * tokens * (d + 1), row * (tokens + tokens * reads + 1)


def turned(cost):
    """Bytes first."""

    def bytes_and_operations(tokens, d, itemsize, reads=1):
        operations, traffic = cost(tokens, d, itemsize, reads)
        return traffic, operations

    return bytes_and_operations


def sizes(g: Source) -> tuple[int, int, int, int]:
    return g.integer(100, 999), g.integer(500, 5000), g.choice((2, 4)), g.integer(2, 4)


def random_sizes(g: Source) -> Program:
    numbers = sizes(g)
    return Program().call(*numbers).call(*numbers, fn="rms_norm_cost")


EXERCISE = Exercise(
    id="norm.cost",
    title="What a norm costs",
    points=2,
    difficulty=2,
    minutes=12,
    signature="layer_norm_cost(tokens, d, itemsize, reads=1)",
    targets=("layer_norm_cost", "rms_norm_cost"),
    reference=COSTS,
    alternatives=[
        (layer_by_rows, rms_by_rows),
        (by_parts((1, 1, 2, 1, 2), (2, 1, 1, 1), 2), by_parts((2, 1, 1), (1, 1, 1, 1), 1)),
    ],
    cases=[
        Case(
            "by hand", "LayerNorm of one token of 4 float16 numbers: 33 operations, 32 bytes", lambda g: call(1, 4, 2)
        ),
        Case(
            "rms by hand",
            "RMSNorm of the same token: 20 operations, 24 bytes",
            lambda g: Program().call(1, 4, 2, fn="rms_norm_cost"),
        ),
        Case(
            "llama",
            "4096 tokens of 4096 bfloat16 numbers, both norms",
            lambda g: Program().call(4096, 4096, 2).call(4096, 4096, 2, fn="rms_norm_cost"),
        ),
        Case(
            "passes",
            "three reads for LayerNorm and two for RMSNorm, when each pass goes to memory",
            lambda g: Program().call(10, 8, 4, reads=3).call(10, 8, 4, reads=2, fn="rms_norm_cost"),
        ),
        Case("random", "random sizes", random_sizes),
    ],
    mutants=[
        Mutant(
            "no_write",
            both(
                layer_bytes=lambda n, d, size, reads: (reads * n * d + 2 * d) * size,
                rms_bytes=lambda n, d, size, reads: (reads * n * d + d) * size,
            ),
            "The result is written to memory too: one more pass over tokens · d entries.",
        ),
        Mutant(
            "large_terms_only",
            both(
                lambda n, d: 7 * n * d,
                lambda n, d: 4 * n * d,
                lambda n, d, size, reads: (reads + 1) * n * d * size,
                lambda n, d, size, reads: (reads + 1) * n * d * size,
            ),
            "The small terms are missing: 5 and 4 operations per token, and the vectors, which are read too.",
        ),
        Mutant(
            "vectors_forgotten",
            both(
                layer_bytes=lambda n, d, size, reads: (reads + 1) * n * d * size,
                rms_bytes=lambda n, d, size, reads: (reads + 1) * n * d * size,
            ),
            "Weight and bias are read too: d entries each, once in all.",
        ),
        Mutant(
            "entries_not_bytes",
            both(
                layer_bytes=lambda n, d, size, reads: (reads + 1) * n * d + 2 * d,
                rms_bytes=lambda n, d, size, reads: (reads + 1) * n * d + d,
            ),
            "These are entries. Multiply by itemsize to get bytes.",
        ),
        Mutant(
            "vectors_in_entries",
            both(
                layer_bytes=lambda n, d, size, reads: (reads + 1) * n * d * size + 2 * d,
                rms_bytes=lambda n, d, size, reads: (reads + 1) * n * d * size + d,
            ),
            "Weight and bias are counted in entries and the rest in bytes. Multiply them by itemsize too.",
        ),
        Mutant(
            "vectors_per_read",
            both(
                layer_bytes=lambda n, d, size, reads: (reads * (n * d + 2 * d) + n * d) * size,
                rms_bytes=lambda n, d, size, reads: (reads * (n * d + d) + n * d) * size,
            ),
            "The vectors are counted once per read of x. reads is about x alone: they are read once in all.",
        ),
        Mutant(
            "write_per_read",
            both(
                layer_bytes=lambda n, d, size, reads: (2 * reads * n * d + 2 * d) * size,
                rms_bytes=lambda n, d, size, reads: (2 * reads * n * d + d) * size,
            ),
            "The result is written once per read of x. It is written once in all: (reads + 1) · tokens · d entries.",
        ),
        Mutant(
            "turned",
            (turned(ref.layer_norm_cost), turned(ref.rms_norm_cost)),
            "The two numbers have changed places: return (operations, bytes).",
        ),
        Mutant(
            "vectors_per_token",
            both(
                layer_bytes=lambda n, d, size, reads: (reads + 3) * n * d * size,
                rms_bytes=lambda n, d, size, reads: (reads + 2) * n * d * size,
            ),
            "Weight and bias are counted once per token. They are read once in all: d entries each.",
        ),
        Mutant(
            "reads_ignored",
            both(
                layer_bytes=lambda n, d, size, reads: (2 * n * d + 2 * d) * size,
                rms_bytes=lambda n, d, size, reads: (2 * n * d + d) * size,
            ),
            "reads is ignored: it says how often x is read.",
        ),
        Mutant(
            "rms_has_bias",
            both(rms_bytes=lambda n, d, size, reads: ((reads + 1) * n * d + 2 * d) * size),
            "RMSNorm has no bias: only one vector of d entries is read beside x.",
        ),
        Mutant(
            "same_operations",
            both(rms_flops=lambda n, d: n * (7 * d + 5)),
            "RMSNorm needs fewer operations: no sum for the mean, no centering, no bias.",
        ),
        Mutant(
            "row_forgotten",
            both(layer_flops=lambda n, d: 7 * n * d, rms_flops=lambda n, d: 4 * n * d),
            "The few operations per token are missing: 5 for LayerNorm, 4 for RMSNorm.",
        ),
        Mutant(
            "row_once",
            both(lambda n, d: 7 * n * d + 5, lambda n, d: 4 * n * d + 4),
            "The few operations per token are counted once in all. Multiply them by tokens: tokens · (… · d + …).",
        ),
        Mutant(
            "rms_row_of_layer",
            both(rms_flops=lambda n, d: n * (4 * d + 5)),
            "RMSNorm is counted with 5 operations per token. It has one division by d less than LayerNorm: 4.",
        ),
        Mutant(
            "rms_five_per_entry",
            both(rms_flops=lambda n, d: n * (5 * d + 4)),
            "RMSNorm is counted with 5 operations per entry. It has 4: square and sum, scale, weight. There is no "
            "bias.",
        ),
        Mutant(
            "bias_forgotten",
            both(layer_bytes=lambda n, d, size, reads: ((reads + 1) * n * d + d) * size),
            "LayerNorm reads two vectors beside x: weight and bias, d entries each.",
        ),
        Mutant(
            "vectors_per_pass",
            both(
                layer_bytes=lambda n, d, size, reads: (reads + 1) * (n * d + 2 * d) * size,
                rms_bytes=lambda n, d, size, reads: (reads + 1) * (n * d + d) * size,
            ),
            "The vectors are counted in every pass over x, its write included. They are read once in all: outside the "
            "brackets.",
        ),
        Mutant(
            "all_per_read",
            both(
                layer_bytes=lambda n, d, size, reads: reads * (2 * n * d + 2 * d) * size,
                rms_bytes=lambda n, d, size, reads: reads * (2 * n * d + d) * size,
            ),
            "reads multiplies everything. Only the reads of x are repeated: result and vectors are moved once.",
        ),
        Mutant(
            "tensor_in_entries",
            both(
                layer_bytes=lambda n, d, size, reads: (reads + 1) * n * d + 2 * d * size,
                rms_bytes=lambda n, d, size, reads: (reads + 1) * n * d + d * size,
            ),
            "Brackets are missing: itemsize multiplies the vectors alone. Multiply the whole sum by it.",
        ),
        Mutant(
            "reads_without_x",
            both(
                layer_bytes=lambda n, d, size, reads: (n * d + 2 * d * reads) * size,
                rms_bytes=lambda n, d, size, reads: (n * d + d * reads) * size,
            ),
            "reads multiplies the vectors. It says how often x is read, and the result is written once more.",
        ),
        Mutant(
            "tokens_forgotten_in_operations",
            both(lambda n, d: 7 * d + 5, lambda n, d: 4 * d + 4),
            "These are the operations of one token. Multiply by tokens.",
        ),
        Mutant(
            "tokens_forgotten_in_bytes",
            both(
                layer_bytes=lambda n, d, size, reads: ((reads + 1) * d + 2 * d) * size,
                rms_bytes=lambda n, d, size, reads: ((reads + 1) * d + d) * size,
            ),
            "These are the bytes of one token. x and the result have tokens · d entries; only the vectors have d.",
        ),
        Mutant(
            "one_read_more",
            both(
                layer_bytes=lambda n, d, size, reads: ((reads + 2) * n * d + 2 * d) * size,
                rms_bytes=lambda n, d, size, reads: ((reads + 2) * n * d + d) * size,
            ),
            "One pass over x too many: there are `reads` reads and one write.",
        ),
    ],
)
