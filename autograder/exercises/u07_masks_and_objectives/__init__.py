"""Specs of unit 07: who may look at whom, and what a model is asked to predict."""

from . import blanks, causal, contrast, likelihood, masked, mixed, spans

UNIT = "07-masks-and-objectives"
EXERCISES = (causal.EXERCISES + mixed.EXERCISES + likelihood.EXERCISES + masked.EXERCISES + spans.EXERCISES
             + blanks.EXERCISES + contrast.EXERCISES)
