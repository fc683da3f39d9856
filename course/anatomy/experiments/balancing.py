"""Eight experts, of which each token uses one: who gets the work, and what does that do to the loss?

The task has eight clusters of points, each with a linear map of its own, so eight experts could share it evenly.
Nothing tells the router which cluster a point belongs to.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import one_thread

E, WIDTH, BATCH, LAST = 8, 32, 512, 50
STRENGTH, RATE = 0.1, 0.01  # of the loss, and of the bias

Loss = Callable[[Tensor, Tensor], Tensor]  # (probabilities (L, N, E), chosen (L, N, k)) → scalar
Bias = Callable[[Tensor, Tensor, float], Tensor]  # (bias (E,), chosen (N, k), rate) → the next bias


@dataclass(frozen=True)
class Balanced:
    """The last 50 steps of a training: mean loss of the task, and the share of the tokens that each expert got."""

    loss: float
    load: list[float]

    @property
    def busiest(self) -> float:
        """Share of the expert with the most tokens; 1/8 would be even."""
        return max(self.load)

    @property
    def starved(self) -> int:
        """How many experts got less than 2 % of the tokens."""
        return sum(share < 0.02 for share in self.load)


@one_thread
def train(
    loss: Loss | None = None,
    bias: Bias | None = None,
    seed: int = 0,
    steps: int = 400,
    strength: float = STRENGTH,
    device: str = "cpu",
) -> Balanced:
    """Trains router and experts (AdamW, rate 0.01).

    For balance there is a loss, which counts ``strength`` times, a bias that is moved, or neither.
    """
    torch.manual_seed(seed)
    router = nn.Linear(WIDTH, E, bias=False).to(device)
    experts = nn.Parameter((torch.randn(E, WIDTH, WIDTH) / WIDTH**0.5).to(device))
    centers = torch.randn(E, WIDTH).to(device)
    maps = (torch.randn(E, WIDTH, WIDTH) / WIDTH**0.5).to(device)
    draws = torch.Generator().manual_seed(seed)
    offset = torch.zeros(E, device=device)
    optimizer = torch.optim.AdamW([*router.parameters(), experts], 1e-2)
    losses, loads = list[float](), list[Tensor]()
    for _ in range(steps):
        cluster = torch.randint(0, E, (BATCH,), generator=draws).to(device)
        x = centers[cluster] + 0.5 * torch.randn(BATCH, WIDTH, generator=draws).to(device)
        probabilities = router(x).softmax(-1)
        chosen = (probabilities + offset).topk(1).indices
        y = torch.zeros_like(x)
        for i in range(E):
            mine = (chosen[:, 0] == i).nonzero()[:, 0]
            y = y.index_put((mine,), x[mine] @ experts[i] * probabilities[mine, i, None])
        target = torch.zeros_like(x)
        for i in range(E):
            mine = (cluster == i).nonzero()[:, 0]
            target[mine] = x[mine] @ maps[i]
        task = F.mse_loss(y, target)
        added = strength * loss(probabilities[None], chosen[None]) if loss else 0.0
        if bias:
            offset = bias(offset, chosen, RATE)
        optimizer.zero_grad()
        (task + added).backward()
        optimizer.step()
        losses.append(task.item())
        loads.append(torch.bincount(chosen[:, 0], minlength=E) / BATCH)
    load = torch.stack(loads[-LAST:]).mean(0)
    return Balanced(sum(losses[-LAST:]) / len(losses[-LAST:]), load.tolist())
