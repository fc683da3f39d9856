"""Specs of unit 07: who may look at whom, and what a model is asked to predict."""

from . import (
    blank_infilling,
    causal,
    causal_padding,
    info_nce,
    likelihood,
    masked_lm,
    next_token,
    prefix_lm,
    rectangular,
    restore_spans,
    sentence_pairs,
    span_corruption,
    unilm,
)

EXERCISES = [
    causal.EXERCISE,
    rectangular.EXERCISE,
    next_token.EXERCISE,
    likelihood.EXERCISE,
    masked_lm.EXERCISE,
    causal_padding.EXERCISE,
    prefix_lm.EXERCISE,
    unilm.EXERCISE,
    sentence_pairs.EXERCISE,
    span_corruption.EXERCISE,
    restore_spans.EXERCISE,
    blank_infilling.EXERCISE,
    info_nce.EXERCISE,
]
