"""Recorder of CacheStepper: pairs for RoPE, and the same pairs turned by their positions."""

import torch
from anatomy.widgets import CacheStepper, stepper
from anatomy.widgets.tools.types import Inputs

from autograder.exercises.u08_kv_cache_and_gqa.rotary_offset import rotary_step
from autograder.exercises.u08_kv_cache_and_gqa.step import cached_attention
from autograder.recording.widgets.tools import Recorder, normal


def stepper_inputs(generator: torch.Generator) -> Inputs:
    """Pairs of numbers for RoPE with one plane (1, 1, T, 2); q and k, turned already, have the same scores without."""
    # Passed over: of the pairs that follow, none has the right score by chance where every chunk counts from 0.
    normal(generator, 2, stepper.LENGTH, 4)
    pairs = {name: normal(generator, 1, 1, stepper.LENGTH, 2) for name in "qk"}
    turns = torch.polar(torch.ones(stepper.LENGTH, dtype=torch.float64), torch.arange(stepper.LENGTH).double())
    turned = {name: torch.view_as_real(torch.view_as_complex(x) * turns) for name, x in pairs.items()}
    return {**turned, **{f"rotary_{name}": x for name, x in pairs.items()}}


RECORDER = Recorder(CacheStepper, stepper_inputs, {"cached_attention": cached_attention, "rotary_step": rotary_step})
