"""Activations of feed-forward layers and their hand-derived derivatives.

Every function is elementwise, keeps shape and dtype, and computes float16 and bfloat16 in float32
(GELU's cube overflows float16 at 41). If a derivative jumps at 0, its value there is torch's choice and
is stated in the docstring.
"""

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor


def _at_least_float32(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(function)
    def wrapped(x: Tensor, *args: float, **kwargs: float) -> Tensor:
        work = x.to(torch.promote_types(x.dtype, torch.float32))
        return function(work, *args, **kwargs).to(x.dtype)

    return wrapped


@_at_least_float32
def sigmoid(x: Tensor) -> Tensor:
    """1/(1 + e^-x)."""
    # torch's own: the formula's gradient is 0·inf = NaN once e^-x overflows.
    return torch.sigmoid(x)


@_at_least_float32
def sigmoid_derivative(x: Tensor) -> Tensor:
    """f(x)·(1 - f(x)), at most 1/4."""
    # 1 - f(x) as f(-x): the difference would cancel to 0 for large x.
    return sigmoid(x) * sigmoid(-x)


@_at_least_float32
def tanh(x: Tensor) -> Tensor:
    """(e^x - e^-x)/(e^x + e^-x)."""
    return torch.tanh(x)


@_at_least_float32
def tanh_derivative(x: Tensor) -> Tensor:
    """1 - tanh²x, written as 4f(2x)(1 - f(2x)) with f the sigmoid, which does not cancel for large x."""
    return 4 * sigmoid_derivative(2 * x)


@_at_least_float32
def relu(x: Tensor) -> Tensor:
    """max(x, 0)."""
    return torch.where(x <= 0, 0.0, x)  # with this comparison, NaN passes through


@_at_least_float32
def relu_derivative(x: Tensor) -> Tensor:
    """1 for x > 0, else 0 (0 at 0)."""
    return (x > 0).to(x.dtype)


@_at_least_float32
def leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    """x for x > 0, else slope·x."""
    return torch.where(x > 0, x, slope * x)


@_at_least_float32
def leaky_relu_derivative(x: Tensor, slope: float = 0.01) -> Tensor:
    """1 for x > 0, else slope (slope at 0)."""
    return torch.where(x > 0, torch.ones_like(x), slope)  # two plain numbers would give float32


@_at_least_float32
def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """x for x > 0, else alpha·(e^x - 1). arXiv:1511.07289."""
    # The clamp keeps the branch that is not taken from overflowing into a NaN gradient.
    return torch.where(x > 0, x, alpha * torch.expm1(x.clamp(max=0)))


@_at_least_float32
def elu_derivative(x: Tensor, alpha: float = 1.0) -> Tensor:
    """1 for x > 0, else alpha·e^x (alpha at 0)."""
    return torch.where(x > 0, 1.0, alpha * torch.exp(x.clamp(max=0)))


def _normal_cdf(x: Tensor) -> Tensor:
    # erfc instead of 1 + erf: no cancellation in the left tail.
    return 0.5 * torch.erfc(-x / math.sqrt(2))


def _normal_density(x: Tensor) -> Tensor:
    return torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


@_at_least_float32
def gelu(x: Tensor) -> Tensor:
    """x·Φ(x), Φ the cumulative standard normal distribution. arXiv:1606.08415."""
    return x * _normal_cdf(x)


@_at_least_float32
def gelu_derivative(x: Tensor) -> Tensor:
    """Φ(x) + x·φ(x), φ the standard normal density e^(-x²/2)/√(2π)."""
    return _normal_cdf(x) + x * _normal_density(x)


_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


@_at_least_float32
def gelu_tanh(x: Tensor) -> Tensor:
    """½x(1 + tanh(√(2/π)(x + 0.044715x³))), at most 4.8e-4 away from gelu. arXiv:1606.08415."""
    return 0.5 * x * (1 + torch.tanh(_SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)))


@_at_least_float32
def gelu_tanh_derivative(x: Tensor) -> Tensor:
    """½(1 + tanh u) + ½x·(1 - tanh²u)·u′ with u = √(2/π)(x + 0.044715x³)."""
    u = _SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)
    slope = _SQRT_2_OVER_PI * (1 + 3 * 0.044715 * x * x)
    return 0.5 * (1 + torch.tanh(u)) + 0.5 * x * tanh_derivative(u) * slope


@_at_least_float32
def swish(x: Tensor, beta: float = 1.0) -> Tensor:
    """x·sigmoid(beta·x): x/2 at beta = 0, ReLU as beta grows. arXiv:1710.05941."""
    return x * sigmoid(beta * x)


@_at_least_float32
def swish_derivative(x: Tensor, beta: float = 1.0) -> Tensor:
    """f(βx) + βx·f(βx)(1 - f(βx)), f the sigmoid."""
    return sigmoid(beta * x) + beta * x * sigmoid_derivative(beta * x)


def silu(x: Tensor) -> Tensor:
    """x·sigmoid(x), Swish with beta = 1. arXiv:1606.08415, arXiv:1702.03118."""
    return swish(x, 1.0)


def silu_derivative(x: Tensor) -> Tensor:
    """f(x)(1 + x(1 - f(x))), f the sigmoid."""
    return swish_derivative(x, 1.0)


@_at_least_float32
def squared_relu(x: Tensor) -> Tensor:
    """max(x, 0)². arXiv:2109.08668."""
    return relu(x) ** 2


@_at_least_float32
def squared_relu_derivative(x: Tensor) -> Tensor:
    """2·max(x, 0): no jump at 0."""
    return 2 * relu(x)


def identity(x: Tensor) -> Tensor:
    """x: the activation of a bilinear gated layer."""
    return x


def identity_derivative(x: Tensor) -> Tensor:
    """1."""
    return torch.ones_like(x)


def softmax_jacobian(p: Tensor) -> Tensor:
    """diag(p) - p pᵀ, the derivative of a softmax in terms of its output.

    Args: p (..., n), rows summing to 1. Returns: (..., n, n), entry (i, j) = ∂p_i/∂x_j, symmetric.
    """
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)


ACTIVATIONS: dict[str, tuple[Callable[..., Tensor], Callable[..., Tensor]]] = {
    "sigmoid": (sigmoid, sigmoid_derivative),
    "tanh": (tanh, tanh_derivative),
    "relu": (relu, relu_derivative),
    "leaky_relu": (leaky_relu, leaky_relu_derivative),
    "elu": (elu, elu_derivative),
    "gelu": (gelu, gelu_derivative),
    "gelu_tanh": (gelu_tanh, gelu_tanh_derivative),
    "silu": (silu, silu_derivative),
    "squared_relu": (squared_relu, squared_relu_derivative),
    "identity": (identity, identity_derivative),
}
"""Name -> (function, derivative)."""
