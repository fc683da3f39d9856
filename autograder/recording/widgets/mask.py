"""Recorder of MaskExplorer: the references alone, nothing to draw."""

from anatomy.widgets import MaskExplorer

from autograder.exercises.u07_masks_and_objectives.blank_infilling import blank_infilling
from autograder.recording.widgets.tools import Recorder, no_inputs
from autograder.reference import masks

MASKS = {name: getattr(masks, name) for name in MaskExplorer.names if hasattr(masks, name)} | {
    "blank_infilling": blank_infilling
}

RECORDER = Recorder(MaskExplorer, no_inputs, MASKS)
