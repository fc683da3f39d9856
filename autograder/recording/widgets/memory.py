"""Recorder of MemoryExplorer: three keys of length 1, and one-hot values."""

import torch
from anatomy.widgets import MemoryExplorer
from anatomy.widgets.memory.texts import PLACES, VECTORS
from anatomy.widgets.tools.types import Inputs

from autograder.recording.widgets.tools import Recorder
from autograder.reference import linear_attention


def memory_inputs(generator: torch.Generator) -> Inputs:
    """k (keys, D), v (places, V): chosen, so that every number can be followed in one's head."""
    return {"k": torch.tensor(VECTORS, dtype=torch.float64), "v": torch.eye(len(PLACES), dtype=torch.float64)}


RECORDER = Recorder(
    MemoryExplorer,
    memory_inputs,
    {"linear_recurrent": linear_attention.linear_recurrent, "delta_rule": linear_attention.delta_rule},
)
