"""The growing character model: a small Transformer on Jane Austen's novels in which a learner replaces any part.

Each unit ends with an experiment that a learner designs on it. It reads characters, so it needs no tokenizer, and it is
small, so a run takes seconds. Runs with the same seed see the same batches and, as far as their parts have the same
parameters, start from the same weights.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..language import corpus
from . import one_thread

BATCH, EVERY, HELD_OUT_ROWS = 16, 10, 256

Attend = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
Step = Callable[[Tensor], Tensor]
Wire = Callable[[Tensor, Step, Step], Tensor]


@cache
def _text() -> tuple[str, Tensor, Tensor]:
    """(alphabet, training ids, held-out ids); both are int64 vectors with one id per character."""
    parts = corpus.training_text(), corpus.held_out_text()
    alphabet = "".join(sorted(set(parts[0])))
    ids = {c: i for i, c in enumerate(alphabet)}
    train, held_out = (torch.tensor([ids.get(c, ids[" "]) for c in part]) for part in parts)
    return alphabet, train, held_out


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Scaled dot-product attention of q, k, v (B, H, T, D). mask: bool, True = may be seen, or numbers to add."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def normed_input(x: Tensor, sublayer: Step, norm: Step) -> Tensor:
    """x + sublayer(norm(x)), (B, T, d_model)."""
    return x + sublayer(norm(x))


def feed_forward(d: int) -> nn.Module:
    """Two linear layers with GELU between them, (..., d) → (..., d)."""
    return nn.Sequential(nn.Linear(d, 4 * d, bias=False), nn.GELU(), nn.Linear(4 * d, d, bias=False))


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean loss in nats per character. logits (B, T, V); targets (B, T)."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def causal(length: int) -> Tensor:
    """(T, T) bool: position t sees positions 0 to t."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def learned(length: int, d: int) -> Tensor:
    """A table (T, d) that is trained; its values at the start."""
    return nn.Parameter(0.02 * torch.randn(length, d))


@dataclass(frozen=True)
class Parts:
    """The parts of a model; those that a learner doesn't give are the course's.

    attend(q, k, v, mask): (B, H, T, D) → (B, H, T, D). make_norm(d), make_ffn(d): module. wire(x, sublayer, norm).
    table(T, d): (T, d), added to the embeddings, or None. rotate(x): (B, H, T, D) → the same, for queries and keys.
    bias(n_heads, T): (H, T, T), added to the scores. mask(T): bool (T, T), True = may be seen. n_kv_heads: int.
    loss(logits, targets): logits (B, T, V), targets (B, T) → scalar.
    """

    attend: Attend = attention
    make_norm: Callable[[int], nn.Module] = nn.RMSNorm
    wire: Wire = normed_input
    make_ffn: Callable[[int], nn.Module] = feed_forward
    table: Callable[[int, int], Tensor] | None = learned
    rotate: Step | None = None
    bias: Callable[[int, int], Tensor] | None = None
    mask: Callable[[int], Tensor] = causal
    n_kv_heads: int | None = None
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy


class Attention(nn.Module):
    """Multi-head attention with the given parts, (B, T, d_model) → (B, T, d_model)."""

    def __init__(self, d_model: int, n_heads: int, parts: Parts) -> None:
        super().__init__()
        self.n_heads, self.n_kv_heads, self.parts = n_heads, parts.n_kv_heads or n_heads, parts
        if d_model % n_heads or n_heads % self.n_kv_heads:
            raise ValueError(
                f"d_model {d_model}, {n_heads} heads and {self.n_kv_heads} key-value heads: "
                "each number must divide the one before"
            )
        head = d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, self.n_kv_heads * head, bias=False)
        self.v_proj = nn.Linear(d_model, self.n_kv_heads * head, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        split = lambda t, n: t.unflatten(-1, (n, -1)).transpose(1, 2)  # (B, T, n·D) → (B, n, T, D)
        q, k, v = (
            split(proj(x), n)
            for proj, n in zip(
                (self.q_proj, self.k_proj, self.v_proj), (self.n_heads, *2 * (self.n_kv_heads,)), strict=True
            )
        )
        if self.parts.rotate:
            q, k = self.parts.rotate(q), self.parts.rotate(k)
        k, v = (t.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1) for t in (k, v))
        mask = self.parts.mask(x.shape[1]).to(x.device)
        if self.parts.bias:
            mask = torch.where(mask, self.parts.bias(self.n_heads, x.shape[1]).to(q.dtype), -math.inf)
        return self.o_proj(self.parts.attend(q, k, v, mask).transpose(1, 2).flatten(2))


