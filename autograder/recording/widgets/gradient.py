"""Recorder of GradientFlowExplorer: DeepNorm's constants for the depths that are measured live."""

import torch
from anatomy.widgets import GradientFlowExplorer, gradient
from anatomy.widgets.tools.types import Inputs

from autograder.recording.widgets.tools import Recorder
from autograder.reference import residual
from autograder.reference.placement import deepnorm_decoder_only


def gradient_inputs(generator: torch.Generator) -> Inputs:
    """α and β of DeepNorm for the depths that are measured live; the weights come from seeds in the measurement."""
    return {"scales": torch.tensor([deepnorm_decoder_only(n) for n in gradient.LIVE_DEPTHS])}


WIRINGS = {name: getattr(residual, name) for name in GradientFlowExplorer.names}

RECORDER = Recorder(GradientFlowExplorer, gradient_inputs, WIRINGS, whole=True)
