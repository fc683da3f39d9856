"""AttentionExplorer: which word attends to which, and the effect of scale and mask.

Source of the method: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1.
"""

import math
from typing import Any

import numpy as np
import torch
import traitlets as t
from torch import Tensor

from ...system.translation import listed
from ..tools.base import TableWidget
from ..tools.calls import call
from ..tools.drawing import BLUE, GRAY, Figure, new_figure, number, plain, rectangle, sequential
from ..tools.types import Function, Inputs, Tables
from ..tools.words import N_, _
from .story import STORY

PAD = "<pad>"
SENTENCES = (
    ("I", "like", "him", "very", "well", ".", PAD, PAD),
    ("I", "hope", "you", "are", "quite", "well", ".", PAD),
    ("No", ",", "indeed", ",", "it", "is", "not", "."),
    ("He", "ought", "not", ";", "he", "does", "not", "."),
)
T = len(SENTENCES[0])
LAYERS, HEADS, D = 4, 4, 40
SCALES = (N_("none"), "1/√D", "1/D")
MASKS = (N_("none"), N_("causal"), N_("padding"))
# Factors for q, because the function divides by √D itself.
_FACTORS = (math.sqrt(D), 1.0, 1 / math.sqrt(D))
TOLERANCE = 1e-4
REACH = 60  # tenths by which a score can be moved, up or down
INVARIANTS = ("sum", "masked", "reference")


def allowed(mask: str) -> Tensor:
    """(sentences, T, T) boolean: the pairs (query, key) that the mask allows; T = 8 including padding."""
    if mask == "causal":
        return torch.ones(T, T, dtype=torch.bool).tril().expand(len(SENTENCES), T, T)
    if mask == "padding":
        return torch.tensor([[word != PAD for word in s] for s in SENTENCES])[:, None, :].expand(-1, T, T)
    return torch.ones(len(SENTENCES), T, T, dtype=torch.bool)


