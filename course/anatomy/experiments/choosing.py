"""Which keys does the trained model of unit 12 read, and does a small indexer find them?

The model reads rows of 128 tokens. For one layer, an indexer (DeepSeek-V3.2's, small) learns from the layer's input to
imitate the weights of all its heads together, as in the dense warm-up of arXiv:2512.02556, section 2.1.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..language import corpus, shipped
from . import one_thread

LENGTH = 128  # tokens of a row, as in training
HEADS, SIZE = 8, 16  # of the indexer

Scores = Callable[[Tensor, Tensor, Tensor], Tensor]  # the learner's index.scores


@dataclass(frozen=True)
class Layer:
    """What goes on in one layer: its normed input x (B, T, d_model), and the weights (B, H, T, T) of its heads."""

    x: Tensor
    weights: Tensor


def rows(count: int, held_out: bool = True) -> Tensor:
    """(count, 128) int64: the beginning of the held-out text, or of the training text."""
    text = corpus.held_out_text() if held_out else corpus.training_text()
    return torch.tensor(shipped.tokenizer().encode(text[: 8 * LENGTH * count]).ids[: LENGTH * count]).view(
        count, LENGTH
    )


def turned(x: Tensor, base: float = 10_000.0) -> Tensor:
    """x (..., T, D), rotated in halves by positions 0 to T − 1, as unit 06's apply_rope_half does."""
    T, half = x.shape[-2], x.shape[-1] // 2
    angle = torch.arange(T)[:, None] * base ** (-torch.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)


@one_thread
@torch.no_grad()
def layers(ids: Tensor) -> list[Layer]:
    """Every layer of the trained model on ids (B, T), T at most 128. Raises MissingRecording without the model."""
    c, w = shipped.checkpoint()
    x, found = w["embeddings.tokens.weight"][ids], []
    hidden = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).triu(1)
    for i in range(c["n_layers"]):
        name = lambda part, i=i: w[f"blocks.{i}.{part}.weight"]
        heads = lambda t: t.unflatten(-1, (-1, c["head_dim"])).transpose(1, 2)
        group = c["n_heads"] // c["n_kv_heads"]
        y = F.rms_norm(x, x.shape[-1:], name("attention_norm"), c["eps"])
        q, k, v = (heads(y @ name(f"attention.{p}_proj").T) for p in "qkv")
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        scores = turned(q) @ turned(k).mT / c["head_dim"] ** 0.5
        weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        found.append(Layer(y, weights))
        x = x + (weights @ v).transpose(1, 2).flatten(2) @ name("attention.o_proj").T
        y = F.rms_norm(x, x.shape[-1:], name("ffn_norm"), c["eps"])
        x = x + (F.silu(y @ name("ffn.gate_proj").T) * (y @ name("ffn.up_proj").T)) @ name("ffn.down_proj").T
    return found


class Indexer(nn.Module):
    """Projections of a lightning indexer: queries of several small heads, one key, and a weight per head."""

    def __init__(self, d_model: int, heads: int = HEADS, size: int = SIZE) -> None:
        super().__init__()
        self.heads, self.scale = heads, (heads * size) ** -0.5
        self.query, self.key = nn.Linear(d_model, heads * size, bias=False), nn.Linear(d_model, size, bias=False)
        self.norm, self.weight = nn.LayerNorm(size), nn.Linear(d_model, heads, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """x (B, T, d_model) → q (B, T, J, D), k (B, T, D), w (B, T, J); q and k are rotated in halves."""
        q = self.query(x).unflatten(-1, (self.heads, -1))
        return turned(q.transpose(1, 2)).transpose(1, 2), turned(self.norm(self.key(x))), self.weight(x) * self.scale


@one_thread
def train_indexer(layer: Layer, scores: Scores, steps: int = 150, seed: int = 0, batch: int = 8) -> Indexer:
    """Trains an indexer to imitate the mean weights of a layer's heads (Kullback–Leibler divergence, AdamW, 1e-2)."""
    torch.manual_seed(seed)
    indexer = Indexer(layer.x.shape[-1])
    optimizer = torch.optim.AdamW(indexer.parameters(), lr=1e-2)
    target = layer.weights.mean(1)
    hidden = torch.ones(target.shape[-2:], dtype=torch.bool).triu(1)
    for _ in range(steps):
        pick = torch.randint(len(target), (batch,))
        found = scores(*indexer(layer.x[pick])).masked_fill(hidden, float("-inf")).log_softmax(-1)
        wanted = target[pick]
        loss = -(wanted * found.masked_fill(hidden, 0.0)).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return indexer.eval()


def share(layer: Layer, chosen: Tensor, n: int) -> float:
    """Share of the attention weight that lies on chosen keys (B, T, T), over all heads and the queries that choose."""
    return (layer.weights * chosen[:, None]).sum(-1)[..., n:].mean().item()
