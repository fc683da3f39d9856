"""SoftmaxStabilityExplorer: growing scores, their softmax in each dtype, and the remedies that limit them.

Sources: arXiv:2204.02311 (z-loss), arXiv:2010.04245 (QK-norm), arXiv:2408.00118 (soft caps).
"""

import math
import numbers
from typing import Any

import numpy as np
import torch
import traitlets as t
from torch import Tensor

from ...system.translation import listed, sentences
from ..tools.calls import WrongOutput, call
from ..tools.drawing import BLUE, DASHES, GRAY, VERMILLION, Figure, new_figure, number, plain
from ..tools.several import SeveralFunctions
from ..tools.types import Function, Functions, Inputs, Tables
from ..tools.whole import several_of
from ..tools.words import N_, _
from .story import STORY

FACTORS = tuple(2.0 ** (k / 2) for k in range(-6, 31))
GROWTH = (N_("by the slider"), N_("as in a training run"))
QUANTITIES = (N_("entropy"), N_("largest p"), N_("slope"), N_("largest score"))
PARTS = (N_("soft cap"), N_("QK-norm"), N_("z-loss"), N_("dtypes"), N_("loss"), N_("slope"), N_("all"))
CAPS = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0)
GAINS = (0.5, 1.0, 2.0, 4.0, 8.0)
COEFFICIENTS = (1e-4, 1e-2, 1.0)
DTYPES = ("float16", "bfloat16", "float32", "float64")
FINFOS = tuple(torch.finfo(getattr(torch, dtype)) for dtype in DTYPES)
EXP_OF = ("x", "x − max")
KEYS, D = 8, 16
REMEDIES = ("none", N_("soft cap"), N_("QK-norm"))
TOLERANCE = 1e-3  # relative, for float32 results
ROUNDING = (1e-2, 6e-2, 1e-4, 1e-4)  # tolerances of log Z, one per dtype
GREEN = "#009E73"


