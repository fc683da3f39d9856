"""What a trained model writes, for the record."""

import torch
from torch import Tensor

from autograder.reference.models.decoder import CausalDecoder


@torch.no_grad()
def sample(trained: CausalDecoder, ids: list[int], n: int, temperature: float, seed: int) -> list[int]:
    """``ids`` and n tokens more, drawn one by one on the CPU: the same ones on every device, but for rounding.

    No cache: this is about a hundred tokens, and the plain way has nothing to get wrong.
    """
    generator = torch.Generator().manual_seed(seed)
    device = next(trained.parameters()).device
    for _ in range(n):
        logits: Tensor = trained(torch.tensor([ids], device=device))[0, -1].cpu()
        ids = [*ids, int(torch.multinomial((logits / temperature).softmax(-1), 1, generator=generator))]
    return ids
