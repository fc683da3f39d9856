"""RopeExplorer drawn by a learner's ``rope_frequencies``: its planes turn at the speeds that this function gives."""

import warnings
from typing import Any

import torch

from ..tools.calls import call
from ..tools.types import Function, Inputs, Tables
from ..tools.words import _
from . import BASES, DIMS, POSITIONS, RopeExplorer
from .lengths import HEADS, LENGTHS
from .story import TRAINING


class FrequencyExplorer(RopeExplorer):
    """RopeExplorer for ``rope_frequencies(D, base=10000.0)``, which returns (D/2,) float32, radians per token.

    The function is called for D in 4…16, whose dials it turns, and in 32…256, whose hands it turns. It opens with the
    panel *Longer than trained*.
    """

    function_name = "rope_frequencies"

    def __init__(self, rope_frequencies: Function | None = None, **state: Any) -> None:
        super().__init__(rope_frequencies, **{"panels": ["training"], "step": TRAINING, **state})

    @classmethod
    def measure(cls, fn: Function, inputs: Inputs) -> Tables:
        """As RopeExplorer.measure, and f32, f64, … of shape (bases, D/2)."""
        found = {
            D: torch.stack([call(fn, cls.function_name, (D // 2,), D, base=base) for base in BASES])
            for D in (*DIMS, *HEADS)
        }
        tables = {f"f{D}": found[D].numpy() for D in HEADS}
        for D in DIMS:
            angles = torch.arange(POSITIONS)[:, None] * found[D].double()[:, None]  # (bases, positions, D/2)
            for name in "qk":
                pairs = inputs[f"{name}{D}"].double().unflatten(0, (-1, 2))
                z = torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angles), angles)
                tables[f"{name}{D}"] = torch.view_as_real(z).flatten(-2).float().numpy()
        return tables


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
