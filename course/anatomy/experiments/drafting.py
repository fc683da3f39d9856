"""The shipped language model with a cheap draft: which pairs of tokens follow each other in the novels.

``verify`` is the learner's, with the interface of the unit; the model is called once for all drafted tokens of a round,
and the keys of those that don't pass are cut off its cache.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..language import corpus, shipped
from ..language.stand_in import StandIn
from . import one_thread

CHARACTERS = 1_000_000  # of the novels, enough for most pairs of frequent tokens
Verify = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]  # (drafted, q, p, u) → tokens


class Written(NamedTuple):
    """A text, how many tokens are new, and how often the model was called for them."""

    text: str
    tokens: int
    calls: int


@cache
def model() -> StandIn:
    """The shipped model in the course's own decoder, ready to run."""
    configuration, weights = shipped.checkpoint()
    made = StandIn(configuration)
    made.load_state_dict(weights)
    return made.eval()


@cache
def pairs() -> Tensor:
    """(V, V): the law of the token that follows, counted in the novels; a count of 0.01 is added to each."""
    ids = torch.tensor(shipped.tokenizer().encode(corpus.training_text()[:CHARACTERS]).ids)
    V = shipped.tokenizer().get_vocab_size()
    counts = torch.full((V, V), 0.01)
    counts.index_put_((ids[:-1], ids[1:]), torch.ones(len(ids) - 1), accumulate=True)
    return counts / counts.sum(1, keepdim=True)


def _cut(past: Any, length: int) -> Any:
    return [tuple(t[:, :, :length] for t in layer) for layer in past]


@one_thread
@torch.no_grad()
def write(verify: Verify, prompt: str, n: int = 60, K: int = 4, seed: int = 0) -> Written:
    """Continues a prompt by at least ``n`` tokens, with K drafted tokens for each call of the model."""
    tokenizer, generator, table = shipped.tokenizer(), torch.Generator().manual_seed(seed), pairs()
    ids = list(tokenizer.encode(prompt).ids)
    read, past, calls = 0, None, 0
    start = len(ids)
    while len(ids) < start + n:
        drafted = list[int]()
        for _ in range(K):
            before = drafted[-1] if drafted else ids[-1]
            drafted.append(int(torch.multinomial(table[before], 1, generator=generator)))
        logits, past = model()(torch.tensor([ids[read:] + drafted]), past=past)
        calls += 1
        p, q = logits[0, -K - 1 :].softmax(-1), table[torch.tensor(ids[-1:] + drafted[:-1], dtype=torch.int64)[:K]]
        new = verify(torch.tensor(drafted, dtype=torch.int64), q, p, torch.rand(K + 1, generator=generator))
        read = len(ids) + len(new) - 1
        past = _cut(past, read)
        ids += new.tolist()
    return Written(tokenizer.decode(ids), len(ids) - start, calls)


@one_thread
@torch.no_grad()
def laws(n: int = 120, seed: int = 0) -> tuple[Tensor, Tensor]:
    """(p, q), each (n - 1, V): the laws of the model and of the pairs on a passage that no training read."""
    ids = shipped.tokenizer().encode(corpus.held_out_text()[:20_000]).ids
    at = int(torch.randint(0, len(ids) - n, (1,), generator=torch.Generator().manual_seed(seed)))
    passage = torch.tensor(ids[at : at + n])
    logits, _ = model()(passage[None])
    return logits[0, :-1].softmax(-1), pairs()[passage[:-1]]
