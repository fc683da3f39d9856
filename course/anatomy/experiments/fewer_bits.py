"""The shipped language model with rounded weights: what does it lose on text that no training read?"""

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..language import corpus, shipped, training
from . import one_thread
from .drafting import model

PAGES = 4_000  # characters of the held-out text


def matrices() -> dict[str, Tensor]:
    """Name → weight of every linear layer in the model's blocks."""
    named = model().get_submodule("blocks").named_modules(prefix="blocks")
    return {name: module.weight.detach() for name, module in named if isinstance(module, nn.Linear)}


@one_thread
@torch.no_grad()
def bits_per_byte(change: Callable[[Tensor], Tensor] | None = None) -> float:
    """What a held-out text costs when ``change`` has been applied to every matrix of the blocks."""
    changed = copy.deepcopy(model())
    if change:
        for module in changed.get_submodule("blocks").modules():
            if isinstance(module, nn.Linear):
                module.weight.copy_(change(module.weight))
    tokenizer = shipped.tokenizer()
    ids = tokenizer.encode(corpus.held_out_text()[:PAGES]).ids
    return training.bits_per_byte(changed, torch.tensor(ids), len(tokenizer.decode(ids[1:]).encode()))
