"""The parts of a block that treat each token separately: norms and feed-forward layer, made from a configuration."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from autograder.reference.activations import gelu, gelu_tanh, relu, silu, squared_relu
from autograder.reference.ffn import Activation, FeedForward, GatedFeedForward
from autograder.reference.norms import GemmaRMSNorm, LayerNorm, RMSNorm

Config = Mapping[str, Any]

NORMS: dict[str, Callable[[int, float], nn.Module]] = {"layer": LayerNorm, "rms": RMSNorm, "gemma": GemmaRMSNorm}
ACTIVATIONS: dict[str, Activation] = {
    "relu": relu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "silu": silu,
    "squared_relu": squared_relu,
}


def make_norm(c: Config) -> nn.Module:
    """The norm named by ``c["norm"]``, over d_model numbers, with ε = ``c["eps"]``."""
    return NORMS[c["norm"]](c["d_model"], c["eps"])


def make_ffn(c: Config) -> nn.Module:
    """The feed-forward layer d_model → d_ff → d_model: with a gate and without biases, or plain."""
    activation = ACTIVATIONS[c["activation"]]
    if c["gated"]:
        return GatedFeedForward(c["d_model"], c["d_ff"], activation)
    return FeedForward(c["d_model"], c["d_ff"], activation, c["ffn_bias"])
