"""Configurations of small T5s, for the exercises of its parts and of the whole."""

from typing import Any

import torch
from torch import Tensor

from autograder.reference.assembly.encoder_decoder import blocked

from .shared import SLIM, Config, llama

V1 = {"kind": "encoder-decoder", "position": "t5", "query_scale": 1, "n_heads": 3, "n_kv_heads": 3, "head_dim": 4}
# ε is large: beside a small one, gradients of short vectors are ill-conditioned.
SLIM_T5 = {**SLIM, "n_kv_heads": 2, "head_dim": 4, "eps": 0.1}


def t5(**changes: Any) -> Config:
    """Version 1.0: ReLU without a gate, tied head."""
    return llama(**{**V1, "activation": "relu", "gated": False, **changes})


def t5_later(**changes: Any) -> Config:
    """Version 1.1: GELU with a gate, a head of its own."""
    return llama(**{**V1, "activation": "gelu_tanh", "tied": False, **changes})


def hidden(real: Tensor) -> Tensor:
    """A mask over keys as a float that is added: real (B, S) → (B, 1, 1, S)."""
    return blocked(torch.zeros(()), real[:, None, None, :])
