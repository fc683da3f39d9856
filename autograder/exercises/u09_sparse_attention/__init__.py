"""Specs of unit 09: patterns of sparse attention, how far they reach, what they cost, and stacks that mix them."""

from . import hops, patterns, reach, work

UNIT = "09-sparse-attention"
CORE = [patterns.LOCAL, reach.FIELD, reach.PAIRS, work.LOCAL_ATTENTION, work.HYBRID]
EXTENSIONS = [
    patterns.BLOCK,
    patterns.GLOBAL,
    patterns.RANDOM,
    hops.STRIDED,
    hops.FIXED,
    hops.REACH,
    reach.GRADIENT,
    work.GATHER,
]
EXERCISES = CORE + EXTENSIONS
