"""Specs of unit 10: sums of exponentials, small logits, weight decay, dropout, clipping and loss spikes."""

from . import logits, training

EXERCISES = logits.EXERCISES + training.EXERCISES
