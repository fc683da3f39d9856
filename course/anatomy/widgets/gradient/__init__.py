"""GradientFlowExplorer: gradient norm per layer for every placement of the norms, before training.

Sources: arXiv:2002.04745 (Post-LN, Pre-LN), arXiv:2105.13290 (sandwich), arXiv:2408.00118 (pre+post),
arXiv:2501.00656 (norm inside), arXiv:2203.00555 (DeepNorm), arXiv:2204.02311 (parallel).
"""

from typing import Any

import numpy as np
import torch
import traitlets as t

from ...experiments import gradient_flow
from ...experiments.gradient_flow import DEPTHS, SEEDS, WIDTHS
from ...experiments.wirings import WIRINGS
from ...system.translation import sentences
from ..tools.calls import WrongOutput
from ..tools.drawing import BLUE, DASHES, GRAY, VERMILLION, Figure, new_figure, number, plain
from ..tools.several import SeveralFunctions
from ..tools.types import Function, Functions, Inputs, Tables
from ..tools.words import N_, _
from .story import STORY

NAMES = tuple(WIRINGS)
IN_WORDS = (N_("sandwich"), N_("pre+post"), N_("norm inside"), N_("parallel"))  # names that can be translated
LIVE_DEPTHS, LIVE_WIDTH = DEPTHS[:2], WIDTHS[0]
STEEP = 0.25  # an exponent closer to 0 than this is called flat
TOLERANCE = 0.01  # in log10, on all live curves: 2 %


