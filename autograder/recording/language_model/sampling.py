"""Samples text from a trained model, to be recorded."""

import torch
from torch import Tensor

from autograder.reference.models.decoder import CausalDecoder


@torch.no_grad()
def sample(trained: CausalDecoder, ids: list[int], n: int, temperature: float, seed: int) -> list[int]:
    """``ids`` and n more tokens, drawn one by one on the CPU: the same on every device, up to rounding.

    No cache: this is only about a hundred tokens, and the plain way is the safest.
    """
    generator = torch.Generator().manual_seed(seed)
    device = next(trained.parameters()).device
    for _ in range(n):
        logits: Tensor = trained(torch.tensor([ids], device=device))[0, -1].cpu()
        ids = [*ids, int(torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator))]
    return ids
