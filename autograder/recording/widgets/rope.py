"""Recorder of RopeExplorer: a query and a key for each D."""

import math

import torch
from anatomy.widgets import RopeExplorer, rope
from anatomy.widgets.tools.types import Inputs

from autograder.recording.widgets.tools import Recorder
from autograder.reference.rope import apply_rope


def rope_inputs(generator: torch.Generator) -> Inputs:
    """q and k for each D. In every plane q has length 1 and k 0.8; k leads or trails q by up to 1.2 rad.

    The lead is never 0 in all planes: if k were parallel to q, the score would be even in m − n, and a rotation in
    the wrong direction would look right.
    """
    inputs = {}
    for D in rope.DIMS:
        angle = 2 * math.pi * torch.rand(D // 2, generator=generator, dtype=torch.float64)
        lead = 1.2 * (2 * torch.rand(D // 2, generator=generator, dtype=torch.float64) - 1)
        for name, length, a in (("q", 1.0, angle), ("k", 0.8, angle + lead)):
            inputs[f"{name}{D}"] = length * torch.stack([a.cos(), a.sin()], dim=-1).flatten()
    return inputs


RECORDER = Recorder(RopeExplorer, rope_inputs, apply_rope)
