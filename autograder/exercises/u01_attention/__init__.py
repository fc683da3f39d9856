"""Specs of unit 01: from softmax to multi-head attention, padding, and what a layer costs."""

from . import costs, heads, padding, scores

UNIT = "01-attention"
EXERCISES = scores.EXERCISES + heads.EXERCISES + padding.EXERCISES + costs.EXERCISES
