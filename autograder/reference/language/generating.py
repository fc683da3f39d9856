"""From logits to text: the distribution of the next token, and the loop that generates tokens.

Sources: top-k, Fan, Lewis and Dauphin 2018, arXiv:1805.04833; top-p (nucleus), Holtzman et al. 2019, arXiv:1904.09751.
"""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

Past = list[tuple[Tensor, Tensor]]


class Decoder(Protocol):
    """The interface that ``generate`` needs from a model.

    ids (B, T) int64, real (B, S) boolean with False where there is padding, past: one (keys, values) per layer or None;
    returns logits (B, T, V) and the past with the new tokens.
    """

    def __call__(self, ids: Tensor, real: Tensor | None = None, past: Past | None = None) -> tuple[Tensor, Past]: ...


def distribution(
    logits: Tensor, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """Probabilities of the next token: logits divided by the temperature, then the top k, then the top p.

    Tokens are ordered by their logits, for equal logits the lower id first; both cuts keep the beginning of that order.
    Top-p keeps the shortest beginning whose probabilities, after the top k, reach p. At temperature 0 the first token
    has probability 1.

    Args: logits (..., V) floating. Returns: the same shape and dtype.
    Raises: ValueError for a negative temperature, top_k below 1, top_p outside (0, 1].
    """
    if temperature < 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
        raise ValueError(f"temperature {temperature}, top_k {top_k}, top_p {top_p}: at least 0, at least 1, in (0, 1]")
    order = logits.argsort(dim=-1, descending=True, stable=True)
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, order[..., :1], 1.0)
    scaled = (logits / temperature).gather(-1, order)
    if top_k is not None:
        scaled[..., top_k:] = -torch.inf
    if top_p is not None:
        share = scaled.softmax(-1)
        scaled = scaled.masked_fill(share.cumsum(-1) - share >= top_p, -torch.inf)
    return torch.zeros_like(logits).scatter(-1, order, scaled.softmax(-1))


@torch.no_grad()
def generate(
    model: Decoder,
    ids: Tensor,
    steps: int,
    pick: Callable[[Tensor], Tensor],
    real: Tensor | None = None,
    stop: int | None = None,
    pad: int = 0,
) -> Tensor:
    """Writes up to ``steps`` tokens after each prompt; the model reads the prompt once, then each token once.

    Args:
        ids: (B, T) int64 prompts, padded on the left.
        pick: logits (B, V) of the last token → next tokens (B,).
        real: (B, T) boolean, False for padding; None for no padding.
        stop: token after which a row is filled with ``pad``; generation ends when all rows have written it.

    Returns: (B, T + n) int64, n ≤ steps.
    """
    new, past, done = ids, None, torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
    for _ in range(steps):
        if done.all():
            break
        logits, past = model(new, real, past)
        new = torch.where(done, pad, pick(logits[:, -1]))[:, None]
        ids = torch.cat([ids, new], dim=1)
        if real is not None:
            real = torch.cat([real, torch.ones_like(real[:, :1])], dim=1)
        if stop is not None:
            done = done | (new[:, 0] == stop)
    return ids
