"""Can a layer find what was said? Pairs of a key and a value go by, then keys are asked for, and the last value counts.

Three ways to remember them have the same parameters: softmax attention over all pairs, a state to which each pair is
added, and a state written by the delta rule. Keys are either drawn with repetition, so that values are rewritten, or
all different. The task is that of associative recall, as in Zoology, arXiv:2312.04927.
"""

from collections.abc import Callable, Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import Recorded, one_thread
from . import recorded as load

WAYS = ("softmax", "added", "delta rule")
KEYS, VALUES, WIDTH, ASKED = 16, 48, 48, 8
TEMPERATURE, NEWER = 12.0, 0.3  # softmax: sharpness of the scores, and how much a later pair is preferred

# (q (B, 8, D), k (B, N, D), v (B, N, D), rate (B, N)) → what the questions read (B, 8, D); q and k have length 1.
Memory = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def by_softmax(q: Tensor, k: Tensor, v: Tensor, rate: Tensor) -> Tensor:
    """Attention over all pairs, with a preference for later ones."""
    places = NEWER * torch.arange(k.shape[1], device=k.device)
    return (TEMPERATURE * q @ k.mT + places).softmax(-1) @ v


def by_adding(q: Tensor, k: Tensor, v: Tensor, rate: Tensor) -> Tensor:
    """One matrix, to which every pair is added."""
    return q @ (k.mT @ v)


def by_delta_rule(q: Tensor, k: Tensor, v: Tensor, rate: Tensor) -> Tensor:
    """One matrix, from which what a key held is taken out before the new value is written."""
    state = k.new_zeros(len(k), k.shape[2], v.shape[2])
    for key, value, share in zip(k.unbind(1), v.unbind(1), rate.unbind(1), strict=True):
        stored = (key[:, None] @ state)[:, 0]
        state = state + key[:, :, None] * (share[:, None] * (value - stored))[:, None]
    return q @ state


MEMORIES: dict[str, Memory] = dict(zip(WAYS, (by_softmax, by_adding, by_delta_rule), strict=True))


class Recaller(nn.Module):
    """One layer around a memory. The parameters are the same for every memory; only the delta rule uses the rate."""

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory
        self.keys, self.values = nn.Embedding(KEYS, WIDTH), nn.Embedding(VALUES, WIDTH)
        self.query, self.key = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.value, self.rate = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, 1)
        self.answer = nn.Linear(WIDTH, VALUES)

    def forward(self, keys: Tensor, values: Tensor, asked: Tensor) -> Tensor:
        """keys, values (B, N), asked (B, 8), all int64 → logits of the answers (B, 8, 48)."""
        x = self.keys(keys)
        q, k = (F.normalize(t, dim=-1) for t in (self.query(self.keys(asked)), self.key(x)))
        rate = torch.sigmoid(self.rate(x)[..., 0] + 2)
        return self.answer(self.memory(q, k, self.value(self.values(values)), rate))


def draw(count: int, pairs: int, rewritten: bool, generator: torch.Generator) -> list[Tensor]:
    """keys, values (count, pairs), asked and answers (count, 8). Without rewriting there are at most 16 pairs."""
    if rewritten:
        keys = torch.randint(KEYS, (count, pairs), generator=generator)
    else:
        keys = torch.rand(count, KEYS, generator=generator).argsort(-1)[:, :pairs]
    values = torch.randint(VALUES, (count, pairs), generator=generator)
    asked = keys.gather(1, torch.randint(pairs, (count, ASKED), generator=generator))
    last = ((asked[:, :, None] == keys[:, None]) * torch.arange(1, pairs + 1)).argmax(-1)
    return [keys, values, asked, values.gather(1, last)]


@one_thread
def train(
    memory: str | Memory,
    pairs: int = 24,
    rewritten: bool = True,
    steps: int = 300,
    measured: Iterable[int] = (300,),
    seed: int = 0,
    device: str = "cpu",
) -> list[float]:
    """Trains a Recaller (AdamW, 3e-3, batches of 64). Pairs are always drawn on the CPU.

    Returns: share of 4,096 new questions answered right, after each number of steps in ``measured``, at most ``steps``.
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Recaller(MEMORIES[memory] if isinstance(memory, str) else memory).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    new = lambda count: [t.to(device) for t in draw(count, pairs, rewritten, generator)]
    found, wanted = [], set(measured)
    for step in range(1, steps + 1):
        *given, right = new(64)
        loss = F.cross_entropy(model(*given).flatten(0, 1), right.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in wanted:
            *given, right = new(512)
            with torch.no_grad():
                found.append((model(*given).argmax(-1) == right).float().mean().item())
    return found


def recorded() -> Recorded:
    """Recorded runs: dict with ``rows`` (each with way, rewritten, seed, steps and accuracy) and ``made``.

    Raises MissingRecording if the file is missing.
    """
    return load("recall")
