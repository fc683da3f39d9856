"""The name that the panel *Longer than trained* had as a widget of its own."""

import warnings
from typing import Any

from ..tools.types import Function
from ..tools.words import _
from . import BASES, FrequencyExplorer
from .lengths import LENGTHS


def WavelengthExplorer(rope_frequencies: Function | None = None, **state: Any) -> FrequencyExplorer:  # noqa: N802
    """The name that this panel had as a widget of its own; it goes with the next release.

    The old traits ``context`` and ``dim`` become ``length`` (from 64 on) and ``head``; ``plane`` becomes ``clock``.
    """
    said = _("WavelengthExplorer is a panel of RopeExplorer now: RopeExplorer.of_frequencies(rope_frequencies)")
    warnings.warn(said, DeprecationWarning, stacklevel=2)
    renamed = {"context": "length", "dim": "head", "plane": "clock"}
    state = {renamed.get(name, name): value for name, value in state.items()}
    if "length" in state:
        state["length"] = min(LENGTHS, key=lambda length: abs(length - state["length"]))
    if "base" in state:
        state["base"] = min(BASES, key=lambda base: abs(base - state["base"]))
    return FrequencyExplorer(rope_frequencies, **state)
