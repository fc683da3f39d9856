"""PermutationExplorer: attention without positions cannot distinguish orders of words.

Source of the method: Vaswani et al. 2017, arXiv:1706.03762, section 3.5 (why positions are added).
"""

from typing import Any

import numpy as np
import torch
import traitlets as t

from ..tools.base import TableWidget
from ..tools.calls import call
from ..tools.drawing import Figure, diverging, new_figure, number, plain
from ..tools.types import Function, Inputs, Tables
from ..tools.words import N_, _
from .story import STORY

WORDS = ("the", "dog", "bites", "the", "man", ".")
T = len(WORDS)
# New order as indices into the old one: row i of P x is row order[i] of x.
ORDERS = {
    N_("as written"): (0, 1, 2, 3, 4, 5),
    N_("dog ↔ man"): (0, 4, 2, 3, 1, 5),
    N_("shifted by one"): (5, 0, 1, 2, 3, 4),
    N_("backward"): (5, 4, 3, 2, 1, 0),
    N_("shuffled"): (2, 5, 0, 4, 1, 3),
    N_("shuffled again"): (4, 2, 5, 1, 3, 0),
}
D_MODEL, D_V = 16, 8
TOLERANCE = 1e-4


class PermutationExplorer(TableWidget):
    """Live picture of f(Px) against P f(x) for ``scaled_dot_product_attention(q, k, v, mask=None)``.

    f(x) is the function applied to x W_q, x W_k, x W_v with fixed random weights: q and k (12, 1, 6, 16), v (12, 1, 6,
    8) float32, no mask; the batch is six orders of the words, each without and with positions added to the six slots.
    Without positions f(Px) and P f(x) must be equal; with positions they must differ.

    Traits order (a key of ORDERS), positions (bool) and word (index of the word to follow) follow the controls. Raises
    the errors of TableWidget.
    """

    recording, function_name = "permutation", "scaled_dot_product_attention"
    controls = ("order", "positions", "word")
    story = STORY
    opening = ({"order": "as written"},) * 4

    order = t.Enum(tuple(ORDERS), "dog ↔ man").tag(sync=True)
    positions = t.Bool(False).tag(sync=True)
    word = t.Int(1, min=0, max=T - 1).tag(sync=True)

    def __init__(self, attention: Function | None = None, **state: Any) -> None:
        super().__init__(attention, **state)

    @classmethod
    def measure(cls, fn: Function, inputs: Inputs) -> Tables:
        """out (2, orders, T, 8): f(Px), first without and then with positions."""
        x = inputs["x"][torch.tensor(list(ORDERS.values()))]  # (orders, T, d_model)
        batch = torch.cat([x, x + inputs["positions"]])[:, None]  # (2·orders, 1, T, d_model)
        q, k, v = (batch @ inputs[name] for name in ("w_q", "w_k", "w_v"))
        return {"out": call(fn, cls.function_name, v.shape, q, k, v)[:, 0].unflatten(0, (2, len(ORDERS))).numpy()}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        out = mine["out"].astype(float)
        moved = np.stack([out[:, 0, list(order)] for order in ORDERS.values()], axis=1)  # P f(x)
        # In the order as written, the two "the" are tokens 0 and 3.
        twins = np.abs(out[:, 0, 0] - out[:, 0, 3]).max(-1)
        far = np.abs(out - reference["out"]).max(axis=(1, 2, 3))
        return {"moved": moved, "gap": np.abs(out - moved).max(axis=(2, 3)), "twins": twins, "far": far}

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("Does attention notice the order of the words?"),
            "words": list(WORDS),
            "names": list(ORDERS),
            "orders": [list(o) for o in ORDERS.values()],
            "width": D_V,
            "tolerance": TOLERANCE,
        }

    def _table(self, name, *shape):
        return np.frombuffer(self.tables[name], "<f4").reshape(shape)

    def gap(self) -> float:
        """max |f(Px) − P f(x)| for the current order and choice of positions."""
        return float(self._table("gap", 2, len(ORDERS))[int(self.positions), list(ORDERS).index(self.order)])

    @property
    def words(self) -> str:
        words = " ".join(WORDS[i] for i in ORDERS[self.order])
        told = _(
            "Three heatmaps of {whose} attention output, one row per word: f(x) for “{written}”, its rows permuted, "
            "P f(x), and f(Px) for “{words}” ({order}), without positions. Largest difference of the last two: {gap}, "
            "so they are {state}."
        )
        if self.positions:
            told = _(
                "Three heatmaps of {whose} attention output, one row per word: f(x) for “{written}”, its rows "
                "permuted, P f(x), and f(Px) for “{words}” ({order}), with positions. Largest difference of the last "
                "two: {gap}, so they are {state}."
            )
        return told.format(
            whose=self.whose,
            written=" ".join(WORDS),
            words=words,
            order=_(self.order),
            gap=number(self.gap()),
            state=_("equal") if self.gap() <= TOLERANCE else _("not equal"),
        )

    def figure(self) -> Figure:
        fig = new_figure(8.4, 3.0)
        axes = fig.subplots(1, 3)
        order, p = ORDERS[self.order], int(self.positions)
        j = list(ORDERS).index(self.order)
        out = self._mine["out"][p]
        moved = self._table("moved", 2, len(ORDERS), T, D_V)[p, j]
        top = np.abs(out[np.isfinite(out)]).max(initial=1e-9)
        written = tuple(range(T))
        for a, rows, names, title in (
            (axes[0], out[0], written, "Map 1: as written\nf(x)"),
            (axes[1], moved, order, "Map 2: attention first,\nthen swap: P f(x)"),
            (axes[2], out[j], order, "Map 3: swap first,\nthen attention: f(Px)"),
        ):
            a.imshow(rows, cmap=diverging(), vmin=-top, vmax=top, aspect="auto")
            a.set_yticks(range(T), [WORDS[i] for i in names])
            a.set_xticks([])
            plain(a, title)
        return fig
