"""NormExplorer: LayerNorm and RMSNorm of one vector, scaled and shifted, side by side.

Sources: arXiv:1607.06450 (LayerNorm), arXiv:1910.07467 (RMSNorm).
"""

from typing import Any

import numpy as np
import torch
import traitlets as t

from ...system.translation import listed
from ..tools.calls import call
from ..tools.drawing import BLUE, GRAY, VERMILLION, Figure, new_figure, number, plain
from ..tools.several import SeveralFunctions
from ..tools.types import Function, Functions, Inputs, Tables
from ..tools.words import N_, _
from .story import STORY

SCALES = (-1.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
SHIFTS = (-10.0, -5.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
EPSILONS = (1e-8, 1e-5, 1e-3, 0.1)
SHOWS = (N_("bars"), N_("points"))
STAGES = (N_("x"), N_("mean subtracted"), N_("after the norm"))
D = 8
END = 8.0  # of the input's axis, whatever the scale is: so one sees the input grow, and the output stay
# float32 resolves 10 to 1e-6, and the smallest scale leaves a spread of 0.01 there: errors of 1e-4 are legitimate.
TOLERANCE = 1e-3
FACTS = ("layer_norm", "rms_norm", "identity", "reference")
_START = (slice(None), SCALES.index(1.0), SHIFTS.index(0.0))


class NormExplorer(SeveralFunctions):
    """Live picture of ``layer_norm(x, weight, bias, eps)`` and ``rms_norm(x, weight, eps)``, as a mapping by name.

    Both get scale·x + shift for one vector x of 8 numbers, as float32 (9, 12, 8): every scale and every shift, once per
    ε. The weight is all ones and the bias all zeros. ``rms_norm`` also gets the same vectors minus their means, which
    must give the same result as ``layer_norm``.

    Traits scale, shift and eps follow the sliders; the input's bars and the grips μ and σ can be dragged. show is one
    of SHOWS: the norms' outputs as bars, or each vector as one point, up to ``stage``, an index of STAGES. Raises the
    errors of TableWidget.
    """

    recording = "norm"
    names = ("layer_norm", "rms_norm")
    function_name = "norms"
    controls = ("scale", "shift", "eps", "show", "stage")
    story = STORY
    opening = tuple({"scale": s} for s in (3.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.3, 1.0))

    scale = t.Enum(SCALES, 1.0).tag(sync=True)
    shift = t.Enum(SHIFTS, 0.0).tag(sync=True)
    eps = t.Enum(EPSILONS, 1e-5).tag(sync=True)
    show = t.Enum(SHOWS, SHOWS[0]).tag(sync=True)
    stage = t.Int(len(STAGES) - 1, min=0, max=len(STAGES) - 1).tag(sync=True)

    def __init__(self, functions: Functions | None = None, **state: Any) -> None:
        super().__init__(functions, **state)

    @classmethod
    def measure_one(cls, name: str, fn: Function, inputs: Inputs) -> Tables:
        """y (epsilons, scales, shifts, D), the outputs; for rms_norm also c, the outputs for the centered vectors."""
        x = _vectors(inputs["x"])
        one, zero = torch.ones(D, dtype=x.dtype), torch.zeros(D, dtype=x.dtype)
        vectors = (one, zero) if name == "layer_norm" else (one,)
        outputs = lambda v: torch.stack([call(fn, name, v.shape, v, *vectors, eps=e) for e in EPSILONS]).numpy()
        tables = {f"y_{name}": outputs(x)}
        return tables if name == "layer_norm" else {**tables, f"c_{name}": outputs(x - x.mean(-1, keepdim=True))}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        all_tables = {**reference, **mine}
        layer, rms, centered = (all_tables[k].astype(float) for k in ("y_layer_norm", "y_rms_norm", "c_rms_norm"))
        change = [np.abs(y - y[_START][:, None, None]).max(-1) for y in (layer, rms)]
        far = [np.abs(y - reference[k]).max(-1) for k, y in (("y_layer_norm", layer), ("y_rms_norm", rms))]
        facts = np.stack([*change, np.abs(layer - centered).max(-1), np.maximum(*far)], -1)
        own = [float(f"y_{name}" in mine and mine is not reference) for name in self.names]
        return {
            **{k: v for k, v in reference.items() if k not in mine},
            "x": _vectors(inputs["x"]).numpy(),
            "facts": facts,
            "own": np.array(own),
        }

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("LayerNorm and RMSNorm: which changes of a vector do they notice?"),
            "d": D,
            "end": END,
            "scales": list(SCALES),
            "shifts": list(SHIFTS),
            "epsilons": list(EPSILONS),
            "shows": list(SHOWS),
            "tolerance": TOLERANCE,
        }

    def _at(self):
        return EPSILONS.index(self.eps), SCALES.index(self.scale), SHIFTS.index(self.shift)

    def vector(self) -> np.ndarray:
        """scale·x + shift, (8,) float64."""
        return _vectors(self._inputs["x"]).numpy()[self._at()[1:]].astype(float)

    def outputs(self) -> dict[str, np.ndarray]:
        """dict layer_norm, rms_norm → (8,) float64 at the current setting."""
        return {name: self.shown(f"y_{name}")[self._at()].astype(float) for name in self.names}

    def point(self, v: np.ndarray) -> np.ndarray:
        """Where (..., D) vectors stand as points, (..., 2) in units of √D, the sphere's radius: along the input's
        direction in the plane of mean 0, and above that plane, along (1, …, 1).

        scale·x + shift lies in the plane of these two directions for every scale and shift.
        """
        x = self._inputs["x"].numpy().astype(float)
        across = (x - x.mean()) / x.std()
        return np.stack([(v * across).mean(-1), v.mean(-1)], -1)

    def points(self) -> dict[str, np.ndarray]:
        """dict layer_norm, rms_norm → (3, 2) places of the input, of what is scaled, and of the output."""
        x = self.vector()
        scaled = {"layer_norm": x - x.mean(), "rms_norm": x}
        return {name: self.point(np.stack([x, scaled[name], y])) for name, y in self.outputs().items()}

    def facts(self) -> dict[str, float]:
        """At the current setting: ``layer_norm`` and ``rms_norm``, largest change of an output since scale 1 and shift
        0; ``identity`` max |LayerNorm(x) − RMSNorm(x − mean)|; ``reference``, largest distance to the reference."""
        shape = (len(EPSILONS), len(SCALES), len(SHIFTS), len(FACTS))
        row = np.frombuffer(self.tables["facts"], "<f4").reshape(shape)[self._at()]
        return dict(zip(FACTS, row.tolist(), strict=True))

    @property
    def words(self) -> str:
        found, x = self.facts(), self.vector()
        states = {k: (_("unchanged") if found[k] <= TOLERANCE else _("changed")) for k in self.names}
        ok = {k: (_("ok") if found[k] <= TOLERANCE else _("broken")) for k in ("identity", "reference")}
        shown = {k: listed(f"{v:.2f}" for v in y) for k, y in {"x": x, **self.outputs()}.items()}
        told = _(
            "Norm explorer with {whose} functions: a vector times {scale:g} plus {shift:g}, ε = {eps:g}. Input: "
            "{input}. LayerNorm: {layer} ({layer_state} since scale 1 and shift 0, by {layer_gap}). RMSNorm: {rms} "
            "({rms_state}, by {rms_gap}). LayerNorm against RMSNorm of the centered vector: {identity} "
            "({identity_state}). Farthest from the reference: {far} ({state})."
        )
        told = told.format(
            whose=self.whose,
            scale=self.scale,
            shift=self.shift,
            eps=self.eps,
            input=shown["x"],
            layer=shown["layer_norm"],
            layer_state=states["layer_norm"],
            layer_gap=number(found["layer_norm"]),
            rms=shown["rms_norm"],
            rms_state=states["rms_norm"],
            rms_gap=number(found["rms_norm"]),
            identity=number(found["identity"]),
            identity_state=ok["identity"],
            far=number(found["reference"]),
            state=ok["reference"],
        )
        return told if self.show == SHOWS[0] else f"{told} {self._way()}"

    def _way(self):
        """The points up to the stage that is shown, in words."""
        said = [
            _("As points, seen from the side of the plane of mean 0, whose sphere of radius √{d} shows as a circle:"),
            _("x is {a} along the plane and {b} above it."),
            _("LayerNorm lets it fall to {a} along the plane and {b} above it; RMSNorm leaves it."),
            _("LayerNorm ends at {a} along and {b} above, RMSNorm at {a2} along and {b2} above."),
        ]
        layer, rms = (np.round(np.sqrt(D) * p, 2) + 0.0 for p in self.points().values())  # no −0.00
        told = [said[0].format(d=D)]
        for i in range(self.stage + 1):
            (a, b), (a2, b2) = ([f"{v:.2f}" for v in p[i]] for p in (layer, rms))
            told.append(said[i + 1].format(a=a, b=b, a2=a2, b2=b2))
        return " ".join(told)

    def figure(self) -> Figure:
        fig = new_figure(8.4, 2.8)
        axes = fig.subplots(1, 3)
        x, places = self.vector(), np.arange(D)
        axes[0].bar(places, x, color=GRAY)
        axes[0].axhline(x.mean(), color="black", linestyle=":", linewidth=1)
        axes[0].set_ylim(-END, END)
        plain(axes[0], f"{self.scale:g}·x + {self.shift:g}", "entry (dotted: mean)", "")
        if self.show != SHOWS[0]:
            for a, (name, color) in zip(axes[1:], zip(self.names, (BLUE, VERMILLION), strict=True), strict=True):
                _draw_way(a, name, self.points()[name][: self.stage + 1], color)
            return fig
        for a, (name, color) in zip(axes[1:], zip(self.names, (BLUE, VERMILLION), strict=True), strict=True):
            y, table = self.outputs()[name], self.shown(f"y_{name}")
            a.bar(places, y, color=color)
            start = table[_START][EPSILONS.index(self.eps)]
            a.plot(places, start, "_", color="black", markersize=14, label="scale 1, shift 0")
            a.set_ylim(-3.2, 3.2)
            a.legend(fontsize=7, loc="lower right")
            plain(a, name, "entry", "")
        return fig


def _draw_way(axes, name, places, color):
    """One norm's points up to a stage; the sphere of radius √D is a circle of radius 1."""
    turn = np.linspace(0, 2 * np.pi, 100)
    axes.plot(np.cos(turn), np.sin(turn), ":", color="black", linewidth=1)
    axes.axhline(0, color="black", linewidth=1)
    axes.plot(*places.T, "--", color=GRAY)
    axes.plot(*zip((0, 0), places[-1], strict=True), color=color)
    for place, mark in zip(places, "os^", strict=False):
        axes.plot(*place, mark, color=color)
    axes.set(xlim=(-3.2, 3.2), ylim=(-3.2, 3.2), aspect="equal")
    plain(axes, name, f"along the plane of mean 0 (÷ √{D})", "above it")


def _vectors(x):
    """(scales, shifts, D): every scale·x + shift."""
    scale, shift = (torch.tensor(v, dtype=x.dtype) for v in (SCALES, SHIFTS))
    return scale[:, None, None] * x + shift[None, :, None]
