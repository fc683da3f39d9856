"""TilesExplorer: attention that reads the keys block by block, and rescales what it keeps when a larger score comes.

Sources: arXiv:1805.02867 (running maximum and sum), arXiv:2205.14135 (tiles), arXiv:2307.08691 (causal tiles).
"""

from typing import Any

import numpy as np
import torch
import traitlets as t
from torch import Tensor

from ..tools.calls import call
from ..tools.drawing import BLUE, GRAY, VERMILLION, Figure, new_figure, number, plain, rectangle
from ..tools.several import SeveralFunctions
from ..tools.types import Function, Functions, Inputs, Tables
from ..tools.whole import several_of
from ..tools.words import _
from .scenes import (
    ALL,
    BLOCKS,
    EARLIER,
    FUNCTIONS,
    LOOKS,
    LOOP,
    MOST_READ,
    SCENES,
    WAYS,
    Scene,
    T,
    mask_of,
    needed,
    scores_of,
    softmax_over,
)
from .story import STORY

# float32, whose scores are at most 4: a result of at most 9 is off by some 1e-6.
TOLERANCE = 1e-3


class TilesExplorer(SeveralFunctions):
    """Live picture of ``attention_in_blocks(q, k, v, block, mask)`` and ``merge(out_a, lse_a, out_b, lse_b)``.

    The first gets q (1, 1, 12, 16), the first keys k (1, 1, S, 16) and their values v (1, 1, S, 13), float32, for each
    S that is a multiple of the block, and a boolean mask (12, S) or None. The second joins partial results (1, 1, 12,
    13) and (1, 1, 12) of one block after the other. Twelve of the values are one-hot, so that a result tells the weight
    of every key; the last one is the number that is mixed.

    Traits query and read (blocks of keys) follow the sliders, a click on the grid sets both; block, look (of LOOKS) and
    way (of WAYS) choose tiles, mask and function; more unfolds their controls. Raises the errors of TableWidget.
    """

    recording = "tiles"
    names = FUNCTIONS
    function_name = "functions"
    asked_by = {"merge": "tiles.merge"}  # unit 12 asks for a merge of tokens
    controls = ("query", "read", "block", "look", "way", "more")
    story = STORY
    opening = ({"read": 2}, {"read": 1}, {"read": 2})  # no further: what block 3 does is the first question

    query = t.Int(T - 1, min=0, max=T - 1).tag(sync=True)
    read = t.Int(2, min=1, max=MOST_READ).tag(sync=True)
    block = t.Enum(BLOCKS, 3).tag(sync=True)
    look = t.Enum(LOOKS, ALL).tag(sync=True)
    way = t.Enum(WAYS, LOOP).tag(sync=True)
    more = t.Bool(False).tag(sync=True)

    def __init__(self, functions: Functions | None = None, **state: Any) -> None:
        more = bool(STORY[state.get("step", 0)].state["more"])  # a later step needs what is folded away
        super().__init__(functions, **{"more": more, **state})

    @classmethod
    def measure_one(cls, name: str, fn: Function, inputs: Inputs) -> Tables:
        """w_<name> (scenes, T, T + 2): for each query the weights of the keys, the mixed value, and the lse."""
        way = _merged if name == "merge" else _looped
        return {f"w_{name}": torch.stack([way(fn, scene, inputs) for scene in SCENES]).float().numpy()}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        shown = {**reference, **mine}
        right = np.stack([softmax_over(inputs, scene) for scene in SCENES])
        gap = np.stack([np.abs(shown[f"w_{name}"] - right) for name in FUNCTIONS])
        own = [float(mine is not reference and f"w_{name}" in mine) for name in FUNCTIONS]
        return {
            **{k: v for k, v in reference.items() if k not in mine},
            "right": right,
            "scores": scores_of(inputs).numpy(),
            # (functions, scenes, T, 2): of the weights and the mixed value, and of the lse
            "gap": np.stack([gap[..., : T + 1].max(-1), gap[..., T + 1]], -1),
            "own": np.array(own),
        }

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("Attention in tiles: what is kept"),
            "length": T,
            "blocks": list(BLOCKS),
            "looks": [[name, _(name)] for name in LOOKS],
            "ways": [[name, _(name)] for name in WAYS],
            "functions": list(FUNCTIONS),
            "scenes": [[s.block, int(s.causal), s.read] for s in SCENES],
            "values": inputs["v"][:, T].tolist(),
            "tolerance": TOLERANCE,
        }

    def scene(self) -> Scene:
        """The current scene; a query that needs fewer blocks than ``read`` has read all that it needs."""
        most = needed(self.block, self.look, self.query)
        return Scene(self.block, self.look == EARLIER, min(self.read, most))

    def facts(self) -> dict[str, float]:
        """``largest`` score so far, ``sum`` and ``mixed`` measured against it, ``result``, ``gap`` of the result to one
        softmax over all these keys, ``held`` scores of one tile, ``tiles`` computed for the whole table."""
        scene, row = self.scene(), self._row()
        scores = np.frombuffer(self.tables["scores"], "<f4").reshape(T, T)[self.query, : scene.read * scene.block]
        largest = float(scores[: self.query + 1].max() if scene.causal else scores.max())
        total = float(np.exp(row[T + 1] - largest))
        tiles = sum(needed(self.block, self.look, i) for i in range(0, T, self.block))
        gaps = np.frombuffer(self.tables["gap"], "<f4").reshape(len(FUNCTIONS), len(SCENES), T, 2)
        gap = gaps[WAYS.index(self.way), SCENES.index(scene), self.query]
        return {
            "largest": largest,
            "sum": total,
            "mixed": float(row[T]) * total,
            "result": float(row[T]),
            "gap": float(np.nan_to_num(gap, nan=np.inf).max()),
            "held": self.block**2,
            "tiles": tiles,
        }

    def bars(self) -> np.ndarray:
        """(T,): e to (score − largest score so far) for each key that is read, by the function shown."""
        return self._row()[:T] * self.facts()["sum"]

    def _row(self, name=None):
        table = np.frombuffer(self.tables[f"w_{name or FUNCTIONS[WAYS.index(self.way)]}"], "<f4")
        return table.reshape(len(SCENES), T, T + 2)[SCENES.index(self.scene()), self.query].astype(float)

    @property
    def whose(self) -> str:
        own = np.frombuffer(self.tables["own"], "<f4")[WAYS.index(self.way)]
        return _("your") if own else _("the reference's")

    @property
    def words(self) -> str:
        scene, found = self.scene(), self.facts()
        told = _(
            "Tiles of {block} × {block} of {all} scores; the query may look at {look}. With {whose} {function}, query "
            "{query} has read {keys} of {T} keys: largest score {largest}, sum {sum}, mixed {mixed}, result {result} "
            "({state}). A tile holds {held} scores; {tiles} of {whole} tiles are computed."
        )
        return told.format(
            block=self.block,
            all=T * T,
            look=_(self.look),
            whose=self.whose,
            function=FUNCTIONS[WAYS.index(self.way)],
            query=self.query,
            keys=scene.read * scene.block,
            T=T,
            **{k: number(found[k]) for k in ("largest", "sum", "mixed", "result")},
            state=_("as one softmax") if found["gap"] <= TOLERANCE else _("unlike one softmax"),
            held=int(found["held"]),
            tiles=int(found["tiles"]),
            whole=(T // self.block) ** 2,
        )

    def figure(self) -> Figure:
        fig = new_figure(8.4, 3.6)
        left, right = fig.subplots(1, 2)
        scene, found, b = self.scene(), self.facts(), self.block
        scores = np.frombuffer(self.tables["scores"], "<f4").reshape(T, T)
        left.imshow(scores, cmap="Greys", vmin=scores.min() - 1, vmax=2.5 * scores.max())
        for i in range(0, T, b):
            for j in range(0, T, b):
                skipped = scene.causal and j > i
                hatch = "xx" if skipped else ""
                left.add_patch(rectangle((j - 0.5, i - 0.5), b, b, fill=False, edgecolor=GRAY, hatch=hatch))
        tile = ((scene.read - 1) * b - 0.5, self.query // b * b - 0.5)
        left.add_patch(rectangle(tile, b, b, fill=False, edgecolor=VERMILLION, linewidth=3))
        plain(left, f"tiles of {b} × {b}; framed: held now", "key", "query")
        right.bar(range(T), self.bars(), color=BLUE)
        right.set(ylim=(0, 1.1), xticks=range(T))
        plain(
            right,
            f"query {self.query}: sum {found['sum']:.2f}, mixed {found['mixed']:.2f}, result {found['result']:.2f}",
            "key",
            "e^(score − largest)",
        )
        return fig


def _looped(fn: Function, scene: Scene, inputs: Inputs) -> Tensor:
    """(T, T + 2): the learner's loop over the blocks that are read."""
    keys = scene.read * scene.block
    q, k, v = (inputs[name][None, None, : T if name == "q" else keys].clone() for name in "qkv")
    return _pair(fn(q, k, v, scene.block, mask_of(scene)), "attention_in_blocks")


def _merged(fn: Function, scene: Scene, inputs: Inputs) -> Tensor:
    """(T, T + 2): the partial results of the blocks that are read, joined one after the other by the learner."""
    joined = _part(scene, 0, inputs)
    for n in range(1, scene.read):
        out, lse = joined[..., : T + 1], joined[..., T + 1]
        part = _part(scene, n, inputs)
        arguments = (x[None, None].clone() for x in (out, lse, part[..., : T + 1], part[..., T + 1]))
        joined = _pair(fn(*arguments), "merge")
    return joined


def _part(scene, n, inputs):
    """(T, T + 2): result and lse of block n alone; 0 and −∞ for a query that sees none of its keys."""
    keys = slice(n * scene.block, (n + 1) * scene.block)
    scores = scores_of(inputs)[:, keys]
    if scene.causal:
        scores = scores.masked_fill(torch.arange(T)[:, None] < torch.arange(T)[keys], -torch.inf)
    lse = scores.logsumexp(-1, keepdim=True)
    weights = (scores - lse.masked_fill(lse == -torch.inf, 0.0)).exp()
    return torch.cat([weights @ inputs["v"][keys], lse], -1)


def _pair(result, name):
    out, lse = several_of(result, name, 2)
    parts = [call(lambda: out, name, (1, 1, T, T + 1)), call(lambda: lse, name, (1, 1, T))[..., None]]
    return torch.cat([p.double() for p in parts], -1)[0, 0]