class AttentionExplorer(TableWidget):
    """Live picture of ``scaled_dot_product_attention(q, k, v, mask=None)``, boolean mask, True = may attend.

    The function gets q and k (4, 16, 8, 40) float32: four sentences, the 16 heads of the small model of unit 12 (four
    layers of four, trained on Jane Austen's novels; the sentences are from the held-out part), and 8 tokens, some of
    them padding. RoPE has rotated q and k, and each key is shared by two heads. v is the identity (4, 16, 8, 8), so
    that the result is the weights themselves. The masks have shapes (1, 1, 8, 8) and (4, 1, 1, 8); "none" passes no
    mask. Since the function divides by √D itself, the scales "none" and "1/D" multiply q by √D and 1/√D first.

    Traits sentence (index), layer, head, query (index of the token), scale and mask follow the controls. moved (index
    of a key, −1 for none) and nudge (tenths) say by how much the grip has moved that key's score for the current query;
    if the mask forbids the key, its score stays −∞. Raises the errors of TableWidget.
    """

    recording, function_name = "attention", "scaled_dot_product_attention"
    story = STORY
    opening = tuple({"query": query} for query in range(5))
    controls = ("sentence", "layer", "head", "query", "scale", "mask", "moved", "nudge")

    sentence = t.Int(0, min=0, max=len(SENTENCES) - 1).tag(sync=True)
    layer = t.Int(2, min=0, max=LAYERS - 1).tag(sync=True)
    head = t.Int(0, min=0, max=HEADS - 1).tag(sync=True)
    query = t.Int(4, min=0, max=T - 1).tag(sync=True)
    scale = t.Enum(SCALES, "1/√D").tag(sync=True)
    mask = t.Enum(MASKS, "causal").tag(sync=True)
    moved = t.Int(-1, min=-1, max=T - 1).tag(sync=True)
    nudge = t.Int(0, min=-REACH, max=REACH).tag(sync=True)

    def __init__(self, attention: Function | None = None, **state: Any) -> None:
        super().__init__(attention, **state)

    @classmethod
    def measure(cls, fn: Function, inputs: Inputs) -> Tables:
        """w (masks, scales, sentences, layers, heads, T, T): the weights, row = query."""
        q, k = inputs["q"], inputs["k"]
        v = torch.eye(T, dtype=q.dtype).expand(len(SENTENCES), LAYERS * HEADS, T, T)
        rows = []
        for mask in MASKS:
            may = {"none": (), "causal": (allowed(mask)[None, :1],), "padding": (allowed(mask)[:, None, :1],)}[mask]
            rows += [call(fn, cls.function_name, v.shape, q * f, k, v, *may) for f in _FACTORS]
        w = torch.stack(rows).unflatten(0, (len(MASKS), len(SCALES))).unflatten(3, (LAYERS, HEADS))
        return {"w": w.numpy()}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        w = mine["w"].astype(float)
        may = torch.stack([allowed(mask) for mask in MASKS]).numpy()  # (masks, sentences, T, T)
        pairs = may[:, None, :, None, None]  # (masks, 1, sentences, 1, 1, T, T)
        over = (2, 3, 4, 5, 6)
        sums = np.abs(w.sum(-1, keepdims=True) - 1).max(axis=over)
        hidden = np.where(pairs, 0, np.abs(w)).max(axis=over)
        return {
            "invariants": np.stack([sums, hidden, np.abs(w - reference["w"]).max(axis=over)], axis=-1),
            "allowed": may,
            "scores": _products(inputs).numpy(),
        }

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("Attention: who looks at whom"),
            "sentences": [list(s) for s in SENTENCES],
            "layers": LAYERS,
            "heads": HEADS,
            "scales": list(SCALES),
            "D": D,
            "masks": list(MASKS),
            "tolerance": TOLERANCE,
            "pad": PAD,
            "reach": REACH,
        }

    def _at(self):
        return MASKS.index(self.mask), SCALES.index(self.scale)

    def weights(self) -> np.ndarray:
        """Weights (8, 8) float64 for the current sentence, layer, head, scale and mask: row = query, column = key.
        In the row of the current query, the score of ``moved`` is changed by ``nudge`` tenths."""
        return self._followed(self._mine["w"])

    def _followed(self, table):
        w = table[(*self._at(), self.sentence, self.layer, self.head)].astype(float)
        if self.delta():
            w[self.query] = nudged(w[self.query], self.moved, self.delta())
        return w

    def delta(self) -> float:
        """Amount added to the score of ``moved`` in the query's row; 0 if the mask forbids that key."""
        may = self.moved >= 0 and bool(allowed(self.mask)[self.sentence, self.query, self.moved])
        return self.nudge / 10 if may else 0.0

    def invariants(self) -> dict[str, float]:
        """For the current scale and mask, over all sentences, layers and heads: ``sum`` max |row sum − 1|, ``masked``
        largest weight of a masked key, ``reference`` max distance to the reference. Right: within TOLERANCE."""
        table = np.frombuffer(self.tables["invariants"], "<f4").reshape(len(MASKS), len(SCALES), len(INVARIANTS))
        return dict(zip(INVARIANTS, table[self._at()].tolist(), strict=True))

    @property
    def words(self) -> str:
        words, row, found = SENTENCES[self.sentence], self.weights()[self.query], self.invariants()
        row_said = listed(f"{word} {weight:.2f}" for word, weight in zip(words, row, strict=True))
        key, moved = words[self.moved], ""
        if self.delta():
            moved = _(" The score of “{word}” (token {n}) is moved by {delta}.")
        elif self.moved >= 0 and self.nudge:
            moved = _(" “{word}” (token {n}) is masked: its score stays −∞.")
        states = {k: (_("ok") if v <= TOLERANCE else _("broken")) for k, v in found.items()}
        told = _(
            "Heatmap of {whose} attention weights for “{sentence}”, layer {layer}, head {head}, scale {scale}, mask "
            "{mask}. Query “{word}” (token {query}) attends to: {listed}; sum {sum:.3f}, entropy {entropy:.2f} "
            "bits.{moved} Row sums: {rows}; masked weights: {masked}; farthest from the reference: {far} ({state})."
        )
        return told.format(
            whose=self.whose,
            sentence=" ".join(words),
            layer=self.layer,
            head=self.head,
            scale=_(self.scale),
            mask=_(self.mask),
            word=words[self.query],
            query=self.query,
            listed=row_said,
            sum=row.sum(),
            entropy=_entropy(row),
            moved=moved.format(word=key, n=self.moved, delta=_signed(self.delta())),
            rows=states["sum"],
            masked=states["masked"],
            far=number(found["reference"]),
            state=states["reference"],
        )

    def figure(self) -> Figure:
        fig = new_figure(8.4, 3.9)
        heat, bars = fig.subplots(1, 2, width_ratios=[1.2, 1])
        words, w = SENTENCES[self.sentence], self.weights()
        places = range(T)
        heat.imshow(w, cmap=sequential(), vmin=0, vmax=1)
        for (m, n), value in np.ndenumerate(w):
            ink = "white" if value > 0.6 else "black"
            heat.text(n, m, f"{value:.2f}", ha="center", va="center", fontsize=7, color=ink)
        heat.add_patch(rectangle((-0.5, self.query - 0.5), T, 1, fill=False, edgecolor="black", linewidth=2))
        heat.set_xticks(places, words, rotation=45)
        heat.set_yticks(places, words)
        title = f"Layer {self.layer}, head {self.head}, scale {self.scale}, mask {self.mask}"
        plain(heat, title, "key", "query")
        right = self._followed(self._reference["w"])[self.query]
        bars.barh(places, w[self.query], color=BLUE)
        told = ""
        if self.delta():
            told = f"; score of “{words[self.moved]}” {_signed(self.delta())}"
            before = self._mine["w"][(*self._at(), self.sentence, self.layer, self.head, self.query)]
            bars.barh(places, before, fill=False, edgecolor="black", linestyle=":", label="before")
        bars.plot(right, places, "|", color=GRAY, markersize=14, markeredgewidth=2, label="reference")
        bars.set_yticks(places, words)
        bars.set_xlim(0, 1.05)
        bars.invert_yaxis()
        bars.legend(fontsize=8, loc="lower right")
        plain(bars, f"“{words[self.query]}” attends to{told}", "weight")
        return fig


def nudged(row: np.ndarray, key: int, delta: float) -> np.ndarray:
    """A row of weights after the score of ``key`` has moved by ``delta``: multiplies its weight by exp(delta) and
    normalizes the row again. For a softmax this is exact."""
    grown = row.copy()
    grown[key] *= math.exp(delta)
    return grown / (1 + row[key] * math.expm1(delta))


def _signed(x):
    return f"{x:+.1f}".replace("-", "−")


def _products(inputs):
    """q·k before any scale (sentences, layers, heads, T, T): the input of the page's formulas."""
    return (inputs["q"] @ inputs["k"].transpose(-1, -2)).unflatten(1, (LAYERS, HEADS))


def _entropy(row):
    """Entropy in bits; NaN if weights are negative or NaN."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(-np.where(row == 0, 0, row * np.log2(row)).sum()) + 0.0
