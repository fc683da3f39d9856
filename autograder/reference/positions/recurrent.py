"""Recurrent positions: run an RNN over the tokens; its state encodes the position.

There is no maximum length, but T sequential steps, which the Transformer was designed to avoid.
"""

import math

import torch
from torch import Tensor, nn


class RecurrentPositions(nn.Module):
    """x + h with h_t = tanh(W_in x_t + W_rec h_{t-1} + b), h_{-1} = 0.

    Parameters: w_in and w_rec (d_model, d_model), bias (d_model,).
    """

    def __init__(self, d_model: int):
        super().__init__()
        bound = 1 / math.sqrt(d_model)
        self.w_in = nn.Parameter(torch.empty(d_model, d_model).uniform_(-bound, bound))
        self.w_rec = nn.Parameter(torch.empty(d_model, d_model).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Args: x (B, T, d_model). Returns: (B, T, d_model)."""
        state = torch.zeros_like(x[:, 0])
        states = []
        for token in x.unbind(dim=1):
            state = torch.tanh(token @ self.w_in.T + state @ self.w_rec.T + self.bias)
            states.append(state)
        return x + torch.stack(states, dim=1)