class SoftmaxStabilityExplorer(SeveralFunctions):
    """Live picture of the functions of unit 10, as a mapping by name: ``logsumexp(x)``, ``z_loss(logits,
    coefficient)``, ``z_loss_gradient(logits, coefficient)``, ``qk_norm(q, k, q_gain, k_gain)``,
    ``qk_norm_bound(q_gain, k_gain)`` and ``soft_cap(x, cap)``.

    One query meets 8 keys; the recording holds q (1, 16), k (8, 16) and their scores, between −2 and 2. All scores are
    multiplied by one factor: the slider's, or the factor that makes the largest score equal to that of a recorded run
    at some step. ``logsumexp`` gets the scores in every dtype, the others as float32. A function that raises, or
    returns something that cannot be drawn, is replaced by the reference, and the notice says why; the others are still
    drawn.

    Traits grow and quantity are texts, factor and run_step are indices, cap, gain and coefficient are values; more
    unfolds the remedies, the curves and the number line of all dtypes; the page begins with float16 alone. part, one
    of PARTS, says which of them; exp_of, one of EXP_OF, says what stands on that line, and of what softmax is made.
    Raises MissingRecording like TableWidget, and TypeError for an unknown name.
    """

    recording = "stability"
    names = ("logsumexp", "z_loss", "z_loss_gradient", "qk_norm", "qk_norm_bound", "soft_cap")
    function_name = "functions"
    forgiving = True  # with six functions, one that fails must not hide the others
    controls = ("grow", "factor", "run_step", "cap", "gain", "coefficient", "quantity", "exp_of", "more", "part")
    story = STORY
    opening = tuple({"factor": FACTORS.index(2.0**n)} for n in (1, 2, 1, 0, -1))

    grow = t.Enum(GROWTH, GROWTH[0]).tag(sync=True)
    factor = t.Int(FACTORS.index(1.0), min=0, max=len(FACTORS) - 1).tag(sync=True)
    run_step = t.Int(0, min=0).tag(sync=True)
    cap = t.Enum(CAPS, 10.0).tag(sync=True)
    gain = t.Enum(GAINS, 1.0).tag(sync=True)
    coefficient = t.Enum(COEFFICIENTS, 1e-4).tag(sync=True)
    quantity = t.Enum(QUANTITIES, QUANTITIES[0]).tag(sync=True)
    exp_of = t.Enum(EXP_OF, EXP_OF[0]).tag(sync=True)
    more = t.Bool(False).tag(sync=True)
    part = t.Enum(PARTS, PARTS[-1]).tag(sync=True)

    def __init__(self, functions: Functions | None = None, **state: Any) -> None:
        super().__init__(functions, **state)

    @classmethod
    def measure_one(cls, name: str, fn: Function, inputs: Inputs) -> Tables:
        """Tables over the A factors of the slider and of the run: L log Z (dtypes, A); y capped scores and d their
        slopes (caps, A, 8); s scores after QK-norm (gains, A, 8); b its bound (gains,); v z-loss, a its gradient by
        autograd and g its gradient by hand (coefficients, A[, 8])."""
        x = scores(inputs)
        if name == "logsumexp":
            cast = [x.to(getattr(torch, dtype)) for dtype in DTYPES]
            return {"L_logsumexp": torch.stack([call(fn, name, x.shape[:1], c).double() for c in cast]).numpy()}
        x = x.to(inputs["row"].dtype)
        if name == "soft_cap":
            pairs = [_with_gradient(lambda z, c=c: fn(z, c), name, x, x.shape) for c in CAPS]
            return {f"{k}_{name}": np.stack(v) for k, v in zip("yd", zip(*pairs, strict=True), strict=True)}
        if name == "qk_norm":
            return {f"s_{name}": np.stack([_normed(fn, inputs, g) for g in GAINS])}
        if name == "qk_norm_bound":
            return {f"b_{name}": np.array([_bound(fn, torch.full((D,), g, dtype=x.dtype)) for g in GAINS])}
        rows = [(row[None], c) for c in COEFFICIENTS for row in x]
        size = (len(COEFFICIENTS), len(x))
        if name == "z_loss_gradient":
            table = np.stack([call(fn, name, r.shape, r, c).numpy() for r, c in rows])
            return {f"g_{name}": table.reshape(*size, KEYS)}
        pairs = [_with_gradient(lambda z, c=c: fn(z, c), name, r, ()) for r, c in rows]
        return {
            f"v_{name}": np.stack([v for v, _ in pairs]).reshape(size),
            f"a_{name}": np.stack([g for _, g in pairs]).reshape(*size, KEYS),
        }

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        x, shown = scores(inputs), {**reference, **mine}
        cast = [x.to(getattr(torch, dtype)) for dtype in DTYPES]
        finite = torch.stack([torch.isfinite(c).all(-1) for c in cast]).numpy()
        lse = _gap(shown["L_logsumexp"], reference["L_logsumexp"])
        # The two 16-bit dtypes round too much to be judged here; the page's table has separate limits for them.
        gaps = {
            name: max(_gap(shown[k], reference[k]).max() for k in reference if k.split("_", 1)[1] == name)
            for name in self.names
        } | {"logsumexp": lse[2:].max()}
        return {
            **{k: v for k, v in reference.items() if k not in mine},
            "x": x.numpy(),
            # Torch's results in that dtype, with its rounding and its overflow; max keeps a NaN.
            "naive": np.stack([(c.exp() / c.exp().sum(-1, keepdim=True)).amax(-1).double() for c in cast]),
            "shifted": np.stack([torch.softmax(c, -1).amax(-1).double() for c in cast]),
            "half": np.stack([(cast[0].exp() / cast[0].exp().sum(-1, keepdim=True)), torch.softmax(cast[0], -1)]),
            "lse_gap": np.where(finite, lse, np.nan),
            "gap": np.array([gaps[name] for name in self.names]),
            "hand": _gap(shown["g_z_loss_gradient"], shown["a_z_loss"]).max(-1),
            "own": np.array([float(self.mine_is(mine, name)) for name in self.names]),
        }

    def mine_is(self, mine: Tables, name: str) -> bool:
        """True if those tables hold one of that function, and it is not the reference's."""
        return mine is not self._reference and any(k.split("_", 1)[1] == name for k in mine)

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("Softmax of large scores: what breaks, and what helps"),
            "growth": list(GROWTH),
            "factors": list(FACTORS),
            "steps": inputs["steps"].int().tolist(),
            "caps": list(CAPS),
            "gains": list(GAINS),
            "dtypes": list(DTYPES),
            "coefficients": list(COEFFICIENTS),
            "quantities": list(QUANTITIES),
            "parts": list(PARTS),
            "names": list(self.names),
            "keys": KEYS,
            "exp_of": list(EXP_OF),
            "limits": [math.log(f.max) for f in FINFOS],
            # What is below half of the smallest number is rounded to 0.
            "least": [math.log(f.smallest_normal) + math.log(f.eps / 2) for f in FINFOS],
            "tolerance": TOLERANCE,
            "rounding": list(ROUNDING),
        }

    # -- the current state in numbers -------------------------------------------------------------------------------

    def _at(self):
        run = self.grow == GROWTH[1]
        return len(FACTORS) + min(self.run_step, len(self.spec["steps"]) - 1) if run else self.factor

    def rows(self) -> dict[str, np.ndarray]:
        """Remedy → (8,) scores at the current setting."""
        at = self._at()
        return {
            "none": scores(self._inputs)[at].numpy(),
            "soft cap": self.shown("y_soft_cap")[CAPS.index(self.cap), at].astype(float),
            "QK-norm": self.shown("s_qk_norm")[GAINS.index(self.gain), at].astype(float),
        }

    @property
    def halved(self) -> bool:
        """Whether the first bars are softmax in float16, not exact."""
        return not self.more or self.part in ("dtypes", "loss")

    @property
    def shifted(self) -> bool:
        """Whether the largest score is subtracted; a loss is shown with the shift alone."""
        return self.exp_of == EXP_OF[1] or (self.more and self.part == "loss")

    def half(self) -> np.ndarray:
        """(8,) softmax in float16, with or without the shift; NaN where torch has it."""
        table = np.frombuffer(self.tables["half"], "<f4").reshape(2, -1, KEYS)
        return table[int(self.shifted), self._at()].astype(float)

    def losses(self) -> dict[str, np.ndarray]:
        """Formula → (8,) losses if the token of that score is the right one; nothing where none is shown."""
        if not (self.more and self.part == "loss"):
            return {}
        with np.errstate(divide="ignore"):
            from_weight = 0 - np.log(self.half())  # 0 −: no loss is −0
        log_z = np.frombuffer(self.tables["L_logsumexp"], "<f4").reshape(len(DTYPES), -1)[0, self._at()]
        return {"−log p": from_weight, "log Z − x": log_z - self.rows()["none"]}

    def marks(self) -> np.ndarray:
        """(dtypes, 8) places on the number line, in natural logarithms: the scores, or how far they are below the
        largest, as each dtype holds them; NaN where that is ∞ − ∞."""
        x = scores(self._inputs)[self._at()]
        held = torch.stack([x.to(getattr(torch, dtype)).double() for dtype in DTYPES])
        return (held if self.exp_of == EXP_OF[0] else held - held.amax(-1, keepdim=True)).numpy()

    def readings(self) -> dict[str, Any]:
        """At the current setting: ``largest`` |score| and ``entropy``, ``weight``, ``slope`` of the softmax, each a
        dict by remedy; ``bound`` of QK-norm; ``z_loss``, ``log_z`` (float32) and ``pull``, its largest gradient;
        ``nan``, the dtypes whose naive softmax is not a number; ``beyond``, by dtype, how many of the marks on its
        number line lie beyond its largest number; ``gap`` by function."""
        at, c = self._at(), COEFFICIENTS.index(self.coefficient)
        cap = self.shown("d_soft_cap")[CAPS.index(self.cap), at, 0]
        found = {k: measures(x, cap if k == "soft cap" else 1.0) for k, x in self.rows().items()}
        table = lambda name, *shape: np.frombuffer(self.tables[name], "<f4").reshape(*shape)
        naive, limits = table("naive", len(DTYPES), -1)[:, at], self.spec["limits"]
        return {
            **{
                k: {name: float(v[i]) for name, v in found.items()}
                for i, k in enumerate(("largest", "entropy", "weight", "slope"))
            },
            "bound": float(self.shown("b_qk_norm_bound")[GAINS.index(self.gain)]),
            "z_loss": float(self.shown("v_z_loss")[c, at]),
            "log_z": float(self.shown("L_logsumexp")[2, at]),
            "pull": float(np.abs(self.shown("g_z_loss_gradient")[c, at]).max()),
            "nan": [d for d, v in zip(DTYPES, naive, strict=True) if not np.isfinite(v)],
            "beyond": {d: int((row > end).sum()) for d, row, end in zip(DTYPES, self.marks(), limits, strict=True)},
            "gap": dict(zip(self.names, table("gap", -1).tolist(), strict=True)),
        }

    @property
    def words(self) -> str:
        n = self.readings()
        if self.grow == GROWTH[1]:
            at = _("step {n} of a recorded run").format(n=self.spec["steps"][self._at() - len(FACTORS)])
        else:
            at = _("scores times {factor}").format(factor=number(FACTORS[self.factor]))
        wrong = [k for k, v in n["gap"].items() if not v <= TOLERANCE]
        alone = _("none: largest score {score}, entropy {entropy:.2f} nats, largest weight {weight:.3f}")
        remedied = _("{remedy}: largest score {score}, entropy {entropy:.2f} nats, largest weight {weight:.3f}")
        none, capped, normed = (
            (alone if k == "none" else remedied).format(
                remedy=_(k), score=number(n["largest"][k]), entropy=n["entropy"][k], weight=n["weight"][k]
            )
            for k in REMEDIES
        )
        about = _("Stability explorer with {whose} functions, {setting}. {none}; {capped}; {normed}.")
        bound = _("Cap {cap:g}; bound of QK-norm with gain {gain:g}: {bound}.")
        beyond = _("Values exp({x}) that do not fit, of 8: {counts}.")
        counts = listed(f"{k} {v}" for k, v in n["beyond"].items())
        overflow = _("Softmax without a shift is not a number in {dtypes}.")
        if not n["nan"]:
            overflow = _("Softmax without a shift is not a number in no dtype.")
        loss = _("log Z is {log_z}, z-loss with coefficient {coefficient:g} {loss}, its largest gradient {pull}.")
        agrees = _("Differs from the reference: {names}.") if wrong else _("All agree with the reference.")
        half = ""
        if self.halved:
            p = ["NaN" if np.isnan(v) else f"{v:.2f}" for v in self.half()]
            half = _("In float16, softmax with exp({x}) gives {weights}.").format(
                x=EXP_OF[int(self.shifted)], weights=listed(p)
            )
        said = _("The loss {formula} of the eight tokens is {losses}.")
        losses = [said.format(formula=name, losses=listed(_tenths(loss))) for name, loss in self.losses().items()]
        return sentences(
            about.format(whose=self.whose, setting=at, none=none, capped=capped, normed=normed),
            half,
            *losses,
            bound.format(cap=self.cap, gain=self.gain, bound=number(n["bound"])),
            beyond.format(x=self.exp_of, counts=counts),
            overflow.format(dtypes=listed(n["nan"])),
            loss.format(
                log_z=number(n["log_z"]),
                coefficient=self.coefficient,
                loss=number(n["z_loss"]),
                pull=number(n["pull"]),
            ),
            agrees.format(names=listed(wrong)),
        )

    def figure(self) -> Figure:
        fig = new_figure(8.4, 5.2)
        axes, at, keys = fig.subplots(2, 3), self._at(), np.arange(KEYS)
        for a, (name, x), color in zip(axes[0], self.rows().items(), (BLUE, VERMILLION, GREEN), strict=True):
            a.barh(keys, self.half() if name == "none" and self.halved else weights(x), color=color)
            a.set(xlim=(0, 1.02), yticks=keys, yticklabels=[number(v) if np.isfinite(v) else str(v) for v in x])
            a.invert_yaxis()
            plain(
                a,
                {"soft cap": f"soft cap {self.cap:g}", "QK-norm": f"QK-norm, gain {self.gain:g}"}.get(
                    name, _("softmax in float16") if self.halved else name
                ),
                "weight",
                "score" if name == "none" else "",
            )
        for a, (name, loss), color in zip(axes[0, 1:], self.losses().items(), (VERMILLION, GREEN), strict=False):
            self._draw_loss(a, name, loss, color)
        run = self.grow == GROWTH[1]
        part = slice(len(FACTORS), None) if run else slice(len(FACTORS))
        along, axis = (self.spec["steps"], "step") if run else (FACTORS, "factor")
        cap, gain = CAPS.index(self.cap), GAINS.index(self.gain)
        tables: tuple[tuple[np.ndarray, float | np.ndarray], ...] = (
            (scores(self._inputs).numpy()[part], 1.0),
            (self.shown("y_soft_cap")[cap, part], self.shown("d_soft_cap")[cap, part, 0]),
            (self.shown("s_qk_norm")[gain, part], 1.0),
        )
        styles = ((BLUE, "-"), (VERMILLION, DASHES), (GREEN, ":"))
        for name, (x, before), (color, style) in zip(REMEDIES, tables, styles, strict=True):
            largest, *others = measures(x, before)
            curve = [*others, largest][QUANTITIES.index(self.quantity)]
            axes[1, 0].plot(along, curve, color=color, linestyle=style, label=name)
        axes[1, 0].axvline(along[at - (len(FACTORS) if run else 0)], color=GRAY, linewidth=1)
        axes[1, 0].set_xscale("linear" if run else "log")
        axes[1, 0].set_yscale("log" if self.quantity == QUANTITIES[3] else "linear")
        axes[1, 0].legend(fontsize=7)
        plain(axes[1, 0], self.quantity, axis)
        self._draw_line(axes[1, 1])
        pull = self.shown("g_z_loss_gradient")[COEFFICIENTS.index(self.coefficient), at]
        axes[1, 2].barh(keys, pull, color=GRAY)
        axes[1, 2].invert_yaxis()
        plain(axes[1, 2], f"gradient of z-loss, λ = {self.coefficient:g}", "", "logit")
        return fig

    def _draw_loss(self, axes, name, loss, color):
        """In place of a remedy, as in the widget: hatched as far as can be where a loss is no number."""
        most, keys = np.max(loss[np.isfinite(loss)], initial=1e-3), np.arange(KEYS)
        finite = np.isfinite(loss)
        axes.clear()
        axes.barh(keys[finite], loss[finite], color=color)
        axes.barh(keys[~finite], most, color="none", edgecolor=color, hatch="//")
        axes.set(yticks=keys, yticklabels=_tenths(loss), xlim=(0, 1.05 * most))
        axes.invert_yaxis()
        plain(axes, _("loss {formula}").format(formula=name), "", "")

    def _draw_line(self, axes):
        """The number line of dtypes: a bar as far as each reaches, dots that fit in it and crosses beyond it."""
        ends, end = np.stack([self.spec["least"], self.spec["limits"]], -1) / math.log(10), 48
        for i, (row, (low, high)) in enumerate(zip(self.marks() / math.log(10), ends, strict=True)):
            axes.plot(np.clip((low, high), -end, end), (i, i), color="#c8c8c8", linewidth=8, solid_capstyle="butt")
            for shown, mark, color in ((row > high, "x", VERMILLION), (row <= high, "o", BLUE)):
                fill = "none" if mark == "o" else "full"
                axes.plot(np.clip(row[shown], -end, end), np.full(shown.sum(), i), mark, color=color, fillstyle=fill)
        axes.set(yticks=range(len(DTYPES)), yticklabels=DTYPES, xlim=(-end - 3, end + 3), ylim=(3.5, -0.5))
        plain(axes, f"exp({self.exp_of}); × does not fit", "power of ten", "")


