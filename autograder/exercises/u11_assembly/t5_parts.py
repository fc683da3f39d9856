"""T5's bias, from unit 05, in one notebook with the rest: asked again as that unit asked."""

from autograder.exercises.u05_position_encodings import t5_bias
from autograder.judge.spec import Exercise

from .shared import again, alternatives_again, cases_again, mutants_again, together

PARTS = again(t5_bias)
MISTAKES = {
    "position.t5_bias": "all_scaled after_softmax subtracted bias_twice masked_after_softmax reshaped_keys "
    "queries_at_end sizes_exchanged buckets_fixed no_first_axis reversed flag_ignored heads_last axes_exchanged "
    "mask_ignored mask_upside_down one_head absolute",
}

EXERCISE = Exercise(
    id="assembly.t5_parts",
    unit="11-assembly",
    title="Bring T5's bias",
    points=1,
    difficulty=1,
    minutes=3,
    extension=True,
    signature="t5_bias(weight, T, S, bidirectional=True)",
    targets=tuple(target for part in PARTS.values() for target in part.targets),
    reference=together(PARTS),
    alternatives=alternatives_again(PARTS, 2),
    cases=cases_again(PARTS, {}),
    mutants=mutants_again(PARTS, MISTAKES),
)
