"""Recorder of CacheStepper: queries and keys, with positions and without."""

import torch
from anatomy.widgets import CacheStepper, stepper
from anatomy.widgets.tools.types import Inputs

from autograder.exercises.u08_kv_cache_and_gqa.rotary_offset import rotary_step
from autograder.exercises.u08_kv_cache_and_gqa.step import cached_attention
from autograder.recording.widgets.tools import Recorder, normal


def stepper_inputs(generator: torch.Generator) -> Inputs:
    """q and k (1, 1, T, D) for attention without positions, and pairs of numbers for RoPE with one plane."""
    sizes = {"q": 4, "k": 4, "rotary_q": 2, "rotary_k": 2}
    return {name: normal(generator, 1, 1, stepper.LENGTH, D) for name, D in sizes.items()}


RECORDER = Recorder(CacheStepper, stepper_inputs, {"cached_attention": cached_attention, "rotary_step": rotary_step})
