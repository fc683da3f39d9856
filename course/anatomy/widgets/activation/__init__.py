"""ActivationExplorer: curves and slopes of activations, their effect as a gate, and the units that they silence.

Sources: arXiv:1606.08415 (GELU), arXiv:1710.05941 (Swish), arXiv:2002.05202 (gated layers).
"""

from typing import Any

import numpy as np
import torch
import traitlets as t

from ...system.translation import sentences
from ..tools.calls import WrongOutput, call
from ..tools.drawing import BLUE, DASHES, GRAY, VERMILLION, Figure, new_figure, number, plain, sequential
from ..tools.several import SeveralFunctions
from ..tools.types import Function, Functions, Inputs, Tables
from ..tools.words import N_, _
from .story import STORY

ACTIVATIONS = ("relu", "leaky_relu", "elu", "squared_relu", "gelu", "gelu_tanh", "swish", "sigmoid", "tanh")
BY_HAND = {"sigmoid": "sigmoid_prime", "swish": "silu_prime", "gelu": "gelu_prime"}
BETAS = (0.0, 0.1, 0.25, 0.5, 1.0, 1.702, 3.0, 6.0, 20.0)
SHIFTS = tuple(range(-4, 5))
VALUES = tuple(v / 4 for v in range(-8, 9))
REACH, STEP = 4.0, 0.05
POINTS = round(2 * REACH / STEP) + 1
LOOKS = (N_("two layers"), N_("gate and units"))
WEIGHTS = tuple(range(-4, 5))
NET = (1, 0, -1)  # of the two layers: w1 f(x + 1) + w2 f(x) + w3 f(x − 1)
UNITS, TOKENS = 40, 64
FLAT = 0.05  # with a slope below this, a unit learns almost nothing
TOLERANCE = 1e-4


