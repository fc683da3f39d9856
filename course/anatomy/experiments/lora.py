"""A small trained model learns a new task through low-rank updates (LoRA): what does the rank decide?

The model has learned to name the word two positions back. Two tasks follow: the same word under a new name
(``renamed``: the known skill with new words), and the word five positions back (``farther``: a new skill).
"""

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import Recorded, one_thread
from . import recorded as load

VOCABULARY, LENGTH, FARTHEST = 16, 12, 5
LEARNED = "two back"
TASKS = ("renamed", "farther")
RANKS = (1, 2, 4, 8)
ADAPTED = ("q_proj", "k_proj", "v_proj", "o_proj", "up", "down")
NAMES = torch.randperm(VOCABULARY, generator=torch.Generator().manual_seed(99))  # word → its new name

MakeLayer = Callable[[int, int, int, float], nn.Module]  # (d_in, d_out, r, alpha) → a layer with a ``base`` to fill


class Block(nn.Module):
    """Pre-norm block of d columns, written out so that every matrix has a name."""

    def __init__(self, d: int, heads: int):
        super().__init__()
        self.heads, self.norm, self.ffn_norm = heads, nn.LayerNorm(d), nn.LayerNorm(d)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(d, d) for _ in range(4))
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, d) → (B, T, d)."""
        y = self.norm(x)
        q, k, v = (
            p(y).unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        x = x + self.o_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.ffn_norm(x))))


class Model(nn.Module):
    """Word and position embeddings, one block, a head. Weights are random until ``train`` has run."""

    def __init__(self, d: int = 32, heads: int = 2, layers: int = 1):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, d), nn.Embedding(LENGTH, d)
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, VOCABULARY, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        """words (B, T) int64 → logits (B, T, 16)."""
        x = self.words(words) + self.places.weight
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def _draw(task, count, generator, device):
    words = torch.randint(VOCABULARY, (count, LENGTH), generator=generator)
    right = words.roll(FARTHEST if task == "farther" else 2, 1)
    right = NAMES[right] if task == "renamed" else right
    return words.to(device), right.to(device)


@one_thread
def train(
    model: nn.Module, task: str, steps: int = 300, rate: float = 1e-2, seed: int = 0, device: str = "cpu"
) -> tuple[float, float]:
    """Trains all parameters that require a gradient (AdamW, batches of 32, a short warm-up, then linear decay to 0).

    task: LEARNED or one of TASKS. Returns (loss, accuracy) on 1,000 new sentences, from position 5 on.
    """
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=rate, weight_decay=0.0)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 20) * (1 - step / steps)
        words, right = _draw(task, 32, generator, device)
        loss = F.cross_entropy(model(words)[:, FARTHEST:].flatten(0, 1), right[:, FARTHEST:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    words, right = _draw(task, 1000, generator, device)
    with torch.no_grad():
        logits = model(words)[:, FARTHEST:]
    found = F.cross_entropy(logits.flatten(0, 1), right[:, FARTHEST:].flatten()).item()
    return found, (logits.argmax(-1) == right[:, FARTHEST:]).float().mean().item()


def given(seed: int = 0, trained: bool = True, steps: int = 400, device: str = "cpu") -> Model:
    """Returns a model that has learned "two back", or, as a control, the same model untrained."""
    torch.manual_seed(seed)
    model = Model().to(device)
    if trained:
        train(model, LEARNED, steps, 5e-3, seed, device)
    return model


def adapted(model: nn.Module, layer: MakeLayer, r: int, alpha: float | None = None) -> nn.Module:
    """Returns a frozen copy of ``model`` with a LoRA layer around every matrix of its blocks.

    layer: the learner's class, called as layer(d_in, d_out, r, alpha); its ``base`` gets the model's weights. alpha: by
    default, twice the rank.
    """
    copied = copy.deepcopy(model).requires_grad_(False)
    for name, linear in [*copied.named_modules()]:
        parent, _, last = name.rpartition(".")
        if last in ADAPTED and isinstance(linear, nn.Linear):
            new = layer(linear.in_features, linear.out_features, r, 2.0 * r if alpha is None else alpha)
            new.get_submodule("base").load_state_dict(linear.state_dict())
            setattr(copied.get_submodule(parent), last, new.to(linear.weight.device))
    return copied


def trainable(model: nn.Module) -> int:
    """Number of parameters that a training would change."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def recorded() -> Recorded:
    """Recorded runs: rows with task, start ("trained" or "random"), rank (0 = every weight), rate, seed, accuracy."""
    return load("lora")
