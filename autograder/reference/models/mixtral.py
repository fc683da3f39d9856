"""Mixtral: LLaMA with k of E gated feed-forward layers chosen for each token.

Source: Jiang et al. 2024, arXiv:2401.04088.
"""

from functools import partial

import torch
from torch import Tensor, nn

from autograder.reference.attention import softmax
from autograder.reference.ffn import GatedFeedForward
from autograder.reference.gqa import RotaryAttention
from autograder.reference.models.decoder import CausalDecoder
from autograder.reference.models.llama import LlamaConfig
from autograder.reference.norms import RMSNorm
from autograder.reference.placement import PreLN


class MixtureOfExperts(nn.Module):
    """Each token goes to the k experts with the largest router scores, weighted by their softmax.

    Raises: ValueError when k is outside 1..n_experts.
    """

    def __init__(self, d_model: int, d_ff: int, n_experts: int, k: int):
        super().__init__()
        if not 1 <= k <= n_experts:
            raise ValueError(f"k must lie in 1..{n_experts}, got {k}")
        self.k = k
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(GatedFeedForward(d_model, d_ff) for _ in range(n_experts))

    def forward(self, x: Tensor) -> Tensor:
        """x (..., d_model) -> (..., d_model). Work grows with k, parameters with the number of experts."""
        tokens = x.flatten(0, -2)  # (N, d_model)
        scores, chosen = self.router(tokens).topk(self.k, dim=-1)  # (N, k)
        shares = softmax(scores)
        out = torch.zeros_like(tokens)
        for index, expert in enumerate(self.experts):
            token, rank = torch.where(chosen == index)
            if len(token):
                out.index_add_(0, token, expert(tokens[token]) * shares[token, rank, None])
        return out.view_as(x)


class Mixtral(CausalDecoder):
    """Sizes as for LLaMA; Mixtral 8x7B has 8 experts, of which 2 are active. The head is not tied."""

    def __init__(self, c: LlamaConfig, n_experts: int, k: int):
        norm = partial(RMSNorm, eps=c.eps)
        blocks = [
            PreLN(
                c.d_model,
                RotaryAttention(c.d_model, c.n_heads, c.n_kv_heads, base=c.base),
                MixtureOfExperts(c.d_model, c.d_ff, n_experts, k),
                norm,
            )
            for _ in range(c.n_layers)
        ]
        super().__init__(c.vocab, c.d_model, blocks, norm(c.d_model), tied=False)
