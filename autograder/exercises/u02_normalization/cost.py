"""FLOPs and bytes of LayerNorm and RMSNorm."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import norms as ref

COSTS = (ref.layer_norm_cost, ref.rms_norm_cost)


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


def sizes(g: Source) -> tuple[int, int, int, int]:
    return g.integer(100, 999), g.integer(500, 5000), g.choice((2, 4)), g.integer(2, 4)


def random_sizes(g: Source) -> Program:
    numbers = sizes(g)
    return Program().call(*numbers).call(*numbers, fn="rms_norm_cost")


MISTAKES = changes(
    (ref.layer_norm_cost, ref.rms_norm_cost),
    """
no_write: (reads + 1) * tokens * d + 2 * d → reads * tokens * d + 2 * d
; (reads + 1) * tokens * d + d → reads * tokens * d + d
    The result is written to memory too: one more pass over tokens · d entries.
large_terms_only: (7 * d + 5) → 7 * d ; (4 * d + 4) → 4 * d ; * d + 2 * d) → * d) ; * d + d) → * d)
    The small terms are missing: 5 and 4 operations per token, and the vectors, which are read too.
vectors_forgotten: * d + 2 * d) → * d) ; * d + d) → * d)
    Weight and bias are read too: d entries each, once in all.
entries_not_bytes: + 2 * d) * itemsize → + 2 * d) ; + d) * itemsize → + d)
    These are entries. Multiply by itemsize to get bytes.
vectors_in_entries: + 2 * d) * itemsize → ) * itemsize + 2 * d ; + d) * itemsize → ) * itemsize + d
    Weight and bias are counted in entries and the rest in bytes. Multiply them by itemsize too.
vectors_per_read: (reads + 1) * tokens * d + 2 * d → reads * (tokens * d + 2 * d) + tokens * d
; (reads + 1) * tokens * d + d → reads * (tokens * d + d) + tokens * d
    The vectors are counted once per read of x. reads is about x alone: they are read once in all.
write_per_read: (reads + 1) * tokens * d + 2 * d → 2 * reads * tokens * d + 2 * d
; (reads + 1) * tokens * d + d → 2 * reads * tokens * d + d
    The result is written once per read of x. It is written once in all: (reads + 1) · tokens · d entries.
turned: + 2 * d) * itemsize) → + 2 * d) * itemsize)[::-1] ; + d) * itemsize) → + d) * itemsize)[::-1]
    The two numbers have changed places: return (operations, bytes).
vectors_per_token: (reads + 1) * tokens * d + 2 * d → (reads + 3) * tokens * d
; (reads + 1) * tokens * d + d → (reads + 2) * tokens * d
    Weight and bias are counted once per token. They are read once in all: d entries each.
reads_ignored: (reads + 1) * tokens * d + 2 * d → 2 * tokens * d + 2 * d
; (reads + 1) * tokens * d + d → 2 * tokens * d + d
    reads is ignored: it says how often x is read.
rms_has_bias: tokens * d + d) → tokens * d + 2 * d)
    RMSNorm has no bias: only one vector of d entries is read beside x.
same_operations: 4 * d + 4 → 7 * d + 5
    RMSNorm needs fewer operations: no sum for the mean, no centering, no bias.
row_forgotten: (7 * d + 5) → 7 * d ; (4 * d + 4) → 4 * d
    The few operations per token are missing: 5 for LayerNorm, 4 for RMSNorm.
row_once: (7 * d + 5) → 7 * d + 5 ; (4 * d + 4) → 4 * d + 4
    The few operations per token are counted once in all. Multiply them by tokens: tokens · (… · d + …).
rms_row_of_layer: 4 * d + 4 → 4 * d + 5
    RMSNorm is counted with 5 operations per token. It has one division by d less than LayerNorm: 4.
rms_five_per_entry: 4 * d + 4 → 5 * d + 4
    RMSNorm is counted with 5 operations per entry. It has 4: square and sum, scale, weight. There is no bias.
bias_forgotten: tokens * d + 2 * d) → tokens * d + d)
    LayerNorm reads two vectors beside x: weight and bias, d entries each.
vectors_per_pass: tokens * d + 2 * d) → (tokens * d + 2 * d)) ; tokens * d + d) → (tokens * d + d))
    The vectors are counted in every pass over x, its write included. They are read once in all: outside the
    brackets.
all_per_read: (reads + 1) * tokens * d + 2 * d → reads * (2 * tokens * d + 2 * d)
; (reads + 1) * tokens * d + d → reads * (2 * tokens * d + d)
    reads multiplies everything. Only the reads of x are repeated: result and vectors are moved once.
tensor_in_entries: ((reads + 1) * tokens * d + 2 * d) → (reads + 1) * tokens * d + 2 * d
; ((reads + 1) * tokens * d + d) → (reads + 1) * tokens * d + d
    Brackets are missing: itemsize multiplies the vectors alone. Multiply the whole sum by it.
reads_without_x: (reads + 1) * tokens * d + 2 * d → tokens * d + 2 * d * reads
; (reads + 1) * tokens * d + d → tokens * d + d * reads
    reads multiplies the vectors. It says how often x is read, and the result is written once more.
tokens_forgotten_in_operations: tokens * (7 * d + 5) → 7 * d + 5 ; tokens * (4 * d + 4) → 4 * d + 4
    These are the operations of one token. Multiply by tokens.
tokens_forgotten_in_bytes: (reads + 1) * tokens * d + 2 * d → (reads + 1) * d + 2 * d
; (reads + 1) * tokens * d + d → (reads + 1) * d + d
    These are the bytes of one token. x and the result have tokens · d entries; only the vectors have d.
one_read_more: (reads + 1) * tokens * d + 2 * d → (reads + 2) * tokens * d + 2 * d
; (reads + 1) * tokens * d + d → (reads + 2) * tokens * d + d
    One pass over x too many: there are `reads` reads and one write.
""",
)

EXERCISE = Exercise(
    id="norm.cost",
    title="What a norm costs",
    points=2,
    difficulty=2,
    minutes=12,
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
    mutants=MISTAKES,
)
