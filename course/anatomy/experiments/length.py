"""Train short, test long: a memory game that shows which position schemes survive a longer text.

Every card occurs twice in a row of cards, each time in a random color. When the reader sees a card for the second time,
it names the color of its *twin*, anywhere before; and at every card, it names the color of the card three positions
*back*. The first question needs content at any distance and no position at all; the second needs an exact position
close by. Training uses rows of 64 cards, testing rows of 256. Chance is 1/8 for both.

The position scheme is passed in as functions, so that a notebook can use the learner's own apply_rope.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import Recorded, one_thread

KINDS, COLORS, BACK = 128, 8, 3
D_MODEL, HEADS = 64, 2
TRAINED = 64
QUESTIONS = ("twin", "back")
STYLES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class Scheme:
    """How a reader learns the position of a card. All parts are optional and can be combined; without any it is NoPE.

    turn: (x (B, H, T, D), position_ids (T,)) → same shape, applied to queries and keys. bias: distances (T, T) int64,
    query minus key → (T, T) or (H, T, T), added to the scores. add: position_ids (T,) → (T, d_model), added to the
    embeddings. window: each card sees as many positions, its own included. score: (q, k (B, H, T, D)) → (B, H, T, T),
    instead of q·k/√D. ``bias``, ``add`` and ``score`` may be modules, which are then trained. heads: the number of
    heads that share the d_model numbers of a card.
    """

    turn: Callable[[Tensor, Tensor], Tensor] | None = None
    bias: Callable[[Tensor], Tensor] | None = None
    add: Callable[[Tensor], Tensor] | None = None
    window: int | None = None
    score: Callable[[Tensor, Tensor], Tensor] | None = None
    heads: int = HEADS


class Game(NamedTuple):
    """A batch of rows. All int64 (B, T); answers are −1 where no question is asked.

    cards: kinds, 0 … 127; colors: 0 … 7; twin, back: right answers; gap: distance to the twin.
    """

    cards: Tensor
    colors: Tensor
    twin: Tensor
    back: Tensor
    gap: Tensor


def deal(rows: int, length: int, generator: torch.Generator) -> Game:
    """Random rows of ``length`` cards: length/2 kinds, each twice, all orders equally likely."""
    kinds = torch.rand(rows, KINDS, generator=generator).argsort(1)[:, : length // 2]
    order = torch.rand(rows, length, generator=generator).argsort(1)
    cards = torch.cat([kinds, kinds], 1).gather(1, order)
    colors = torch.randint(0, COLORS, (rows, length), generator=generator)
    one, other = order.argsort(1).chunk(2, 1)  # the two positions of each kind
    first, second = torch.minimum(one, other), torch.maximum(one, other)
    nothing = torch.full((rows, length), -1)
    twin = nothing.scatter(1, second, colors.gather(1, first))
    back = nothing.clone()
    back[:, BACK:] = colors[:, :-BACK]
    return Game(cards, colors, twin, back, nothing.scatter(1, second, second - first))


class Reader(nn.Module):
    """One layer: causal attention (two heads of 32, or the scheme's number), feed-forward, two answers."""

    def __init__(self, scheme: Scheme):
        super().__init__()
        self.scheme = scheme
        self.parts = nn.ModuleList(p for p in (scheme.bias, scheme.add, scheme.score) if isinstance(p, nn.Module))
        self.card, self.color = nn.Embedding(KINDS, D_MODEL), nn.Embedding(COLORS, D_MODEL)
        with torch.no_grad():
            self.color.weight *= 0.5  # so that cards stand out from colors: twins are found in 100 steps, not 500
        self.norms = nn.ModuleList(nn.LayerNorm(D_MODEL) for _ in range(3))
        self.qkv = nn.Linear(D_MODEL, 3 * D_MODEL, bias=False)
        self.o_proj = nn.Linear(D_MODEL, D_MODEL, bias=False)
        self.ffn = nn.Sequential(nn.Linear(D_MODEL, 2 * D_MODEL), nn.GELU(), nn.Linear(2 * D_MODEL, D_MODEL))
        self.answer = nn.Linear(D_MODEL, 2 * COLORS)

    def forward(self, cards: Tensor, colors: Tensor, scheme: Scheme | None = None) -> Tensor:
        """(B, T, 2, 8) logits: for each card, the twin's color and the color three positions back."""
        scheme = scheme or self.scheme
        T = cards.shape[1]
        ids = torch.arange(T, device=cards.device)
        distance = ids[:, None] - ids
        x = self.card(cards) + self.color(colors)
        if scheme.add is not None:
            x = x + scheme.add(ids)
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, scheme.heads, -1)).permute(2, 0, 3, 1, 4)  # (B, H, T, D)
        if scheme.turn is not None:
            q, k = scheme.turn(q, ids), scheme.turn(k, ids)
        scores = scheme.score(q, k) if scheme.score is not None else q @ k.mT / math.sqrt(q.shape[-1])
        if scheme.bias is not None:
            scores = scores + scheme.bias(distance)
        sees = (distance >= 0) & (distance < (scheme.window or T))
        weights = scores.masked_fill(~sees, -math.inf).softmax(-1)
        x = x + self.o_proj((weights @ v).transpose(1, 2).flatten(2))
        x = x + self.ffn(self.norms[1](x))
        return self.answer(self.norms[2](x)).unflatten(-1, (2, COLORS))


