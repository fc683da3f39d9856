"""Recorder of WavelengthExplorer: the reference before it is rounded, nothing to draw."""

import torch
from anatomy.widgets import WavelengthExplorer

from autograder.recording.widgets.tools import Recorder, no_inputs
from autograder.reference.rope import rope_frequencies


def frequencies_float64(D: int, base: float) -> torch.Tensor:
    """The reference's frequencies before they are rounded to float32."""
    return rope_frequencies(D, base, dtype=torch.float64)


RECORDER = Recorder(WavelengthExplorer, no_inputs, frequencies_float64)
