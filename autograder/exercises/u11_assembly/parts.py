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
    reference=together(PARTS),
    alternatives=alternatives_again(PARTS, 2),
    cases=cases_again(PARTS, WORDS),
    mutants=mutants_again(PARTS),
    unasked="""
only the reference has this argument: the text asks for no biases
    GatedFeedForward(bias)
    GatedFeedForward(activation, bias)
""",
    equivalent="""
the wider of two dtypes is the same in either order
    eebd5cd2bf solution, argument: torch.promote_types(x.dtype, torch.float32): arguments 1 and 2 swapped
every second number below D is below D - 1 as well, for D is even
    2b26dcbcc1 solution, window: x.shape[-1] - 1 in torch.arange(0, x.shape[-1], 2)
what does not divide evenly has raised an error already
    39ea126884 solution, arithmetic: q.shape[1] // k.shape[1] rounded up
""",
)
