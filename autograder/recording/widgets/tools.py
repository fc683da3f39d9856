"""Shared code of the recorders: the Recorder class and functions that draw inputs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from anatomy.widgets import TableWidget
from anatomy.widgets.tools.types import Function, Functions, Inputs
from torch import Tensor


@dataclass(frozen=True)
class Recorder:
    """Describes how a widget's file is made.

    draw: a seeded generator → the inputs, any dtype. reference: the function, or a dict for a widget of several
    functions. whole: these functions get whole modules, so the whole measurement runs on the device, not just they.
    """

    widget: type[TableWidget]
    draw: Callable[[torch.Generator], Inputs]
    reference: Function | Functions
    whole: bool = False


def no_inputs(generator: torch.Generator) -> Inputs:
    """Draws nothing, for widgets that have only settings."""
    return {}


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    """Standard normal numbers, float64."""
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def words(sentences: Iterable[Iterable[str]], generator: torch.Generator, width: int) -> dict[str, Tensor]:
    """word → embedding (width,), standard normal, drawn in the order in which the words first appear."""
    vocabulary = dict.fromkeys(word for sentence in sentences for word in sentence)
    return {word: normal(generator, width) for word in vocabulary}
