"""CacheCalculator: applies the learner's formula to real models, GPUs, and ways to store less."""

import numbers
from typing import Any

import numpy as np
import traitlets as t

from ..tools.base import TableWidget
from ..tools.calls import WrongOutput
from ..tools.drawing import BLUE, GRAY, VERMILLION, Figure, new_figure, plain
from ..tools.types import Function, Inputs, Tables
from ..tools.words import N_, _
from .models import GPUS, MODELS, Model
from .story import STORY

KINDS = (N_("as built"), "MHA", N_("GQA, up to 8"), "MQA", N_("MLA, 512 + 64"))
STACKS = (
    N_("as built"),
    N_("every layer full"),
    N_("window 4,096 in every layer"),
    N_("every second layer full, else window 4,096"),
    N_("every sixth layer full, else window 1,024"),
)
ITEMSIZES = (4, 2, 1)
TOKENS = tuple(2**e for e in range(9, 21))
USERS = (*range(1, 65), *range(72, 257, 8), *range(288, 1025, 32))  # each boundary can be found
WEIGHT_BYTES = 2
TOLERANCE = 1e-6  # relative


class CacheCalculator(TableWidget):
    """Live picture of ``kv_bytes_per_token(n_layers, n_kv_heads, head_dim, itemsize=2)``, which returns an int.

    The function is called for the full and for the windowed layers of each model, each kind of attention, each stack
    and each itemsize. A latent of R + r numbers is counted as one key-value head of (R + r)/2, whose key and value need
    as many bytes. Traits model, kind, stack and gpu are indices; itemsize, tokens and users are values; more
    unfolds the kinds, the curve and the layers, which the page begins without. Raises the
    errors of TableWidget, and WrongOutput for results that are not numbers.
    """

    recording, function_name = "cache", "kv_bytes_per_token"
    controls = ("model", "kind", "stack", "itemsize", "tokens", "users", "gpu", "more")
    story = STORY
    opening = tuple({"users": n} for n in (1, 2, 4, 6, 8, 10, 12, 14, 16))

    model = t.Int(2, min=0, max=len(MODELS) - 1).tag(sync=True)
    kind = t.Int(0, min=0, max=len(KINDS) - 1).tag(sync=True)
    stack = t.Int(0, min=0, max=len(STACKS) - 1).tag(sync=True)
    itemsize = t.Enum(ITEMSIZES, 2).tag(sync=True)
    tokens = t.Enum(TOKENS, 4096).tag(sync=True)
    users = t.Enum(USERS, 16).tag(sync=True)
    gpu = t.Int(1, min=0, max=len(GPUS) - 1).tag(sync=True)
    more = t.Bool(False).tag(sync=True)

    def __init__(self, kv_bytes_per_token: Function | None = None, **state: Any) -> None:
        more = bool(STORY[state.get("step", 0)].state["more"])  # a later step needs what is folded away
        super().__init__(kv_bytes_per_token, **{"more": more, **state})

    @classmethod
    def measure(cls, fn: Function, inputs: Inputs) -> Tables:
        """full and windowed (models, kinds, stacks, itemsizes): bytes per token of those layers."""
        shape = (len(MODELS), len(KINDS), len(STACKS), len(ITEMSIZES))
        tables = {"full": np.zeros(shape), "windowed": np.zeros(shape)}
        for m, k, s, b in np.ndindex(shape):
            full, __ = layers(MODELS[m], s)
            heads, head_dim = cached_heads(MODELS[m], k)
            for name, count in (("full", full), ("windowed", MODELS[m].layers - full)):
                if count:
                    tables[name][m, k, s, b] = _number(fn(count, heads, head_dim, itemsize=ITEMSIZES[b]))
        return tables

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        with np.errstate(all="ignore"):
            gaps = [np.nanmax(np.abs(mine[k] - reference[k]) / np.maximum(reference[k], 1)) for k in reference]
        return {"gap": np.array([max(gaps)])}

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("What a cache costs"),
            "kinds": [_(kind) for kind in KINDS],
            "stacks": [_(stack) for stack in STACKS],
            "itemsizes": list(ITEMSIZES),
            "tokens": list(TOKENS),
            "users": list(USERS),
            "models": [m.name for m in MODELS],
            "heads": [m.heads for m in MODELS],
            "weights": [m.parameters * 1e9 * WEIGHT_BYTES for m in MODELS],
            "gpus": [g.name for g in GPUS],
            "memory": [g.memory for g in GPUS],
            "bandwidth": [g.bandwidth for g in GPUS],
            "sources": [_source_of(m) for m in MODELS],
            "gpuSources": [_("{source}.").format(source=g.source) for g in GPUS],
            "windows": [[layers(m, s)[1] for s in range(len(STACKS))] for m in MODELS],
            "calls": [[[_call_of(m, k, s) for s in range(len(STACKS))] for k in range(len(KINDS))] for m in MODELS],
            "latent": [[bool(kind == 4 or (kind == 0 and m.latent)) for kind in range(len(KINDS))] for m in MODELS],
            "tolerance": TOLERANCE,
        }

    def readings(self) -> dict[str, float]:
        """The numbers shown: per_token, per_user, total, weights (bytes), fit (users), seconds (one step)."""
        at = (self.model, self.kind, self.stack, ITEMSIZES.index(self.itemsize))
        full, windowed = (float(self._mine[k][at]) for k in ("full", "windowed"))
        window = layers(MODELS[self.model], self.stack)[1]
        user = full * self.tokens + windowed * min(self.tokens, window)
        weights, gpu = MODELS[self.model].parameters * 1e9 * WEIGHT_BYTES, GPUS[self.gpu]
        fit = max(0, gpu.memory - weights) // user if user > 0 else 0
        return {
            "per_token": full + windowed,
            "per_user": user,
            "total": user * self.users,
            "weights": weights,
            "fit": int(fit),
            "seconds": (weights + user * self.users) / gpu.bandwidth,
        }

    @property
    def words(self) -> str:
        n, gpu, model = self.readings(), GPUS[self.gpu], MODELS[self.model]
        wrong = float(np.frombuffer(self.tables["gap"], "<f4")[0]) > TOLERANCE
        told = _(
            "Cache of {model} ({shape}) by {whose} kv_bytes_per_token; attention {kind}, layers {stack}, {itemsize} "
            "bytes per number: {per_token:,.0f} bytes per token. {users} users with {tokens:,} tokens take {total} "
            "beside {weights} of weights; {fit:,} such users fit on {gpu}, and to read that much takes at least "
            "{ms:,.1f} ms. {verdict}"
        )
        return told.format(
            model=model.name,
            shape=model.shape,
            whose=self.whose,
            kind=_(KINDS[self.kind]),
            stack=_(STACKS[self.stack]),
            itemsize=self.itemsize,
            per_token=n["per_token"],
            users=self.users,
            tokens=self.tokens,
            total=size(n["total"]),
            weights=size(n["weights"]),
            fit=n["fit"],
            gpu=gpu.name,
            ms=n["seconds"] * 1e3,
            verdict=_("The formula differs from the recorded one.")
            if wrong
            else _("The formula agrees with the recorded one."),
        )

    def figure(self) -> Figure:
        fig = new_figure(8.4, 2.2)
        axes, n, gpu = fig.add_subplot(), self.readings(), GPUS[self.gpu]
        axes.barh([0], [n["weights"] / 1e9], color=GRAY, label=f"weights, {size(n['weights'])}")
        axes.barh(
            [0],
            [n["total"] / 1e9],
            left=[n["weights"] / 1e9],
            hatch="//",
            edgecolor="white",
            color=BLUE if n["weights"] + n["total"] <= gpu.memory else VERMILLION,
            label=f"{self.users} caches, {size(n['total'])}",
        )
        axes.axvline(gpu.memory / 1e9, color="black", linewidth=2, label=gpu.name)
        axes.set_yticks([])
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.3), ncols=3)
        plain(axes, f"{MODELS[self.model].name}: {n['per_token']:,.0f} bytes per token, {n['fit']:,} users fit", "GB")
        return fig


