"""Shared by experiments on the trained language model: the reference's decoder, its text, the shipped weights."""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from anatomy.language import corpus, shipped
from safetensors.torch import load_file
from torch import Tensor, nn

from autograder.reference.assembly.decoder import Decoder

Config = dict[str, Any]
SHIPPED = "shipped"


@cache
def configuration() -> Config:
    """Configuration of the shipped model."""
    return shipped.checkpoint()[0]


@cache
def ids(held_out: bool, characters: int | None = None) -> Tensor:
    """(N,) int64, on the CPU: the training text or the held-out text, whole or its first ``characters``."""
    text = corpus.held_out_text() if held_out else corpus.training_text()
    return torch.tensor(shipped.tokenizer().encode(text[:characters]).ids)


def shipped_model(device: str) -> nn.Module:
    """The reference's decoder with the shipped weights."""
    c, weights = shipped.checkpoint()
    model = Decoder(c)
    model.load_state_dict(weights)
    return model.to(device).eval()


def other_model(seed: int, device: str) -> nn.Module:
    """The same model trained with a different seed: ``assets/models/austen/seeds``."""
    model = Decoder(configuration())
    model.load_state_dict(load_file(shipped.folder() / "seeds" / f"{seed}.safetensors"))
    return model.to(device).eval()


def patients(device: str) -> dict[str, Callable[[], nn.Module]]:
    """Name → function that makes the model: the shipped one, and those trained alike with other seeds."""
    seeds = sorted(int(p.stem) for p in (shipped.folder() / "seeds").glob("*.safetensors"))
    others = {f"seed {seed}": (lambda s=seed: other_model(s, device)) for seed in seeds}
    return {SHIPPED: lambda: shipped_model(device), **others}


def trained_on() -> int:
    """Length in tokens of the sequences on which they were trained."""
    return configuration()["max_positions"]
