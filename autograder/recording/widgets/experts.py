"""Recorder of ExpertsExplorer: what a router gives to each word, with a favorite expert."""

import torch
from anatomy.widgets import ExpertsExplorer
from anatomy.widgets.experts.settings import E, N
from anatomy.widgets.tools.types import Inputs

from autograder.recording.widgets.tools import Recorder, normal
from autograder.reference import routing

FAVOR = (0.9, 0.2, -0.9)  # so that nobody chooses expert 2 first


def experts_inputs(generator: torch.Generator) -> Inputs:
    """logits (N, E), to one decimal."""
    return {"logits": (0.8 * normal(generator, N, E) + torch.tensor(FAVOR)).mul(10).round().div(10)}


RECORDER = Recorder(ExpertsExplorer, experts_inputs, {name: getattr(routing, name) for name in ExpertsExplorer.names})
