"""Activations as learners write them: right, and wrong in a known way."""

import math

import torch


def right_gelu(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def wrong_constant_gelu(x):
    return 0.5 * x * (1 + torch.tanh(2 / math.sqrt(math.pi) * (x + 0.044715 * x**3)))


def right_swish(x, beta=1.0):
    return x * torch.sigmoid(beta * x)


def right_silu_prime(x):
    f = torch.sigmoid(x)
    return f + x * f * (1 - f)


ACTIVATIONS = {
    "relu": lambda x: x.clamp(min=0),
    "leaky_relu": lambda x, slope=0.01: torch.where(x > 0, x, slope * x),
    "elu": lambda x, alpha=1.0: torch.where(x > 0, x, alpha * torch.expm1(x.clamp(max=0))),
    "squared_relu": lambda x: x.clamp(min=0) ** 2,
    "gelu": right_gelu,
    "gelu_tanh": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "swish": right_swish,
    "sigmoid": lambda x: 1 / (1 + torch.exp(-x)),
    "tanh": torch.tanh,
    "sigmoid_prime": lambda x: torch.sigmoid(x) * (1 - torch.sigmoid(x)),
    "silu_prime": right_silu_prime,
    "gelu_prime": lambda x: torch.special.ndtr(x) + x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi),
}
