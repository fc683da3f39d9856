"""A copying head: two layers of attention, one head each, learn to continue a repeating sequence.

A row has 64 tokens of 32 kinds. Its first 8 to 24 tokens are all different; then they repeat again and again. From the
second round on, the next token is predictable: find where the current token occurred before, and name the token that
came after it. A head that looks there, at the token *after* an earlier occurrence, is called an induction head (Elhage
et al. 2021, "A Mathematical Framework for Transformer Circuits"; Olsson et al. 2022, arXiv:2209.11895). It needs a
layer below it that writes into each token which token came before. This model has only attention, no feed-forward
layers.

Rotation and score are passed in as functions, so that a notebook can use the learner's own.
"""

import math
from collections.abc import Callable, Collection
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import one_thread

KINDS, D_MODEL, LENGTH = 32, 64, 64
SHORTEST, LONGEST = 8, 24  # tokens before the first repetition
STEPS, EVERY = 200, 20
FOUND = 0.8  # a head with a larger score is called an induction head here
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"  # a name for each kind

Turn = Callable[[Tensor, Tensor], Tensor]
Score = Callable[[Tensor, Tensor], Tensor]


class Rows(NamedTuple):
    """ids (B, 65) int64: each token and, one position on, its right answer. period (B, 1) int64: tokens in a round."""

    ids: Tensor
    period: Tensor


class Measured(NamedTuple):
    """Measurements of a model on new rows, from the second round on.

    loss: nats per token (a model that knows nothing has ln 32 = 3.47). accuracy: share of next tokens predicted right
    (chance 1/32). previous: per layer, share of its attention that goes to the token just before. score: per layer,
    mean over all rows of the ``score`` function's result; empty without that function.
    """

    loss: float
    accuracy: float
    previous: list[float]
    score: list[float]


def draw(count: int, generator: torch.Generator, repeats: bool = True) -> Rows:
    """``count`` random rows. repeats=False draws all tokens independently, so rows do not repeat."""
    period = torch.randint(SHORTEST, LONGEST + 1, (count, 1), generator=generator)
    order = torch.rand(count, KINDS, generator=generator).argsort(1)
    if repeats:
        return Rows(order.gather(1, torch.arange(LENGTH + 1) % period), period)
    return Rows(torch.randint(KINDS, (count, LENGTH + 1), generator=generator), period)


