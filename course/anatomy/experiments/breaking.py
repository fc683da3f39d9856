"""A trained model with one part broken, and a small one trained without a mask.

The broken model is a copy of a decoder assembled from the learner's own parts. This module knows only its names
(``blocks.N.attention.{q,k,v}_proj``, ``blocks.N.ffn.{gate,up}_proj``, the norms) and that attention is called with (x,
mask, positions, past). So it breaks a part from outside, by changing a weight, or the input or output of a module.
"""

import copy
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..language import training
from ..language.training import logits_of
from . import one_thread

Config = Mapping[str, Any]
Break = Callable[[nn.Module, Config], nn.Module]
TOKENS = 8192  # length of the held-out text on which the loss is measured
SMALL = {  # a model that a laptop trains in seconds
    "d_model": 64,
    "n_layers": 2,
    "n_heads": 4,
    "n_kv_heads": 2,
    "head_dim": 16,
    "rotary_dim": 16,
    "query_scale": 16,
    "d_ff": 176,
    "d_embedding": 64,
}
STEPS, ROWS, CONTEXT, RATE = 240, 8, 32, 8e-3  # settings of that training


class NoSuchPart(Exception):
    """The model has no part of that name, or never uses it; the message says which."""


def part(module: nn.Module, name: str) -> nn.Module:
    """Returns a submodule by its dotted name. Raises NoSuchPart if the model has none."""
    try:
        return module.get_submodule(name)
    except AttributeError:
        raise NoSuchPart(f"this model has no part called {name}, so it cannot be broken there") from None


def blocks(model: nn.Module) -> list[nn.Module]:
    """The model's blocks, first to last."""
    return list(part(model, "blocks").children())


def head_dim(c: Config) -> int:
    """Features of one head."""
    return c.get("head_dim") or c["d_model"] // c["n_heads"]


@torch.no_grad()
def swap_heads(model: nn.Module, c: Config) -> nn.Module:
    """Reverses the order of the key and value groups: queries look into a different group."""
    for block in blocks(model):
        for name in ("attention.k_proj", "attention.v_proj"):
            for parameter in part(block, name).parameters():
                parameter.copy_(parameter.unflatten(0, (c["n_kv_heads"], -1)).flip(0).flatten(0, 1))
    return model


@torch.no_grad()
def swap_gate(model: nn.Module, c: Config) -> nn.Module:
    """Swaps gate and up: the activation is applied to the wrong one of the two matrices."""
    for block in blocks(model):
        gate, up = part(block, "ffn.gate_proj"), part(block, "ffn.up_proj")
        for one, other in zip(gate.parameters(), up.parameters(), strict=True):
            kept = one.clone()
            one.copy_(other)
            other.copy_(kept)
    return model


@torch.no_grad()
def skip_scale(model: nn.Module, c: Config) -> nn.Module:
    """Makes scores √D times as large, as if they were not divided by it."""
    for block in blocks(model):
        for parameter in part(block, "attention.q_proj").parameters():
            parameter.mul_(math.sqrt(head_dim(c)))
    return model