class GradientFlowExplorer(SeveralFunctions):
    """Gradient norms of a learner's wirings, passed as a mapping by name, next to curves recorded up to depth 96.

    Names: post_ln, pre_ln, norm_inside ``(x, sublayer, norm)``, sandwich ``(x, sublayer, norm_in, norm_out)``, deepnorm
    ``(x, sublayer, norm, alpha)`` and parallel ``(x, attention, ffn, norm)``. Each wires untrained stacks of width 32
    with 6 and 12 layers, three seeds, on float32 (2, 16, 32); this takes a second or two in total. Wider and deeper
    curves are recorded, and labeled with their device; so are the streams' sizes, which are not drawn for a function
    that is wired otherwise than the reference.

    Traits wiring and other (indices into NAMES; names work too), depth, width and seed follow the controls; back is the
    number of layers, from the last, that the gradient has run back through. Raises the errors of TableWidget, and
    WrongOutput if no gradient flows through a function.
    """

    recording = "gradient"
    names = tuple(dict.fromkeys(w.function for w in WIRINGS.values()))
    function_name = "wirings"
    controls = ("wiring", "other", "depth", "width", "seed", "back")
    story = STORY
    opening = tuple({"back": n} for n in (2, 4, 6, 8, 10, 12))

    wiring = t.Int(0, min=0, max=len(NAMES) - 1).tag(sync=True)
    other = t.Int(1, min=0, max=len(NAMES) - 1).tag(sync=True)
    depth = t.Enum(DEPTHS, 12).tag(sync=True)
    width = t.Enum(WIDTHS, LIVE_WIDTH).tag(sync=True)
    seed = t.Int(0, min=0, max=SEEDS - 1).tag(sync=True)
    back = t.Int(0, min=0, max=DEPTHS[-1]).tag(sync=True)

    def __init__(
        self,
        functions: Functions | None = None,
        wiring: int | str = "Post-LN",
        other: int | str = "Pre-LN",
        **state: Any,
    ) -> None:
        places = [NAMES.index(v) if isinstance(v, str) else v for v in (wiring, other)]
        self._recorded = gradient_flow.recorded()
        super().__init__(functions, wiring=places[0], other=places[1], **state)

    @classmethod
    def measure_one(cls, name: str, fn: Function, inputs: Inputs) -> Tables:
        """g (wirings of that function, live depths, seeds, 12): gradient norm per layer, NaN beyond the last one."""
        tables = []
        for wiring in (n for n in NAMES if WIRINGS[n].function == name):
            table = np.full((len(LIVE_DEPTHS), SEEDS, LIVE_DEPTHS[-1]), np.nan)
            for i, depth in enumerate(LIVE_DEPTHS):
                scale = tuple(inputs["scales"][i].tolist()) if name == "deepnorm" else None
                for seed in range(SEEDS):
                    table[i, seed, :depth] = gradient_flow.curve(
                        {name: _checked(fn, name)},
                        wiring,
                        depth,
                        LIVE_WIDTH,
                        seed=seed,
                        scale=scale,
                        dtype=inputs["scales"].dtype,
                        device=str(inputs["scales"].device),
                    )
            tables.append(table)
        return {f"g_{name}": np.stack(tables)}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        curves, streams = self._table("curves"), self._table("streams")
        last = np.stack([curves[:, :, c, :, depth - 1] for c, depth in enumerate(DEPTHS)], -1)
        x = np.log(DEPTHS) - np.log(DEPTHS).mean()
        far = []
        for name in NAMES:
            table, place = f"g_{WIRINGS[name].function}", _place(name)
            ours, right = ({**reference, **mine}[table][place].astype(float), reference[table][place])
            with np.errstate(divide="ignore", invalid="ignore"):
                gap = np.abs(np.log10(ours) - np.log10(right))
            # Beyond the last layer both are NaN by design; a NaN within it is a broken curve.
            far.append(np.where(np.isnan(right), 0, np.where(np.isfinite(gap), gap, np.inf)).max())
        own = [float(mine is not reference and f"g_{WIRINGS[n].function}" in mine) for n in NAMES]
        return {
            **{k: v for k, v in reference.items() if k not in mine},
            "curves": curves,
            "streams": streams,
            "slopes": np.log(last) @ x / (x @ x),
            "far": np.array(far),
            "own": np.array(own),
        }

    def _table(self, what):
        """What is recorded of all stacks as (wirings, widths, depths, seeds, most numbers of a stack), NaN beyond."""
        found = self._recorded[what]
        table = np.full((len(NAMES), len(WIDTHS), len(DEPTHS), SEEDS, DEPTHS[-1] + (what == "streams")), np.nan)
        for a, name in enumerate(NAMES):
            for b, width in enumerate(WIDTHS):
                for c, depth in enumerate(DEPTHS):
                    stacks = np.array(found[name][width][depth])
                    table[a, b, c, :, : stacks.shape[1]] = stacks
        return table

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("Where to put the norm: which layers does the gradient push?"),
            "names": [_(name) for name in NAMES],
            "depths": list(DEPTHS),
            "widths": list(WIDTHS),
            "seeds": SEEDS,
            "live": list(LIVE_DEPTHS),
            "live_width": LIVE_WIDTH,
            "tables": [f"g_{w.function}" for w in WIRINGS.values()],
            "places": [_place(n) for n in NAMES],
            "functions": [w.function for w in WIRINGS.values()],
            "final": [w.final for w in WIRINGS.values()],
            "device": self._recorded["made"]["device"],
            "steep": STEEP,
            "tolerance": TOLERANCE,
        }

    def is_live(self, place: int) -> bool:
        """True if the curve shown for that wiring is the learner's own."""
        own = np.frombuffer(self.tables["own"], "<f4")[place] == 1
        return bool(own and self.width == LIVE_WIDTH and self.depth in LIVE_DEPTHS)

    def curve(self, place: int) -> np.ndarray:
        """Gradient norm per layer of that wiring at the current setting, (depth,) float64."""
        if self.is_live(place):
            table = self.shown(f"g_{WIRINGS[NAMES[place]].function}")[_place(NAMES[place])]
            return table[LIVE_DEPTHS.index(self.depth), self.seed, : self.depth].astype(float)
        return np.array(self._recorded["curves"][NAMES[place]][self.width][self.depth][self.seed])

    def stream(self, place: int) -> np.ndarray:
        """RMS of the recorded stack's stream, before layer 1 and after each layer, (depth + 1,) float64."""
        return np.array(self._recorded["streams"][NAMES[place]][self.width][self.depth][self.seed])

    def _same(self, place):
        """Whether that wiring is the reference's, so that the recorded stream is its own, too."""
        return bool(np.frombuffer(self.tables["far"], "<f4")[place] <= TOLERANCE)

    def facts(self, place: int) -> dict[str, float]:
        """For that wiring: ``first_to_last``, ``last``, ``slope`` of the last layer's norm against depth, ``deeper``,
        that norm at the most layers over that at the fewest (both recorded, at this width and seed), ``far``: distance
        to the reference in log10 on all live curves."""
        c = self.curve(place)
        slopes = np.frombuffer(self.tables["slopes"], "<f4").reshape(len(NAMES), len(WIDTHS), SEEDS)
        far = float(np.frombuffer(self.tables["far"], "<f4")[place])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = float(c[0] / c[-1])
        recorded = self._recorded["curves"][NAMES[place]][self.width]
        return {
            "first_to_last": ratio,
            "last": float(c[-1]),
            "far": far,
            "deeper": recorded[DEPTHS[-1]][self.seed][-1] / recorded[DEPTHS[0]][self.seed][-1],
            "slope": float(slopes[place, WIDTHS.index(self.width), self.seed]),
        }

    @property
    def whose(self) -> str:
        recorded = _("the recorded ({device})").format(device=self._recorded["made"]["device"])
        return _("your") if self.is_live(self.wiring) else recorded

    @property
    def words(self) -> str:
        one, two = self.facts(self.wiring), self.facts(self.other)
        name, against = _(NAMES[self.wiring]), _(NAMES[self.other])
        broken = "" if one["far"] <= TOLERANCE else _("Your {name} differs from the reference (broken).")
        told = _(
            "Gradient flow explorer: {whose} {one} against {two}, {depth} layers of width {width}, seed {seed}. {one}: "
            "first layer over last {ratio}, last layer {last}, which {trend} with depth ({deeper} from {few} to {many} "
            "layers). {two}: first over last {ratio2}, last layer {last2}, which {trend2} ({deeper2})."
        ).format(
            whose=self.whose,
            one=name,
            two=against,
            depth=self.depth,
            width=self.width,
            seed=self.seed,
            ratio=number(one["first_to_last"]),
            last=number(one["last"]),
            trend=_(word(one["slope"])),
            deeper=times(one["deeper"]),
            few=DEPTHS[0],
            many=DEPTHS[-1],
            ratio2=number(two["first_to_last"]),
            last2=number(two["last"]),
            trend2=_(word(two["slope"])),
            deeper2=times(two["deeper"]),
        )
        lit = "" if not self._on_its_way() else _("The gradient has run back through {n} of {depth} layers.")
        sizes = [
            _("{name}’s stream has RMS {first} before layer 1 and {last} after layer {depth}.").format(
                name=_(NAMES[place]), first=number(r[0]), last=number(r[-1]), depth=self.depth
            )
            for place in dict.fromkeys((self.wiring, self.other))
            if self._same(place)
            for r in [self.stream(place)]
        ]
        return sentences(told, *sizes, lit.format(n=self.back, depth=self.depth), broken.format(name=name), self.notice)

    def _on_its_way(self):
        """A still picture cannot be run: where nothing has run yet, it shows, and tells, the whole."""
        return 0 < self.back < self.depth

    def figure(self) -> Figure:
        fig = new_figure(8.4, 3.1)
        left, middle, right = fig.subplots(1, 3, width_ratios=[1.5, 1, 1])
        layers = np.arange(1, self.depth + 1)
        if self.is_live(self.wiring):
            saved = self._recorded["curves"][NAMES[self.wiring]][self.width][self.depth][self.seed]
            left.semilogy(layers, saved, color=GRAY, linestyle=DASHES, label="recorded")
        for place, color, style in ((self.wiring, BLUE, "-"), (self.other, VERMILLION, ":")):
            left.semilogy(layers, self.curve(place), color=color, linestyle=style, label=NAMES[place])
            lasts = [self._recorded["curves"][NAMES[place]][self.width][n][self.seed][-1] for n in DEPTHS]
            if self._same(place):
                middle.plot(np.arange(self.depth + 1), self.stream(place), color=color, linestyle=style)
            right.loglog(DEPTHS, lasts, "o", color=color, linestyle=style, markersize=4)
        if self._on_its_way():  # what the gradient has not come to yet
            left.axvspan(0, self.depth - self.back + 0.5, color="white", alpha=0.85, zorder=3)
        left.legend(fontsize=7)
        plain(left, f"{self.depth} layers, width {self.width}", "layer", "gradient norm")
        middle.set_ylim(0)
        plain(middle, "Stream, recorded", "after layer", "RMS")
        plain(right, f"Last layer ({self._recorded['made']['device']})", "number of layers", "")
        for axes in (left, right):
            _whole_decades(axes)
        right.set_xticks(DEPTHS, [str(n) for n in DEPTHS])
        right.minorticks_off()
        return fig


