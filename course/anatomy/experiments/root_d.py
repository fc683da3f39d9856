"""Does it hurt to leave out the division by √D? One attention head that must look up a value by its key.

A sentence holds pairs of a key and a value; a query names one key, and the answer is its value. Three ways are
compared: the division, no division, and no division with smaller initial query and key weights, so that the scores
start as narrow as with the division. (T5 has no division either; its code shrinks only the initial query weights, by
√D.)
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import Recorded, one_thread
from . import recorded as load

VOCABULARY, PAIRS, BATCH = 32, 8, 64
WAYS = {"divided": (-0.5, 0.0), "not divided": (0.0, 0.0), "small start": (0.0, -0.25)}


class Lookup(nn.Module):
    """One head of ``head_dim`` numbers on vectors of 64 numbers, all weights initialized as in ``nn.Linear``.

    powers: (p, r); scores are q·k · D^p, and the initial weights of q and k are multiplied by D^r.
    """

    def __init__(self, head_dim: int, powers: tuple[float, float], d_model: int = 64):
        super().__init__()
        self.keys, self.values = nn.Embedding(VOCABULARY, d_model), nn.Embedding(VOCABULARY, d_model)
        self.q_proj, self.k_proj = (nn.Linear(d_model, head_dim, bias=False) for _ in range(2))
        self.v_proj, self.answer = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, VOCABULARY)
        self.factor = head_dim ** powers[0]
        with torch.no_grad():
            for layer in (self.q_proj, self.k_proj):
                layer.weight *= head_dim ** powers[1]

    def scores(self, keys: Tensor, values: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
        """Scores (B, 1, pairs), as they enter the softmax, and the embedded pairs x (B, pairs, d_model)."""
        x = self.keys(keys) + self.values(values)  # (B, pairs, d_model)
        return self.q_proj(self.keys(query))[:, None] @ self.k_proj(x).mT * self.factor, x

    def forward(self, keys: Tensor, values: Tensor, query: Tensor) -> Tensor:
        """keys, values (B, pairs) int64, query (B,) int64 → (B, 32) logits of the value."""
        scores, x = self.scores(keys, values, query)
        return self.answer((scores.softmax(-1) @ self.v_proj(x))[:, 0])


@one_thread
def train_lookup(
    head_dim: int, way: str, rate: float, steps: int = 300, seed: int = 0, device: str = "cpu"
) -> dict[str, float]:
    """Trains one Lookup with Adam; a seed gives every way the same batches, which are drawn on the CPU.

    Returns:
        dict: ``spread``, standard deviation of the initial scores; ``loss``, mean of the last 20 losses, in nats;
        ``accuracy`` on 2000 new sentences.
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Lookup(head_dim, WAYS[way]).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)

    def draw(count):
        keys = torch.rand(count, VOCABULARY, generator=generator).argsort(-1)[:, :PAIRS]  # no key twice
        values = torch.randint(VOCABULARY, (count, PAIRS), generator=generator)
        asked = torch.randint(PAIRS, (count, 1), generator=generator)
        return [t.to(device) for t in (keys, values, keys.gather(1, asked)[:, 0], values.gather(1, asked)[:, 0])]

    keys, values, query, right = draw(2000)
    with torch.no_grad():
        spread = model.scores(keys, values, query)[0].std().item()
    losses = []
    for _ in range(steps):
        keys, values, query, right = draw(BATCH)
        loss = F.cross_entropy(model(keys, values, query), right)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    keys, values, query, right = draw(2000)
    with torch.no_grad():
        accuracy = (model(keys, values, query).argmax(-1) == right).float().mean().item()
    return {"spread": spread, "loss": sum(losses[-20:]) / len(losses[-20:]), "accuracy": accuracy}


def recorded() -> Recorded:
    """Recorded runs.

    Returns:
        dict with ``rows`` (each with head_dim, way, rate, seed, spread, loss and accuracy), ``steps`` and ``made``
        (device, torch, date, command).

    Raises:
        MissingRecording: the file is missing.
    """
    return load("root_d")
