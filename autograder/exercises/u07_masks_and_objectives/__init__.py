"""Specs of unit 07: who may look at whom, and what a model is asked to predict."""

from . import blanks, causal, contrast, likelihood, masked, mixed, spans

UNIT = "07-masks-and-objectives"
# In the order of the text: the core path first.
EXERCISES = (
    causal.EXERCISES
    + likelihood.EXERCISES
    + masked.EXERCISES
    + causal.PADDING
    + mixed.EXERCISES
    + masked.PAIRS
    + spans.EXERCISES
    + blanks.EXERCISES
    + contrast.EXERCISES
)
