"""SparseExplorer: sparse patterns of units 09 and 14, the pairs that a layer scores, the tokens that several reach.

Sources: arXiv:1904.10509 (strided, fixed), arXiv:2004.05150 (global), arXiv:2007.14062 (random), arXiv:2310.06825
(causal window), arXiv:2501.18795 (hybrid), arXiv:2512.02556 (keys chosen by scores), arXiv:2502.13189 (chosen blocks).
"""

from typing import Any

import numpy as np
import torch
import traitlets as t

from ...system.translation import listed
from ..tools.calls import WrongOutput
from ..tools.drawing import Figure, new_figure, plain, rectangle, sequential
from ..tools.several import SeveralFunctions
from ..tools.types import Function, Functions, Inputs, Tables
from ..tools.whole import several_of, tensor_of
from ..tools.words import _, ngettext
from .scenes import CHOSEN_BLOCK, GLOBALS, KINDS, LAYERS, MASKS, SCENES, SEED_DRAWS, WINDOWS, T
from .story import STORY

KIND_NAMES = tuple(k.name for k in KINDS)
CAUSAL = torch.ones(T, T).tril() > 0


class SparseExplorer(SeveralFunctions):
    """Live picture of a learner's patterns, passed as a mapping by name; masks are (T, T) boolean, True = may look.

    ``local_causal_mask(T, w)``, ``local_symmetric_mask(T, w)``, ``block_mask(T, block)``, ``longformer_mask(T, w,
    tokens)`` and ``random_mask(draws, keys, allowed)`` return a mask; ``strided_masks(T, stride)`` and ``fixed_masks(T,
    stride)`` return two; ``hybrid_layers(n_layers, w)`` returns a list of (window or None, has RoPE), of which only the
    windows are drawn. ``best_visible(scores, n)`` and ``block_choice(q, k, block, n)`` of unit 14 return a mask for
    each of LAYERS layers, (LAYERS, T, T) and (1, LAYERS, T, T), from recorded random vectors, as before training.

    Traits pattern (index into KIND_NAMES; a name works too), size (index of the slider's value), query and layers
    follow the controls; a click on a row of the grid chooses the query, a click on a small picture chooses the pattern.
    Raises the errors of TableWidget.
    """

    recording = "sparse"
    names = tuple(dict.fromkeys(k.function for k in KINDS if k.function))
    function_name = "pattern"
    controls = ("pattern", "size", "query", "layers")
    story = STORY
    opening = tuple({"query": query} for query in range(2, T, 3))  # no row of a window is longer than another

    pattern = t.Int(1, min=0, max=len(KINDS) - 1).tag(sync=True)
    size = t.Int(2, min=0, max=max(len(k.sizes) for k in KINDS) - 1).tag(sync=True)
    query = t.Int(14, min=0, max=T - 1).tag(sync=True)
    layers = t.Int(1, min=1, max=LAYERS).tag(sync=True)

    def __init__(self, functions: Functions | None = None, pattern: int | str = "window, causal", **state: Any) -> None:
        index = KIND_NAMES.index(pattern) if isinstance(pattern, str) else pattern
        super().__init__(functions, pattern=index, **state)

    @classmethod
    def measure_one(cls, name: str, fn: Function, inputs: Inputs) -> Tables:
        """m_<function> (masks, T, T): the masks of its scenes, in order."""
        found = []
        for scene in SCENES:
            if KINDS[scene.kind].function == name:
                found += _masks_of(name, fn, scene, inputs)
        return {f"m_{name}": torch.stack(found).numpy().astype(float)}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        may, right = (_in_order(tables) for tables in ({**reference, **mine}, reference))
        hops = np.stack([_hops(may[s.first : s.first + KINDS[s.kind].masks] > 0) for s in SCENES])
        own = [float(mine is not reference and f"m_{KINDS[s.kind].function}" in mine) for s in SCENES]
        return {
            **{k: v for k, v in reference.items() if k not in mine},
            "may": may,
            "right": right,
            "hops": hops,
            "own": np.array(own),
        }

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        kinds = [
            {
                "name": _(k.name),
                "short": _(k.short),
                "counts": k.counts,
                "sizes": list(k.sizes),
                "masks": k.masks,
                "ahead": k.ahead,
                "rated": k.function == "best_visible",
            }
            for k in KINDS
        ]
        return {
            "title": _("Sparse patterns: what is scored, what is reached"),
            "kinds": kinds,
            "length": T,
            "layers": LAYERS,
            "scenes": [{"kind": s.kind, "first": s.first, "rules": s.rules} for s in SCENES],
        }

    def scene(self) -> int:
        """Index of the current scene: a size beyond the pattern's last one shows the last one."""
        first = next(i for i, s in enumerate(SCENES) if s.kind == self.pattern)
        return first + min(self.size, len(KINDS[self.pattern].sizes) - 1)

    def masks(self) -> np.ndarray:
        """The masks of all LAYERS layers of the current pattern, (LAYERS, T, T) boolean."""
        at = SCENES[self.scene()].first + np.arange(LAYERS) % KINDS[self.pattern].masks
        return np.frombuffer(self.tables["may"], "<f4").reshape(MASKS, T, T)[at] > 0

    def hops(self) -> np.ndarray:
        """Number of layers after which output i first depends on input j, (T, T); 0 if it never does within LAYERS."""
        return np.frombuffer(self.tables["hops"], "<f4").reshape(len(SCENES), T, T)[self.scene()].astype(int)

    def reached(self) -> np.ndarray:
        """(T, T) boolean: the inputs that each output depends on after ``layers`` layers."""
        return (self.hops() > 0) & (self.hops() <= self.layers)

    def facts(self) -> dict[str, int]:
        """``pairs`` scored in the last layer shown, ``all_pairs`` in all layers shown, ``reached`` inputs of the query,
        ``full`` = layers until every reachable input is reached (0: not within LAYERS), ``wrong`` cells."""
        masks, hops = self.masks(), self.hops()
        scene, kind = SCENES[self.scene()], KINDS[self.pattern]
        right = np.frombuffer(self.tables["right"], "<f4").reshape(MASKS, T, T)[scene.first : scene.first + kind.masks]
        wanted = hops if kind.ahead else hops[np.tril_indices(T)]
        return {
            "pairs": int(masks[self.layers - 1].sum()),
            "all_pairs": int(masks[: self.layers].sum()),
            "reached": int(self.reached()[self.query].sum()),
            "full": 0 if (wanted == 0).any() else int(wanted.max()),
            "wrong": int((masks[: kind.masks] != (right > 0)).sum()),
        }

    @property
    def whose(self) -> str:
        own = np.frombuffer(self.tables["own"], "<f4")[self.scene()]
        return _("your") if own else _("the reference's")

    @property
    def words(self) -> str:
        kind, found, hops = KINDS[self.pattern], self.facts(), self.hops()
        size = _(kind.counts).format(n=kind.sizes[min(self.size, len(kind.sizes) - 1)])
        name = (_("“{name}”, {size}") if kind.counts else _("“{name}”")).format(name=_(kind.name), size=size)
        direct = np.flatnonzero(self.masks()[self.layers - 1][self.query])
        reached = np.flatnonzero((hops[self.query] > 0) & (hops[self.query] <= self.layers))
        state = _("as the reference's")
        if found["wrong"]:
            state = ngettext(
                "{n} cell differs from the reference's", "{n} cells differ from the reference's", found["wrong"]
            )
        if not found["full"]:
            full = (
                _("Some token is not reached within {n} layers.")
                if kind.ahead
                else _("Some earlier token is not reached within {n} layers.")
            )
        elif kind.ahead:
            full = ngettext(
                "Every token is reached after {n} layer.", "Every token is reached after {n} layers.", found["full"]
            )
        else:
            full = ngettext(
                "Every earlier token is reached after {n} layer.",
                "Every earlier token is reached after {n} layers.",
                found["full"],
            )
        after = ngettext(
            "After {n} layer it depends on {some} of {all} tokens: {list}.",
            "After {n} layers it depends on {some} of {all} tokens: {list}.",
            self.layers,
        )
        told = _(
            "Sparse explorer with {whose} pattern {pattern}, {state}: layer {layer} scores {pairs} pairs, full "
            "attention {all}, and in it query {query} looks at {direct}. {after} {full}"
        )
        return told.format(
            whose=self.whose,
            pattern=name,
            state=state.format(n=found["wrong"]),
            layer=self.layers,
            pairs=found["pairs"],
            all=T * T if kind.ahead else int(CAUSAL.sum()),
            query=self.query,
            direct=_list(direct),
            after=after.format(n=self.layers, some=found["reached"], all=T, list=_list(reached)),
            full=full.format(n=found["full"] or LAYERS),
        )

    def figure(self) -> Figure:
        fig = new_figure(8.4, 3.9)
        left, right = fig.subplots(1, 2)
        mask, hops = self.masks()[self.layers - 1], self.hops()
        rated = KINDS[self.pattern].function == "best_visible"
        tint = np.maximum(0.35 * self.reached() + 0.65 * mask, 0.12 * CAUSAL.numpy() * rated)
        left.imshow(tint, cmap=sequential(), vmin=0, vmax=1.2)
        for i, j in np.argwhere(self.reached() & ~mask):
            left.text(j, i, "·", ha="center", va="center", fontsize=8)
        left.add_patch(rectangle((-0.5, self.query - 0.5), T, 1, fill=False, edgecolor="black", linewidth=2))
        plain(left, f"{KINDS[self.pattern].name}: layer {self.layers} scores (dark)", "key", "query")
        grown = np.stack([(hops[self.query] > 0) & (hops[self.query] <= n) for n in range(1, LAYERS + 1)])
        right.imshow(grown[::-1], cmap=sequential(), vmin=0, vmax=1.2, aspect="auto")
        right.set_yticks(range(LAYERS), range(LAYERS, 0, -1))
        plain(right, f"what query {self.query} depends on", "input token", "after layers")
        return fig


