"""ExpertsExplorer: words that fall into the stacks of three experts, a knob for the bias of each, and limited room.

Sources: arXiv:2101.03961 (softmax router, capacity), arXiv:2412.19437 and arXiv:2408.15664 (bias that chooses).
"""

from typing import Any

import numpy as np
import torch
import traitlets as t
from torch import Tensor

from ...system.translation import listed
from ..tools.calls import WrongOutput, call
from ..tools.drawing import BLUE, GRAY, VERMILLION, Figure, new_figure, number, plain
from ..tools.several import SeveralFunctions
from ..tools.types import Function, Functions, Inputs, Tables
from ..tools.whole import several_of, tensor_of
from ..tools.words import _, ngettext
from .settings import (
    BIASES,
    CHOICES,
    FACTORS,
    NO_LIMIT,
    RATE,
    ROOMS,
    ROUTERS,
    ROUTERS_TOLD,
    SETTINGS,
    WORDS,
    ZERO,
    E,
    N,
    capacity_of,
    chosen_by,
    setting_of,
)
from .story import STORY

FUNCTIONS = ("route", "route_biased", "balanced_bias", "within_capacity")
TOLERANCE = 1e-4
_WIDE = max(CHOICES) + 1  # numbers of a word in the tables of the routers


class ExpertsExplorer(SeveralFunctions):
    """Live picture of ``route(logits, k)``, ``route_biased(logits, bias, k)``, ``balanced_bias(bias, chosen, rate)``
    and ``within_capacity(chosen, n_experts, capacity)``, as a mapping by name.

    The routers get logits (12, 3) float32, k 1 or 2, and every combination of biases (3,) from −0.3 to 0.3. The other
    two get what a right router chooses there, and rate 0.1. Raises WrongOutput for experts that do not exist.

    Traits bias0, bias1 and bias2 (positions of the knobs, 3 = no bias) are dragged in the picture; word, k, router (of
    ROUTERS) and room (of ROOMS) follow the controls; more unfolds most of them. Raises the errors of TableWidget.
    """

    recording = "experts"
    names = FUNCTIONS
    function_name = "functions"
    controls = ("bias0", "bias1", "bias2", "word", "k", "router", "room", "more")
    story = STORY
    opening = tuple({"bias1": ZERO - n} for n in range(4))  # not bias2, whose effect the first step asks for

    bias0 = t.Int(ZERO, min=0, max=len(BIASES) - 1).tag(sync=True)
    bias1 = t.Int(ZERO, min=0, max=len(BIASES) - 1).tag(sync=True)
    bias2 = t.Int(ZERO, min=0, max=len(BIASES) - 1).tag(sync=True)
    word = t.Int(6, min=0, max=N - 1).tag(sync=True)
    k = t.Enum(CHOICES, 1).tag(sync=True)
    router = t.Enum(ROUTERS, ROUTERS[0]).tag(sync=True)
    room = t.Enum(ROOMS, NO_LIMIT).tag(sync=True)
    more = t.Bool(False).tag(sync=True)

    def __init__(self, functions: Functions | None = None, **state: Any) -> None:
        more = bool(STORY[state.get("step", 0)].state["more"])  # a later step needs what is folded away
        super().__init__(functions, **{"more": more, **state})

    @classmethod
    def measure_one(cls, name: str, fn: Function, inputs: Inputs) -> Tables:
        """t_route (k, N, 3) and t_route_biased (k, settings, N, 3): for each word its experts as digits to the base E,
        the first one in front, and their weights. t_balanced_bias (k, settings, E). t_within_capacity (k, rooms,
        settings): a bit for each choice with a place, those of the first word lowest."""
        logits = inputs["logits"]
        biases = logits.new_tensor(SETTINGS)
        if name == "route":
            found = [_routed(fn(logits.clone(), k), name, k) for k in CHOICES]
        elif name == "route_biased":
            found = [torch.stack([_routed(fn(logits.clone(), b.clone(), k), name, k) for b in biases]) for k in CHOICES]
        elif name == "balanced_bias":
            found = [
                torch.stack([call(fn, name, (E,), b, chosen_by(logits, b, k), rate=RATE).double() for b in biases])
                for k in CHOICES
            ]
        else:
            found = [_places(fn, [chosen_by(logits, b, k) for b in biases], k) for k in CHOICES]
        return {f"t_{name}": torch.stack(found).double().numpy()}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        shown = {**reference, **mine}
        own = [float(mine is not reference and f"t_{name}" in mine) for name in FUNCTIONS]
        gaps = [np.abs(shown[f"t_{name}"].astype("f4") - reference[f"t_{name}"]) for name in FUNCTIONS]
        off = [gap if name == "within_capacity" else gap.max(-1) for name, gap in zip(FUNCTIONS, gaps, strict=True)]
        return {
            **{k: v for k, v in reference.items() if k not in mine},
            # of each setting
            "off_route": off[0].max(-1),
            "off_route_biased": off[1].max(-1),
            "off_balanced_bias": off[2],
            "off_within_capacity": off[3],
            "own": np.array(own),
        }

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("Experts: who works for which word"),
            "words": list(WORDS),
            "experts": E,
            "logits": inputs["logits"].tolist(),
            "biases": list(BIASES),
            "choices": list(CHOICES),
            "routers": [[name, _(told)] for name, told in zip(ROUTERS, ROUTERS_TOLD, strict=True)],
            "rooms": [[name, _(name)] for name in ROOMS],
            "capacities": [[capacity_of(room, k) for room in ROOMS] for k in CHOICES],
            "tolerance": TOLERANCE,
        }

    def _table(self, name, *shape):
        return np.frombuffer(self.tables[name], "<f4").reshape(len(CHOICES), *shape)[CHOICES.index(self.k)]

    @property
    def setting(self) -> int:
        """Index of the setting; a router without biases is at that of no bias."""
        knobs = (self.bias0, self.bias1, self.bias2)
        return setting_of(knobs if self.router == ROUTERS[0] else (ZERO,) * E)

    def routed(self) -> tuple[np.ndarray, np.ndarray]:
        """(weights (N, k), chosen (N, k)) of the router shown."""
        if self.router == ROUTERS[0]:
            rows = self._table("t_route_biased", len(SETTINGS), N, _WIDE)[self.setting]
        else:
            rows = self._table("t_route", N, _WIDE)
        digits = [rows[:, 0].astype(int) // E ** (self.k - 1 - n) % E for n in range(self.k)]
        return rows[:, 1 : self.k + 1].astype(float), np.stack(digits, -1)

    def kept(self) -> np.ndarray:
        """(N, k) boolean: the choices that find a place."""
        if self.room == NO_LIMIT:
            return np.ones((N, self.k), dtype=bool)
        bits = int(
            self._table("t_within_capacity", len(FACTORS), len(SETTINGS))[list(FACTORS).index(self.room), self.setting]
        )
        return (bits >> np.arange(N * self.k) & 1).reshape(N, self.k) > 0

    def loads(self) -> np.ndarray:
        """(E,): how many choices fell on each expert."""
        return np.bincount(self.routed()[1].flatten(), minlength=E)

    def next_bias(self) -> np.ndarray:
        """(E,): the biases after one step of the balance."""
        return self._table("t_balanced_bias", len(SETTINGS), E)[self.setting].astype(float)

    def off(self, name: str) -> float:
        """Largest distance to the reference in the setting shown; for places 1 or more if any differs."""
        table = self._table(
            f"off_{name}", *{"route": (), "within_capacity": (2, len(SETTINGS))}.get(name, (len(SETTINGS),))
        )
        if name == "within_capacity":
            table = table[list(FACTORS).index(self.room), self.setting] if self.room != NO_LIMIT else 0.0
        elif name != "route":
            table = table[self.setting]
        return float(np.nan_to_num(table, nan=np.inf))

    @property
    def words(self) -> str:
        weights, chosen = self.routed()
        dropped, name = int((~self.kept()).sum()), FUNCTIONS[self.router == ROUTERS[0]]
        one = _("expert {n} with weight {weight}")
        goes = listed(
            one.format(n=e, weight=number(w)) for e, w in zip(chosen[self.word], weights[self.word], strict=True)
        )
        told = ngettext(
            "{N} words go to {k} expert each, by {whose} {router} ({state}). ",
            "{N} words go to {k} experts each, by {whose} {router} ({state}). ",
            self.k,
        ) + _("Biases {biases}, loads {loads}; dropped: {dropped} of {all} choices. “{word}” goes to {goes}.")
        return told.format(
            N=N,
            k=self.k,
            whose=self.whose,
            router=name,
            state=_("as the reference") if self.off(name) <= TOLERANCE else _("unlike the reference"),
            biases=listed(f"{b:g}" for b in SETTINGS[self.setting]),
            loads=listed(map(str, self.loads())),
            dropped=dropped,
            all=N * self.k,
            word=WORDS[self.word],
            goes=goes,
        )

    def figure(self) -> Figure:
        fig = new_figure(7.5, 3.6)
        axes = fig.add_subplot()
        chosen, kept = self.routed()[1], self.kept()
        height = [0] * E
        for rank in range(self.k):
            for n, e in enumerate(chosen[:, rank]):
                fill = GRAY if not kept[n, rank] else BLUE
                axes.bar(
                    e, 0.9, bottom=height[e], width=0.8, color=fill, alpha=0.35, linestyle="-" if rank == 0 else "--"
                )
                axes.text(
                    e,
                    height[e] + 0.4,
                    WORDS[n] if kept[n, rank] else f"{WORDS[n]} (dropped)",
                    ha="center",
                    va="center",
                    fontsize=8,
                )
                height[e] += 1
        limit = capacity_of(self.room, self.k)
        axes.axhline(N * self.k / E, color="black", linestyle=":", linewidth=1)
        if limit is not None:
            axes.axhline(limit, color=VERMILLION, linewidth=2)
        axes.set_xticks(range(E), [f"expert {e}, bias {b:g}" for e, b in enumerate(SETTINGS[self.setting])])
        axes.set_ylim(0, N + 0.5)
        plain(axes, "loads " + ", ".join(map(str, self.loads())) + "; dotted: the mean", "", "choices")
        return fig


def _routed(result: Any, name: str, k: int) -> Tensor:
    """(N, 3): what a router returned, packed as in the tables; the second weight is 0 for k = 1."""
    weights, chosen = several_of(result, name, 2)
    weights = call(lambda: weights, name, (N, k)).double()
    chosen = tensor_of(chosen, name, "integer", (N, k)).long()
    if chosen.min() < 0 or chosen.max() >= E:
        said = _("{name} must choose experts from 0 to {last} here, and it chose {wrong}.")
        wrong = int(chosen.min()) if chosen.min() < 0 else int(chosen.max())
        raise WrongOutput(said.format(name=name, last=E - 1, wrong=wrong))
    digits = sum(chosen[:, n] * E ** (k - 1 - n) for n in range(k))
    return torch.cat([torch.as_tensor(digits)[:, None].double(), weights, weights.new_zeros(N, max(CHOICES) - k)], -1)


def _places(fn: Function, choices: list[Tensor], k: int) -> Tensor:
    """(rooms, settings): the places of each, packed as in the tables. Many settings lead to the same choices."""
    bits: dict[tuple[str, bytes], float] = {}
    for room in FACTORS:
        for chosen in choices:
            key = room, chosen.numpy().tobytes()
            if key not in bits:
                made = fn(chosen.clone(), E, capacity_of(room, k))
                places = tensor_of(made, "within_capacity", "boolean", (N, k))
                bits[key] = float((places.flatten().double() * 2.0 ** torch.arange(N * k)).sum())
    return torch.tensor([[bits[room, chosen.numpy().tobytes()] for chosen in choices] for room in FACTORS])
