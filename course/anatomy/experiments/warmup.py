"""Does a stack of blocks learn without warm-up? A copying task: name the token that stood two places back.

Sixteen tokens, so a model that has learned nothing has loss ln 16 = 2.77. Adam, weights after Xavier.
"""

import torch
from torch import nn
from torch.nn import functional as F

from . import recorded as load
from .wirings import build, run

VOCABULARY, BACK, T, BATCH, D_MODEL = 16, 2, 12, 32, 32


class Copier(nn.Module):
    """Token vectors, learned positions, a stack of blocks, one logit per token: (B, T) int64 → (B, T, 16)."""

    def __init__(self, functions, name, depth, seed=0, scale=None):
        super().__init__()
        self.layers = build(functions, name, depth, D_MODEL, seed=seed, scale=scale)
        self.tokens, self.places = nn.Embedding(VOCABULARY, D_MODEL), nn.Embedding(T, D_MODEL)
        self.head = nn.Linear(D_MODEL, VOCABULARY)

    def forward(self, ids):
        return self.head(run(self.layers, self.embed(ids)))

    def embed(self, ids):
        """What enters the first block, (B, T, 32)."""
        return self.tokens(ids) + self.places.weight

    def loss(self, ids):
        """Cross-entropy, in nats, of the token two places back, at places 2, 3, …"""
        return F.cross_entropy(self(ids)[:, BACK:].flatten(0, 1), ids[:, :-BACK].flatten())


def train(functions, name, depth, rate, steps=120, seed=0, scale=None, device="cpu"):
    """Trains one model; the same seed gives every wiring the same batches.

    rate: function step → learning rate, steps counted from 0.

    Returns:
        (model, losses), one loss per step.
    """
    model = Copier(functions, name, depth, seed, scale).to(device)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0)
    losses = []
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = rate(step)
        loss = model.loss(torch.randint(0, VOCABULARY, (BATCH, T), generator=generator).to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, losses


def smooth(losses, width=10):
    """Mean of every ``width`` losses in a row, which reads better."""
    return torch.tensor(losses).unfold(0, width, width).mean(-1).tolist()


def recorded():
    """Recorded runs.

    Returns:
        dict with ``rows`` (each with wiring, depth, peak, warmup, seed and losses, the mean of every 10 steps) and
        ``made`` (device, torch, date, command).

    Raises:
        MissingRecording: the file is not there.
    """
    data = load("warmup")
    for row in data["rows"]:
        row["losses"] = [float(v) for v in row["losses"].split()]
    return data
