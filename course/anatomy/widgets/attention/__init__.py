"""AttentionExplorer: who attends to whom, and what scale and mask do to it.

Source of the method: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1.
"""

import math
from typing import Any

import numpy as np
import torch
import traitlets as t
from matplotlib.patches import Rectangle
from torch import Tensor

from ..tools.base import TableWidget
from ..tools.calls import call
from ..tools.drawing import BLUE, GRAY, SEQUENTIAL, Figure, new_figure, number, plain
from ..tools.types import Function, Inputs, Tables

PAD = "<pad>"
SENTENCES = (
    ("the", "dog", "bites", "the", "man", ".", PAD, PAD),
    ("the", "man", "bites", "the", "dog", ".", PAD, PAD),
    ("she", "swims", "to", "the", "river", "bank", ".", PAD),
    ("he", "left", "the", "money", "in", "the", "bank", "."),
)
T = len(SENTENCES[0])
HEADS, D = 4, 16
SCALES = ("none", "1/√D", "1/D")
MASKS = ("none", "causal", "padding")
# Factors on q for a function that divides by √D itself.
_FACTORS = (math.sqrt(D), 1.0, 1 / math.sqrt(D))
TOLERANCE = 1e-4
INVARIANTS = ("sum", "masked", "reference")


def allowed(mask: str) -> Tensor:
    """(sentences, T, T) boolean: which pairs (query, key) the mask allows; T = 8 with the padding."""
    if mask == "causal":
        return torch.ones(T, T, dtype=torch.bool).tril().expand(len(SENTENCES), T, T)
    if mask == "padding":
        return torch.tensor([[word != PAD for word in s] for s in SENTENCES])[:, None, :].expand(-1, T, T)
    return torch.ones(len(SENTENCES), T, T, dtype=torch.bool)


