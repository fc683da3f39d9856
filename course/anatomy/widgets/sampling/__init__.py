"""SamplingExplorer: which token comes next? Temperature, top-k and top-p on the trained model's logits."""

from typing import Any

import numpy as np
import torch
import traitlets as t

from ..tools.base import TableWidget
from ..tools.calls import call
from ..tools.drawing import BLUE, Figure, new_figure, number, plain
from ..tools.types import Function, Inputs, Tables
from ..tools.words import _
from .story import STORY

PROMPTS = ("I am very", "She was", "I do not know wh")
# The ten likeliest tokens after each prompt; "·" is a blank. The recorder compares them with the model's.
TOKENS = (
    ("·gl", "·sure", "·much", "·happy", "·well", "·s", "·far", "·little", "·un", "·good"),
    ("·in", "·obli", "·quite", "·very", "·not", "·sure", "·at", "·so", "·to", "·as"),
    ("y", "ither", "im", "ite", "is", "or", "if", "ist", "ing", "u"),
)
SHOWN = len(TOKENS[0])
TEMPERATURES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
ALL = 0  # no cut: a learner's function gets None
TOP_K = (1, 2, 3, 5, 10, 50, ALL)
TOP_P = (0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
TOLERANCE = 1e-4


class SamplingExplorer(TableWidget):
    """Live picture of ``distribution(logits, temperature, top_k, top_p)``, which gets (3, V) float32 logits.

    Traits: prompt, an index; temperature, top_k (0 means no cut) and top_p (1 means no cut) follow the dials. The page
    draws tokens by the probabilities on show; the draws are no trait. Raises as TableWidget says.
    """

    recording, function_name = "sampling", "distribution"
    controls = ("prompt", "temperature", "top_k", "top_p")
    story = STORY
    opening = tuple({"prompt": i} for i in (1, 2, 1))  # what the temperature does is the first question

    prompt = t.Int(0, min=0, max=len(PROMPTS) - 1).tag(sync=True)
    temperature = t.Enum(TEMPERATURES, 1.0).tag(sync=True)
    top_k = t.Enum(TOP_K, ALL).tag(sync=True)
    top_p = t.Enum(TOP_P, 1.0).tag(sync=True)

    @classmethod
    def measure(cls, fn: Function, inputs: Inputs) -> Tables:
        """p (prompts, temperatures, top_k, top_p, 12): the ten likeliest tokens, the sum of the others, and how many
        tokens of the vocabulary can come."""
        logits = inputs["logits"]
        order = logits.argsort(dim=-1, descending=True, stable=True)
        p = np.empty((len(PROMPTS), len(TEMPERATURES), len(TOP_K), len(TOP_P), SHOWN + 2))
        for at, temperature, k, share in _settings():
            result = call(
                fn,
                "distribution",
                logits.shape,
                logits,
                temperature=temperature,
                top_k=None if k == ALL else k,
                top_p=None if share == 1 else share,
            )
            ordered = result.double().gather(-1, order)
            parts = [ordered[:, :SHOWN], ordered[:, SHOWN:].sum(-1, True), (ordered != 0).sum(-1, True)]
            p[(slice(None), *at)] = torch.cat(parts, -1)
        return {"p": p}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        shown, right = mine["p"][..., : SHOWN + 1], reference["p"][..., : SHOWN + 1]
        counts = mine["p"][..., -1] != reference["p"][..., -1]
        # A count that differs is a mistake, however small the probabilities are.
        gap = np.maximum(np.abs(shown - right).max(-1), np.where(counts, 1.0, 0.0))
        return {"gap": gap, "total": shown.sum(-1)}

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        logits = inputs["logits"]
        return {
            "title": _("Which token next? Three dials on one distribution"),
            "prompts": list(PROMPTS),
            "tokens": [list(row) for row in TOKENS],
            "logits": logits.topk(SHOWN, -1).values.tolist(),
            "vocabulary": logits.shape[-1],
            "temperatures": list(TEMPERATURES),
            "top_k": list(TOP_K),
            "top_p": list(TOP_P),
            "tolerance": TOLERANCE,
        }

    def _at(self) -> tuple[int, int, int, int]:
        return (
            self.prompt,
            TEMPERATURES.index(self.temperature),
            TOP_K.index(self.top_k),
            TOP_P.index(self.top_p),
        )

    def probabilities(self) -> np.ndarray:
        """(11,) at the present dials: the ten likeliest tokens, then the sum of all others."""
        return self._mine["p"][self._at()][: SHOWN + 1]

    def possible(self) -> int:
        """How many tokens can come."""
        return int(self._mine["p"][self._at()][-1])

    def gap(self) -> float:
        """Largest distance to the reference's probabilities; 1 if the number of possible tokens differs."""
        return float(np.frombuffer(self.tables["gap"], "<f4").reshape(self._mine["p"].shape[:-1])[self._at()])

    @property
    def words(self) -> str:
        p, gap = self.probabilities(), self.gap()
        told = _(
            "{whose} distribution after “{prompt}” at temperature {temperature:g}, {k}, {share}: {bars}; all other "
            "tokens {rest:.3f}. {possible} of {all} tokens can come. Farthest from the reference: {gap} ({state})."
        )
        return told.format(
            whose=self.whose,
            prompt=PROMPTS[self.prompt],
            temperature=self.temperature,
            k=_("no top-k") if self.top_k == ALL else _("top-k {k}").format(k=self.top_k),
            share=_("no top-p") if self.top_p == 1 else _("top-p {p:g}").format(p=self.top_p),
            bars=", ".join(f"{word} {v:.3f}" for word, v in zip(TOKENS[self.prompt], p, strict=False)),
            rest=p[-1],
            possible=self.possible(),
            all=self._inputs["logits"].shape[-1],
            gap=number(gap),
            state=_("ok") if gap <= TOLERANCE else _("broken"),
        )

    def figure(self) -> Figure:
        fig = new_figure(7.5, 3.6)
        axes = fig.add_subplot()
        names = [*TOKENS[self.prompt], _("all others")]
        axes.barh(range(len(names)), self.probabilities(), color=BLUE)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        plain(axes, f"“{PROMPTS[self.prompt]}”, temperature {self.temperature:g}", "probability")
        return fig


def _settings():
    """Yields ((i, j, l), temperature, top_k, top_p) for all positions of the three dials."""
    for i, temperature in enumerate(TEMPERATURES):
        for j, k in enumerate(TOP_K):
            for m, share in enumerate(TOP_P):
                yield (i, j, m), temperature, k, share
