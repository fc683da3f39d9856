"""Recorder of MixExplorer: three words' numbers."""

import torch
from anatomy.widgets import MixExplorer
from anatomy.widgets.tools.types import Inputs

from autograder.exercises.u00_start_here.weighted_average import weighted_average
from autograder.recording.widgets.tools import Recorder


def mix_inputs(generator: torch.Generator) -> Inputs:
    """Three words' numbers, chosen to be easy to average in one's head."""
    return {"values": torch.tensor([[1.0], [5.0], [9.0]])}


RECORDER = Recorder(MixExplorer, mix_inputs, weighted_average)
