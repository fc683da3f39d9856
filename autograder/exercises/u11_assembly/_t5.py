"""Configurations of small T5s, for the exercises of its parts and of the whole."""

from typing import Any

from .shared import Config, llama

V1 = {"kind": "encoder-decoder", "position": "t5", "query_scale": 1, "n_heads": 3, "n_kv_heads": 3, "head_dim": 4}


def t5(**changes: Any) -> Config:
    """Version 1.0: ReLU without a gate, tied head."""
    return llama(**{**V1, "activation": "relu", "gated": False, **changes})


def t5_later(**changes: Any) -> Config:
    """Version 1.1: GELU with a gate, a head of its own."""
    return llama(**{**V1, "activation": "gelu_tanh", "tied": False, **changes})
