"""RopeExplorer: a query and a key rotate with their positions; the score should depend only on the distance.

Source of the method: Su et al. 2021, arXiv:2104.09864.
"""

from typing import Any

import numpy as np
import torch
import traitlets as t
from matplotlib.patches import Circle

from ..tools.base import TableWidget
from ..tools.calls import call
from ..tools.drawing import BLUE, DASHES, DIVERGING, GRAY, VERMILLION, Figure, new_figure, number, plain
from ..tools.types import Function, Inputs, Tables
from ..tools.words import N_, _
from .story import STORY

POSITIONS = 64
DIMS = (4, 8, 16)
BASES = (100.0, 1e3, 1e4, 1e5, 5e5)
# float32 angles up to 63 rad are off by 4e-6, so a right function is off by about 1e-5, and wrong ones by tenths.
TOLERANCE = 1e-4
INVARIANTS = ("shift", "norm", "reference")
# Labels for a function that differs from the reference; the table ``cause`` holds their indices.
CAUSES = (
    N_("differs"),
    N_("differs: turns the other way"),
    N_("differs: pairs the halves"),
    N_("differs: other speeds"),
)


class RopeExplorer(TableWidget):
    """Live picture of ``apply_rope(x, position_ids, base=10000.0)`` (interleaved pairs).

    The function gets x (1, 2, 64, D) float32, a query in head 0 and a key in head 1, the same vector at each of 64
    positions, and position_ids (1, 64) int64, once per D in 4, 8, 16 and per base. The positions are in shuffled order,
    to expose a function that ignores position_ids. In every plane the query has length 1 and the key 0.8, with fixed
    random angles.

    Traits m, n (0..63), base and dim can be set from Python and follow the sliders. Gray curves are the reference's,
    from the recording. Raises the errors of TableWidget.
    """

    recording, function_name = "rope", "apply_rope"
    controls = ("m", "n", "base", "dim")
    story = STORY

    m = t.Int(9, min=0, max=POSITIONS - 1).tag(sync=True)
    n = t.Int(4, min=0, max=POSITIONS - 1).tag(sync=True)
    base = t.Enum(BASES, 1e4).tag(sync=True)
    dim = t.Enum(DIMS, 8).tag(sync=True)

    def __init__(self, apply_rope: Function | None = None, **state: Any) -> None:
        super().__init__(apply_rope, **state)

    @classmethod
    def measure(cls, fn: Function, inputs: Inputs) -> Tables:
        """q4, k4, q8, … of shape (bases, 64, D): the rotated query and key at every position."""
        order = (torch.arange(POSITIONS) * 37 + 11) % POSITIONS  # 37 is odd, so that each position occurs once
        ids = order[None, :]
        tables = {}
        for D in DIMS:
            x = torch.stack([inputs[f"q{D}"], inputs[f"k{D}"]])[None, :, None, :].expand(1, 2, POSITIONS, D)
            rows = [call(fn, cls.function_name, x.shape, x, ids, base=base)[0] for base in BASES]
            sorted_rows = torch.stack(rows)[:, :, torch.argsort(order)]  # (bases, 2, positions, D)
            tables[f"q{D}"], tables[f"k{D}"] = sorted_rows[:, 0].numpy(), sorted_rows[:, 1].numpy()
        return tables

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        values = np.zeros((len(DIMS), len(BASES), len(INVARIANTS)))
        for i, D in enumerate(DIMS):
            for j in range(len(BASES)):
                q, k = (mine[f"{name}{D}"][j].astype(float) for name in "qk")
                S, right = q @ k.T, _scores(reference, D, j)
                lengths = [
                    np.linalg.norm(turned, axis=-1) - np.linalg.norm(inputs[f"{name}{D}"].numpy())
                    for name, turned in zip("qk", (q, k), strict=True)
                ]
                values[i, j] = [np.abs(a).max() for a in (S[1:, 1:] - S[:-1, :-1], np.stack(lengths), S - right)]
        return {
            "invariants": values,
            "cause": np.array([[_cause(mine, inputs, D, j) for j in range(len(BASES))] for D in DIMS]),
        }

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        return {
            "title": _("RoPE: rotate the query by m, the key by n"),
            "positions": POSITIONS,
            "dims": list(DIMS),
            "bases": list(BASES),
            "tolerance": TOLERANCE,
            "causes": CAUSES,
            "reach": 1.06,
        }  # reach: a dial's rim, in units of the query's length

    def invariants(self) -> dict[str, float]:
        """The three invariants for the current D and base.

        ``shift``: max |S[m+1, n+1] − S[m, n]|; ``norm``: max change of length; ``reference``: max |S − the reference's
        S|. For a right function, each is within TOLERANCE.
        """
        shape = (len(DIMS), len(BASES), len(INVARIANTS))
        table = np.frombuffer(self.tables["invariants"], "<f4").reshape(shape)
        row = table[DIMS.index(self.dim), BASES.index(self.base)]
        return dict(zip(INVARIANTS, row.tolist(), strict=True))

    def cause(self) -> str:
        """How the function differs from the reference for the current D and base, if it does: one of CAUSES."""
        table = np.frombuffer(self.tables["cause"], "<f4").reshape(len(DIMS), len(BASES))
        return CAUSES[int(table[DIMS.index(self.dim), BASES.index(self.base)])]

    def scores(self) -> np.ndarray:
        """S (64, 64) float64 for the current D and base: S[m, n] = q at m times k at n."""
        return _scores(self._mine, self.dim, BASES.index(self.base))

    @property
    def words(self) -> str:
        S, found = self.scores(), self.invariants()
        states = {k: (_("ok") if v <= TOLERANCE else _("broken")) for k, v in found.items()}
        if not found["reference"] <= TOLERANCE:
            states["reference"] = _(self.cause())
        told = _(
            "RoPE explorer with {whose} apply_rope, D = {dim}, base {base:,.0f}. Dials of {planes} planes show the "
            "query at m = {m} (blue, solid) and the key at n = {n} (orange, dashed); a curve shows the score against "
            "m − n and a heatmap the score of all positions. Score q·k = {score:.3f}. Largest change when both "
            "positions move by one: {shift} ({shift_state}); largest change of a length: {norm} ({norm_state}); "
            "farthest from the reference: {far} ({state})."
        )
        return told.format(
            whose=self.whose,
            dim=self.dim,
            base=self.base,
            planes=self.dim // 2,
            m=self.m,
            n=self.n,
            score=S[self.m, self.n],
            shift=number(found["shift"]),
            shift_state=states["shift"],
            norm=number(found["norm"]),
            norm_state=states["norm"],
            far=number(found["reference"]),
            state=states["reference"],
        )

    def figure(self) -> Figure:
        fig = new_figure(8.4, 5.2)
        planes, j = self.dim // 2, BASES.index(self.base)
        grid = fig.add_gridspec(2, 2, width_ratios=[1.45, 1], height_ratios=[1, 1.5])
        dials = grid[0, :].subgridspec(1, planes)
        for i in range(planes):
            axes = fig.add_subplot(dials[i])
            axes.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal", xticks=[], yticks=[])
            axes.add_artist(Circle((0, 0), 1.0, fill=False, edgecolor=GRAY, linewidth=0.8))
            axes.set_axis_off()
            axes.set_title(f"θ = {self.base ** (-2 * i / self.dim):.3g}", fontsize=8)
            for name, position, color, style in (("q", self.m, BLUE, "-"), ("k", self.n, VERMILLION, DASHES)):
                x, y = self._mine[f"{name}{self.dim}"][j, position, 2 * i : 2 * i + 2]
                axes.plot([0, x], [0, y], color=color, linestyle=style, linewidth=2)
                axes.text(
                    x,
                    y,
                    name,
                    fontsize=9,
                    ha="center",
                    va="center",
                    bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"},
                )
        S, right = self.scores(), _scores(self._reference, self.dim, j)
        curve = fig.add_subplot(grid[1, 0])
        distance = np.arange(1 - POSITIONS, POSITIONS)
        curve.plot(
            distance, [right[max(d, 0), max(-d, 0)] for d in distance], color=GRAY, linestyle=DASHES, label="reference"
        )
        if not self.notice:
            curve.plot(np.arange(POSITIONS) - self.n, S[:, self.n], color=BLUE, label=f"yours, n = {self.n}")
        curve.plot(self.m - self.n, S[self.m, self.n], "o", color=VERMILLION, label=f"m = {self.m}")
        curve.legend(fontsize=8)
        plain(curve, "Score against m − n", "m − n", "q·k")
        heat = fig.add_subplot(grid[1, 1])
        top = np.abs(S[np.isfinite(S)]).max(initial=1e-9)
        image = heat.imshow(S, cmap=DIVERGING, vmin=-top, vmax=top)
        heat.plot(self.n, self.m, "s", markerfacecolor="none", markeredgecolor="black", markersize=8)
        fig.colorbar(image, ax=heat).ax.tick_params(labelsize=8)
        plain(heat, "Scores S[m, n]", "key position n", "query position m")
        return fig


