"""What a file of this folder says about its family."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from ..config import Config
from ..released import Family

Own = Any  # an object whose attributes are a learner's functions and classes, by the names of ``Newer.parts``


@dataclass(frozen=True, kw_only=True)
class Newer(Family):
    """A family that is wired here from parts that learners wrote.

    parts: name of a function or class → the exercise that asks for it. build: (configuration, parts) → model, called
    like unit 11's ``Decoder``: ids, real, past → logits, past.
    """

    parts: Mapping[str, str]
    build: Callable[[Config, Own], nn.Module]
