"""Next-token prediction with and without a causal mask, on a language whose entropy is known.

A sentence has six words: a number word, an animal, a verb, a number word, an animal, a full stop, such as ``one dog
sees two cats .`` The two animals are of different kinds. Each choice is uniform, so the entropy of a sentence is ln 2 +
ln 4 + ln 3 + ln 2 + ln 3 = ln 144 nats: no honest model gets below ln 144 / 6 = 0.828 nats per word. Animals agree with
their number word and the verb agrees with the first animal, so a generated sentence can be right or wrong. Runs on the
CPU in seconds.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from . import Recorded, one_thread
from . import recorded as load

NUMBERS = ("one", "two")
ANIMALS = (("dog", "dogs"), ("cat", "cats"), ("bird", "birds"), ("horse", "horses"))
VERBS = (("sees", "see"), ("hears", "hear"), ("follows", "follow"))
WORDS = (".", *NUMBERS, *(form for pair in ANIMALS + VERBS for form in pair))
IDS = {word: i for i, word in enumerate(WORDS)}
CHOICES = (2, 4, 3, 2, 3, 1)  # number of choices at each position of a sentence
ENTROPY = math.log(math.prod(CHOICES)) / len(CHOICES)
SENTENCES = 3
LENGTH = 1 + SENTENCES * len(CHOICES)  # a full stop to start from
SETTINGS = ("causal", "bidirectional")
RATE, LOWER_RATE = 3e-3, 1e-3


def texts(count: int, generator: torch.Generator) -> Tensor:
    """(count, LENGTH) int64: a full stop and SENTENCES sentences, every choice uniform."""
    draws = torch.stack([torch.randint(c, (count, SENTENCES), generator=generator) for c in CHOICES], -1)
    number, animal, verb, other, prey, _ = draws.unbind(-1)
    prey = (animal + 1 + prey) % len(ANIMALS)  # one of the three other kinds
    first_animal, first_verb = IDS["dog"], IDS["sees"]
    words = [
        1 + number,
        first_animal + 2 * animal + number,
        first_verb + 2 * verb + number,
        1 + other,
        first_animal + 2 * prey + other,
        torch.zeros_like(number),
    ]
    body = torch.stack(words, -1).flatten(1)
    return torch.cat([torch.zeros(count, 1, dtype=torch.int64), body], dim=1)


def is_sentence(words: Sequence[int]) -> bool:
    """True for six ids that the language could have produced."""
    forms = [WORDS[i] for i in words]
    if len(forms) != 6 or forms[0] not in NUMBERS or forms[3] not in NUMBERS or forms[5] != ".":
        return False
    number, other = NUMBERS.index(forms[0]), NUMBERS.index(forms[3])
    hunters, prey = ([a[n] for a in ANIMALS] for n in (number, other))
    return (
        forms[1] in hunters
        and forms[4] in prey
        and forms[2] in [v[number] for v in VERBS]
        and hunters.index(forms[1]) != prey.index(forms[4])
    )


class Block(nn.Module):
    """Pre-norm block: attention under a given mask, then a two-layer MLP."""

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        self.n_heads = n_heads
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(2))
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.mlp = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (B, T, d_model), mask (T, T) boolean, True = may look → (B, T, d_model)."""
        B, T, d = x.shape
        q, k, v = self.qkv(self.norms[0](x)).reshape(B, T, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        heads = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(heads.transpose(1, 2).reshape(B, T, d))
        return x + self.mlp(self.norms[1](x))


class Model(nn.Module):
    """Two blocks and learned positions. ``mask_of(T)`` gives the (T, T) mask, the settings' only difference."""

    def __init__(self, mask_of: Callable[[int], Tensor], d_model: int = 32, n_heads: int = 2, n_layers: int = 2):
        super().__init__()
        self.mask_of = mask_of
        self.words, self.places = nn.Embedding(len(WORDS), d_model), nn.Embedding(LENGTH, d_model)
        self.blocks = nn.ModuleList(Block(d_model, n_heads) for _ in range(n_layers))
        self.norm, self.head = nn.LayerNorm(d_model), nn.Linear(d_model, len(WORDS))

    def forward(self, ids: Tensor) -> Tensor:
        """ids (B, T) int64 → logits (B, T, len(WORDS))."""
        x = self.words(ids) + self.places.weight[: ids.shape[1]]
        mask = self.mask_of(ids.shape[1]).to(ids.device)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


def full_mask(T: int) -> Tensor:
    """(T, T), all True: bidirectional attention."""
    return torch.ones(T, T, dtype=torch.bool)


@one_thread
def train(
    mask_of: Callable[[int], Tensor],
    loss_of: Callable[[Tensor, Tensor], Tensor],
    steps: int = 400,
    every: int = 20,
    seed: int = 0,
    device: str = "cpu",
    rate: float = RATE,
) -> tuple[Model, list[tuple[int, float]]]:
    """Trains a Model to predict the next word.

    Args:
        mask_of: function T → (T, T) boolean mask.
        loss_of: function (logits (B, T, V), ids (B, T)) → scalar, the next-token loss.
        rate: learning rate of Adam.

    Returns:
        the model, and a list of (step, loss on 200 new texts).
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Model(mask_of).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    held_out = texts(200, torch.Generator().manual_seed(10_000 + seed)).to(device)
    curve = []
    for step in range(steps + 1):
        if step % every == 0:
            with torch.no_grad():
                curve.append((step, loss_of(model(held_out), held_out).item()))
        ids = texts(32, generator).to(device)
        loss = loss_of(model(ids), ids)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model, curve


@torch.no_grad()
def loss_by_place(model: Model, future: bool = True, count: int = 300, seed: int = 1) -> list[float]:
    """Mean loss, in nats, at each position of a sentence: a list of six numbers.

    future: True gives the model the whole text at once, as in training. False gives it each prefix separately, as in
    generation, when the following words do not exist yet.
    """
    device = next(model.parameters()).device
    ids = texts(count, torch.Generator().manual_seed(seed)).to(device)
    if future:
        logits = model(ids)[:, :-1]
    else:
        logits = torch.stack([model(ids[:, :t])[:, -1] for t in range(1, LENGTH)], dim=1)
    log_p = torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None])[..., 0]
    return (-log_p).reshape(count, SENTENCES, len(CHOICES)).mean(dim=(0, 1)).tolist()


@torch.no_grad()
def write(model: Model, count: int = 100, seed: int = 2) -> Tensor:
    """Samples ``count`` texts word by word, starting from a full stop.

    Returns:
        (count, LENGTH) int64.
    """
    device = next(model.parameters()).device
    generator = torch.Generator().manual_seed(seed)
    ids = torch.zeros(count, 1, dtype=torch.int64)
    while ids.shape[1] < LENGTH:
        p = torch.softmax(model(ids.to(device))[:, -1], -1).cpu()
        ids = torch.cat([ids, torch.multinomial(p, 1, generator=generator)], dim=1)
    return ids


def share_right(ids: Tensor) -> float:
    """Share of the sentences in (count, LENGTH) texts that the language could have produced."""
    sentences = ids[:, 1:].reshape(-1, len(CHOICES)).tolist()
    return sum(map(is_sentence, sentences)) / len(sentences)


def spell(ids: Sequence[int] | Tensor) -> str:
    """One text as words."""
    return " ".join(WORDS[i] for i in ids[1:])


def recorded() -> Recorded:
    """Curves of longer runs, recorded with the course's own mask and loss.

    Returns:
        dict with ``curves``, ``whole`` and ``cut`` (losses by position with and without a future) and ``right`` (share
        of right sentences), each a dict setting → one entry per seed; ``lower_rate``, the same at LOWER_RATE;
        ``entropy`` and ``made``.

    Raises:
        MissingRecording: the file is missing.
    """
    return load("leak")


def by_rate(record: Recorded) -> dict[float, Recorded]:
    """Learning rate → the recorded runs at it, with ``whole``, ``cut`` and ``right``."""
    return {RATE: record, LOWER_RATE: record["lower_rate"]}
