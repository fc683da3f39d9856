"""A model trained on chunks of 128 tokens reads longer texts; some ways to help it without retraining.

The model is assembled from the learner's own parts. The loss is measured at each position of a text, to show where it
breaks. The cures change positions, frequencies or the mask from outside.
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
TOKENS = 8_192  # length of the held-out text: 16 chunks of 512
WIDTH = 32  # positions per point of a curve


@one_thread
@torch.no_grad()
def by_place(model: nn.Module, ids: Tensor, length: int = 512, width: int = WIDTH, rows: int = 4) -> list[float]:
    """Loss in nats per token along chunks of ``length`` tokens: a mean for each ``width`` positions.

    Args: ids (N,) int64, N > length; an incomplete last chunk is left out. rows: chunks per forward pass.
    """
    count = (len(ids) - 1) // length
    x, y = (t[: count * length].unflatten(0, (count, length)) for t in (ids[:-1], ids[1:]))
    total = torch.zeros(length, device=ids.device)
    for a, b in zip(x.split(rows), y.split(rows), strict=True):
        total += F.cross_entropy(logits_of(model, a).mT, b, reduction="none").sum(0)
    return (total / count).unflatten(0, (-1, width)).mean(1).tolist()


def by_length(model: nn.Module, ids: Tensor, lengths: Iterable[int] = LENGTHS) -> dict[int, float]:
    """Length → loss in nats per token on chunks of that many tokens, always from the same text."""
    return {n: by_place(model, ids, n, n, max(1, 2048 // n))[0] for n in lengths}


def squeeze(model: nn.Module, s: float) -> nn.Module:
    """Position interpolation, in place: the model's layers receive each position divided by s. arXiv:2306.15595."""
    return change_inputs(model, lambda given: given.update(positions=given["positions"] / s))


def turn_more(model: nn.Module, c: Mapping[str, Any], turn: Callable[[Tensor, Tensor], Tensor]) -> nn.Module:
    """Rotates queries and keys once more before the model's own rotation, in place. For texts read in a single pass.

    Rotations in one plane add their angles: a first rotation by position·(θ' − θ) results in frequency θ'.
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
    """Loss along the text, a line for each model; a vertical line at the trained length. Call it in its own cell."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(7, 3.2))
    for name, values in curves.items():
        ax.plot([width * (i + 0.5) for i in range(len(values))], values, label=name)
    ax.axvline(trained, color="black", lw=1)
    ax.set(xlabel="place in the text", ylabel="nats per token")
    ax.legend()
