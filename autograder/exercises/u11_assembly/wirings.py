"""The four placements of the norms, from unit 03, in one notebook: asked again as that unit asked."""

from autograder.exercises.u03_norm_placement import post_and_pre, variants
from autograder.judge.spec import Exercise

from .shared import again, alternatives_again, cases_again, mutants_again, together

PARTS = again(post_and_pre, variants)
EXERCISE = Exercise(
    id="assembly.wirings",
    title="Bring your wirings",
    points=1,
    difficulty=1,
    minutes=2,
    reference=together(PARTS),
    alternatives=alternatives_again(PARTS, 1),
    cases=cases_again(PARTS, {}),
    mutants=mutants_again(PARTS),
)
