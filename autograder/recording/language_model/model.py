"""The model to train: LLaMA's architecture with a tied head, assembled from the references."""

import math

import torch
from torch import nn

from autograder.reference.models.decoder import CausalDecoder
from autograder.reference.models.llama import LlamaConfig, llama_block
from autograder.reference.norms import RMSNorm


def model(c: LlamaConfig, seed: int) -> CausalDecoder:
    """A decoder with fresh weights, drawn on the CPU, so that a seed gives the same weights on every device.

    Matrices get std 1/√columns, so that activations keep their size from layer to layer; matrices that write to the
    residual stream are smaller by √(2·layers), as in GPT-2. The embedding gets std 0.02: it is also the head, and the
    logits should begin small.
    """
    norm = RMSNorm(c.d_model, c.eps)
    made = CausalDecoder(c.vocab, c.d_model, [llama_block(c) for _ in range(c.n_layers)], norm, tied=True)
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in made.named_parameters():
        if parameter.dim() == 2:
            std = 0.02 if name.startswith("tokens") else 1 / math.sqrt(parameter.shape[1])
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                std /= math.sqrt(2 * c.n_layers)
            nn.init.normal_(parameter, std=std, generator=generator)
    return made