def _masks_of(name, fn, scene, inputs):
    """The masks that ``fn`` returns for one scene, a list of (T, T) boolean tensors."""
    kind = KINDS[scene.kind]
    if name in ("strided_masks", "fixed_masks"):
        return [tensor_of(m, name, "boolean", (T, T)) for m in several_of(fn(T, scene.size), name, 2)]
    if name == "hybrid_layers":
        return [_window(layer, inputs) for layer in several_of(fn(LAYERS, scene.size), name, LAYERS)]
    if name == "best_visible":
        scores = inputs["queries"] @ inputs["keys"].mT
        return list(tensor_of(fn(scores, scene.size), name, "boolean", (LAYERS, T, T)))
    if name == "block_choice":
        q, k = inputs["queries"][None].clone(), inputs["keys"][None].clone()
        return list(tensor_of(fn(q, k, CHOSEN_BLOCK, scene.size), name, "boolean", (1, LAYERS, T, T))[0])
    if name == "random_mask":
        base = inputs["base"] > 0 if "BigBird" in kind.name else torch.zeros(T, T, dtype=torch.bool)
        found = fn(inputs[SEED_DRAWS].clone(), scene.size, ~base)
        return [tensor_of(found, name, "boolean", (T, T)) | base]
    found = fn(T, 3, list(GLOBALS[: scene.size])) if name == "longformer_mask" else fn(T, scene.size)
    return [tensor_of(found, name, "boolean", (T, T))]


