"""The still pictures of RopeExplorer."""

import math
from typing import Any

import numpy as np

from ..tools.drawing import BLUE, DASHES, GRAY, VERMILLION, Figure, diverging, new_figure, plain
from . import lengths


def dials_and_scores(widget: Any) -> Figure:
    """Dials of the planes, the score against the distance, and the scores of all positions."""
    from matplotlib.patches import Circle

    fig = new_figure(8.4, 5.2)
    q, k = widget.vectors("q"), widget.vectors("k")
    grid = fig.add_gridspec(2, 2, width_ratios=[1.45, 1], height_ratios=[1, 1.5])
    dials = grid[0, :].subgridspec(1, widget.dim // 2)
    for i in range(widget.dim // 2):
        axes = fig.add_subplot(dials[i])
        axes.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal", xticks=[], yticks=[])
        axes.add_artist(Circle((0, 0), 1.0, fill=False, edgecolor=GRAY, linewidth=0.8))
        axes.set_axis_off()
        axes.set_title(f"θ = {widget.base ** (-2 * i / widget.dim):.3g}", fontsize=8)
        for name, row, color, style in (("q", q[widget.m], BLUE, "-"), ("k", k[widget.n], VERMILLION, DASHES)):
            x, y = row[2 * i : 2 * i + 2]
            axes.plot([0, x], [0, y], color=color, linestyle=style, linewidth=2)
            box = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"}
            axes.text(x, y, name, fontsize=9, ha="center", va="center", bbox=box)
    S, right = q @ k.T, widget.right_scores()
    curve = fig.add_subplot(grid[1, 0])
    distance = range(1 - len(S), len(S))
    curve.plot(
        distance, [right[max(d, 0), max(-d, 0)] for d in distance], color=GRAY, linestyle=DASHES, label="reference"
    )
    if widget.fault or not widget.notice:
        whose = "broken" if widget.fault else "yours"
        curve.plot(np.arange(len(S)) - widget.n, S[:, widget.n], color=BLUE, label=f"{whose}, n = {widget.n}")
    curve.plot(widget.m - widget.n, S[widget.m, widget.n], "o", color=VERMILLION, label=f"m = {widget.m}")
    low, high = curve.get_ylim()
    curve.set_ylim(low, high + 0.22 * (high - low))  # room for the legend above the waves
    curve.legend(fontsize=8, ncols=3, loc="upper center")
    plain(curve, "Score against m − n", "m − n", "q·k")
    heat = fig.add_subplot(grid[1, 1])
    top = np.abs(S[np.isfinite(S)]).max(initial=1e-9)
    image = heat.imshow(S, cmap=diverging(), vmin=-top, vmax=top)
    heat.plot(widget.n, widget.m, "s", markerfacecolor="none", markeredgecolor="black", markersize=8)
    fig.colorbar(image, ax=heat).ax.tick_params(labelsize=8)
    plain(heat, "Scores S[m, n]", "key position n", "query position m")
    return fig


def hands(widget: Any) -> Figure:
    """A hand for each plane of a large head, with the part of its dial that training showed and the part beyond."""
    from matplotlib.patches import Wedge

    theta, slow = widget.frequencies(), widget.slowed()
    across = 16
    down = math.ceil(len(theta) / across)
    fig = new_figure(8.4, 0.55 * down + 0.5)
    axes = fig.add_subplot()
    axes.set(xlim=(-0.6, across - 0.4), ylim=(down - 0.4, -0.6), aspect="equal", xticks=[], yticks=[])
    axes.set_axis_off()
    new = lengths.unseen(theta, widget.base, widget.scheme, widget.trained, widget.length)
    for i, (seen, reach) in enumerate(zip(theta * widget.trained, slow * widget.length, strict=True)):
        x, y = i % across, i // across
        degrees = lambda angle: min(math.degrees(abs(angle)), 360)
        # The axis y points down, so the angles are drawn with the opposite sign.
        axes.add_artist(Wedge((x, y), 0.42, -degrees(seen), 0, width=0.16, color=GRAY))
        if new[i]:
            axes.add_artist(
                Wedge((x, y), 0.42, -degrees(reach), -degrees(seen), width=0.16, color=VERMILLION, hatch="///")
            )
        axes.plot([x, x + 0.4 * math.cos(reach)], [y, y - 0.4 * math.sin(reach)], color=BLUE, linewidth=1.5)
    text = f"D = {widget.head}, base {widget.base:,.0f}: {widget.length:,} tokens, trained on {widget.trained:,}"
    axes.set_title(f"{text} (gray: seen in training, hatched: never seen)", fontsize=10, loc="left")
    return fig
