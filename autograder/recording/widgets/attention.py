"""Recorder of AttentionExplorer: four sentences as queries and keys."""

import math

import torch
from anatomy.widgets import AttentionExplorer, attention
from anatomy.widgets.tools.types import Inputs

from autograder.recording.widgets.tools import Recorder, normal, words
from autograder.reference.attention import scaled_dot_product_attention


def attention_inputs(generator: torch.Generator) -> Inputs:
    """q and k (sentences, heads, T, D): entries near unit variance, so that q·k has a variance near D."""
    D = attention.D
    table = words(attention.SENTENCES, generator, D)
    x = torch.stack([torch.stack([table[word] for word in s]) for s in attention.SENTENCES])[:, None]
    w_q, w_k = (normal(generator, attention.HEADS, D, D) / math.sqrt(D) for _ in range(2))
    return {"q": x @ w_q, "k": x @ w_k}


RECORDER = Recorder(AttentionExplorer, attention_inputs, scaled_dot_product_attention)
