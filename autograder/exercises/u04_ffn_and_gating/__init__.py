"""Specs of unit 04: activations and their slopes, then gated feed-forward layers and how wide they are."""

from . import derivatives, family, gated, gelu, matched_width, paired_difference, softmax_jacobian, swish, unit_health

EXERCISES = [
    family.EXERCISE,
    gelu.EXERCISE,
    swish.EXERCISE,
    derivatives.EXERCISE,
    softmax_jacobian.EXERCISE,
    gated.EXERCISE,
    matched_width.EXERCISE,
    unit_health.EXERCISE,
    paired_difference.EXERCISE,
]