def _window(layer, inputs):
    window = layer[0] if isinstance(layer, tuple | list) and len(layer) == 2 else layer
    if window is None:
        return CAUSAL
    if window not in WINDOWS:
        said = _(
            "hybrid_layers must return pairs (window, has RoPE) with the window given or None, and it returned {got}."
        )
        raise WrongOutput(said.format(got=f"{layer!r:.60}"))
    return inputs["band"][WINDOWS.index(window)] > 0


def _in_order(tables):
    """The masks of all scenes in order, (MASKS, T, T), from the functions' tables."""
    at, found = dict.fromkeys(SparseExplorer.names, 0), []
    for scene in SCENES:
        kind = KINDS[scene.kind]
        if kind.function:
            start = at[kind.function]
            found.append(tables[f"m_{kind.function}"][start : start + kind.masks])
            at[kind.function] += kind.masks
        else:
            found.append(CAUSAL.numpy()[None].astype(float))
    return np.concatenate(found)


def _hops(masks):
    """(T, T): the first depth at which output i depends on input j if layers use these masks in turn; 0 if none."""
    reached, hops = np.eye(T, dtype=bool), np.zeros((T, T))
    for depth in range(1, LAYERS + 1):
        # The residual connection keeps a token's own state with any mask.
        step = masks[(depth - 1) % len(masks)] | np.eye(T, dtype=bool)
        reached = step.astype(int) @ reached.astype(int) > 0
        hops[reached & (hops == 0)] = depth
    return hops


def _list(places):
    """Writes [4, 5, 6, 9] as "4 to 6, 9"."""
    runs = []
    for p in places:
        if runs and runs[-1][1] == p - 1:
            runs[-1][1] = p
        else:
            runs.append([p, p])
    run = _("{first} to {last}")
    return listed(str(a) if a == b else run.format(first=a, last=b) for a, b in runs) or _("nothing")
