"""Specs of unit 05: positions added to words, positions inside the scores, positions as a bias."""

from . import absolute, apart, projections, relative, t5

UNIT = "05-position-encodings"
EXERCISES = absolute.EXERCISES + projections.EXERCISES + relative.EXERCISES
EXERCISES += t5.EXERCISES + apart.EXERCISES
