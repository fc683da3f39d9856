"""Torch's own versions of the course's parts: exercise → torch's name and a wrapper with the exercise's signature.

The wrappers are text, because they go into a learner's cell; each only calls torch's own function.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Own:
    """name: torch's functions, as they are documented. code: the functions that the exercise asks for."""

    name: str
    code: str


OWN = {
    "attention.softmax": Own(
        "torch.softmax",
        """
import torch


def softmax(x, dim=-1):
    return torch.softmax(x, dim)
""",
    ),
    "attention.scaled_dot_product": Own(
        "torch.nn.functional.scaled_dot_product_attention",
        """
import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
""",
    ),
    "norm.layer_norm": Own(
        "torch.nn.functional.layer_norm",
        """
import torch


def layer_norm(x, weight, bias, eps=1e-5):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)
""",
    ),
    "norm.rms_norm": Own(
        "torch.nn.functional.rms_norm",
        """
import torch


def rms_norm(x, weight, eps=1e-6):
    return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, eps)
""",
    ),
    "activation.gelu": Own(
        "torch.nn.functional.gelu",
        """
import torch


def gelu(x):
    return torch.nn.functional.gelu(x)


def gelu_tanh(x):
    return torch.nn.functional.gelu(x, approximate="tanh")
""",
    ),
    "mask.causal": Own(
        "torch.nn.functional.scaled_dot_product_attention",
        """
import torch


def causal_attention(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
""",
    ),
    "stability.logsumexp": Own(
        "torch.logsumexp",
        """
import torch


def logsumexp(x, dim=-1):
    return torch.logsumexp(x, dim)
""",
    ),
}
