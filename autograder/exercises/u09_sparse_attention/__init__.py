"""Specs of unit 09: patterns of sparse attention, how far they reach, what they cost, and stacks that mix them."""

from . import (
    block,
    fixed,
    gather,
    global_local,
    gradient_reach,
    hybrid,
    local,
    local_attention,
    pairs,
    random,
    reach,
    receptive_field,
    strided,
)

EXERCISES = [
    local.EXERCISE,
    receptive_field.EXERCISE,
    pairs.EXERCISE,
    local_attention.EXERCISE,
    hybrid.EXERCISE,
    block.EXERCISE,
    global_local.EXERCISE,
    random.EXERCISE,
    strided.EXERCISE,
    fixed.EXERCISE,
    reach.EXERCISE,
    gradient_reach.EXERCISE,
    gather.EXERCISE,
]