def scores(inputs: Inputs) -> Tensor:
    """(A, 8) float64: the row of scores times each factor of the slider, then of the recorded run."""
    row = inputs["row"].double()
    run = inputs["growth"].double() / row.abs().max()
    return torch.cat([torch.tensor(FACTORS, dtype=torch.float64), run])[:, None] * row


def weights(x: np.ndarray) -> np.ndarray:
    """Softmax over the last axis, float64; NaN if a score is not finite."""
    with np.errstate(all="ignore"):
        e = np.exp(np.asarray(x, float) - np.max(x, -1, keepdims=True))
        return e / e.sum(-1, keepdims=True)


def measures(x: np.ndarray, before: float | np.ndarray = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Over the last axis: largest |score|, entropy of the softmax, its largest weight p, and the slope of p with
    respect to its score: p(1 − p) times ``before``, the slope of the remedy that was applied to the score."""
    p = weights(x)
    with np.errstate(all="ignore"):
        top, entropy = p.max(-1), -np.where(p > 0, p * np.log(p), p).sum(-1)
    return np.abs(x).max(-1), np.where(np.isnan(top), np.nan, entropy + 0.0), top, top * (1 - top) * before


def _tenths(loss):
    """The numbers as words, to a tenth."""
    return ["∞" if v == np.inf else number(round(float(v), 1)) for v in loss]


def _with_gradient(fn, name, x, expected):
    """(value, gradient of its sum with respect to x) as arrays."""
    with torch.enable_grad():
        x = x.clone().requires_grad_()
        y = fn(x)
        value = call(lambda: y, name, expected)
        if not y.requires_grad:
            said = _("No gradient flows through {name}: the result is cut off from its input.")
            raise WrongOutput(said.format(name=name))
        return value.numpy(), torch.autograd.grad(y.sum(), x)[0].detach().numpy()


def _normed(fn, inputs, gain):
    """(A, 8) scores of the learner's normalized q and k; q and k are each scaled by the square root of the growth."""
    q, k = inputs["q"], inputs["k"]
    growth = (scores(inputs)[:, :1] / inputs["row"].double()[0]).sqrt().to(q.dtype)[:, None]  # (A, 1, 1)
    gains = torch.full((D,), gain, dtype=q.dtype)
    pair = several_of(fn(growth * q, growth * k, gains, gains.clone()), "qk_norm", 2)
    q, k = (call(lambda v=v: v, "qk_norm", (len(growth), n, D)) for v, n in zip(pair, (1, KEYS), strict=True))
    return (q @ k.transpose(-2, -1) / math.sqrt(D))[:, 0].numpy()


def _bound(fn, gain):
    value = fn(gain, gain.clone())
    value = value.item() if isinstance(value, torch.Tensor) and value.numel() == 1 else value  # as in the check
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        said = _("{name} must return a Python float, and it returned {type}.")
        raise WrongOutput(said.format(name="qk_norm_bound", type=type(value).__name__))
    return float(value)


def _gap(a, b):
    """|a − b| / (1 + |b|); 0 if both are the same infinity or both NaN, ∞ if only one is."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    with np.errstate(all="ignore"):
        gap = np.abs(a - b) / (1 + np.abs(b))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.where(np.isfinite(gap), gap, np.inf))