def change_inputs(model: nn.Module, change: Callable[[dict[str, Any]], None]) -> nn.Module:
    """Lets ``change`` alter each attention layer's inputs, a dict of x, mask, positions and past; None if absent."""

    def hook(module, args, kwargs):
        parameters = inspect.signature(module.forward).parameters
        bound = inspect.signature(module.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        # By position, because learners may have chosen other names.
        names = dict(zip(("x", "mask", "positions", "past"), parameters, strict=False))
        given = {ours: bound.arguments[theirs] for ours, theirs in names.items()}
        change(given)
        bound.arguments.update({theirs: given[ours] for ours, theirs in names.items()})
        return bound.args, bound.kwargs

    for block in blocks(model):
        part(block, "attention").register_forward_pre_hook(hook, with_kwargs=True)
    return model


def turn_back(model: nn.Module, c: Config) -> nn.Module:
    """Rotates queries and keys in the opposite direction."""
    return change_inputs(model, lambda given: given.update(positions=-given["positions"]))


def stand_still(model: nn.Module, c: Config) -> nn.Module:
    """Removes the rotation: every token gets position 0."""
    return change_inputs(model, lambda given: given.update(positions=torch.zeros_like(given["positions"])))


def unmask(model: nn.Module, c: Config) -> nn.Module:
    """Lets every token see the whole text, including what comes after it."""
    return change_inputs(model, lambda given: given.update(mask=None))


def skip_residual(model: nn.Module, c: Config) -> nn.Module:
    """Removes the residual around attention and feed-forward layers, by subtracting what their output is added to."""
    for block in blocks(model):
        for sublayer in ("attention", "ffn"):
            stream: list[Tensor] = []
            part(block, f"{sublayer}_norm").register_forward_pre_hook(partial(_remember, stream))
            part(block, sublayer).register_forward_hook(partial(_take_off, stream))
    return model


def _remember(stream, module, args):
    stream[:] = [args[0]]


def _take_off(stream, module, args, out):
    if not stream:
        raise NoSuchPart("a block of this model never calls its norm, so its residual cannot be taken off")
    x = stream.pop()
    return (out[0] - x, *out[1:]) if isinstance(out, tuple) else out - x


def skip_norms(model: nn.Module, c: Config) -> nn.Module:
    """Makes norms return their input unchanged."""
    norms = [part(block, name) for block in blocks(model) for name in ("attention_norm", "ffn_norm")]
    for norm in [*norms, part(model, "final_norm")]:
        norm.register_forward_hook(lambda module, args, out: args[0])
    return model


def skip_block(number: int, model: nn.Module, c: Config) -> nn.Module:
    """Makes block ``number`` return its input; it still stores keys and values. Negative numbers count from the end."""
    blocks(model)[number].register_forward_hook(lambda module, args, out: (args[0], *out[1:]))
    return model


_BREAKS: dict[str, Break] = {
    "key-value heads swapped": swap_heads,
    "rotated backward": turn_back,
    "no rotation": stand_still,
    "no division by √D": skip_scale,
    "gate and up swapped": swap_gate,
    "no residual": skip_residual,
    "no norms": skip_norms,
    "first block left out": partial(skip_block, 0),
    "second block left out": partial(skip_block, 1),
    "last block left out": partial(skip_block, -1),
    "no mask": unmask,
}
NAMES = tuple(_BREAKS)


def broken(model: nn.Module, c: Config, name: str) -> nn.Module:
    """Returns a copy of a decoder with one part broken; the model itself is unchanged.

    Args:
        c: the model's configuration.
        name: one of NAMES.

    Raises:
        NoSuchPart: the model is assembled in a different way.
    """
    return _BREAKS[name](copy.deepcopy(model), c)


@one_thread
@torch.no_grad()
def loss(model: nn.Module, ids: Tensor, context: int = 128, rows: int = 16) -> float:
    """Loss in nats per token on chunks of ``context`` tokens; each chunk is read without the text before it.

    Args: ids (N,) int64, N > context; an incomplete last chunk is left out.
    """
    count = (len(ids) - 1) // context
    x, y = (t[: count * context].unflatten(0, (count, context)) for t in (ids[:-1], ids[1:]))
    total = sum(
        F.cross_entropy(logits_of(model, a).flatten(0, 1), b.flatten(), reduction="sum").item()
        for a, b in zip(x.split(rows), y.split(rows), strict=True)
    )
    return total / (count * context)


@one_thread
@torch.no_grad()
def loss_unseen(model: nn.Module, ids: Tensor, lengths: Iterable[int] = (8, 16, 32, 64, 127), rows: int = 64) -> float:
    """Loss in nats per token when the next token is not there yet, as in generation: mean over texts of these lengths.

    For a model that may look ahead, this shows what it knows when there is nothing ahead to see. Args: ids (N,) int64.
    """
    lengths = list(lengths)
    starts = torch.linspace(0, len(ids) - max(lengths) - 1, rows).long()
    losses = []
    for n in lengths:
        texts = ids[starts[:, None] + torch.arange(n + 1)]  # (rows, n + 1)
        losses.append(F.cross_entropy(logits_of(model, texts[:, :-1])[:, -1], texts[:, -1]).item())
    return sum(losses) / len(losses)


def fresh(model: nn.Module, seed: int) -> nn.Module:
    """Redraws a decoder's matrices on the CPU: std 1/√columns, and 0.02 for the embedding, which is the head too."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2:
                std = 0.02 if name.endswith("tokens.weight") else 1 / math.sqrt(parameter.shape[1])
                parameter.normal_(std=std, generator=generator)
    return model


@one_thread
def train(
    build: Callable[[Config], nn.Module],
    c: Config,
    ids: Tensor,
    name: str | None = None,
    seed: int = 0,
    steps: int = STEPS,
    context: int = CONTEXT,
    rate: float = RATE,
    device: str = "cpu",
) -> tuple[nn.Module, list[float]]:
    """Trains a decoder from scratch with one part broken from the start; returns it and the loss of each step.

    Args:
        build: the learner's Decoder. c: its configuration, as ``small(c)``.
        ids: (N,) int64, the text. name: the broken part, one of NAMES, or None. A seed gives the same initial weights
            and the same batches, whatever is broken.
    """
    model = fresh(build(c), seed).to(device)
    if name is not None:
        model = _BREAKS[name](model, c)
    generator, adam, losses = torch.Generator().manual_seed(seed), training.optimizer(model, rate), []
    model.train()
    for step in range(steps):
        x, y = training.batch(ids, ROWS, context, generator)
        rate_now = training.learning_rate(step, steps, rate, max(1, steps // 10))
        losses.append(training.update(model, adam, x.to(device), y.to(device), rate_now))
    return model.eval(), losses


def small(c: Config) -> dict[str, Any]:
    """Returns a configuration of the same kind that a laptop trains in seconds: two layers, 64 features."""
    return {**c, **SMALL}


def compare(losses: Mapping[str, float]) -> None:
    """Draws the loss of each model as a bar, in the order given; the first model is intact. Call it in its own cell."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(7, 0.34 * len(losses) + 0.9))
    names = list(losses)
    # A model without norms is off by thousands of nats; bars end at 12, and the numbers show the rest.
    ax.barh(names, [min(v, 12) for v in losses.values()], color=["#777777"] + ["#0072B2"] * (len(names) - 1))
    for i, value in enumerate(losses.values()):
        ax.text(min(value, 12) + 0.1, i, f"{value:,.2f}", va="center", fontsize=9)
    ax.axvline(losses[names[0]], color="black", lw=0.8)
    ax.invert_yaxis()
    ax.set(xlabel="loss on held-out text (nats per token)", xlim=(0, 13.5))
