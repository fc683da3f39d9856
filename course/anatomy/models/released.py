"""What the translations of released checkpoints share: the type of a family, and configurations like LLaMA's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .config import Config, config
from .names import Rules, State

Theirs = Mapping[str, Any]  # a config.json


class UnknownFamily(ValueError):
    """The course has no parts for this model_type, or for one of its options."""


@dataclass(frozen=True)
class Family:
    """One kind of checkpoint.

    title: name to display. configuration: config.json → the course's. rules: (pattern, replacement); the first pattern
    that matches a whole name gives its new name. cut: splits fused matrices and drops copies; does not change its
    argument.
    """

    title: str
    configuration: Callable[[Theirs], Config]
    rules: Rules
    cut: Callable[[State], State] = dict


def base_of(theirs: Theirs) -> float:
    """RoPE's base. Raises UnknownFamily if its frequencies are scaled too."""
    rope = theirs.get("rope_parameters") or theirs.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", None):
        raise UnknownFamily(f"its rotary frequencies are scaled ({kind}); unit 06 shows how, the parts here don't")
    return float(rope.get("rope_theta") or theirs.get("rope_theta") or 10000.0)


def decoder_like(theirs: Theirs, **changes: Any) -> Config:
    """Configuration that LLaMA and its relatives share."""
    H = theirs["num_attention_heads"]
    sizes = {
        "vocab": theirs["vocab_size"],
        "d_model": theirs["hidden_size"],
        "n_layers": theirs["num_hidden_layers"],
        "n_heads": H,
        "n_kv_heads": theirs.get("num_key_value_heads") or H,
        "head_dim": theirs.get("head_dim") or theirs["hidden_size"] // H,
        "d_ff": theirs["intermediate_size"],
        "eps": theirs["rms_norm_eps"],
        "base": base_of(theirs),
        "max_positions": theirs["max_position_embeddings"],
        "attention_bias": bool(theirs.get("attention_bias")),
        "tied": bool(theirs.get("tie_word_embeddings")),
        "activation": activation_of(theirs.get("hidden_act", "silu")),
    }
    return config(**sizes | changes)


def latent_like(theirs: Theirs, **changes: Any) -> Config:
    """Configuration that the DeepSeeks with latent queries share."""
    sizes = {
        "attention": "latent",
        "position": "rope_pairs",
        "head_dim": theirs["qk_nope_head_dim"],
        "q_rank": theirs["q_lora_rank"],
        "kv_rank": theirs["kv_lora_rank"],
        "rope_dim": theirs["qk_rope_head_dim"],
        "v_dim": theirs["v_head_dim"],
    }
    return decoder_like(theirs, **sizes | changes)


_ACTIVATIONS = {
    "silu": "silu",
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}


def activation_of(name: str) -> str:
    """The course's word for an activation. Raises UnknownFamily."""
    if name not in _ACTIVATIONS:
        raise UnknownFamily(f"the course has no activation {name!r}")
    return _ACTIVATIONS[name]
