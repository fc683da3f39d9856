"""Small token tensors that several exercises use."""

import torch
from torch import Tensor

from autograder.judge.spec import Source

LONG = torch.long


def with_noise(g: Source, pattern: str) -> tuple[Tensor, Tensor]:
    """Random ids below 800, all different, with a noise pattern such as '..xx.x'."""
    ids = torch.randperm(800, generator=g.generator)[: len(pattern)]
    return ids, torch.tensor([c == "x" for c in pattern])


HAND = (torch.tensor([11, 12, 13, 14, 15, 16]), torch.tensor([False, True, True, False, True, False]), 99)
