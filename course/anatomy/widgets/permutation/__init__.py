"""PermutationExplorer: attention without positions cannot distinguish orders of words.

Source of the method: Vaswani et al. 2017, arXiv:1706.03762, section 3.5 (why positions are added).
"""

from itertools import permutations
from typing import Any

import numpy as np
import torch
import traitlets as t

from ..tools.base import TableWidget
from ..tools.calls import call
from ..tools.drawing import GRAY, Axes, Figure, diverging, new_figure, number, plain
from ..tools.types import Function, Inputs, Tables
from ..tools.words import N_, _
from .story import STORY

WORDS = ("the", "dog", "bites", "the", "man", ".")
T = len(WORDS)
# New order as indices into the old one: row i of P x is row order[i] of x. "Next order" goes through these.
NAMED = {
    N_("as written"): (0, 1, 2, 3, 4, 5),
    N_("dog ↔ man"): (0, 4, 2, 3, 1, 5),
    N_("shifted by one"): (5, 0, 1, 2, 3, 4),
    N_("backward"): (5, 4, 3, 2, 1, 0),
    N_("shuffled"): (2, 5, 0, 4, 1, 3),
    N_("shuffled again"): (4, 2, 5, 1, 3, 0),
}


def moved_word(word: int, place: int) -> tuple[int, ...]:
    """The order in which that word of the sentence as written stands at that place; the others close up."""
    rest = [i for i in range(T) if i != word]
    return (*rest[:place], word, *rest[place:])


def _with_moved_words(orders):
    """These orders and each in which one word has moved: “bites: 2 → 5”, or “bites ↔ the” for neighbors."""
    orders = dict(orders)
    for old, new in permutations(range(T), 2):
        order = moved_word(old, new)
        name = f"{WORDS[old]} ↔ {WORDS[new]}" if abs(old - new) == 1 else f"{WORDS[old]}: {old} → {new}"
        if order not in orders.values():
            orders[name] = order
    return orders


ORDERS = _with_moved_words(NAMED)  # whatever a hand that moves one word can reach
D_MODEL, D_V = 16, 8
TOLERANCE = 1e-4


class PermutationExplorer(TableWidget):
    """Live picture of f(Px) against P f(x) for ``scaled_dot_product_attention(q, k, v, mask=None)``.

    f(x) is the function applied to x W_q, x W_k, x W_v with fixed random weights: q and k (60, 1, 6, 16), v (60, 1, 6,
    8) float32, no mask; the batch is 30 orders of the words, each without and with positions added to the six slots.
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
        gap = np.abs(out - _moved(out)).max(axis=(2, 3))
        # In the order as written, the two "the" are tokens 0 and 3.
        twins = np.abs(out[:, 0, 0] - out[:, 0, 3]).max(-1)
        far = np.abs(out - reference["out"]).max(axis=(1, 2, 3))
        return {"gap": gap, "twins": twins, "far": far}

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("Does attention notice the order of the words?"),
            "words": list(WORDS),
            "names": list(ORDERS),
            "named": len(NAMED),
            "orders": [list(o) for o in ORDERS.values()],
            "width": D_V,
            "tolerance": TOLERANCE,
        }

    def gap(self) -> float:
        """max |f(Px) − P f(x)| for the current order and choice of positions."""
        gaps = np.frombuffer(self.tables["gap"], "<f4").reshape(2, len(ORDERS))
        return float(gaps[int(self.positions), list(ORDERS).index(self.order)])

    @property
    def words(self) -> str:
        told = _(
            "Two lanes of {whose} attention output, one row per word, without positions. Lane A: attention on "
            "“{written}”, then its rows are reordered, P f(x). Lane B: the words are reordered to “{words}” ({order}), "
            "then attention, f(Px). Largest difference of the two results: {gap}, so they are {state}."
        )
        if self.positions:
            told = _(
                "Two lanes of {whose} attention output, one row per word, with positions. Lane A: attention on "
                "“{written}”, then its rows are reordered, P f(x). Lane B: the words are reordered to “{words}” "
                "({order}), then attention, f(Px). Largest difference of the two results: {gap}, so they are {state}."
            )
        return told.format(
            whose=self.whose,
            written=" ".join(WORDS),
            words=" ".join(WORDS[i] for i in ORDERS[self.order]),
            order=_(self.order),
            gap=number(self.gap()),
            state=_("equal") if self.gap() <= TOLERANCE else _("not equal"),
        )

    def figure(self) -> Figure:
        fig = new_figure(8.4, 4.2)
        axes: dict[str, Axes] = fig.subplot_mosaic(
            [["before", "moved", "gap"], ["words", "after", "gap"]], width_ratios=(1, 1, 0.3)
        )
        order, p = ORDERS[self.order], int(self.positions)
        j = list(ORDERS).index(self.order)
        out, moved = self._mine["out"][p], _moved(self._mine["out"])[p, j]
        top = np.abs(out[np.isfinite(out)]).max(initial=1e-9)
        differences = np.abs(out[j] - moved).max(-1, keepdims=True)
        for name, rows, names, title in (
            ("before", out[0], tuple(range(T)), "Lane A: attention, f(x)"),
            ("moved", moved, order, "then reorder, P f(x)"),
            ("after", out[j], order, "then attention, f(Px)"),
            ("gap", differences, order, "difference"),
        ):
            _draw_rows(axes[name], rows, top, names, title)
        for place, v in enumerate(differences[:, 0]):
            dark = v > 0.5 * top
            told = "0" if v <= TOLERANCE else number(v)
            axes["gap"].text(0, place, told, ha="center", va="center", fontsize=8, color="white" if dark else "black")
        _draw_rows(axes["words"], np.zeros((T, D_V)), top, tuple(range(T)), "Lane B: reorder, Px")
        for place, old in enumerate(order):
            axes["words"].annotate(
                WORDS[old], (-0.5, old), (5.5, place), va="center", arrowprops={"arrowstyle": "<-", "color": GRAY}
            )
        return fig


def _moved(out):
    """P f(x) for each order: (2, orders, T, 8), from f(Px) of that shape."""
    return np.stack([out[:, 0, list(order)] for order in ORDERS.values()], axis=1)


def _draw_rows(axes: Axes, rows: Any, top: float, names: Any, title: str) -> None:
    axes.imshow(rows, cmap=diverging(), vmin=-top, vmax=top, aspect="auto")
    axes.set_yticks(range(T), [WORDS[i] for i in names])
    axes.set_xticks([])
    plain(axes, title)
