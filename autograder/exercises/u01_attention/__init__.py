"""Specs of unit 01: from softmax to multi-head attention, padding, and what a layer costs."""

from . import (
    cost,
    families,
    logit_variance,
    masked_softmax,
    multi_head,
    padding_mask,
    permutation,
    scaled_dot_product,
    softmax,
    split_heads,
)

EXERCISES = [
    softmax.EXERCISE,
    masked_softmax.EXERCISE,
    scaled_dot_product.EXERCISE,
    logit_variance.EXERCISE,
    permutation.EXERCISE,
    split_heads.EXERCISE,
    multi_head.EXERCISE,
    padding_mask.EXERCISE,
    cost.EXERCISE,
    families.EXERCISE,
]