def _whole_decades(axes):
    """Numbers as the page has them: 1, not a power of ten. They stand at decades only, so these are the ends."""
    low, high = np.log10(np.clip(axes.dataLim.intervaly, 1e-12, None))
    axes.set_ylim(10 ** min(np.floor(low), 0), 10 ** max(np.ceil(high), 0))
    axes.yaxis.set_major_formatter(lambda value, _place: f"{value:g}")
    axes.yaxis.set_minor_formatter("")


def word(slope: float) -> str:
    """Returns "falls", "rises" or "stays flat"."""
    return N_("falls") if slope < -STEEP else N_("rises") if slope > STEEP else N_("stays flat")


def times(ratio: float) -> str:
    """How many times as large a value is as it was: × or ÷ a number of at least 1."""
    return f"÷ {number(1 / ratio)}" if ratio < 1 else f"× {number(ratio)}"


def _place(name):
    """Index of a wiring among those that share its function."""
    return [n for n in NAMES if WIRINGS[n].function == WIRINGS[name].function].index(name)


def _checked(fn, name):
    """Wraps the learner's function; raises WrongOutput, with one sentence, for a result that the stack cannot use."""

    def step(x, *others):
        y = fn(x, *others)
        got = None
        if not isinstance(y, torch.Tensor):
            got = "None" if y is None else _("a value of type {type}").format(type=type(y).__name__)
        elif y.shape != x.shape or not y.is_floating_point():
            dtype = str(y.dtype).removeprefix("torch.")
            got = _("shape {shape}, dtype {dtype}").format(shape=tuple(y.shape), dtype=dtype)
        if got is not None:
            said = _("{name} must return a floating-point tensor of shape {shape} here, and it returned {got}.")
            raise WrongOutput(said.format(name=name, shape=tuple(x.shape), got=got))
        if not y.requires_grad:
            raise WrongOutput(_("No gradient flows through {name}: the result is cut off from x.").format(name=name))
        return y

    return step
