"""Specs of unit 03: where the norm sits, what that does to gradients, DeepNorm, warm-up, effective depth."""

from . import block, deepnorm, flow, training, wiring

UNIT = "03-norm-placement"
EXERCISES = (
    wiring.FIRST
    + block.EXERCISES
    + flow.EXERCISES
    + wiring.VARIANTS
    + deepnorm.EXERCISES
    + wiring.PARALLEL
    + training.EXERCISES
)
