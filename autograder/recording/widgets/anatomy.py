"""Recorder of AnatomyView: a forward pass of the trained language model on a sentence that it never saw."""

import torch
from anatomy.language import shipped
from anatomy.widgets.anatomy import AnatomyView
from anatomy.widgets.tools.types import Inputs

from autograder.recording.widgets.tools import Recorder
from autograder.reference.ffn import GatedFeedForward
from autograder.reference.gqa import grouped_attention
from autograder.reference.masks import causal_mask
from autograder.reference.norms import rms_norm
from autograder.reference.residual import pre_ln
from autograder.reference.rope import apply_rope_half

# Pride and Prejudice, chapter 46, held out from training. The next token depends on the quotation mark 13 tokens back.
TEXT = 'Darcy was fixed in astonishment. "When I consider," she added in a yet more agitated voice,'


def tokens(generator: torch.Generator) -> Inputs:
    """ids (32,) of the text. Nothing is drawn."""
    return {"ids": torch.tensor(shipped.tokenizer().encode(TEXT).ids)}


RECORDER = Recorder(
    AnatomyView,
    tokens,
    {
        "rms_norm": rms_norm,
        "apply_rope_half": apply_rope_half,
        "causal_mask": causal_mask,
        "grouped_attention": grouped_attention,
        "GatedFeedForward": GatedFeedForward,
        "pre_ln": pre_ln,
    },
)
