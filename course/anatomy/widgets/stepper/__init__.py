"""CacheStepper: a text in chunks; the keys that each step reads, where they are stored, and their RoPE positions."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import traitlets as t
from torch import Tensor

from ...system.translation import listed, sentences
from ..tools.calls import WrongOutput
from ..tools.drawing import BLUE, GRAY, VERMILLION, Figure, new_figure, number, plain, rectangle
from ..tools.several import SeveralFunctions
from ..tools.types import Function, Inputs, Tables
from ..tools.words import N_, _, ngettext
from .story import STORY

LENGTH, WINDOW, BLOCK = 8, 3, 3
TABLE = (2, 0, 1)  # the page table of the picture: part of the text → block that holds it
PLANS = ((4, 1, 1, 1, 1), (1,) * LENGTH, (LENGTH,), (2, 3, 1, 2))
PLAN_NAMES = (
    N_("a prompt of 4, then one by one"),
    N_("one by one"),
    N_("all at once"),
    N_("chunks of 2, 3, 1, 2"),
    N_("your own plan"),
)
STORES = (N_("one buffer"), N_("rolling window of 3"), N_("pages of 3"))
VIEWS = (N_("keys that are read"), N_("positions and scores"))
ORIGINS = (N_("by rotary_step"), N_("wrong: every chunk from 0"))
TEXT = ("The", "cat", "sat", "on", "the", "mat", "and", "slept")
NODES = 1 << LENGTH
TOLERANCE = 1e-4


def node_of(plan: Sequence[int]) -> int:
    """Index of a prefix of the text with its cuts: a bit for each cut; the highest bit gives the length."""
    ends = np.cumsum(plan)
    return int(sum(1 << (end - 1) for end in ends))


def _nodes():
    """Yields (node, start of the last chunk, end, plan) for each way to cut each prefix of the text."""
    for node in range(1, NODES):
        ends = [i + 1 for i in range(LENGTH) if node >> i & 1]
        yield node, ([0, *ends])[-2], ends[-1], np.diff([0, *ends])


class CacheStepper(SeveralFunctions):
    """Live picture of ``cached_attention`` and, if given, of ``rotary_step``.

    Both are called as f(q, k, v, past=None) → (result, (all keys, all values)), on 8 tokens in every possible plan of
    chunks: q and k (1, 1, T, D), past None or the previous call's second result, all float32. cached_attention gets
    the pairs that rotary_step is to turn, turned by their positions, so that both views show one text's scores. The
    values are unit vectors (1, 1, T, 8), so that the result is the attention weights themselves. Traits: plan, the
    sizes of the chunks, which add up to 8; chunk, the number of the chunk shown, from 0; store, view and origin are
    indices; more unfolds their controls and those of the cuts. The pictures of the window and of the pages show
    where tokens are stored; the comparison with the full forward pass always uses one buffer. Raises the errors of
    TableWidget, and TraitError for a plan that does not add up.
    """

    recording, function_name = "stepper", "cached_attention"
    controls = ("view", "plan", "chunk", "store", "origin", "more")
    story = STORY
    opening = tuple({"chunk": n} for n in range(1, 5))
    names = ("cached_attention", "rotary_step")

    plan = t.List(t.Int(), list(PLANS[0])).tag(sync=True)
    chunk = t.Int(1, min=0, max=LENGTH - 1).tag(sync=True)
    store = t.Int(0, min=0, max=len(STORES) - 1).tag(sync=True)
    view = t.Int(0, min=0, max=len(VIEWS) - 1).tag(sync=True)
    origin = t.Int(0, min=0, max=len(ORIGINS) - 1).tag(sync=True)
    more = t.Bool(False).tag(sync=True)

    def __init__(
        self, cached_attention: Function | None = None, rotary_step: Function | None = None, **state: Any
    ) -> None:
        more = bool(STORY[state.get("step", 0)].state["more"])  # a later step needs what is folded away
        super().__init__(_given(cached_attention, rotary_step) or None, **{"more": more, **state})

    def refresh(self, cached_attention: Function | None = None, rotary_step: Function | None = None) -> None:
        """Compute the tables again, with new functions if any are given."""
        super().refresh({**(self._fn or {}), **_given(cached_attention, rotary_step)} or None)

    @t.validate("plan")
    def _adds_up(self, proposal):
        plan = [int(size) for size in proposal["value"]]
        if any(size < 1 for size in plan) or sum(plan) != LENGTH:
            said = _("a plan is a list of positive sizes that add up to {n}, got {plan}")
            raise t.TraitError(said.format(n=LENGTH, plan=plan))
        return plan

    @classmethod
    def measure_one(cls, name: str, fn: Function, inputs: Inputs) -> Tables:
        """w (nodes, 8, 8): weights of the node's last chunk; p (nodes, 8): the position of each stored key."""
        rotary = name == "rotary_step"
        q, k = (inputs[f"rotary_{x}" if rotary else x] for x in "qk")
        v = torch.eye(LENGTH, dtype=q.dtype)[None, None]
        weights, positions = np.full((NODES, LENGTH, LENGTH), np.nan), np.full((NODES, LENGTH), np.nan)
        pasts: dict[int, tuple[Tensor, ...]] = {}
        for node, start, stop, __ in _nodes():
            before = node & ~(1 << (stop - 1))
            past = None if before == 0 else tuple(x.clone() for x in pasts[before])
            chunk = (x[:, :, start:stop].clone() for x in (q, k, v))
            weights[node, start:stop], pasts[node] = _call(fn, name, past, *chunk)
            if rotary:
                positions[node] = _positions(pasts[node][0], k[0, 0])
        return {f"w_{name}": weights, **({f"p_{name}": positions} if rotary else {})}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        q, k = (inputs[x][0, 0].double() for x in "qk")
        own = [float(mine is not reference and f"w_{name}" in mine) for name in self.names]
        shown = {**reference, **mine}
        raw = [np.ascontiguousarray(inputs[f"rotary_{x}"][0, 0].double()).view(complex)[:, 0] for x in "qk"]
        straight = np.arange(LENGTH)
        gaps = {name: _gaps(shown[f"w_{name}"], reference[f"w_{name}"][1 << (LENGTH - 1)]) for name in self.names}
        restart, restarted = np.full((NODES, LENGTH, LENGTH), np.nan), np.full((NODES, LENGTH), np.nan)
        for node, start, stop, plan in _nodes():
            at = np.concatenate([np.arange(size) for size in plan])
            restarted[node, :stop] = at
            restart[node, start:stop, :stop] = _scores(raw, at, at)[start:stop]
        right = _scores(raw, straight, straight)
        with np.errstate(all="ignore"):
            weights = shown["w_rotary_step"]
            # Weights determine scores up to a constant per row; a token's score with itself does not depend on its
            # position.
            scores = np.log(weights / np.einsum("ntt->nt", weights)[..., None]) + np.diag(right)[:, None]
        missing = {k: v for k, v in reference.items() if k not in mine}
        return {
            **missing,
            "gap": gaps["cached_attention"],
            "turned_gap": gaps["rotary_step"],
            "own": np.array(own),
            "restart_gap": _gaps(_softmax(restart), _softmax(right)),
            "scores": scores,
            "right": right,
            "restart": restart,
            "restart_p": restarted,
            "raw": (q @ k.T / math.sqrt(q.shape[-1])).numpy(),  # scores that cached_attention's weights come from
            **{f"pairs_{x}": inputs[f"rotary_{x}"][0, 0].numpy() for x in "qk"},
        }

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("Step by step through a cache"),
            "length": LENGTH,
            "text": list(TEXT),
            "window": WINDOW,
            "block": BLOCK,
            "table": list(TABLE),
            "plans": [list(p) for p in PLANS],
            "planNames": [_(name) for name in PLAN_NAMES],
            "stores": [_(name) for name in STORES],
            "views": [_(name) for name in VIEWS],
            "origins": [_(name) for name in ORIGINS],
            "tolerance": TOLERANCE,
        }

    def readings(self) -> dict[str, Any]:
        """For the current step: start, stop, first, read (keys), stored (tokens), gap (of weights), and slots, the
        token in each slot; lost, how many words the newest query no longer sees, and price, the share of its weight
        that they would get. With positions also change, the largest change of a score, and the keys' positions."""
        chunk = min(self.chunk, len(self.plan) - 1)
        stop, node = sum(self.plan[: chunk + 1]), node_of(self.plan[: chunk + 1])
        start = stop - self.plan[chunk]
        first = max(0, start - WINDOW + 1) if self.store == 1 else 0
        found = {
            "start": start,
            "stop": stop,
            "first": first,
            "read": stop - first,
            "slots": _slots(stop, self.store),
            "stored": min(stop, WINDOW) if self.store == 1 else stop,
            "lost": max(0, stop - WINDOW) if self.store == 1 else 0,
        }
        if self.view == 0:
            given = self._table("w_cached_attention", NODES, LENGTH, LENGTH)[node, stop - 1, :stop]
            return {**found, "gap": float(self._table("gap", NODES)[node]), "price": _share(given, found["lost"])}
        wrong = self.origin == 1
        right = self._table("right", LENGTH, LENGTH)
        scores = self._table("restart" if wrong else "scores", NODES, LENGTH, LENGTH)[node]
        change = [
            abs(scores[i, j] - right[i, j])
            for i in range(start, stop)
            for j in range(first, i + 1)
            if j > i - WINDOW or self.store != 1
        ]
        at = self._table("restart_p" if wrong else "p_rotary_step", NODES, LENGTH)[node, :stop]
        gap = self._table("restart_gap" if wrong else "turned_gap", NODES)[node]
        return {
            **found,
            "gap": float(gap),
            "price": _share(np.exp(scores[stop - 1, :stop]), found["lost"]),
            "change": float(np.max(change)),
            "positions": [None if np.isnan(p) else int(p) for p in at],
        }

    def _table(self, name, *shape):
        return np.frombuffer(self.tables[name], "<f4").reshape(shape)

    @property
    def words(self) -> str:
        n = self.readings()
        last = n["stop"] - 1
        step = (
            ngettext(
                "Chunks of {plan}, {store}: this step computes token {last}, reads {n} key and leaves {stored} "
                "stored, each with its key and value, in slots {slots}.",
                "Chunks of {plan}, {store}: this step computes token {last}, reads {n} keys and leaves {stored} "
                "stored, each with its key and value, in slots {slots}.",
                n["read"],
            )
            if n["start"] == last
            else ngettext(
                "Chunks of {plan}, {store}: this step computes tokens {first} to {last}, reads {n} key and leaves "
                "{stored} stored, each with its key and value, in slots {slots}.",
                "Chunks of {plan}, {store}: this step computes tokens {first} to {last}, reads {n} keys and leaves "
                "{stored} stored, each with its key and value, in slots {slots}.",
                n["read"],
            )
        )
        step = step.format(
            plan=listed(self.plan),
            store=_(STORES[self.store]),
            first=n["start"],
            last=last,
            n=n["read"],
            stored=n["stored"],
            slots=" ".join(_("empty") if s is None else str(s) for s in n["slots"]),
        )
        if n["lost"]:
            told = ngettext(
                "Query {last} has lost {n} word to the window, which would get {share:.2f} of its weight.",
                "Query {last} has lost {n} words to the window, which would get {share:.2f} of its weight.",
                n["lost"],
            )
            step = sentences(step, told.format(last=last, n=n["lost"], share=n["price"]))
        name = "cached_attention" if self.view == 0 else "rotary_step"
        whose = _("your") if self.written(name) else _("the reference's")
        gap = {
            (True, True): _(
                "The chunk's attention by {whose} {name} equals the full forward pass (largest difference of a weight "
                "{gap})."
            ),
            (True, False): _(
                "The chunk's attention by {whose} {name} differs from the full forward pass (largest difference of a "
                "weight {gap})."
            ),
            (False, True): _(
                "The chunk's attention with every chunk counted from 0 equals the full forward pass (largest "
                "difference of a weight {gap})."
            ),
            (False, False): _(
                "The chunk's attention with every chunk counted from 0 differs from the full forward pass (largest "
                "difference of a weight {gap})."
            ),
        }[self.view == 0 or self.origin == 0, n["gap"] <= TOLERANCE]
        gap = gap.format(whose=whose, name=name, gap=number(n["gap"]))
        if self.view == 0:
            return sentences(step, gap)
        told = _("The stored keys stand at positions {positions}; a score changes by up to {change}.")
        positions = " ".join(_("unknown") if p is None else str(p) for p in n["positions"])
        return sentences(step, gap, told.format(positions=positions, change=number(n["change"])))

    def figure(self) -> Figure:
        n = self.readings()
        fig = new_figure(8.4, 1.6 if self.view == 0 else 2.2)
        axes = fig.add_subplot()
        for p in range(LENGTH):
            color = VERMILLION if n["start"] <= p < n["stop"] else BLUE if n["first"] <= p < n["stop"] else "white"
            axes.add_patch(_square(p, color))
            axes.text(
                p + 0.5,
                0.5,
                str(p),
                ha="center",
                va="center",
                fontsize=9,
                color="black" if color == "white" else "white",
            )
            if p < n["lost"]:
                axes.plot([p + 0.05, p + 0.95], [0.05, 0.95], color=GRAY)
                axes.plot([p + 0.05, p + 0.95], [0.95, 0.05], color=GRAY)
            if self.view == 1 and p < n["stop"]:
                at = n["positions"][p]
                axes.text(p + 0.5, -0.3, f"at {'?' if at is None else at}", ha="center", va="center", fontsize=9)
        axes.set(xlim=(0, LENGTH), ylim=(0 if self.view == 0 else -0.6, 1), yticks=[], xticks=[])
        title = f"computed: {n['start']} to {n['stop'] - 1} (orange), read from the cache: blue"
        title += ", lost: crossed out" if n["lost"] else ""
        plain(axes, title if self.view == 0 else f"{title}; below: position of each key, {ORIGINS[self.origin]}")
        return fig