class AttentionExplorer(TableWidget):
    """Live picture of ``scaled_dot_product_attention(q, k, v, mask=None)``, boolean mask, True = may attend.

    The function gets q and k (4, 4, 8, 16) float32: four sentences, four heads with random weights (nothing is
    trained here), 8 tokens of which some are padding. v is the identity (4, 4, 8, 8), so that what comes back is
    the weights themselves. The masks have shapes (1, 1, 8, 8) and (4, 1, 1, 8); "none" passes no mask. Since the
    function divides by √D itself, the scales "none" and "1/D" multiply q by √D and 1/√D first.

    Traits sentence (index), head, query (index of the token), scale and mask follow the controls. Raises as
    TableWidget says.
    """

    recording, function_name = "attention", "scaled_dot_product_attention"
    controls = ("sentence", "head", "query", "scale", "mask")

    sentence = t.Int(0, min=0, max=len(SENTENCES) - 1).tag(sync=True)
    head = t.Int(0, min=0, max=HEADS - 1).tag(sync=True)
    query = t.Int(2, min=0, max=T - 1).tag(sync=True)
    scale = t.Enum(SCALES, "1/√D").tag(sync=True)
    mask = t.Enum(MASKS, "none").tag(sync=True)

    def __init__(self, attention: Function | None = None, **state: Any) -> None:
        super().__init__(attention, **state)

    @classmethod
    def measure(cls, fn: Function, inputs: Inputs) -> Tables:
        """w (masks, scales, sentences, heads, T, T): the weights, row = query."""
        q, k = inputs["q"], inputs["k"]
        v = torch.eye(T, dtype=q.dtype).expand(len(SENTENCES), HEADS, T, T)
        rows = []
        for mask in MASKS:
            may = {"none": (), "causal": (allowed(mask)[None, :1],), "padding": (allowed(mask)[:, None, :1],)}[mask]
            rows += [call(fn, cls.function_name, v.shape, q * f, k, v, *may) for f in _FACTORS]
        return {"w": torch.stack(rows).unflatten(0, (len(MASKS), len(SCALES))).numpy()}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        w = mine["w"].astype(float)
        may = torch.stack([allowed(mask) for mask in MASKS]).numpy()[:, None, :, None]  # (masks, 1, sentences, 1, T, T)
        over = (2, 3, 4, 5)
        sums = np.abs(w.sum(-1, keepdims=True) - 1).max(axis=over)
        hidden = np.where(may, 0, np.abs(w)).max(axis=over)
        return {
            "invariants": np.stack([sums, hidden, np.abs(w - reference["w"]).max(axis=over)], axis=-1),
            "allowed": may[:, 0, :, 0],
        }

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": "Attention: who looks at whom",
            "sentences": [list(s) for s in SENTENCES],
            "heads": HEADS,
            "scales": list(SCALES),
            "masks": list(MASKS),
            "tolerance": TOLERANCE,
            "pad": PAD,
        }

    def _at(self):
        return MASKS.index(self.mask), SCALES.index(self.scale)

    def weights(self) -> np.ndarray:
        """(8, 8) float64 of the present sentence, head, scale and mask: row = query, column = key."""
        return self._mine["w"][(*self._at(), self.sentence, self.head)].astype(float)

    def invariants(self) -> dict[str, float]:
        """Of the present scale and mask, over all sentences and heads: ``sum`` max |row sum − 1|, ``masked`` the
        largest weight where the mask forbids one, ``reference`` max distance. Right: within TOLERANCE."""
        table = np.frombuffer(self.tables["invariants"], "<f4").reshape(len(MASKS), len(SCALES), len(INVARIANTS))
        return dict(zip(INVARIANTS, table[self._at()].tolist(), strict=True))

    @property
    def words(self) -> str:
        words, row, found = SENTENCES[self.sentence], self.weights()[self.query], self.invariants()
        listed = ", ".join(f"{word} {weight:.2f}" for word, weight in zip(words, row, strict=True))
        states = {k: ("ok" if v <= TOLERANCE else "broken") for k, v in found.items()}
        return (
            f"Heatmap of {self.whose} attention weights for “{' '.join(words)}”, head {self.head}, scale {self.scale}, "
            f"mask {self.mask}. Query “{words[self.query]}” (token {self.query}) attends to: {listed}; sum "
            f"{row.sum():.3f}, entropy {_entropy(row):.2f} bits. Row sums: {states['sum']}; masked weights: "
            f"{states['masked']}; farthest from the reference: {number(found['reference'])} ({states['reference']})."
        )

    def figure(self) -> Figure:
        fig = new_figure(8.4, 3.9)
        heat, bars = fig.subplots(1, 2, width_ratios=[1.2, 1])
        words, w = SENTENCES[self.sentence], self.weights()
        places = range(T)
        heat.imshow(w, cmap=SEQUENTIAL, vmin=0, vmax=1)
        for (m, n), value in np.ndenumerate(w):
            ink = "white" if value > 0.6 else "black"
            heat.text(n, m, f"{value:.2f}", ha="center", va="center", fontsize=7, color=ink)
        heat.add_patch(Rectangle((-0.5, self.query - 0.5), T, 1, fill=False, edgecolor="black", linewidth=2))
        heat.set_xticks(places, words, rotation=45)
        heat.set_yticks(places, words)
        plain(heat, f"Weights, head {self.head}, scale {self.scale}, mask {self.mask}", "key", "query")
        right = self._reference["w"][(*self._at(), self.sentence, self.head, self.query)]
        bars.barh(places, w[self.query], color=BLUE)
        bars.plot(right, places, "|", color=GRAY, markersize=14, markeredgewidth=2, label="reference")
        bars.set_yticks(places, words)
        bars.set_xlim(0, 1.05)
        bars.invert_yaxis()
        bars.legend(fontsize=8, loc="lower right")
        plain(bars, f"“{words[self.query]}” attends to", "weight")
        return fig


def _entropy(row):
    """Bits; negative or missing weights make it not-a-number."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(-np.where(row == 0, 0, row * np.log2(row)).sum()) + 0.0
