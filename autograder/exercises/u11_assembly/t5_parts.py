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
        Case("t5_bias: far", "31 rows, 15 for each side: up to 139 places back, and as many ahead", _far),
        Case("t5_bias: three rows", "causal: one row for here, two for the past", _three_rows),
    ],
    mutants=mutants_again(PARTS),
)