def _given(*functions):
    return {name: fn for name, fn in zip(CacheStepper.names, functions, strict=True) if fn is not None}


def _square(p, color):
    return rectangle((p + 0.05, 0.05), 0.9, 0.9, facecolor=color, edgecolor=GRAY, hatch="//" * (color == VERMILLION))


def _share(given, lost):
    """Of what a query would give to all keys so far, the share of the first ones, which it has lost."""
    return float(1 - given[lost:].sum() / given.sum())


def _slots(stop, store):
    """The token in each slot after ``stop`` tokens; None for an empty slot."""
    slots = [None] * (LENGTH if store == 0 else WINDOW if store == 1 else BLOCK * len(TABLE))
    for token in range(stop):
        page = TABLE[token // BLOCK]
        slots[token if store == 0 else token % WINDOW if store == 1 else page * BLOCK + token % BLOCK] = token
    return slots


def _call(fn, name, past, q, k, v):
    """Weights (T, 8) of one chunk as an array, and the past for the next one."""
    result = fn(q, k, v, past)
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise WrongOutput(_("{name} must return a result and the pair (keys, values).").format(name=name))
    piece, past = result
    if not isinstance(piece, torch.Tensor) or piece.shape != v.shape:
        said = _("{name} must return a result of shape {shape} here.")
        raise WrongOutput(said.format(name=name, shape=tuple(v.shape)))
    if not isinstance(past, tuple | list) or [isinstance(x, torch.Tensor) for x in past] != [True, True]:
        raise WrongOutput(_("The second result of {name} must be the pair (keys, values).").format(name=name))
    return piece.detach().cpu().numpy()[0, 0], tuple(x.detach() for x in past)


def _positions(keys, raw):
    """Integer position by which each stored key was rotated (8,); NaN if there is none."""
    found = np.full(LENGTH, np.nan)
    if keys.shape[:2] != (1, 1) or keys.shape[2] > LENGTH or keys.shape[-1] != 2:
        return found
    turned, plain_ = (np.ascontiguousarray(x.cpu().double()).view(complex)[:, 0] for x in (keys[0, 0], raw))
    for s, key in enumerate(turned):
        gaps = np.abs(plain_[s] * np.exp(1j * np.arange(LENGTH)) - key)
        if gaps.min() < 1e-3:
            found[s] = gaps.argmin()
    return found


def _scores(raw, query_at, key_at):
    """Causal scores (T, T) of pairs rotated by their positions; −∞ if the key is later."""
    q, k = (x[: len(at)] * np.exp(1j * at) for x, at in zip(raw, (query_at, key_at), strict=True))
    return np.where(np.tri(len(q), dtype=bool), (q.conj()[:, None] * k).real / math.sqrt(2), -np.inf)


def _softmax(scores):
    """Softmax over the last axis; unknown scores (NaN) count as masked."""
    with np.errstate(all="ignore"):
        e = np.exp(scores - np.nanmax(np.where(np.isfinite(scores), scores, -1e9), -1, keepdims=True))
        return np.nan_to_num(e) / np.nansum(e, -1, keepdims=True)


def _gaps(weights, full):
    """Largest difference between the last chunk's weights and the full forward pass's, for each node."""
    gaps = np.zeros(NODES)
    for node, start, stop, __ in _nodes():
        gaps[node] = np.abs(weights[node, start:stop] - full[start:stop]).max()
    return gaps
