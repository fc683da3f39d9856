"""Recorder of CacheCalculator: the reference alone, nothing to draw."""

from anatomy.widgets import CacheCalculator

from autograder.recording.widgets.tools import Recorder, no_inputs
from autograder.reference.gqa import kv_bytes_per_token

RECORDER = Recorder(CacheCalculator, no_inputs, kv_bytes_per_token)