class GrowingModel(nn.Module):
    """Logits (B, T, V) of the next character for ids (B, T)."""

    def __init__(self, kinds: int, d_model: int, layers: int, n_heads: int, context: int, parts: Parts) -> None:
        super().__init__()
        self.parts = parts
        self.embed = nn.Embedding(kinds, d_model)
        nn.init.normal_(self.embed.weight, std=0.02)
        self.attentions = nn.ModuleList(Attention(d_model, n_heads, parts) for _ in range(layers))
        self.ffns = nn.ModuleList(parts.make_ffn(d_model) for _ in range(layers))
        self.norms = nn.ModuleList(parts.make_norm(d_model) for _ in range(2 * layers + 1))
        self.head = nn.Linear(d_model, kinds, bias=False)
        table = parts.table(context, d_model) if parts.table else None
        if isinstance(table, nn.Parameter):
            self.table: Tensor | None = table
        else:
            self.register_buffer("table", table)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        if self.table is not None:
            x = x + self.table[: ids.shape[1]]
        for i, (attend, ffn) in enumerate(zip(self.attentions, self.ffns, strict=True)):
            x = self.parts.wire(x, attend, self.norms[2 * i])
            x = self.parts.wire(x, ffn, self.norms[2 * i + 1])
        return self.head(self.norms[-1](x))


@dataclass(frozen=True)
class Grown:
    """A trained model.

    loss: mean cross-entropy on text that it never saw, in nats per character. losses: training loss, one number for
    each ten steps. parameters: how many numbers it learned. seconds: how long the training took.
    """

    loss: float
    losses: list[float]
    parameters: int
    seconds: float
    model: GrowingModel = field(repr=False)
    context: int = field(repr=False)

    @one_thread
    @torch.no_grad()
    def say(self, prompt: str, characters: int = 80, seed: int = 0) -> str:
        """The prompt, continued by as many characters, each drawn from the model's distribution.

        Raises ValueError if the prompt is empty or has a character that doesn't occur in the novels.
        """
        alphabet, _, _ = _text()
        unknown = sorted(set(prompt) - set(alphabet))
        if not prompt or unknown:
            raise ValueError(f"the prompt needs characters of the novels; it has {' '.join(unknown) or 'none at all'}")
        generator = torch.Generator().manual_seed(seed)
        ids = [alphabet.index(c) for c in prompt]
        for _ in range(characters):
            logits = self.model(torch.tensor([ids[-self.context :]]))[0, -1]
            ids.append(int(torch.multinomial(logits.softmax(-1), 1, generator=generator)))
        return "".join(alphabet[i] for i in ids)


@one_thread
def grow(
    steps: int = 150,
    seed: int = 0,
    lr: float = 3e-3,
    d_model: int = 64,
    layers: int = 2,
    n_heads: int = 4,
    context: int = 32,
    device: str = "cpu",
    **parts: Any,
) -> Grown:
    """Trains a model in which ``parts`` replace the course's (names and shapes: ``Parts``).

    The rate rises for 20 steps and falls to 0 at the end, with Adam and batches of 16 rows of ``context`` characters.
    Raises TypeError for a part that doesn't exist, and ValueError if the numbers of heads don't fit.
    """
    torch.manual_seed(seed)
    made = Parts(**parts)
    alphabet, train, held_out = _text()
    model = GrowingModel(len(alphabet), d_model, layers, n_heads, context, made).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    batches = torch.Generator().manual_seed(seed)
    rows, losses, start = train.unfold(0, context + 1, 1), [], time.perf_counter()
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = lr * min(1, (step + 1) / 20) * (1 - step / steps)
        ids = rows[torch.randint(0, len(rows), (BATCH,), generator=batches)].to(device)
        loss = made.loss(model(ids[:, :-1]), ids[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    seconds = time.perf_counter() - start
    with torch.no_grad():
        ids = held_out.unfold(0, context + 1, context + 1)[:: max(1, len(held_out) // (context + 1) // HELD_OUT_ROWS)]
        ids = ids.to(device)
        unseen = cross_entropy(model(ids[:, :-1]), ids[:, 1:]).item()
    means = [sum(losses[i : i + EVERY]) / len(losses[i : i + EVERY]) for i in range(0, steps, EVERY)]
    return Grown(unseen, means, sum(p.numel() for p in model.parameters()), seconds, model, context)
