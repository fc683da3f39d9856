"""Greedy generation, with and without a cache: the same tokens, at different cost."""

import torch
from torch import Tensor

from autograder.reference.models.decoder import CausalDecoder
from autograder.reference.models.t5 import T5


@torch.no_grad()
def greedy(model: CausalDecoder, ids: Tensor, steps: int, real: Tensor | None = None) -> Tensor:
    """Append the most likely token ``steps`` times, running the whole text again for each.

    Args: ids (B, T) prompt; real (B, T) boolean, with padding on the left. Returns: (B, T + steps).
    """
    for _ in range(steps):
        ids = torch.cat([ids, model(ids, real)[:, -1:].argmax(-1)], dim=1)
        real = _extend(real)
    return ids


@torch.no_grad()
def greedy_cached(model: CausalDecoder, ids: Tensor, steps: int, real: Tensor | None = None) -> Tensor:
    """Like greedy, with a prefill of the prompt and then one token at a time."""
    caches = model.new_caches(ids.shape[0], ids.shape[1] + steps)
    new = ids
    for _ in range(steps):
        new = model(new, real, caches)[:, -1:].argmax(-1)
        ids, real = torch.cat([ids, new], dim=1), _extend(real)
    return ids


def _extend(real: Tensor | None) -> Tensor | None:
    return None if real is None else torch.cat([real, real.new_ones(real.shape[0], 1)], dim=1)


@torch.no_grad()
def greedy_seq2seq(model: T5, source: Tensor, start_id: int, steps: int, real: Tensor | None = None) -> Tensor:
    """Encode once, then append the most likely token ``steps`` times without a cache.

    Args: source (B, S), real (B, S) boolean. Returns: (B, 1 + steps), the start token first.
    """
    memory = model.encode(source, real)
    ids = torch.full_like(source[:, :1], start_id)
    for _ in range(steps):
        ids = torch.cat([ids, model.decode(ids, memory, real)[:, -1:].argmax(-1)], dim=1)
    return ids


@torch.no_grad()
def greedy_seq2seq_cached(model: T5, source: Tensor, start_id: int, steps: int, real: Tensor | None = None) -> Tensor:
    """Like greedy_seq2seq, with self- and cross-attention caches."""
    memory = model.encode(source, real)
    caches = model.new_caches(source.shape[0], steps)
    ids = new = torch.full_like(source[:, :1], start_id)
    for _ in range(steps):
        new = model.decode(new, memory, real, caches)[:, -1:].argmax(-1)
        ids = torch.cat([ids, new], dim=1)
    return ids
