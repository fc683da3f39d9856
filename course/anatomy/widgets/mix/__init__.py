"""MixExplorer, the warm-up's widget: three numbers, three weights, one weighted average."""

import itertools
from typing import Any

import numpy as np
import traitlets as t

from ...system.translation import listed
from ..tools.base import TableWidget
from ..tools.calls import call
from ..tools.drawing import BLUE, GRAY, VERMILLION, Figure, new_figure, number, plain
from ..tools.types import Function, Inputs, Tables
from ..tools.words import _
from .story import STORY

TOP = 10  # weights are 0…TOP
WORDS = ("cat", "sat", "mat")


class MixExplorer(TableWidget):
    """Live picture of ``weighted_average(values, weights)``.

    The function gets values (3, 1) float32, the numbers of three words, and weights (3,) float32, for every combination
    of whole weights from 0 to 10 that is not all zero. Traits first, second and third (0..10) follow the bars, which
    can be dragged, and the sliders. Raises the errors of TableWidget.
    """

    recording, function_name = "mix", "weighted_average"
    controls = ("first", "second", "third")
    story = STORY
    opening = tuple({"third": n} for n in (6, 4, 2, 2, 4, 6))  # slow enough to see the triangle follow

    first = t.Int(1, min=0, max=TOP).tag(sync=True)
    second = t.Int(2, min=0, max=TOP).tag(sync=True)
    third = t.Int(7, min=0, max=TOP).tag(sync=True)

    def __init__(self, weighted_average: Function | None = None, **state: Any) -> None:
        super().__init__(weighted_average, **state)

    @classmethod
    def measure(cls, fn: Function, inputs: Inputs) -> Tables:
        """out (11, 11, 11): the average for each triple of weights; NaN where all three are zero."""
        values = inputs["values"]
        out = np.full((TOP + 1,) * 3, np.nan)
        for triple in itertools.product(range(TOP + 1), repeat=3):
            if any(triple):
                out[triple] = call(fn, cls.function_name, (1,), values, values.new_tensor(triple)).item()
        return {"out": out}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        return {"gap": np.nanmax(np.abs(mine["out"] - reference["out"]))[None]}

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("A weighted average of three words"),
            "words": list(WORDS),
            "top": TOP,
            "values": inputs["values"].flatten().tolist(),
            "tolerance": 1e-4,
        }

    def average(self) -> float:
        """The average shown."""
        return float(self._mine["out"][self.first, self.second, self.third])

    @property
    def words(self) -> str:
        pairs = zip(WORDS, self.spec["values"], (self.first, self.second, self.third), strict=True)
        bar = _("{word} = {value:g} with weight {weight}")
        parts = listed(bar.format(word=w, value=v, weight=n) for w, v, n in pairs)
        right = float(self._reference["out"][self.first, self.second, self.third])
        told = _(
            "Bars on a number line, as high as their weights: {bars}. {whose} weighted average is {average}; the "
            "recorded solution's is {right}."
        )
        whose = self.whose.capitalize()
        return told.format(bars=parts, whose=whose, average=number(self.average()), right=number(right))

    def figure(self) -> Figure:
        fig = new_figure(7.5, 2.3)
        axes = fig.add_subplot()
        triple = (self.first, self.second, self.third)
        axes.bar(self.spec["values"], triple, width=0.5, color=BLUE)
        for word, value, weight in zip(WORDS, self.spec["values"], triple, strict=True):
            axes.annotate(f"{word} × {weight}", (value, weight), (0, 4), textcoords="offset points", ha="center")
        right = float(self._reference["out"][triple])
        axes.axhline(0, color="black", linewidth=1)
        axes.plot(right, -1.1, "^", markerfacecolor="none", markeredgecolor=GRAY, markersize=14)
        axes.plot(self.average(), -1.1, "^", color=VERMILLION, markersize=9)
        axes.set(xlim=(0, 10), ylim=(-2, TOP + 2), xticks=range(11), yticks=[])
        plain(axes, f"{self.whose} average: {self.average():.3f}")
        return fig
