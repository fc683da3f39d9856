"""Recorder of PermutationExplorer: words, positions and projections."""

import math

import torch
from anatomy.widgets import PermutationExplorer, permutation
from anatomy.widgets.tools.types import Inputs

from autograder.recording.widgets.tools import Recorder, normal, words
from autograder.reference.attention import scaled_dot_product_attention


def permutation_inputs(generator: torch.Generator) -> Inputs:
    """x and positions (T, d_model), and three projections."""
    width = permutation.D_MODEL
    table = words([permutation.WORDS], generator, width)
    shapes = {"w_q": width, "w_k": width, "w_v": permutation.D_V}
    return {
        "x": torch.stack([table[word] for word in permutation.WORDS]),
        "positions": normal(generator, permutation.T, width),
        **{name: normal(generator, width, out) / math.sqrt(width) for name, out in shapes.items()},
    }


RECORDER = Recorder(PermutationExplorer, permutation_inputs, scaled_dot_product_attention)
