"""Recorder of NormExplorer: one vector."""

import torch
from anatomy.widgets import NormExplorer, norm
from anatomy.widgets.tools.types import Inputs

from autograder.recording.widgets.tools import Recorder, normal
from autograder.reference.norms import layer_norm, rms_norm


def norm_inputs(generator: torch.Generator) -> Inputs:
    """One vector of mean 0.5, far enough from 0 to tell RMSNorm from LayerNorm at the start."""
    x = normal(generator, norm.D)
    return {"x": 0.5 + x - x.mean()}


RECORDER = Recorder(NormExplorer, norm_inputs, {"layer_norm": layer_norm, "rms_norm": rms_norm})
