"""A task that depends only on word order: can an attention layer tell which of two words came first?

Sentences of random words contain word 0 and word 1 once each; the answer is 1 if word 0 comes first. Only order decides
it, so a model that cannot see order stays at chance. Runs on the CPU in a second or two.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from . import Recorded, one_thread
from . import recorded as load

VOCABULARY = 12
SETTINGS = {"no positions": {}, "vector per place": {"positions": True}, "causal mask": {"causal": True}}


def sentences(count: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Random sentences and their answers.

    Returns:
        (count, length) int64 words; (count,) float32 answers, 1.0 if word 0 comes before word 1.
    """
    words = torch.randint(2, VOCABULARY, (count, length), generator=generator)
    places = torch.rand(count, length, generator=generator).argsort(-1)[:, :2]
    words.scatter_(1, places, torch.tensor([[0, 1]]).expand(count, 2))
    return words, (places[:, 0] < places[:, 1]).float()


class OrderReader(nn.Module):
    """Word vectors, one attention block with a residual, ReLU, the mean over positions, one logit.

    attention: class with the signature ``(d_model, n_heads)`` and ``forward(x, mask=...)``. positions: add a learned
    vector per position. causal: let position t see only positions 0 … t.
    """

    def __init__(
        self,
        attention: Callable[[int, int], nn.Module],
        length: int,
        positions: bool = False,
        causal: bool = False,
        d_model: int = 32,
        n_heads: int = 4,
    ):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, d_model)
        self.places = nn.Embedding(length, d_model) if positions else None
        self.attention = attention(d_model, n_heads)
        self.answer = nn.Linear(d_model, 1)
        mask = torch.ones(length, length).tril().bool() if causal else None
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, words: Tensor) -> Tensor:
        """words (B, length) int64 → (B,) logits."""
        x = self.words(words)
        if self.places is not None:
            x = x + self.places.weight
        x = x + self.attention(x, mask=self.mask)
        return self.answer(torch.relu(x).mean(dim=1)).squeeze(-1)


@one_thread
def train_reader(
    attention: Callable[[int, int], nn.Module],
    positions: bool = False,
    causal: bool = False,
    length: int = 8,
    steps: int = 300,
    every: int = 20,
    seed: int = 0,
    rate: float = 3e-3,
    device: str = "cpu",
) -> list[tuple[int, float]]:
    """Trains an OrderReader with Adam and measures it along the way. Sentences are always drawn on the CPU.

    Returns:
        list of (step, accuracy on 1000 new sentences), the first before any training.
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = OrderReader(attention, length, positions, causal).to(device)

    def draw(count):
        return [t.to(device) for t in sentences(count, length, generator)]

    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    curve = []
    for step in range(steps + 1):
        if step % every == 0:
            words, answers = draw(1000)
            with torch.no_grad():
                curve.append((step, ((model(words) > 0) == (answers > 0)).float().mean().item()))
        words, answers = draw(64)
        loss = nn.functional.binary_cross_entropy_with_logits(model(words), answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return curve


def recorded() -> Recorded:
    """Curves of a longer run, recorded with the course's own layer.

    Returns:
        dict with ``length``, ``curves`` (setting → one list of (step, accuracy) per seed), ``rows`` (final accuracy for
        other lengths and learning rates: ``setting``, ``length``, ``rate``, ``ends`` per seed) and ``made`` (device,
        torch, date, command).

    Raises:
        MissingRecording: the file is missing.
    """
    return load("word_order")
