"""Recorder of ActivationExplorer: points of the curves and pre-activations of the units."""

import torch
from anatomy.widgets import ActivationExplorer, activation
from anatomy.widgets.tools.types import Inputs

from autograder.recording.widgets.tools import Recorder, normal
from autograder.reference import activations


def activation_inputs(generator: torch.Generator) -> Inputs:
    """x: the points of the curves. pre (tokens, units): each unit's inputs have std 1 around the unit's own mean."""
    pre = normal(generator, activation.TOKENS, activation.UNITS) + normal(generator, activation.UNITS)
    reach, points = activation.REACH, activation.POINTS
    return {"x": torch.linspace(-reach, reach, points, dtype=torch.float64), "pre": pre}


ACTIVATIONS = {name: getattr(activations, name) for name in activation.ACTIVATIONS} | {
    "sigmoid_prime": activations.sigmoid_derivative,
    "silu_prime": activations.silu_derivative,
    "gelu_prime": activations.gelu_derivative,
}

RECORDER = Recorder(ActivationExplorer, activation_inputs, ACTIVATIONS)
