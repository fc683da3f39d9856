"""MemoryExplorer: a matrix as a memory of pairs, that is written by adding and by the delta rule.

Sources: arXiv:2006.16236 (linear attention), arXiv:2307.08621 (decay), arXiv:2102.11174 and arXiv:2412.06464 (delta
rule, gated).
"""

from typing import Any

import numpy as np
import torch
import traitlets as t
from torch import Tensor

from ...system.translation import listed, sentences
from ..tools.calls import call
from ..tools.drawing import BLUE, VERMILLION, Figure, diverging, new_figure, number, plain
from ..tools.several import SeveralFunctions
from ..tools.types import Function, Functions, Inputs, Tables
from ..tools.whole import several_of
from ..tools.words import N_, _
from .story import STORY
from .texts import COUNTS, DECAYS, KEYS, MOST, PLACES, RATES, TEXTS, D, pairs_of, text_of

FUNCTIONS = ("linear_recurrent", "delta_rule")
RULES = (N_("adding"), N_("correcting (delta rule)"))
TOLERANCE = 1e-4  # float32 and three writes of numbers of size 1
V = len(PLACES)


class MemoryExplorer(SeveralFunctions):
    """Live picture of ``linear_recurrent(q, k, v, decay)`` and ``delta_rule(q, k, v, decay, rate)``, each of which
    returns the results and the last state.

    Both get all texts of one, two and three pairs at once, float32: q, k (B, 3, T, 3), v (B, 3, T, 3), decay and rate
    (B, 3, T). The keys have length 1, the values are one-hot. The three heads write the same pairs, and head h asks for
    key h with every query.

    Traits text (a number of ``texts``), asked (index of a key), decay and rate follow the controls; a click on the grid
    writes a pair; more unfolds the controls of decay and rate. Raises the errors of TableWidget.
    """

    recording = "memory"
    names = FUNCTIONS
    function_name = "functions"
    controls = ("text", "asked", "decay", "rate", "more")
    story = STORY
    # The parrot's pair, not the dog's second place: that is what the first step asks for.
    opening = tuple({"text": text_of(*[(0, 0), (1, 2)][:n])} for n in range(3))

    text = t.Int(text_of((0, 0)), min=0, max=TEXTS - 1).tag(sync=True)
    asked = t.Int(0, min=0, max=len(KEYS) - 1).tag(sync=True)
    decay = t.Enum(DECAYS, 1.0).tag(sync=True)
    rate = t.Enum(RATES, 1.0).tag(sync=True)
    more = t.Bool(False).tag(sync=True)

    def __init__(self, functions: Functions | None = None, **state: Any) -> None:
        more = bool(STORY[state.get("step", 0)].state["more"])  # a later step needs what is folded away
        super().__init__(functions, **{"more": more, **state})

    @classmethod
    def measure_one(cls, name: str, fn: Function, inputs: Inputs) -> Tables:
        """m_<name> (settings, texts, D · V + 1): the last state, and how far its results are from what it reads.

        Settings are the decays, for the delta rule also the rates: (rates, decays).
        """
        rates = RATES if name == "delta_rule" else (None,)
        return {f"m_{name}": torch.stack([_states(fn, name, d, r, inputs) for r in rates for d in DECAYS]).numpy()}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        shown = {**reference, **mine}
        gaps = [np.abs(shown[f"m_{name}"] - reference[f"m_{name}"]).max(-1) for name in FUNCTIONS]
        own = [float(mine is not reference and f"m_{name}" in mine) for name in FUNCTIONS]
        return {
            **{k: v for k, v in reference.items() if k not in mine},
            **{f"gap_{name}": gap for name, gap in zip(FUNCTIONS, gaps, strict=True)},
            "own": np.array(own),
        }

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("A matrix as a memory: to add, or to correct"),
            "keys": [_(k) for k in KEYS],
            "places": [_(p) for p in PLACES],
            "vectors": inputs["k"].tolist(),
            "rules": [_(r) for r in RULES],
            "functions": list(FUNCTIONS),
            "texts": TEXTS,
            "most": MOST,
            "decays": list(DECAYS),
            "rates": list(RATES),
            "tolerance": TOLERANCE,
        }

    def state(self, rule: int) -> np.ndarray:
        """(D, V): the memory after the text; rule 0 adds, rule 1 is the delta rule."""
        return self._row(rule)[: D * V].reshape(D, V)

    def held(self) -> np.ndarray:
        """(V,): what the delta rule's memory answered for the last pair's key before its write, which removes it."""
        (key, _place), before = pairs_of(self.text)[-1], text_of(*pairs_of(self.text)[:-1])
        memory = self._row(1, text=before)[: D * V].reshape(D, V)
        return self.decay * self._inputs["k"][key].double().numpy() @ memory

    def reads(self, rule: int, key: int | None = None) -> np.ndarray:
        """(V,): what that memory answers for a key, or for the one that is asked for."""
        return self._inputs["k"][self.asked if key is None else key].double().numpy() @ self.state(rule)

    def _row(self, rule, table="m", text=None):
        setting = DECAYS.index(self.decay) + (len(DECAYS) * RATES.index(self.rate) if rule else 0)
        found = np.frombuffer(self.tables[f"{table}_{FUNCTIONS[rule]}"], "<f4")
        return found.reshape(-1, TEXTS, D * V + 1 if table == "m" else 1)[
            setting, self.text if text is None else text
        ].astype(float)

    def gap(self, rule: int) -> float:
        """Largest distance of the memory, and of the function's results, to the reference's."""
        return float(np.nan_to_num(self._row(rule, "gap")[0], nan=np.inf))

    @property
    def words(self) -> str:
        pair = _("{key} in the {place}")
        written = [pair.format(key=_(KEYS[k]), place=_(PLACES[p])) for k, p in pairs_of(self.text)]
        bar = _("{place} {value}")
        numbers = lambda values: listed(
            bar.format(place=_(p), value=number(v)) for p, v in zip(PLACES, values, strict=True)
        )
        told = _(
            "Two memories of {D} × {V} numbers, with {whose} functions, decay {decay:g} and rate {rate:g}. Written: "
            "{written}. Asked for the {key}, the memory that adds reads {added} ({first}); that of the delta rule "
            "reads {delta} ({second})."
        )
        state = lambda rule: _("as the reference") if self.gap(rule) <= TOLERANCE else _("unlike the reference")
        told = told.format(
            D=D,
            V=V,
            whose=self.whose,
            decay=self.decay,
            rate=self.rate,
            written=", ".join(written) or _("nothing"),
            key=_(KEYS[self.asked]),
            added=numbers(self.reads(0)),
            delta=numbers(self.reads(1)),
            first=state(0),
            second=state(1),
        )
        if not written:
            return told
        last = _(
            "The last write adds a matrix, the {key}'s key times {place}; the delta rule first removes the {key}'s key "
            "times what it held, {held}, and multiplies both by its rate."
        )
        key, place = pairs_of(self.text)[-1]
        return sentences(told, last.format(key=_(KEYS[key]), place=_(PLACES[place]), held=numbers(self.held())))

    def figure(self) -> Figure:
        fig = new_figure(7.5, 3.6)
        axes = fig.subplots(2, 2, height_ratios=(3, 2))
        for rule, name in enumerate(RULES):
            above, below = axes[0, rule], axes[1, rule]
            above.imshow(self.state(rule), cmap=diverging(), vmin=-2, vmax=2, aspect="auto")
            for (i, j), value in np.ndenumerate(self.state(rule)):
                above.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=9)
            above.set_xticks(range(V), PLACES)
            above.set_yticks(range(D), [f"× {x:g}" for x in self._inputs["k"][self.asked].tolist()])
            title = f"{name}, asked for the {KEYS[self.asked]}"
            if rule and self.text:
                title += f"\nremoved first: {KEYS[pairs_of(self.text)[-1][0]]} × ({listed(map(number, self.held()))})"
            plain(above, title)
            below.bar(range(V), self.reads(rule), color=VERMILLION if rule else BLUE)
            below.axhline(0, color="black", linewidth=1)
            below.set(ylim=(-1, 3), xticks=range(V))
            below.set_xticklabels(PLACES)
            plain(below, "what is read")
        return fig


