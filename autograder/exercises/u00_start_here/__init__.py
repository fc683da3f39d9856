"""Spec of unit 00: one warm-up that shows the whole loop."""

from . import weighted_average

EXERCISES = [weighted_average.EXERCISE]
