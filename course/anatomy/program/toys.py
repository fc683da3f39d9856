"""Tiny models for exercises that take a model as an argument: language models, sublayers, and one that is only counted.

The language models have the interface of a decoder, ``model(ids, real=None, past=None) → logits, past`` as in unit 11:
new tokens ``ids`` (B, T) int64; ``real`` (B, S) boolean for the past's tokens and the new ones, False where there is
padding; ``past`` a list with one pair of tensors (B, 1, S, D), or None. Nothing in them is random and nothing is
learned: each number follows from the tokens, from their positions and from what was stored.
"""

from typing import Any

import torch
from torch import Tensor, nn

Past = list[tuple[Tensor, Tensor]]

VOCABULARY, WIDTH = 16, 8


def decoder(ids: Tensor, real: Tensor | None = None, past: Past | None = None) -> tuple[Tensor, Past]:
    """A decoder of 16 tokens: its logits depend on all real tokens so far, and on their positions.

    Returns: logits (B, T, 16) float32, and the past with the new tokens. Raises: ValueError if ``real`` is not
    boolean, or does not have exactly one column for each token of the past and of ``ids``.
    """
    old = 0 if past is None else past[0][0].shape[2]
    seen = torch.ones(len(ids), old + ids.shape[1], dtype=torch.bool) if real is None else real
    if seen.shape != (len(ids), old + ids.shape[1]):
        raise ValueError(
            f"real has shape {tuple(seen.shape)}, but there are {len(ids)} rows of {old} tokens in the past and "
            f"{ids.shape[1]} new ones"
        )
    if seen.dtype != torch.bool:
        raise ValueError(f"real has dtype {seen.dtype}, but True and False are asked for")
    place = (seen.cumsum(1) - 1)[:, old:, None]
    waves = torch.arange(1.0, WIDTH + 1)
    key = torch.sin((ids[..., None] + 1) * waves + 0.7 * place)
    value = torch.cos((ids[..., None] + 2) * 1.3 * waves + 1.9 * place)
    keys, values = key[:, None], value[:, None]
    if past is not None:
        keys, values = (torch.cat([a, b], dim=2) for a, b in zip(past[0], (keys, values), strict=True))
    before = torch.ones(ids.shape[1], old + ids.shape[1]).tril(old)
    weights = (key @ keys[:, 0].mT) * before * seen[:, None]
    table = torch.sin(torch.outer(torch.arange(1.0, VOCABULARY + 1), 2.1 * waves))
    return (weights @ values[:, 0] + key) @ table.T, [(keys, values)]


def rounding_decoder(ids: Tensor, real: Tensor | None = None, past: Past | None = None) -> tuple[Tensor, Past]:
    """As ``decoder``, but what it stores is rounded to whole numbers, as an extreme of a quantized cache.

    Its logits therefore show whether a token was read from the past or computed anew.
    """
    logits, ((keys, values),) = decoder(ids, real, past)
    return logits, [(keys.round(), values.round())]


class Stack(nn.Module):
    """A model whose parameters are counted but that is never run: an embedding, linear layers, a norm and a head.

    c: a dict with ``vocab``, ``d_model``, ``n_layers``, ``tied`` (the head's weight is the embedding's) and ``frozen``
    (the embedding is not trained). Besides its parameters it has a buffer of ``d_model`` numbers.
    """

    def __init__(self, c: dict[str, Any]) -> None:
        super().__init__()
        d = c["d_model"]
        # The largest parts first: if memory is short, this fails before anything smaller is filled.
        self.layers = nn.ModuleList(nn.Linear(d, d) for _ in range(c["n_layers"]))
        self.tokens = nn.Embedding(c["vocab"], d)
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, c["vocab"], bias=False)
        if c["tied"]:
            self.head.weight = self.tokens.weight
        self.tokens.weight.requires_grad_(not c["frozen"])
        self.register_buffer("places", torch.arange(d))


class Attention(nn.Module):
    """Stand-in for an attention layer made from a configuration: no weights, but mask, positions and past all count."""

    def __init__(self, c: dict[str, Any]) -> None:
        super().__init__()
        self.scale = c["n_heads"] / c["d_model"]

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        past: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """x (B, T, d), mask (B, 1, T, S), (T, S) or None, positions (B, T), (T,) or None, past two of (B, 1, S - T, d).

        Returns: (B, T, d), and the past with the new tokens.
        """
        keys, values = x[:, None].sin(), x[:, None].cos()
        if past is not None:
            keys, values = (torch.cat([a, b], dim=2) for a, b in zip(past, (keys, values), strict=True))
        weights = (x[:, None] @ keys.mT).tanh() * self.scale
        out = (weights if mask is None else weights * mask) @ values
        turned = 0.0 if positions is None else 0.1 * positions[..., None]
        return out[:, 0] + turned, (keys, values)


def prepare(layer: nn.Module, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    """Stand-in for a family's own treatment of queries and keys (B, H, T, D), as the method of an attention layer."""
    return 0.5 * q + positions[..., None], k.sin()


def attend(layer: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Stand-in for a family's own attention, as the method of a layer: (B, H, T, D), to which one head's values add."""
    return q + k[:, :1, -1:] * v[:, :1].mean(2, keepdim=True)


def ffn(c: dict[str, Any]) -> nn.Module:
    """Stand-in for a feed-forward layer made from a configuration: tanh, and no weights."""
    return nn.Tanh()
