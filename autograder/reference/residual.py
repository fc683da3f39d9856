"""One sublayer and its norm on the residual stream, as functions; placement.py has whole blocks.

``sublayer`` and ``norm`` are any functions (..., d) -> (..., d). All results have the shape and dtype of x.
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

Map = Callable[[Tensor], Tensor]


def post_ln(x: Tensor, sublayer: Map, norm: Map) -> Tensor:
    """norm(x + F(x)). arXiv:1706.03762."""
    return norm(x + sublayer(x))


def pre_ln(x: Tensor, sublayer: Map, norm: Map) -> Tensor:
    """x + F(norm(x)). arXiv:2002.04745."""
    return x + sublayer(norm(x))


def sandwich(x: Tensor, sublayer: Map, norm_in: Map, norm_out: Map) -> Tensor:
    """x + norm_out(F(norm_in(x))). arXiv:2105.13290 (CogView); Gemma 2 with RMSNorm, arXiv:2408.00118."""
    return x + norm_out(sublayer(norm_in(x)))


def norm_inside(x: Tensor, sublayer: Map, norm: Map) -> Tensor:
    """x + norm(F(x)). arXiv:2501.00656 (OLMo 2)."""
    return x + norm(sublayer(x))


def deepnorm(x: Tensor, sublayer: Map, norm: Map, alpha: float) -> Tensor:
    """norm(α·x + F(x)). arXiv:2203.00555."""
    return norm(alpha * x + sublayer(x))


def parallel(x: Tensor, attention: Map, ffn: Map, norm: Map) -> Tensor:
    """x + A(h) + F(h) with h = norm(x). GPT-J; PaLM, arXiv:2204.02311."""
    h = norm(x)
    return x + attention(h) + ffn(h)


def fuse(w_q: Tensor, w_k: Tensor, w_v: Tensor, w_up: Tensor, w_o: Tensor, w_down: Tensor) -> tuple[Tensor, Tensor]:
    """The two matrices of a fused parallel block.

    Args: w_q, w_k, w_v, w_o (d, d); w_up (d_ff, d); w_down (d, d_ff); weights as in nn.Linear, (out, in).
    Returns: (w_in (3d + d_ff, d), w_out (d, d + d_ff)).
    """
    return torch.cat([w_q, w_k, w_v, w_up]), torch.cat([w_o, w_down], dim=1)


def fused_parallel(x: Tensor, norm: Map, w_in: Tensor, w_out: Tensor) -> Tensor:
    """A parallel block of one-head attention and a ReLU feed-forward layer, with two matrix products for the weights.

    Args: x (B, T, d); w_in, w_out from ``fuse``. Returns: (B, T, d).
    """
    d = x.shape[-1]
    q, k, v, up = (norm(x) @ w_in.T).split([d, d, d, w_in.shape[0] - 3 * d], dim=-1)
    attended = F.scaled_dot_product_attention(q, k, v)
    return x + torch.cat([attended, torch.relu(up)], dim=-1) @ w_out.T


def watch(layers: Iterable[Map], x: Tensor) -> tuple[Tensor, list[float | None]]:
    """Runs x through the layers, with a hook on the output of each.

    Returns: (result, norms): norms[i] is None at first, and the L2 norm of the gradient of layer i's output after a
    backward pass.
    """
    norms: list[float | None] = []
    for i, layer in enumerate(layers):
        x = layer(x)
        norms.append(None)

        def hook(gradient: Tensor, i: int = i) -> None:
            norms[i] = gradient.norm().item()

        x.register_hook(hook)
    return x, norms


def exponent(depths: Sequence[int], norms: Sequence[float]) -> float:
    """Slope of ln(norm) against ln(depth), by least squares: -0.5 if norms fall like 1/√depth."""
    x, y = (torch.tensor(values, dtype=torch.float64).log() for values in (depths, norms))
    x, y = x - x.mean(), y - y.mean()
    return float((x @ y) / (x @ x))


def trend(depths: Sequence[int], norms: Sequence[float]) -> str:
    """ "falls" if the exponent is below -0.25, "rises" if it is above 0.25, else "flat"."""
    slope = exponent(depths, norms)
    return "falls" if slope < -0.25 else "rises" if slope > 0.25 else "flat"


def deepnorm_gains(names: Iterable[str], beta: float) -> dict[str, float]:
    """Xavier gain of each weight matrix: 1 for queries and keys, β for the others. arXiv:2203.00555.

    Args: names of parameters, such as "ffn.up_proj.weight". Returns: name -> gain, for ``*_proj.weight`` only.
    """
    gains = {}
    for name in names:
        *_, owner, kind = name.split(".")
        if kind == "weight" and owner.endswith("_proj"):
            gains[name] = 1.0 if owner in ("q_proj", "k_proj") else beta
    return gains


def warmup_rate(step: int, peak: float, warmup: int) -> float:
    """Learning rate of a linear warm-up, then constant: peak·min(1, (step + 1)/warmup); steps count from 0.

    With warmup 0 it is the peak from the start.
    """
    return peak if step + 1 >= warmup else peak * (step + 1) / warmup


def layer_changes(streams: Tensor) -> Tensor:
    """How far each layer moves the stream, relative to the stream's length.

    Args: streams (N + 1, B, T, d): the first layer's input, and the output of each layer. Returns: (N,), mean over
    tokens of |x_l - x_(l-1)| / |x_(l-1)|. Raises: ValueError when there is no layer.
    """
    if len(streams) < 2:
        raise ValueError("streams needs the input and at least one layer's output")
    before, after = streams[:-1], streams[1:]
    return ((after - before).norm(dim=-1) / before.norm(dim=-1)).mean(dim=(1, 2))
