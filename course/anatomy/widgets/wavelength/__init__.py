"""WavelengthExplorer: how many tokens each plane of RoPE needs for a full turn, compared with the context length.

Source of the method: Su et al. 2021, arXiv:2104.09864; base 500,000 as in Llama 3, arXiv:2407.21783.
"""

import math
from typing import Any

import numpy as np
import torch
import traitlets as t

from ..tools.base import TableWidget
from ..tools.calls import call
from ..tools.drawing import BLUE, DASHES, GRAY, VERMILLION, Figure, new_figure, number, plain
from ..tools.types import Function, Inputs, Tables
from ..tools.words import _
from .story import STORY

DIMS = (32, 64, 128, 256)
BASES = (1e3, 1e4, 1e5, 5e5, 1e6)
CONTEXTS = tuple(2**e for e in range(7, 21))
# Relative. A float32 power of these bases is off by about 1e-6; with a wrong exponent, by tenths.
TOLERANCE = 1e-4
INVARIANTS = ("first", "ratio", "reference")


class WavelengthExplorer(TableWidget):
    """Live picture of ``rope_frequencies(D, base=10000.0)``, which returns (D/2,) float32, radians per token.

    The function is called once per D in 32…256 and per base in 1e3…1e6. Plane i makes a full turn in 2π/θ_i tokens.
    Traits dim, base, context (128…1,048,576, powers of two) and plane follow the sliders; a plane beyond D/2 − 1 counts
    as the last one. Raises the errors of TableWidget.
    """

    recording, function_name = "wavelength", "rope_frequencies"
    controls = ("dim", "base", "context", "plane")
    story = STORY

    dim = t.Enum(DIMS, 128).tag(sync=True)
    base = t.Enum(BASES, 1e4).tag(sync=True)
    context = t.Enum(CONTEXTS, 4096).tag(sync=True)
    plane = t.Int(32, min=0, max=DIMS[-1] // 2 - 1).tag(sync=True)

    def __init__(self, rope_frequencies: Function | None = None, **state: Any) -> None:
        super().__init__(rope_frequencies, **state)

    @classmethod
    def measure(cls, fn: Function, inputs: Inputs) -> Tables:
        """f32, f64, … of shape (bases, D/2): the frequencies."""
        return {
            f"f{D}": torch.stack([call(fn, cls.function_name, (D // 2,), D, base=base) for base in BASES]).numpy()
            for D in DIMS
        }

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        values = np.zeros((len(DIMS), len(BASES), len(INVARIANTS)))
        with np.errstate(all="ignore"):  # a frequency of 0 shows as a broken ratio, not as a warning
            for i, D in enumerate(DIMS):
                for j, base in enumerate(BASES):
                    f, right = mine[f"f{D}"][j].astype(float), reference[f"f{D}"][j].astype(float)
                    ratio = f[1:] / f[:-1] * base ** (2 / D) - 1
                    values[i, j] = [abs(f[0] - 1), np.abs(ratio).max(), np.abs(f / right - 1).max()]
        return {"invariants": values}

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("RoPE: wavelengths against the context"),
            "dims": list(DIMS),
            "bases": list(BASES),
            "contexts": list(CONTEXTS),
            "tolerance": TOLERANCE,
        }

    def invariants(self) -> dict[str, float]:
        """For the current D and base: ``first`` |θ₀ − 1|, ``ratio`` the largest relative error of θᵢ₊₁/θᵢ against
        base^(−2/D), ``reference`` the largest relative distance to the reference. Right: within TOLERANCE."""
        shape = (len(DIMS), len(BASES), len(INVARIANTS))
        table = np.frombuffer(self.tables["invariants"], "<f4").reshape(shape)
        row = table[DIMS.index(self.dim), BASES.index(self.base)]
        return dict(zip(INVARIANTS, row.tolist(), strict=True))

    def wavelengths(self) -> np.ndarray:
        """Tokens per full turn of each plane for the current D and base: (D/2,) float64, 2π/|θ|."""
        return _wavelengths(self._mine, self.dim, self.base)

    def full_turns(self) -> int:
        """Number of planes that complete at least one turn within the context."""
        return int((self.wavelengths() <= self.context).sum())

    @property
    def words(self) -> str:
        waves, found = self.wavelengths(), self.invariants()
        states = {k: (_("ok") if v <= TOLERANCE else _("broken")) for k, v in found.items()}
        plane = min(self.plane, len(waves) - 1)
        told = _(
            "Wavelengths of {whose} rope_frequencies, D = {dim}, base {base:,.0f}, one point per plane on a "
            "logarithmic axis, beside a context of {context:,} tokens. {turning} of {planes} planes complete a turn "
            "within it; the longest wavelength is {longest:,.0f} tokens. Plane {plane}: {wave:,.1f} tokens. First "
            "frequency 1: {first}; constant ratio: {ratio}; farthest from the reference: {far} ({state})."
        )
        return told.format(
            whose=self.whose,
            dim=self.dim,
            base=self.base,
            context=self.context,
            turning=self.full_turns(),
            planes=len(waves),
            longest=waves.max(),
            plane=plane,
            wave=waves[plane],
            first=states["first"],
            ratio=states["ratio"],
            far=number(found["reference"]),
            state=states["reference"],
        )

    def figure(self) -> Figure:
        fig = new_figure(8.4, 3.6)
        axes = fig.add_subplot()
        waves, right = self.wavelengths(), _wavelengths(self._reference, self.dim, self.base)
        index = np.arange(len(waves))
        inside = waves <= self.context
        axes.plot(index, right, color=GRAY, linestyle=DASHES, label="reference")
        axes.plot(index[inside], waves[inside], "o", color=BLUE, markersize=4, label="a full turn within the context")
        axes.plot(
            index[~inside],
            waves[~inside],
            "s",
            color=VERMILLION,
            markerfacecolor="none",
            markersize=5,
            label="less than a turn",
        )
        axes.axhline(self.context, color="black", linewidth=1)
        axes.text(0, self.context * 1.15, f"context {self.context:,}", fontsize=9)
        axes.set_yscale("log")
        axes.set_ylim(1, 1e7)
        axes.legend(fontsize=8, loc="lower right")
        plain(axes, f"D = {self.dim}, base {self.base:,.0f}", "plane i", "wavelength in tokens")
        return fig


def _wavelengths(tables, D, base):
    with np.errstate(divide="ignore"):  # θ = 0 never turns: an infinite wavelength
        return 2 * math.pi / np.abs(tables[f"f{D}"][BASES.index(base)].astype(float))
