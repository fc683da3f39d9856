"""Shows what a fixed-size summary loses: a model reads a sentence, then must name the word at a given position.

Both models read the sentence with the same recurrent encoder. In one model the question sees only the encoder's last
state (as in Cho et al. 2014, arXiv:1406.1078); in the other it attends to all states with one attention head (after
Bahdanau et al. 2014, arXiv:1409.0473). There are 16 words, so guessing is right once in 16.
"""

from collections.abc import Container

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import Recorded, one_thread
from . import recorded as load

VOCABULARY = 16
WAYS = ("last state", "attention")


class Recaller(nn.Module):
    """An encoder, and an answer computed from what it passes on (``way``) and the position asked for.

    Both ways have the same parameters, so that a seed gives both the same weights; "last state" does not use three of
    the matrices.
    """

    def __init__(self, way: str, length: int, size: int):
        super().__init__()
        self.way = way
        self.words, self.places = nn.Embedding(VOCABULARY, size), nn.Embedding(length, size)
        self.encoder = nn.GRU(size, size, batch_first=True)
        self.queries, self.keys, self.values = (nn.Linear(size, size) for _ in range(3))
        self.answer = nn.Sequential(nn.Linear(2 * size, 4 * size), nn.ReLU(), nn.Linear(4 * size, VOCABULARY))

    def forward(self, words: Tensor, place: Tensor) -> Tensor:
        """words (B, length) int64, place (B,) int64 → (B, 16) logits of the word at that position."""
        states, _ = self.encoder(self.words(words) + self.places.weight)  # (B, length, size)
        question = self.places(place)
        if self.way == "last state":
            found = states[:, -1]
        else:
            found = F.scaled_dot_product_attention(
                self.queries(question)[:, None], self.keys(states), self.values(states)
            )[:, 0]
        return self.answer(torch.cat([found, question], dim=-1))


@one_thread
def train_recaller(
    way: str,
    length: int,
    size: int = 16,
    steps: int = 300,
    measured: Container[int] = (300,),
    seed: int = 0,
    device: str = "cpu",
) -> list[float]:
    """Trains a Recaller (Adam, 3e-3, batches of 64). Sentences are always drawn on the CPU.

    Returns:
        list of accuracies on 2000 new questions, one after each number of steps in ``measured``.
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Recaller(way, length, size).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def draw(count):
        words = torch.randint(VOCABULARY, (count, length), generator=generator)
        place = torch.randint(length, (count,), generator=generator)
        return [t.to(device) for t in (words, place, words.gather(1, place[:, None])[:, 0])]

    found = []
    for step in range(1, steps + 1):
        words, place, right = draw(64)
        loss = F.cross_entropy(model(words, place), right)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in measured:
            words, place, right = draw(2000)
            with torch.no_grad():
                found.append((model(words, place).argmax(-1) == right).float().mean().item())
    return found


def recorded() -> Recorded:
    """Recorded runs.

    Returns:
        dict with ``rows`` (each with way, size, length, seed, steps and accuracy) and ``made`` (device, torch, date,
        command).

    Raises:
        MissingRecording: the file is missing.
    """
    return load("bottleneck")
