"""TemperatureExplorer: softmax of five scores, sharp or flat by its temperature."""

from typing import Any

import numpy as np
import torch
import traitlets as t

from ..tools.base import TableWidget
from ..tools.calls import call
from ..tools.drawing import BLUE, Figure, new_figure, number, plain
from ..tools.types import Function, Inputs, Tables
from .story import STORY

WORDS = ("cat", "dog", "mat", "hat", "sun")
TEMPERATURES = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)
TOLERANCE = 1e-4


class TemperatureExplorer(TableWidget):
    """Live picture of ``softmax(x, dim)``, which gets (5,) float32 scores divided by each temperature.

    Trait temperature follows the slider. Raises as TableWidget says.
    """

    recording, function_name = "temperature", "softmax"
    controls = ("temperature",)
    story = STORY

    temperature = t.Enum(TEMPERATURES, 1.0).tag(sync=True)

    @classmethod
    def measure(cls, fn: Function, inputs: Inputs) -> Tables:
        """p (temperatures, 5): the probabilities."""
        scores = inputs["scores"]
        return {"p": torch.stack([call(fn, "softmax", scores.shape, scores / T, -1) for T in TEMPERATURES]).numpy()}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        return {"gap": np.abs(mine["p"] - reference["p"]).max(1)}

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": "Softmax with a temperature",
            "words": list(WORDS),
            "scores": inputs["scores"].tolist(),
            "temperatures": list(TEMPERATURES),
            "tolerance": TOLERANCE,
        }

    def probabilities(self) -> np.ndarray:
        """(5,) at the present temperature."""
        return self._mine["p"][TEMPERATURES.index(self.temperature)]

    @property
    def words(self) -> str:
        bars = ", ".join(f"{word} {p:.3f}" for word, p in zip(WORDS, self.probabilities(), strict=True))
        gap = np.frombuffer(self.tables["gap"], "<f4")[TEMPERATURES.index(self.temperature)]
        return (
            f"Bars of {self.whose} softmax at temperature {self.temperature:g}: {bars}. Farthest from the reference: "
            f"{number(gap)} ({'ok' if gap <= TOLERANCE else 'broken'})."
        )

    def figure(self) -> Figure:
        fig = new_figure(7.5, 2.4)
        axes = fig.add_subplot()
        axes.barh(WORDS, self.probabilities(), color=BLUE)
        axes.set_xlim(0, 1)
        plain(axes, f"{self.whose} softmax, temperature {self.temperature:g}", "probability")
        return fig