@one_thread
def train(
    scheme: Scheme,
    steps: int = 200,
    length: int = TRAINED,
    rows: int = 32,
    seed: int = 0,
    model: Reader | None = None,
    device: str = "cpu",
) -> tuple[Reader, float]:
    """Trains a Reader, or continues training ``model`` under ``scheme``; returns ``(model, seconds)``.

    The same seed gives every scheme the same games; they are always dealt on the CPU.
    """
    torch.manual_seed(seed)
    games = torch.Generator().manual_seed(1000 + seed + (model is not None))
    model = Reader(scheme) if model is None else model
    model.scheme = scheme
    model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    start = time.perf_counter()
    for step in range(steps):
        # A short warm-up, then half a cosine down to 0, so that every scheme has converged at the end.
        rate = 6e-3 * min(1, (step + 1) / 30) * (1 + math.cos(math.pi * step / steps)) / 2
        optimizer.param_groups[0]["lr"] = rate
        game = Game(*(t.to(device) for t in deal(rows, length, games)))
        logits = model(game.cards, game.colors)
        twin, back = (
            F.cross_entropy(logits[:, :, i].flatten(0, 1), getattr(game, name).flatten(), ignore_index=-1)
            for i, name in enumerate(QUESTIONS)
        )
        loss = twin + back
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval(), time.perf_counter() - start


@one_thread
@torch.no_grad()
def test(
    model: Reader,
    measure: Callable[[Tensor, Tensor, int], Tensor],
    scheme: Scheme | None = None,
    length: int = 4 * TRAINED,
    rows: int = 96,
    width: int = 16,
    device: str = "cpu",
) -> dict[str, list[float]]:
    """Accuracy of both questions along rows of ``length`` cards.

    measure: ``(logits (B, T, 8), targets (B, T), width) → (T/width,)``, the learner's accuracy_by_position. scheme:
    used instead of the one that the model was trained with. Returns ``{"twin": [...], "back": [...]}``, one number for
    each ``width`` positions.
    """
    game = Game(*(t.to(device) for t in deal(rows, length, torch.Generator().manual_seed(77))))
    pieces = zip(game.cards.split(32), game.colors.split(32), strict=True)
    logits = torch.cat([model(cards, colors, scheme) for cards, colors in pieces])
    return {name: measure(logits[:, :, i], getattr(game, name), width).tolist() for i, name in enumerate(QUESTIONS)}


def draw(
    live: Mapping[str, dict[str, list[float]]], recorded: Recorded | None = None, names: Iterable[str] | None = None
) -> None:
    """Two panels, one per question: accuracy along the row.

    live: name → result of ``test``, drawn in color over the recorded runs, which are a gray band from the lowest to the
    highest seed. recorded: contents of ``assets/experiments/length.json``; a scheme that was not run live is drawn from
    it, one line per seed. names: the schemes to draw.
    """
    import matplotlib.pyplot as plt

    _, panels = plt.subplots(1, 2, figsize=(8.6, 3.4), sharey=True)
    titles = {"twin": "Color of the twin (anywhere)", "back": f"Color {BACK} positions back"}
    for ax, question in zip(panels, QUESTIONS, strict=True):
        for i, name in enumerate(names or live):
            runs = [r[question] for r in (recorded or {"schemes": {}})["schemes"].get(name, [])]
            if name in live:
                _band(ax, runs)
                ax.plot(_centers(live[name][question]), live[name][question], label=name)
                continue
            style = STYLES[i % len(STYLES)]
            color = ax.plot([], [], style, label=name)[0].get_color()
            for run in runs:
                ax.plot(_centers(run), run, style, color=color, linewidth=1.2)
        ax.axvline(TRAINED, color="black", linewidth=1)
        ax.axhline(1 / COLORS, color="black", linewidth=0.6, linestyle=":")
        ax.set(title=titles[question], xlabel="place in the row", ylim=(0, 1.04), xticks=range(0, 257, 64))
    panels[0].set_ylabel("share right")
    panels[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _band(ax, runs):
    if runs:
        low, high = torch.tensor(runs).amin(0), torch.tensor(runs).amax(0)
        ax.fill_between(_centers(runs[0]), low, high, color="#777777", alpha=0.28, linewidth=0)


def _centers(values):
    width = 16
    return [width * (i + 0.5) for i in range(len(values))]
