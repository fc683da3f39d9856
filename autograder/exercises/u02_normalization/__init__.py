"""Specs of unit 02: LayerNorm and RMSNorm, their invariances and gradients, the other norms by axes, and the cost."""

from . import axes, backward, norms

EXERCISES = norms.EXERCISES + backward.EXERCISES + axes.EXERCISES
