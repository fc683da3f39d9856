"""Specs of unit 12: a model that counts, byte-pair encoding, generation, and the head that copies."""

from . import decode, distribution, encode, generate, induction, probability, train

EXERCISES = [
    probability.EXERCISE,
    train.EXERCISE,
    encode.EXERCISE,
    decode.EXERCISE,
    distribution.EXERCISE,
    generate.EXERCISE,
    induction.EXERCISE,
]
