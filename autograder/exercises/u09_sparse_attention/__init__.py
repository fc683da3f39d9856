"""Specs of unit 09: patterns of sparse attention, how far they reach, what they cost, and stacks that mix them."""

from . import hops, patterns, reach, work

UNIT = "09-sparse-attention"
EXERCISES = patterns.EXERCISES + hops.EXERCISES + reach.EXERCISES + work.EXERCISES
