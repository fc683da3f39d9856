"""Specs of unit 10: sums of exponentials, bounded scores, weight decay, dropout, clipping and loss spikes."""

from . import decay, scores, sums, training

EXERCISES = sums.EXERCISES + scores.EXERCISES + decay.EXERCISES + training.EXERCISES
