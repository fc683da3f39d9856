"""A model trained on stretches of 128 tokens reads longer ones; ways to help it, without training again.

The model is put together from the learner's own parts. What it reads is the loss at each place of a text, so that one
sees where it breaks. The cures change positions, frequencies or the mask from outside.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..language.training import logits_of
from . import one_thread
from .breaking import blocks, change_inputs, part

LENGTHS = (16, 32, 64, 128, 256, 512)
TOKENS = 8_192  # of held-out text: 16 stretches of 512
WIDTH = 32  # places per point of a curve


@one_thread
@torch.no_grad()
def by_place(model: nn.Module, ids: Tensor, length: int = 512, width: int = WIDTH, rows: int = 4) -> list[float]:
    """Nats per token along stretches of ``length`` tokens: a mean for each ``width`` places.

    Args: ids (N,) int64, N > length; a rest that fills no stretch is left out. rows: stretches at a time.
    """
    count = (len(ids) - 1) // length
    x, y = (t[: count * length].unflatten(0, (count, length)) for t in (ids[:-1], ids[1:]))
    total = torch.zeros(length, device=ids.device)
    for a, b in zip(x.split(rows), y.split(rows), strict=True):
        total += F.cross_entropy(logits_of(model, a).mT, b, reduction="none").sum(0)
    return (total / count).unflatten(0, (-1, width)).mean(1).tolist()


def by_length(model: nn.Module, ids: Tensor, lengths: Iterable[int] = LENGTHS) -> dict[int, float]:
    """Length → nats per token on stretches of that many tokens, always of the same text."""
    return {n: by_place(model, ids, n, n, max(1, 2048 // n))[0] for n in lengths}


def squeeze(model: nn.Module, s: float) -> nn.Module:
    """Position interpolation, in place: the model's layers get each position divided by s. arXiv:2306.15595."""
    return change_inputs(model, lambda given: given.update(positions=given["positions"] / s))


def turn_more(model: nn.Module, c: Mapping[str, Any], turn: Callable[[Tensor, Tensor], Tensor]) -> nn.Module:
    """Lets queries and keys turn once more before the model's own rotation, in place. For texts read at once.

    Rotations of one plane add their angles: turned by position·(θ' − θ) first, they come out with frequency θ'.
    turn: (x (B, H, T, D), position_ids (T,)) → same shape, in the model's layout of pairs.
    """
    sizes = {"attention.q_proj": c["n_heads"], "attention.k_proj": c["n_kv_heads"]}

    def hook(n_heads):
        def turned(module, args, out):
            heads = out.unflatten(-1, (n_heads, -1)).transpose(1, 2)  # (B, H, T, D)
            places = torch.arange(heads.shape[2], device=out.device)
            return turn(heads, places).transpose(1, 2).flatten(2)

        return turned

    for block in blocks(model):
        for name, n_heads in sizes.items():
            part(block, name).register_forward_hook(hook(n_heads))
    return model


def draw(curves: Mapping[str, Sequence[float]], trained: int = 128, width: int = WIDTH) -> None:
    """Loss along the text, a line for each model; a vertical line where training ended. For a cell of its own."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(7, 3.2))
    for name, values in curves.items():
        ax.plot([width * (i + 0.5) for i in range(len(values))], values, label=name)
    ax.axvline(trained, color="black", lw=1)
    ax.set(xlabel="place in the text", ylabel="nats per token")
    ax.legend()
