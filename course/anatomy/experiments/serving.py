"""The time of a decoding step of a whole model: predicted from bytes and FLOPs, and measured.

The model is plain: float32 matrices large enough for memory traffic to dominate, one thread, random weights (the time
of a product doesn't depend on its numbers). The machine is measured in the same way, so that prediction and measurement
refer to the same memory.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from . import Recorded, one_thread
from . import recorded as load
from .decode import read_grouped
from .norm_bandwidth import best_time

Sizes = dict[str, int]  # weights (numbers in all matrices), n_layers, n_heads, n_kv_heads, head_dim
Predict = Callable[[Sizes, int, int, float, float, int], float]
HEAD_DIM = 64


class Decoder:
    """The matrices of a decoder, and one step of it for B users with full caches of S tokens.

    d_model is a multiple of 64; there are a quarter as many key-value heads as heads, at least one; the gated
    feed-forward layers are 11/4 as wide as d_model. There are no embeddings and no head.
    """

    def __init__(self, d_model: int = 1024, n_layers: int = 4, device: str = "cpu", dtype: torch.dtype = torch.float32):
        heads = d_model // HEAD_DIM
        kv, d_ff = max(1, heads // 4) * HEAD_DIM, 11 * d_model // 4
        shapes = {"q": (d_model, d_model), "k": (kv, d_model), "v": (kv, d_model), "o": (d_model, d_model)}
        shapes |= {"gate": (d_ff, d_model), "up": (d_ff, d_model), "down": (d_model, d_ff)}
        generator = torch.Generator(device).manual_seed(0)
        self.layers = [
            {
                name: torch.randn(*shape, generator=generator, device=device, dtype=dtype) / shape[1] ** 0.5
                for name, shape in shapes.items()
            }
            for _ in range(n_layers)
        ]
        self.d_model, self.device, self.dtype = d_model, device, dtype
        self.sizes: Sizes = {
            "weights": sum(w.numel() for layer in self.layers for w in layer.values()),
            "n_layers": n_layers,
            "n_heads": heads,
            "n_kv_heads": kv // HEAD_DIM,
            "head_dim": HEAD_DIM,
        }

    def step(self, x: Tensor, caches: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
        """x (B, d_model), caches one (k, v) per layer, each (B, G, S, 64) → (B, d_model).

        The new token takes the last position of each cache, which every step overwrites.
        """
        for layer, (keys, values) in zip(self.layers, caches, strict=True):
            y = F.rms_norm(x, x.shape[-1:])
            q, k, v = (F.linear(y, layer[name]).unflatten(-1, (-1, HEAD_DIM)) for name in "qkv")
            keys[:, :, -1], values[:, :, -1] = k, v
            x = x + F.linear(read_grouped(q, keys, values).flatten(1), layer["o"])
            y = F.rms_norm(x, x.shape[-1:])
            x = x + F.linear(F.silu(F.linear(y, layer["gate"])) * F.linear(y, layer["up"]), layer["down"])
        return x

    def seconds(self, users: int, tokens: int, repeats: int = 5) -> float:
        """Shortest time of a step, after two warm-up steps; on the CPU the clock counts this thread only."""
        shape = (users, self.sizes["n_kv_heads"], tokens, HEAD_DIM)
        make = lambda: torch.full(shape, 0.1, device=self.device, dtype=self.dtype)
        caches = [(make(), make()) for _ in self.layers]
        x = torch.ones(users, self.d_model, device=self.device, dtype=self.dtype)
        with torch.no_grad():
            return best_time(lambda: self.step(x, caches), self.device, repeats)


@one_thread
def machine(
    size: int = 180_000_000, square: int = 1024, device: str = "cpu", dtype: torch.dtype = torch.float32
) -> tuple[float, float]:
    """(bytes per second when ``size`` bytes are read once, FLOP per second of a large matrix product).

    size: bytes of the weights to come, so that a chip with a large cache is measured with what fits into it.
    """
    x = torch.ones(size // dtype.itemsize, device=device, dtype=dtype)
    a, b = torch.ones(2, square, square, device=device, dtype=dtype)
    with torch.no_grad():
        reading, computing = best_time(x.sum, device, 5), best_time(lambda: a @ b, device, 5)
    return size / reading, 2 * square**3 / computing


@one_thread
def measured(
    predict: Predict,
    pairs: Sequence[tuple[int, int]],
    decoder: Decoder,
    bandwidth: float,
    peak: float,
    repeats: int = 5,
) -> list[dict[str, Any]]:
    """Predicted and measured steps, one row for each (users, tokens) of ``pairs``.

    predict: the learner's step_seconds(model, users, tokens, bandwidth, peak, itemsize). Rows hold users, tokens,
    predicted and measured (milliseconds), and ratio: measured over predicted.
    """
    rows = []
    for users, tokens in pairs:
        seconds = decoder.seconds(users, tokens, repeats)
        least = predict(decoder.sizes, users, tokens, bandwidth, peak, decoder.dtype.itemsize)
        rows.append(
            {
                "users": users,
                "tokens": tokens,
                "predicted": least * 1e3,
                "measured": seconds * 1e3,
                "ratio": seconds / least,
            }
        )
    return rows


def recorded() -> Recorded:
    """Recorded steps: ``rows`` as ``measured`` returns them, ``machine`` with bandwidth and peak, ``sizes``."""
    return load("serving")
