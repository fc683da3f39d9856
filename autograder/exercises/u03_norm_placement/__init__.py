"""Specs of unit 03: where the norm sits, what that does to gradients, DeepNorm, warm-up, effective depth."""

from . import (
    block,
    deepnorm,
    deepnorm_init,
    final_norm,
    hooks,
    layer_changes,
    parallel,
    post_and_pre,
    trend,
    variants,
    warmup,
)

EXERCISES = [
    post_and_pre.EXERCISE,
    block.EXERCISE,
    final_norm.EXERCISE,
    hooks.EXERCISE,
    trend.EXERCISE,
    variants.EXERCISE,
    deepnorm.EXERCISE,
    deepnorm_init.EXERCISE,
    parallel.EXERCISE,
    warmup.EXERCISE,
    layer_changes.EXERCISE,
]