class ActivationExplorer(SeveralFunctions):
    """Live picture of activation functions, passed as a mapping, e.g. ``{"relu": relu, "swish": swish}``.

    Known names are those of ACTIVATIONS, each called as ``fn(x)`` on float32 tensors (``swish`` as ``fn(x, beta=…)``),
    and ``sigmoid_prime``, ``silu_prime`` and ``gelu_prime``, slopes written by hand, which are compared with the slope
    that autograd computes. The units are 40 × 64 fixed pre-activations: each unit sees normal numbers around its own
    mean, and ``shift`` moves them all.

    The traits activation (index into ACTIVATIONS; a name works too), beta, place (index of x), value (the gate meets
    value · x), shift and w1, w2, w3 (weights of the units that are added up) follow the controls and the dragging;
    look, one of LOOKS, says what stands beside the curve. Raises the errors of
    TableWidget, and WrongOutput if no gradient flows through a function.
    """

    recording = "activation"
    names = (*ACTIVATIONS, *BY_HAND.values())
    function_name = "activations"
    controls = ("activation", "beta", "place", "value", "shift", "look", "w1", "w2", "w3")
    story = STORY
    opening = tuple({"place": place} for place in (60, 65, 70, 75, 80, 85, 95, 100, 95))

    activation = t.Int(6, min=0, max=len(ACTIVATIONS) - 1).tag(sync=True)
    beta = t.Enum(BETAS, 20.0).tag(sync=True)
    place = t.Int(90, min=0, max=POINTS - 1).tag(sync=True)
    value = t.Enum(VALUES, 1.5).tag(sync=True)
    shift = t.Enum(SHIFTS, -2).tag(sync=True)
    look = t.Enum(LOOKS, LOOKS[0]).tag(sync=True)
    w1 = t.Enum(WEIGHTS, 2).tag(sync=True)
    w2 = t.Enum(WEIGHTS, -4).tag(sync=True)
    w3 = t.Enum(WEIGHTS, 3).tag(sync=True)

    def __init__(self, functions: Functions | None = None, activation: int | str | None = None, **state: Any) -> None:
        if activation is not None:  # whoever names one wants to see it, with all its effects
            index = ACTIVATIONS.index(activation) if isinstance(activation, str) else activation
            state = {"beta": 1.0, "look": LOOKS[1], "activation": index, **state}
        super().__init__(functions, **state)

    @classmethod
    def measure_one(cls, name: str, fn: Function, inputs: Inputs) -> Tables:
        """f (settings, points) and d, its slope; u (settings, shifts, 2, units): share of tokens with an output of
        exactly 0, and with a flat slope. There is one setting, except for swish, which has one per beta. A slope by
        hand gives h (points,).
        """
        x = inputs["x"]
        if name in BY_HAND.values():
            return {f"h_{name}": call(fn, name, x.shape, x).numpy()}
        shifted = inputs["pre"] + torch.tensor(SHIFTS, dtype=x.dtype)[:, None, None]  # (shifts, tokens, units)
        curves, slopes, units = [], [], []
        for options in [{"beta": b} for b in BETAS] if name == "swish" else [{}]:
            curves.append(call(fn, name, x.shape, x, **options))
            slopes.append(_slope(fn, name, x, **options))
            silent = call(fn, name, shifted.shape, shifted, **options) == 0
            flat = _slope(fn, name, shifted, **options).abs() < FLAT
            units.append(torch.stack([silent, flat], 1).to(x.dtype).mean(2))
        return {
            f"f_{name}": torch.stack(curves).numpy(),
            f"d_{name}": torch.stack(slopes).numpy(),
            f"u_{name}": torch.stack(units).numpy(),
        }

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        tables = {k: v for k, v in reference.items() if k not in mine}
        facts = np.full((len(ACTIVATIONS), len(BETAS), 3), np.nan)
        relu = np.maximum(inputs["x"].numpy().astype(float), 0)
        for i, name in enumerate(ACTIVATIONS):
            f, right = (source[f"f_{name}"].astype(float) for source in ({**reference, **mine}, reference))
            slope = {**reference, **mine}[f"d_{name}"]
            for j in range(len(f)):
                row = facts[i, j]
                row[0], row[1] = np.abs(f[j] - right[j]).max(), np.abs(f[j] - relu).max()
                hand = f"h_{BY_HAND.get(name)}"
                if mine is not reference and hand in mine and (name != "swish" or BETAS[j] == 1):
                    row[2] = np.abs(mine[hand] - slope[j]).max()
            facts[i, len(f) :] = facts[i, 0]
        own = [float(f"f_{name}" in mine and mine is not reference) for name in ACTIVATIONS]
        return {**tables, "facts": facts, "own": np.array(own), "pre": inputs["pre"].numpy()}

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("Activations: what a bend is good for"),
            "names": list(ACTIVATIONS),
            "betas": list(BETAS),
            "looks": list(LOOKS),
            "values": list(VALUES),
            "weights": list(WEIGHTS),
            "shifts": list(SHIFTS),
            "x": inputs["x"].tolist(),
            "units": UNITS,
            "tolerance": TOLERANCE,
            "flat": FLAT,
            "reach": REACH,
        }

    @property
    def name(self) -> str:
        """Name of the current activation."""
        return ACTIVATIONS[self.activation]

    @property
    def whose(self) -> str:
        return _("your") if self.written(self.name) else _("the reference's")

    def _row(self):
        return BETAS.index(self.beta) if self.name == "swish" else 0

    def facts(self) -> dict[str, float]:
        """For the current activation: ``reference`` max |f − reference|, ``relu`` max |f − ReLU|, ``hand`` max |slope
        by hand − slope of the curve| (NaN if none was given), ``dead`` units that are 0 for all tokens, and ``flat``,
        the share of slopes below 0.05."""
        shape = (len(ACTIVATIONS), len(BETAS), 3)
        row = np.frombuffer(self.tables["facts"], "<f4").reshape(shape)[self.activation, self._row()]
        silent, flat = self.shown(f"u_{self.name}")[self._row(), SHIFTS.index(self.shift)]
        return {
            "reference": float(row[0]),
            "relu": float(row[1]),
            "hand": float(row[2]),
            "dead": int((silent == 1).sum()),
            "flat": float(flat.mean()),
        }

    @property
    def weights(self) -> tuple[int, ...]:
        """Weights of the three units that are added up."""
        return self.w1, self.w2, self.w3

    def sums(self) -> np.ndarray:
        """Two layers of three units at each x from −3 to 3, (121,): a sum of weighted and shifted f."""
        f, one = self.shown(f"f_{self.name}")[self._row()].astype(float), round(1 / STEP)
        parts = zip(self.weights, NET, strict=True)
        return sum(weight * f[one * (1 + by) : POINTS - one * (1 - by)] for weight, by in parts)

    def bends(self) -> bool:
        """Whether the two layers draw more than a straight line."""
        return not np.abs(np.diff(self.sums(), 2)).max() < TOLERANCE

    @property
    def words(self) -> str:
        found, row = self.facts(), self._row()
        x, f, d = (
            float(v)
            for v in (
                self._inputs["x"][self.place],
                self.shown(f"f_{self.name}")[row, self.place],
                self.shown(f"d_{self.name}")[row, self.place],
            )
        )
        states = {k: (_("ok") if found[k] <= TOLERANCE else _("broken")) for k in ("hand", "reference")}
        about = _("Activation explorer: {whose} {name} between −4 and 4 and its slope.")
        if self.name == "swish":
            about = _("Activation explorer: {whose} {name} with beta {beta:g} between −4 and 4 and its slope.")
        here = _("At x = {x:.2f} the value is {value:.3f} and the slope {slope:.3f}.")
        hand = "" if np.isnan(found["hand"]) else _("The slope by hand differs from it by up to {gap} ({state}).")
        units = _(
            "Of {n} units with inputs shifted by {shift}, {dead} are dead and {flat:.0f} % of all slopes are flat."
        )
        far = _("Farthest from the reference: {gap} ({state}); farthest from ReLU: {relu}.")
        return sentences(
            about.format(whose=self.whose, name=self.name, beta=self.beta),
            here.format(x=x, value=f, slope=d),
            hand.format(gap=number(found["hand"]), state=states["hand"]),
            _("As a gate on the value {value:g} · x it gives {product:.3f}.").format(
                value=self.value, product=f * self.value * x
            ),
            units.format(n=UNITS, shift=self.shift, dead=found["dead"], flat=100 * found["flat"]),
            self._layers(),
            far.format(gap=number(found["reference"]), state=states["reference"], relu=number(found["relu"])),
        )

    def _layers(self):
        if self.look != LOOKS[0]:
            return ""
        said = _("Two layers of three units, {formula}, draw a straight line.")
        if self.bends():
            said = _("Two layers of three units, {formula}, draw a line that bends.")
        return said.format(formula=" + ".join(self._units()))

    def _units(self):
        """Formula of each of the three units."""
        terms = zip(self.weights, ("f(x + 1)", "f(x)", "f(x − 1)"), strict=True)
        return [f"{weight} {f}".replace("-", "−") for weight, f in terms]

    def figure(self) -> Figure:
        return self._sum_figure() if self.look == LOOKS[0] else self._curve_figure()

    def _sum_figure(self):
        """A unit + a unit + a unit = the thick line, as the page shows them."""
        fig = new_figure(8.4, 3.1)
        panels = fig.subplots(1, 4, width_ratios=[1, 1, 1, 1.8], sharey=True)
        f, x, one = self.shown(f"f_{self.name}")[self._row()], self._inputs["x"].numpy(), round(1 / STEP)
        for panel, weight, by, title in zip(panels, self.weights, NET, self._units(), strict=False):
            seen = slice(one * max(0, -by), POINTS - one * max(0, by))
            panel.plot(x[seen], weight * f[one * max(0, by) : POINTS - one * max(0, -by)], color=BLUE)
            panel.set_xlim(1 - REACH, REACH - 1)
            plain(panel, title if panel is panels[0] else f"+   {title}", "x", "")
        panels[3].plot(x[one:-one], self.sums(), color=BLUE, linewidth=3)
        panels[3].set(xlim=(1 - REACH, REACH - 1), ylim=(-4.2, 4.2))
        plain(panels[3], f"=   {_('it bends') if self.bends() else _('a straight line')}", "x", "")
        return fig

    def _curve_figure(self):
        fig = new_figure(8.4, 3.1)
        curve, gate, units = fig.subplots(1, 3, width_ratios=[1.3, 1.1, 1.1])
        row, x = self._row(), self._inputs["x"].numpy()
        f, d = self.shown(f"f_{self.name}")[row], self.shown(f"d_{self.name}")[row]
        curve.plot(x, self._reference[f"f_{self.name}"][row], color=GRAY, linestyle=DASHES, label="reference")
        curve.plot(x, f, color=BLUE, label=f"{self.whose} f")
        curve.plot(x, d, color=VERMILLION, linestyle=":", label="slope")
        curve.plot(x[self.place], f[self.place], "o", color="black", markersize=5)
        curve.set_ylim(-1.5, 4.2)
        curve.legend(fontsize=7)
        plain(curve, self.name, "x", "")
        value = self.value * x
        gate.plot(x, value, color=VERMILLION, linestyle=DASHES, label="value alone")
        gate.plot(x, f * value, color=BLUE, label="gate · value")
        gate.plot(x[self.place], (f * value)[self.place], "o", color="black", markersize=5)
        gate.set_ylim(-4.2, 4.2)
        gate.legend(fontsize=7)
        plain(gate, f"As a gate on {self.value:g} · x", "x", "")
        silent, flat = self.shown(f"u_{self.name}")[row, SHIFTS.index(self.shift)]
        units.imshow(1 - flat.reshape(5, 8), cmap=sequential(), vmin=0, vmax=1)
        for place in np.flatnonzero(silent == 1):
            units.text(place % 8, place // 8, "×", ha="center", va="center", fontsize=10)
        units.set(xticks=[], yticks=[])
        plain(units, f"Units that still learn, shift {self.shift}", "× is dead")
        return fig


def _slope(fn, name, x, **options):
    """Slope of the function at every entry of x, computed by autograd."""
    with torch.enable_grad():
        x = x.clone().requires_grad_()
        y = fn(x, **options)
        if not isinstance(y, torch.Tensor) or not y.requires_grad:
            raise WrongOutput(_("No gradient flows through {name}: the result is cut off from x.").format(name=name))
        return torch.autograd.grad(y.sum(), x)[0].detach()
