"""Specs of unit 02: LayerNorm and RMSNorm, their invariances and gradients, the cost, and the other norms by axes."""

from . import axes, backward, cost, from_rms, half_precision, invariance, layer_norm, rms_norm, running

EXERCISES = [
    layer_norm.EXERCISE,
    rms_norm.EXERCISE,
    from_rms.EXERCISE,
    invariance.EXERCISE,
    backward.EXERCISE,
    half_precision.EXERCISE,
    cost.EXERCISE,
    axes.EXERCISE,
    running.EXERCISE,
]
