"""Another voice for the trained language model: a LoRA layer around every matrix of its blocks.

Layer, merging and decoder are the learner's own. A decoder is called as ``model(ids, past=past)`` and returns (logits,
past), and its layers are torch's linear layers in ``model.blocks``, as the checkpoint's names demand.
"""

import copy
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..language import corpus, shipped, training
from . import one_thread
from .lora import MakeLayer
from .speaking import encode

STEPS, ROWS, CONTEXT, RATE = 40, 8, 64, 1e-2  # about 20,000 tokens, some five seconds of one core
UNREAD = "The Symphony"  # the chapter that is kept back
PAGES = 9_000  # characters of the novels' held-out text, about as long as that chapter

Merge = Callable[[Tensor, Tensor, Tensor, float], Tensor]  # (weight, A, B, alpha) → weight + (α/r)·B·A


class Difference(NamedTuple):
    """What one layer has learned: A (r, d_in), B (d_out, r), and the constant α."""

    A: Tensor
    B: Tensor
    alpha: float


def adapted(model: nn.Module, layer: MakeLayer, r: int, alpha: float | None = None) -> nn.Module:
    """Returns a frozen copy of a decoder with a LoRA layer around every linear layer of its blocks.

    layer: the learner's class, called as layer(d_in, d_out, r, alpha); its ``base`` becomes the copy's own linear
    layer, which has no bias. alpha: by default, twice the rank.
    """
    copied = copy.deepcopy(model).requires_grad_(False)
    for name, linear in [*copied.get_submodule("blocks").named_modules(prefix="blocks")]:
        if isinstance(linear, nn.Linear):
            new = layer(linear.in_features, linear.out_features, r, 2.0 * r if alpha is None else alpha)
            new.base = linear
            parent, _, last = name.rpartition(".")
            setattr(copied.get_submodule(parent), last, new)
    return copied


def differences(model: nn.Module) -> dict[str, Difference]:
    """Name of a weight in the plain decoder → what the adapted one has learned there."""
    found = {}
    for name, module in model.named_modules():
        if {"A", "B"} <= dict(module.named_parameters(recurse=False)).keys():
            found[f"{name}.weight"] = Difference(module.A.detach(), module.B.detach(), module.alpha)
    return found


@torch.no_grad()
def merged(model: nn.Module, learned: Mapping[str, Difference], merge: Merge, sign: int = 1) -> nn.Module:
    """Returns a copy of a plain decoder with the differences added to its weights; subtracted if ``sign`` is -1."""
    copied = copy.deepcopy(model)
    for name, (A, B, alpha) in learned.items():
        weight = copied.get_parameter(name)
        weight.copy_(merge(weight, A, sign * B, alpha))
    return copied


@one_thread
@torch.no_grad()
def say(model: nn.Module, prompt: str, n: int = 60, seed: int = 0, temperature: float = 0.5) -> str:
    """The prompt, continued by ``n`` tokens, each drawn from the model's distribution."""
    tokenizer, generator = shipped.tokenizer(), torch.Generator().manual_seed(seed)
    ids = encode(tokenizer, prompt)
    new, past = torch.tensor([ids]), None
    for _ in range(n):
        logits, past = model(new, past=past)
        new = torch.multinomial((logits[:, -1] / temperature).softmax(-1), 1, generator=generator)
        ids.append(int(new))
    return tokenizer.decode(ids)


def sea() -> Tensor:
    """(N,) int64: the chapters of Moby-Dick that a model may learn from, as tokens."""
    read = [text for title, text in corpus.melville().items() if title != UNREAD]
    return torch.tensor(shipped.tokenizer().encode("\n".join(read)).ids)


def bits(model: nn.Module) -> dict[str, float]:
    """Bits per byte on text that no training read: a chapter of Moby-Dick, and pages of the novels."""
    pages = {"Melville": corpus.melville()[UNREAD], "Austen": corpus.held_out_text()[:PAGES]}
    found = {}
    for author, text in pages.items():
        ids = shipped.tokenizer().encode(text).ids
        n_bytes = len(shipped.tokenizer().decode(ids[1:]).encode())
        found[author] = training.bits_per_byte(model, torch.tensor(ids), n_bytes)
    return found


def gap(one: nn.Module, other: nn.Module) -> tuple[float, float]:
    """(largest difference of two decoders' weights, share of the weights that differ at all)."""
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    apart = torch.cat([(a - b).abs().flatten() for a, b in pairs])
    return apart.max().item(), (apart > 0).float().mean().item()