class Head(nn.Module):
    """One causal head over all 64 features."""

    def __init__(self, turn: Turn):
        super().__init__()
        self.turn = turn
        self.qkv = nn.Linear(D_MODEL, 3 * D_MODEL, bias=False)
        self.o_proj = nn.Linear(D_MODEL, D_MODEL, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """x (B, T, 64) → the head's output, same shape, and its weights (B, T, T): row = query."""
        T = x.shape[1]
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        places = torch.arange(T, device=x.device)
        q, k = (self.turn(part.unsqueeze(1), places).squeeze(1) for part in (q, k))
        future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
        weights = (q @ k.mT / math.sqrt(D_MODEL)).masked_fill(future, -math.inf).softmax(-1)
        return self.o_proj(weights @ v), weights


class Copier(nn.Module):
    """Embedding, one-head layers with an RMSNorm before each, a last norm, a linear head; 37,056 parameters if two.

    turn: (x (B, H, T, D), position_ids (T,)) → same shape, the rotation of queries and keys.
    """

    def __init__(self, turn: Turn, layers: int = 2):
        super().__init__()
        self.tokens, self.head = nn.Embedding(KINDS, D_MODEL), nn.Linear(D_MODEL, KINDS, bias=False)
        nn.init.normal_(self.tokens.weight, std=0.5)
        self.layers = nn.ModuleList(Head(turn) for _ in range(layers))
        self.norms = nn.ModuleList(nn.RMSNorm(D_MODEL, eps=1e-5) for _ in range(layers + 1))

    def forward(self, ids: Tensor, off: Collection[int] = ()) -> tuple[Tensor, list[Tensor]]:
        """ids (B, T) int64 → logits (B, T, 32), and per layer the attention weights (B, T, T).

        off: layers whose head is switched off; they still compute their weights, but their output is not added.
        """
        x, looked = self.tokens(ids), []
        for i, layer in enumerate(self.layers):
            found, weights = layer(self.norms[i](x))
            looked.append(weights)
            if i not in off:
                x = x + found
        return self.head(self.norms[-1](x)), looked


@one_thread
def train(
    turn: Turn,
    score: Score | None = None,
    seed: int = 0,
    steps: int = STEPS,
    every: int = EVERY,
    layers: int = 2,
    repeats: bool = True,
    device: str = "cpu",
) -> tuple[Copier, list[tuple[int, Measured]]]:
    """Trains a Copier on the next tokens from the second round on; takes about five seconds on one core.

    Args:
        turn: the rotation, ``(x (B, H, T, D), position_ids (T,)) → x``.
        score: ``(weights (H, T, T), ids (T,)) → (H,)``, the learner's induction_score, measured along the way.
        layers, repeats: two layers and repeating rows make an induction head; other values are controls.

    Returns:
        the model, and a list of (step, Measured) on repeating rows, one for each ``every`` steps.
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(1000 + seed)
    model = Copier(turn, layers).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.01)
    curve = [(0, test(model, score))]
    for step in range(1, steps + 1):
        rows = draw(16, generator, repeats)
        optimizer.param_groups[0]["lr"] = 3e-3 * min(1.0, step / 50)
        logits, _ = model(rows.ids[:, :-1].to(device))
        losses = F.cross_entropy(logits.mT, rows.ids[:, 1:].to(device), reduction="none")  # (B, T)
        # The last token of the first round is the first whose successor is predictable. Without repetition the same
        # positions are trained on, so that a control has equally many targets.
        known = (torch.arange(LENGTH) >= rows.period - 1).to(device)
        optimizer.zero_grad()
        losses[known].mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % every == 0:
            curve.append((step, test(model, score)))
    return model, curve


@one_thread
@torch.no_grad()
def test(model: Copier, score: Score | None = None, off: Collection[int] = (), count: int = 64) -> Measured:
    """Loss, accuracy and where the heads look, on ``count`` new rows. off: layers whose head is switched off."""
    device = model.tokens.weight.device
    ids, period = (t.to(device) for t in draw(count, torch.Generator().manual_seed(99)))
    logits, looked = model(ids[:, :-1], off)
    known = torch.arange(LENGTH, device=device) >= period  # (B, T): the current token has occurred before
    answers = ids[:, 1:][known]
    weights = torch.stack(looked, 1)  # (B, layers, T, T)
    scores = [score(w, row) for w, row in zip(weights, ids[:, :-1], strict=True)] if score else [weights.new_empty(0)]
    return Measured(
        F.cross_entropy(logits[known], answers).item(),
        (logits[known].argmax(-1) == answers).float().mean().item(),
        weights.diagonal(-1, 2, 3).mean((0, 2)).tolist(),
        torch.stack(scores).mean(0).tolist(),
    )


@torch.no_grad()
def look(model: Copier, seed: int = 1, round: int = 12, length: int = 36) -> tuple[Tensor, Tensor]:
    """Where the heads look in one new row: weights (layers, T, T), row = query, and its ids (T,) int64.

    round: tokens before the first repetition. length: T, at most 64 as in training.
    """
    order = torch.rand(KINDS, generator=torch.Generator().manual_seed(seed)).argsort()
    ids = order[torch.arange(length) % round].to(model.tokens.weight.device)
    return torch.cat(model(ids[None])[1]), ids


def spell(ids: Tensor) -> str:
    """A letter or digit for each token."""
    return "".join(LETTERS[i] for i in ids.tolist())


def draw_attention(weights: Tensor, ids: Tensor, round: int = 12) -> None:
    """Draws the result of ``look``, one panel per layer, with circles where a copier should look.

    Call it in its own cell, or inside ``with described(...)``.
    """
    import matplotlib.pyplot as plt

    T = len(ids)
    _, panels = plt.subplots(1, len(weights), figsize=(4.7 * len(weights), 4.6), squeeze=False)
    should = [(m, n) for m in range(round, T) for n in range(m % round + 1, m + 1, round)]
    for i, (ax, w) in enumerate(zip(panels[0], weights, strict=True)):
        ax.imshow(w.cpu().numpy(), cmap="Blues", vmin=0, vmax=1)
        ax.plot([n for _, n in should], [m for m, _ in should], "o", ms=7, mfc="none", mec="#D55E00", mew=0.8)
        ax.set_xticks(range(T), spell(ids), fontsize=7)
        ax.set_yticks(range(T), spell(ids), fontsize=7)
        ax.set(title=f"layer {i}", xlabel="looks at", ylabel="present token")
        ax.grid(visible=False)
