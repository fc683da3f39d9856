"""Recorder of TemperatureExplorer: five scores."""

import torch
from anatomy.widgets import TemperatureExplorer
from anatomy.widgets.tools.types import Inputs

from autograder.recording.widgets.tools import Recorder, normal
from autograder.reference.attention import softmax


def temperature_inputs(generator: torch.Generator) -> Inputs:
    """Standard normal scores."""
    return {"scores": normal(generator, 5)}


RECORDER = Recorder(TemperatureExplorer, temperature_inputs, softmax)