def layers(model: Model, stack: int) -> tuple[int, int]:
    """(number of layers that see the whole text, window of the others) of a model in one of STACKS."""
    built = (model.layers if model.full is None else model.full, model.window)
    return (built, (model.layers, 0), (0, 4096), (model.layers // 2, 4096), (model.layers // 6, 1024))[stack]


def cached_heads(model: Model, kind: int) -> tuple[int, int]:
    """(key-value heads, head dim) whose keys and values take as many bytes as the cache, for one of KINDS."""
    if kind == 0 and not model.latent:
        return model.kv_heads, model.head_dim
    if kind in (0, 4):
        return 1, sum(model.latent or (512, 64)) // 2
    return {1: model.heads, 2: max(G for G in range(1, 9) if model.heads % G == 0), 3: 1}[kind], model.head_dim


def _source_of(model):
    told = _("{shape}. From {source}; checked against {checked}.")
    return told.format(shape=model.shape, source=_(model.source), checked=model.checked)


def _call_of(model, kind, stack):
    """Full layers, windowed layers, heads and head dim: the function's arguments for one setting."""
    full, __ = layers(model, stack)
    heads, head_dim = cached_heads(model, kind)
    return [full, model.layers - full, heads, head_dim]


def size(n: float) -> str:
    """Bytes as a short text, with units of powers of 1,000: 2.15 GB."""
    for limit, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n >= limit:
            return f"{n / limit:.3g} {unit}" if n < 1e3 * limit else f"{n / limit:,.0f} {unit}"
    return _("{n} bytes").format(n=f"{n:.0f}")


def _number(value):
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        said = _("kv_bytes_per_token must return a number of bytes, and it returned {got}.")
        raise WrongOutput(said.format(got=type(value).__name__))
    return float(value)
