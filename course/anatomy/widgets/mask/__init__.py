"""MaskExplorer: the tokens that a query may attend to under each mask of unit 07, directly and over several layers.

Sources: arXiv:1706.03762 (causal), arXiv:1910.10683 (prefix LM), arXiv:1905.03197 (UniLM), arXiv:2103.10360 (GLM).
"""

import math
from typing import Any

import numpy as np
import torch
import traitlets as t

from ...system.translation import listed, sentences
from ..tools.drawing import VERMILLION, Figure, new_figure, plain, rectangle, sequential
from ..tools.several import SeveralFunctions
from ..tools.types import Function, Functions, Inputs, Tables
from ..tools.whole import several_of, tensor_of
from ..tools.words import _
from .scenes import BLANKS, IDS, KINDS, SCENES, SIZE, T, cells, instead, next_words, real
from .story import STORY

LAYERS = T - 1  # with a window of 2, so many carry the first token to the last
GUESS = math.log(T)  # nats, the loss of a uniform guess among the tokens of the text
KIND_NAMES = tuple(k.name for k in KINDS)
_MASKS = ("causal_mask", "causal_padding_mask", "prefix_lm_mask", "unilm_mask")


class MaskExplorer(SeveralFunctions):
    """Live picture of a learner's mask functions, passed as a mapping by name: boolean, True = may look.

    ``causal_mask(T, S)`` (T, S), ``causal_padding_mask(real)`` (B, 1, T, S), ``position_ids(real)`` (B, T) int64,
    ``prefix_lm_mask(T, prefix)`` and ``unilm_mask(objective, source, target)`` (T, T); of ``blank_infilling(ids, spans,
    order, mask_id, start_id, end_id)`` only the two rows of positions are drawn. Cross-attention, two texts in one row
    and the window are drawn by their rules alone, because no function of the unit makes them.

    Traits mask (index into KIND_NAMES; a name works too), size (index of the slider's value), query and layers follow
    the controls; painted ("0,3 7,0": row, column) holds the cells that were flipped by hand, in any mask. Raises the
    errors of TableWidget, and TraitError for an invalid cell.
    """

    recording = "mask"
    names = (*_MASKS, "position_ids", "blank_infilling")
    function_name = "masks"
    controls = ("mask", "size", "query", "layers", "painted")
    story = STORY
    opening = tuple({"key": column} for column in range(4))  # what row “two” sees; the story asks about this row

    mask = t.Int(0, min=0, max=len(KINDS) - 1).tag(sync=True)
    size = t.Int(4, min=0, max=max(len(k.sizes) for k in KINDS) - 1).tag(sync=True)
    query = t.Int(3, min=0, max=SIZE - 1).tag(sync=True)
    layers = t.Int(2, min=1, max=LAYERS).tag(sync=True)
    painted = t.Unicode("").tag(sync=True)

    def __init__(self, functions: Functions | None = None, mask: int | str = 0, **state: Any) -> None:
        index = KIND_NAMES.index(mask) if isinstance(mask, str) else mask
        super().__init__(functions, mask=index, **state)

    @t.validate("painted")
    def _painted_cells(self, proposal):
        try:
            cells(proposal["value"])
        except ValueError as error:
            raise t.TraitError(str(error)) from None
        return proposal["value"]

    @classmethod
    def measure_one(cls, name: str, fn: Function, inputs: Inputs) -> Tables:
        """m_<mask function> (its scenes, SIZE, SIZE), padded with 0; p_<position function> (its scenes, rows, SIZE)."""
        if name == "position_ids":
            rows = [
                [tensor_of(fn(real(n, left)), name, "integer", (1, T))[0]]
                for left in (False, True)
                for n in range(1, T + 1)
            ]
            return {f"p_{name}": _padded_rows(rows)}
        if name == "blank_infilling":
            rows = []
            for spans, order in BLANKS:
                made = several_of(fn(torch.arange(T), list(spans), list(order), **IDS), name, 4)
                length = (T + 2 * len(spans),)  # an [M] and an [S] for each blank
                rows.append([tensor_of(row, name, "integer", length) for row in made[1:3]])
            return {f"p_{name}": _padded_rows(rows)}
        table = []
        for scene in (s for s in SCENES if s.function == name):
            arguments = [a.clone() if isinstance(a, torch.Tensor) else a for a in scene.arguments]
            found = fn(*arguments)
            size = (len(scene.rows), len(scene.columns))
            shape = (1, 1, *size) if name == "causal_padding_mask" else size
            found = tensor_of(found, name, "boolean", shape).reshape(size)
            table.append(_square(found.numpy()))
        return {f"m_{name}": np.stack(table).astype(float)}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        shown = {**reference, **mine}
        may, right = _by_scene(shown), _by_scene(reference)
        own = [float(bool(s.function) and mine is not reference and f"m_{s.function}" in mine) for s in SCENES]
        return {
            **{k: v for k, v in reference.items() if k not in mine},
            "may": may,
            "right": right,
            "own": np.array(own),
        }

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        scenes = [
            {
                "kind": s.kind,
                "rows": s.rows,
                "columns": s.columns,
                "function": s.function,
                "positions": s.positions,
                "rule": s.rule,
                "predicts": next_words(s),
                "instead": instead(s),
            }
            for s in SCENES
        ]
        kinds = [{"name": _(k.name), "counts": k.counts, "sizes": k.sizes} for k in KINDS]
        return {
            "title": _("Masks: who may look at whom"),
            "scenes": scenes,
            "kinds": kinds,
            "size": SIZE,
            "layers": LAYERS,
            "guess": GUESS,
        }

    def scene(self) -> int:
        """Index of the current scene: a size beyond the kind's last one shows the last one."""
        first = next(i for i, s in enumerate(SCENES) if s.kind == self.mask)
        return first + min(self.size, len(KINDS[self.mask].sizes) - 1)

    def _table(self, name, *shape):
        return np.frombuffer(self.tables[name], "<f4").reshape(shape)[self.scene()]

    def given_mask(self) -> np.ndarray:
        """The function's own result for the current mask, (T, S) boolean."""
        rows, columns = self._shape()
        return self._table("may", len(SCENES), SIZE, SIZE)[:rows, :columns] > 0

    def may(self) -> np.ndarray:
        """The mask shown, (T, S) boolean: the function's result, with the painted cells flipped."""
        mask = self.given_mask().copy()
        for i, j in self._turned():
            mask[i, j] = ~mask[i, j]
        return mask

    def _turned(self):
        rows, columns = self._shape()
        return [(i, j) for i, j in cells(self.painted) if i < rows and j < columns]

    def _shape(self):
        scene = SCENES[self.scene()]
        return len(scene.rows), len(scene.columns)

    def ways(self) -> np.ndarray | None:
        """(LAYERS, T, T) int: number of paths from row i to token j through 1, 2, … layers; None if not square."""
        rows, columns = self._shape()
        if rows != columns:
            return None
        # The residual connection keeps a token's own state in any mask.
        step = (self.may() | np.eye(rows, dtype=bool)).astype(int)
        return np.stack([np.linalg.matrix_power(step, n) for n in range(1, LAYERS + 1)])

    def reached(self) -> np.ndarray | None:
        """(LAYERS, S) boolean: tokens that the query depends on after 1, 2, … layers; None if the mask isn't square."""
        ways = self.ways()
        return None if ways is None else ways[:, min(self.query, ways.shape[1] - 1)] > 0

    def copied(self) -> list[bool]:
        """For each position that learns to predict the next token: True if that reaches it in the chosen layers."""
        ways = self.ways()
        if ways is None:
            return []
        return [bool(ways[self.layers - 1, i, i + 1] > 0) for i in next_words(SCENES[self.scene()])]

    def loss(self) -> float | None:
        """Nats per token of a model that copies the next token if that is visible, and else guesses uniformly among the
        T tokens; None if no position predicts the next token."""
        copied = self.copied()
        return GUESS * (1 - sum(copied) / len(copied)) if copied else None

    def facts(self) -> dict[str, int]:
        """Counts in the mask shown: allowed ``pairs``, those that ``leak``, as the mask's rule forbids them, and
        ``empty`` rows; and in the function's own mask, before painting: ``wrong`` cells."""
        rows, columns = self._shape()
        may, right = self.may(), self._table("right", len(SCENES), SIZE, SIZE)[:rows, :columns] > 0
        return {
            "pairs": int(may.sum()),
            "leak": int((may & ~right).sum()),
            "empty": int((~may.any(1)).sum()),
            "wrong": int((self.given_mask() != right).sum()),
        }

    @property
    def whose(self) -> str:
        own = np.frombuffer(self.tables["own"], "<f4")[self.scene()]
        return _("your") if own else _("the reference's")

    @property
    def words(self) -> str:
        scene, kind, found = SCENES[self.scene()], KINDS[self.mask], self.facts()
        query = min(self.query, len(scene.rows) - 1)
        seen = [f"{w} ({j})" for j, w in enumerate(scene.columns) if self.may()[query, j]]
        count = kind.sizes[min(self.size, len(kind.sizes) - 1)]
        state = _("as the reference's")
        if found["wrong"]:
            state = _("{n} cells differ from the reference's").format(n=found["wrong"])
        shown = _(
            "Mask explorer with {whose} mask “{name}”{size}: {pairs} allowed pairs in {rows} rows (queries) and "
            "{columns} columns (keys), {state}."
        )
        turned = listed(f"[{i}, {j}]" for i, j in self._turned())
        painted = _("Painted by hand: {cells}.").format(cells=turned) if turned else ""
        looks, deep, copies = _("Query “{word}” (row {row}) may look at: {seen}."), "", ""
        reached, copied, loss = self.reached(), self.copied(), self.loss()
        if why := instead(scene):
            copies = _("No position predicts the next token: {why}.").format(why=why)
        if reached is not None:
            deep = _("After {layers} layers it depends on {n} tokens.")
            deep = deep.format(layers=self.layers, n=int(reached[self.layers - 1].sum()))
        if loss is not None:
            copies = _(
                "A model that copies the next token where that reaches it, at {n} of {all} positions, and guesses "
                "elsewhere has a loss of {loss:.2f}."
            ).format(n=sum(copied), all=len(copied), loss=loss)
        return sentences(
            shown.format(
                whose=self.whose,
                name=_(kind.name),
                size=_(", {counts}: {n}").format(counts=_(kind.counts), n=count) if kind.counts else "",
                pairs=found["pairs"],
                rows=len(scene.rows),
                columns=len(scene.columns),
                state=state,
            ),
            painted,
            looks.format(word=scene.rows[query], row=query, seen=listed(seen) or _("nothing")),
            deep,
            copies,
            _("Rows that see nothing: {n}.").format(n=found["empty"]),
        )

    def figure(self) -> Figure:
        fig = new_figure(8.4, 3.9)
        left, right = fig.subplots(1, 2)
        scene, may = SCENES[self.scene()], self.may()
        query = min(self.query, len(scene.rows) - 1)
        left.imshow(may, cmap=sequential(), vmin=0, vmax=1.3)
        for i, j in np.argwhere(~may):
            left.text(j, i, "·", ha="center", va="center", fontsize=8)
        for i, j in self._turned():
            left.plot(j + 0.32, i - 0.32, marker="s", markersize=5, color=VERMILLION)
        row = rectangle((-0.5, query - 0.5), len(scene.columns), 1, fill=False, edgecolor="black", linewidth=2)
        left.add_patch(row)
        left.set_xticks(range(len(scene.columns)), scene.columns, rotation=60)
        left.set_yticks(range(len(scene.rows)), scene.rows)
        plain(left, KINDS[self.mask].name, "key", "query")
        reached = self.reached()
        if reached is None:
            right.axis("off")
        else:
            right.imshow(reached, cmap=sequential(), vmin=0, vmax=1.3, aspect="auto")
            right.set_xticks(range(len(scene.columns)), scene.columns, rotation=60)
            right.set_yticks(range(LAYERS), range(1, LAYERS + 1))
            plain(right, f"“{scene.rows[query]}” depends on", "", "after layers")
        return fig


def _square(found):
    out = np.zeros((SIZE, SIZE))
    out[: found.shape[0], : found.shape[1]] = found
    return out


def _padded_rows(scenes):
    """Position rows of all scenes, (scenes, rows, SIZE), padded with −1."""
    out = np.full((len(scenes), len(scenes[0]), SIZE), -1.0)
    for s, rows in enumerate(scenes):
        for r, row in enumerate(rows):
            out[s, r, : len(row)] = row.numpy()
    return out


def _by_scene(tables):
    """Masks (scenes, SIZE, SIZE) from the functions' tables; those without a function from their rules."""
    at = dict.fromkeys(_MASKS, 0)
    found = []
    for scene in SCENES:
        if scene.function:
            found.append(tables[f"m_{scene.function}"][at[scene.function]])
            at[scene.function] += 1
        else:
            found.append(_square(scene.arguments[0].expand(len(scene.rows), T).numpy()))
    return np.stack(found)
