"""Specs of unit 05: positions added to words, positions inside the scores, positions as a bias."""

from . import (
    alibi,
    disentangled,
    distance_profile,
    four_terms,
    learned,
    looking_back,
    relative_shift,
    shaw,
    shift_matrix,
    sinusoidal,
    t5_bias,
    t5_buckets,
    untied,
)

EXERCISES = [
    sinusoidal.EXERCISE,
    shift_matrix.EXERCISE,
    distance_profile.EXERCISE,
    looking_back.EXERCISE,
    learned.EXERCISE,
    shaw.EXERCISE,
    relative_shift.EXERCISE,
    four_terms.EXERCISE,
    t5_buckets.EXERCISE,
    t5_bias.EXERCISE,
    disentangled.EXERCISE,
    alibi.EXERCISE,
    untied.EXERCISE,
]
