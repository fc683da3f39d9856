"""Which feed-forward layer predicts text best at equal parameters? A small character model answers.

The model reads eight characters and predicts the ninth: it has residual feed-forward layers and nothing else, so that
only they make the difference. The text is the documentation that comes with Python (``pydoc_data``): English prose and
code, present in every installation.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import one_thread

ALPHABET = "\n abcdefghijklmnopqrstuvwxyz0123456789.,:;'\"()[]{}<>=+-*/_`#@%&|!?\\^~$"


@dataclass(frozen=True)
class Setting:
    """Size of the model and length of its training."""

    d_model: int = 96
    context: int = 8
    layers: int = 2
    steps: int = 400
    batch: int = 256
    lr: float = 1.5e-2


LAPTOP = Setting()
LARGE = Setting(d_model=512, context=16, layers=6, steps=4000, batch=1024, lr=2e-3)


@cache
def text() -> Tensor:
    """Python's documentation as int64 ids (characters,), lower case; characters outside ALPHABET become blanks."""
    from pydoc_data.topics import topics

    ids = {c: i for i, c in enumerate(ALPHABET)}
    return torch.tensor([ids.get(c, 1) for name in sorted(topics) for c in topics[name].lower()])


class CharModel(nn.Module):
    """Logits of the next character.

    make_layer: function d_model → feed-forward module; called once per layer. Each character is embedded in
    d_model/context numbers; the embeddings are concatenated.
    """

    def __init__(self, make_layer: Callable[[int], nn.Module], setting: Setting = LAPTOP):
        super().__init__()
        d = setting.d_model
        self.embed = nn.Embedding(len(ALPHABET), d // setting.context)
        self.layers = nn.ModuleList(make_layer(d) for _ in range(setting.layers))
        self.norms = nn.ModuleList(nn.RMSNorm(d) for _ in range(setting.layers + 1))
        self.head = nn.Linear(d, len(ALPHABET))

    def forward(self, ids: Tensor) -> Tensor:  # (B, context) → (B, characters)
        x = self.embed(ids).flatten(1)
        for norm, layer in zip(self.norms, self.layers, strict=False):
            x = x + layer(norm(x))
        return self.head(self.norms[-1](x))


def windows(setting: Setting = LAPTOP) -> tuple[Tensor, Tensor]:
    """(training, validation) windows of context + 1 characters; the last 5 % of the text are kept for validation."""
    ids = text()
    cut = int(0.95 * len(ids))
    size = setting.context + 1
    return ids[:cut].unfold(0, size, 1), ids[cut:].unfold(0, size, 1)[::3]


@torch.no_grad()
def validation_loss(model: nn.Module, held_out: Tensor) -> float:
    """Mean cross-entropy per character, in nats."""
    return F.cross_entropy(model(held_out[:, :-1]), held_out[:, -1]).item()


def outside(t: float, freedom: float) -> float:
    """Probability that Student's t with ``freedom`` degrees of freedom is beyond ±t."""
    x = torch.linspace(0, t, 20_001, dtype=torch.float64)
    density = (1 + x**2 / freedom) ** (-(freedom + 1) / 2)
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    return 1 - 2 * scale * torch.trapezoid(density, x).item()


def limit(comparisons: int, freedom: float) -> float:
    """Number of standard errors that each comparison needs for 5 % over all comparisons (Bonferroni)."""
    low, high = 0.0, 200.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if outside(middle, freedom) > 0.05 / comparisons else (low, middle)
    return high


@one_thread
def train(
    make_layer: Callable[[int], nn.Module],
    seed: int = 0,
    setting: Setting = LAPTOP,
    device: str = "cpu",
    watch: Callable[[int, CharModel], object] | None = None,
) -> tuple[CharModel, dict[str, float]]:
    """Trains one model; the same seed gives every variant the same batches.

    watch: function (step, model) called before each step. Returns ``(model, row)``; row has ``loss`` (validation,
    nats per character), ``parameters`` (of the feed-forward layers) and ``seconds``.
    """
    torch.manual_seed(seed)
    model = CharModel(make_layer, setting).to(device)
    training, held_out = (w.to(device) for w in windows(setting))
    optimizer = torch.optim.AdamW(model.parameters(), lr=setting.lr, weight_decay=0.0)
    batches = torch.Generator().manual_seed(seed)
    start = time.perf_counter()
    for step in range(setting.steps):
        if watch is not None:
            watch(step, model)
        # A short warm-up, then a linear decay to 0, so that the final losses of all variants are comparable.
        optimizer.param_groups[0]["lr"] = setting.lr * min(1, (step + 1) / 20) * (1 - step / setting.steps)
        rows = torch.randint(0, len(training), (setting.batch,), generator=batches).to(device)
        ids = training[rows]
        loss = F.cross_entropy(model(ids[:, :-1]), ids[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    count = sum(p.numel() for p in model.layers.parameters())
    return model, {
        "loss": validation_loss(model, held_out),
        "parameters": count,
        "seconds": time.perf_counter() - start,
    }
