"""Mixtral's feed-forward layer: a router sends each token to a few of many gated layers.

Source: Jiang et al. 2024, arXiv:2401.04088.
"""

import torch
from torch import Tensor, nn

from autograder.reference.assembly.pieces import Config, make_ffn


class Experts(nn.Module):
    """Each token goes to the n_active experts with the largest router probabilities, rescaled to sum to 1.

    Args: c: a configuration; n_experts layers are made by ``make_ffn(c)``.
    """

    def __init__(self, c: Config) -> None:
        super().__init__()
        self.n_active = c["n_active"]
        self.router = nn.Linear(c["d_model"], c["n_experts"], bias=False)
        self.experts = nn.ModuleList(make_ffn(c) for _ in range(c["n_experts"]))

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, d_model) → the same shape. Work grows with n_active, parameters with n_experts."""
        share, chosen = self.router(x).softmax(-1).topk(self.n_active, dim=-1)  # (B, T, k)
        share = share / share.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            b, t, place = torch.where(chosen == index)
            if len(b):
                out = out.index_put((b, t), expert(x[b, t]) * share[b, t, place][:, None], accumulate=True)
        return out
