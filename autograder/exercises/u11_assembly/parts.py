"""Parts of units 02, 04, 06 and 08 in one notebook: asked again as those units asked."""

from autograder.exercises.u02_normalization import rms_norm
from autograder.exercises.u04_ffn_and_gating import gated
from autograder.exercises.u06_rope import apply_rope_half
from autograder.exercises.u08_kv_cache_and_gqa import grouped
from autograder.judge.spec import Exercise

from .shared import again, alternatives_again, cases_again, mutants_again, together

PARTS = again(rms_norm, apply_rope_half, grouped, gated)
WORDS = {
    "norm.rms_norm": "norm",
    "rope.apply_rope_half": "RoPE",
    "cache.grouped": "shared heads",
    "ffn.gated": "gate",
}
EXERCISE = Exercise(
    id="assembly.parts",
    title="Bring your parts",
    points=1,
    difficulty=1,
    minutes=4,
    signature="rms_norm(x, weight, eps=1e-6)",
    targets=tuple(target for part in PARTS.values() for target in part.targets),
    reference=together(PARTS),
    alternatives=alternatives_again(PARTS, 2),
    cases=cases_again(PARTS, WORDS),
    mutants=mutants_again(PARTS),
)
