"""Specs of unit 06, rotary positions, in the order of the notebook."""

from . import frequencies, layouts, measuring, proof, rotation, scaling, turning

EXERCISES = [
    *rotation.EXERCISES,
    *proof.EXERCISES,
    *frequencies.EXERCISES,
    *turning.EXERCISES,
    *layouts.EXERCISES,
    *scaling.EXERCISES,
    *measuring.EXERCISES,
]