def _states(fn: Function, name: str, decay: float, rate: float | None, inputs: Inputs) -> Tensor:
    """(texts, D · V + 1): the memory after each text, and how far the results at the last token are from q @ memory."""
    keys, values = inputs["k"], inputs["v"]
    found = [torch.zeros(1, D * V + 1, dtype=torch.float64)]
    for length in range(1, MOST + 1):
        texts = range(sum(COUNTS[:length]), sum(COUNTS[: length + 1]))
        pairs = torch.tensor([pairs_of(text) for text in texts])  # (B, T, 2)
        B = len(pairs)
        heads = lambda x: x[:, None].expand(-1, D, -1, -1).clone()
        k, v = heads(keys[pairs[..., 0]]), heads(values[pairs[..., 1]])
        q = keys[None, :, None].expand(B, -1, length, -1).clone()  # head h asks for key h
        numbers = [x.new_full((B, D, length), n) for x, n in ((k, decay), (k, rate)) if n is not None]
        out, state = several_of(fn(q.clone(), k, v, *numbers), name, 2)
        out = call(lambda out=out: out, name, v.shape).double()
        state = call(lambda state=state: state, name, (B, D, D, V)).double()
        off = (out[:, :, -1] - (q[:, :, -1:].double() @ state)[:, :, 0]).abs().amax((1, 2))
        found.append(torch.cat([state[:, 0].flatten(1), off[:, None]], -1))
    return torch.cat(found)