def _cause(mine, inputs, D, j):
    """Index in CAUSES of the known mistake that explains q and k for one D and base; 0 if none fits."""
    angles = np.arange(POSITIONS)[:, None] * BASES[j] ** (-np.arange(0, D, 2) / D)
    rows = [(inputs[f"{name}{D}"].numpy().astype(float), mine[f"{name}{D}"][j].astype(float)) for name in "qk"]
    interleaved = (slice(0, None, 2), slice(1, None, 2))
    halves = (slice(0, D // 2), slice(D // 2, None))

    def turned(x, first, second, turn):
        out = np.empty((POSITIONS, D))
        out[:, first] = x[first] * np.cos(turn) - x[second] * np.sin(turn)
        out[:, second] = x[first] * np.sin(turn) + x[second] * np.cos(turn)
        return out

    for cause, (pairs, turn) in enumerate([(interleaved, -angles), (halves, angles)], start=1):
        if all(np.abs(turned(x, *pairs, turn) - got).max() <= TOLERANCE for x, got in rows):
            return cause
    first, second = interleaved
    kept = all(
        np.abs(np.hypot(got[:, first], got[:, second]) - np.hypot(x[first], x[second])).max() <= TOLERANCE
        for x, got in rows
    )
    moved = all(np.abs(got - x).max() > TOLERANCE for x, got in rows)
    return 3 if kept and moved else 0


def _scores(tables, D, j):
    return tables[f"q{D}"][j].astype(float) @ tables[f"k{D}"][j].astype(float).T
