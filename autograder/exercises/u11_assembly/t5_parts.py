"""T5's bias, from unit 05, in one notebook with the rest: asked again as that unit asked."""

from autograder.exercises.u05_position_encodings import t5_bias
from autograder.judge.spec import Case, Exercise, Program, Source

from .shared import again, alternatives_again, cases_again, mutants_again, together

PARTS = again(t5_bias)


def _far(g: Source) -> Program:
    """Distances up to 139, so that the buckets end where they should: at 128."""
    weight = g.randn(31, 2)
    return Program().call(weight, 140, 1, fn="t5_bias").call(weight, 1, 140, fn="t5_bias")


def _three_rows(g: Source) -> Program:
    return Program().call(g.randn(3, 2), 15, 4, bidirectional=False, fn="t5_bias")


EXERCISE = Exercise(
    id="assembly.t5_parts",
    title="Bring T5's bias",
    points=1,
    difficulty=1,
    minutes=3,
    extension=True,
    signature="t5_bias(weight, T, S, bidirectional=True)",
    targets=tuple(target for part in PARTS.values() for target in part.targets),
    reference=together(PARTS),
    alternatives=alternatives_again(PARTS, 2),
    cases=[
        *cases_again(PARTS, {}),
        Case("t5_bias: far", "31 rows, 15 for each side: up to 139 positions back, and as many ahead", _far),
        Case("t5_bias: three rows", "causal: one row for here, two for the past", _three_rows),
    ],
    mutants=mutants_again(PARTS),
    equivalent="""
t5_bias hands both on: the helper's own default is never used
    492b3fe472 solution, default: bidirectional=True → False
    82093a638b solution, default: num_buckets=32 → 33
    e2eeb7a076 solution, default: num_buckets=32 → 64
    988bde0bd6 solution, constant: 32 → 31 in relative_position, bidirectional=True, num_buckets=32, max_distance=1…
    826e289267 solution, constant: 32 → 0 in relative_position, bidirectional=True, num_buckets=32, max_distance=1…
at n = E both branches give E: ln(E / E) is 0
    49bef099e7 solution, compare: n < E → n <= E
    9685159167 solution, window: E + 1 in n < E
it matters for n = 0 alone, and torch.where takes n there, since E is 1 or more
    2a335405fd solution, call: n.clamp(min=1) → n
    8f0a4a172b solution, constant: 1 → 0 in min=1
it matters for n = 1 where E is 1, and there 1 and 2 share a bucket
    695a0ee7d7 solution, constant: 1 → 2 in min=1
floor and truncation differ for n < E alone, where the logarithm is negative, and torch.where takes n there
    399f051473 solution, call: (share * (N - E)).floor() → share * (N - E)
""",
)
