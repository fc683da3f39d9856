"""Specs of unit 08: what decoding stores, how heads share it, what it costs, and how it is kept small."""

from . import (
    append,
    bytes,
    cross,
    grouped,
    intensity,
    latent,
    paged,
    pool_heads,
    quantize,
    rolling,
    rotary_offset,
    step,
    users,
)

EXERCISES = [
    append.EXERCISE,
    step.EXERCISE,
    rotary_offset.EXERCISE,
    cross.EXERCISE,
    grouped.EXERCISE,
    pool_heads.EXERCISE,
    bytes.EXERCISE,
    users.EXERCISE,
    intensity.EXERCISE,
    latent.EXERCISE,
    rolling.EXERCISE,
    paged.EXERCISE,
    quantize.EXERCISE,
]
