"""The settings of TilesExplorer, in the order of its tables, and what is known of them without any function."""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..tools.types import Inputs
from ..tools.words import N_

T = 12  # tokens; each of them is a query and a key
BLOCKS = (2, 3, 4, 6)  # sizes that divide T
ALL, EARLIER = N_("all keys"), N_("earlier keys")
LOOKS = (ALL, EARLIER)
LOOP, MERGE = N_("one loop"), N_("merged parts")
WAYS = (LOOP, MERGE)
FUNCTIONS = ("attention_in_blocks", "merge")  # in the order of WAYS
MOST_READ = T // min(BLOCKS)


class Scene(NamedTuple):
    """One moment: tiles of block × block scores, are later keys hidden, and how many blocks of keys are read."""

    block: int
    causal: bool
    read: int


SCENES = tuple(Scene(b, causal, n) for b in BLOCKS for causal in (False, True) for n in range(1, T // b + 1))


def needed(block: int, look: str, query: int) -> int:
    """How many blocks of keys that query reads in all; the others hold only hidden keys."""
    return query // block + 1 if look == EARLIER else T // block


def mask_of(scene: Scene) -> Tensor | None:
    """(T, keys read) boolean, True = may look; None if nothing is hidden."""
    keys = scene.read * scene.block
    return torch.ones(T, keys, dtype=torch.bool).tril() if scene.causal else None


def scores_of(inputs: Inputs) -> Tensor:
    """(T, T): the products of queries and keys over the root of D."""
    return inputs["q"] @ inputs["k"].mT / math.sqrt(inputs["q"].shape[-1])


def softmax_over(inputs: Inputs, scene: Scene) -> np.ndarray:
    """(T, T + 2): what a row of the tables should hold, by one softmax over all keys that are read."""
    keys = scene.read * scene.block
    scores = scores_of(inputs).double()[:, :keys]
    mask = mask_of(scene)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    out = scores.softmax(-1) @ inputs["v"].double()[:keys]
    return torch.cat([out, scores.logsumexp(-1, keepdim=True)], -1).numpy()
