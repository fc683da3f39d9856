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


def sizes(g: Source) -> tuple[int, int, int, int]:
    return g.integer(100, 999), g.integer(500, 5000), g.choice((2, 4)), g.integer(2, 4)


def random_sizes(g: Source) -> Program:
    numbers = sizes(g)
    return Program().call(*numbers).call(*numbers, fn="rms_norm_cost")


EXERCISE = Exercise(
    id="norm.cost",
    unit="02-normalization",
    title="What a norm costs",
    points=2,
    difficulty=2,
    minutes=12,
    signature="layer_norm_cost(tokens, d, itemsize, reads=1)",
    targets=("layer_norm_cost", "rms_norm_cost"),
    reference=COSTS,
    alternatives=[both(), (by_parts((1, 1, 2, 1, 2), (2, 1, 1, 1), 2), by_parts((2, 1, 1), (1, 1, 1, 1), 1))],
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
    ],
)
