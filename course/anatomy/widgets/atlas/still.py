"""Still pictures of the atlas: the timeline, and blocks drawn from the same shapes as on the page."""

import math
import re
import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyBboxPatch

from ..tools.drawing import BLUE, GRAY, VERMILLION, Figure, new_figure, plain
from .block import WIDTH

Card = dict[str, Any]
MARKS = {"decoder": "o", "encoder": "s", "encoder-decoder": "D", "": "o"}
FILLS = {"norm": "#f3f4f6", "attention": "#dcebf5", "ffn": "#fbe6d4", "table": "#ffffff", "frame": "none"}


def timeline(cards: Sequence[Card], shown: Sequence[int], here: int) -> Figure:
    """Models by year; filled is RMSNorm, hollow LayerNorm, gray not published; models outside the filter are pale."""
    fig = new_figure(8.4, 3.6)
    axes = fig.add_subplot()
    places: dict[int, int] = {}
    for i, card in enumerate(cards):
        x = places[card["year"]] = places.get(card["year"], -1) + 1
        color = {"RMSNorm": BLUE, "LayerNorm": BLUE}.get(card["family"]["norm"], GRAY)
        axes.plot(
            x,
            card["year"],
            MARKS[card["kind"]],
            color=VERMILLION if i == here else color,
            fillstyle="full" if card["family"]["norm"] == "RMSNorm" else "none",
            alpha=1 if i in shown else 0.2,
            markersize=3.5 + 1.75 * (math.log10(card["size"]) - 7) if card["size"] else 7,
        )
    axes.set_xticks([])
    axes.set_yticks(sorted(places))
    axes.invert_yaxis()
    plain(
        axes, f"{len(shown)} of {len(cards)} models; filled: RMSNorm, hollow: LayerNorm; here: {cards[here]['title']}"
    )
    return fig


def blocks(cards: Sequence[Card], beside: str = "") -> Figure:
    """One block or two, and text next to the last."""
    height = max(card["height"] for card in cards) + 26
    columns = len(cards) + bool(beside)
    fig = new_figure(WIDTH / 78 * columns, max(height, 150) / 78)
    for axes, card in zip(fig.subplots(1, columns, squeeze=False)[0], cards, strict=False):
        _draw(axes, card, height)
    if beside:
        last = fig.axes[-1]
        last.axis("off")
        lines = [part for line in beside.splitlines() for part in (textwrap.wrap(line, 62) or [""])]
        last.text(0, 1, "\n".join(lines), va="top", fontsize=7.5, family="monospace", transform=last.transAxes)
    return fig


def _draw(axes: Axes, card: Card, height: int) -> None:
    axes.set(xlim=(0, WIDTH), ylim=(height, 0), aspect="equal")
    axes.axis("off")
    axes.text(2, 12, f"{card['title']} ({card['year']})", fontsize=10, weight="bold")
    for shape in card["shapes"]:
        kind, rest = shape[0], shape[1:]
        if kind == "box":
            x, y, w, h, what, _ = rest
            line = (0, (4, 3)) if what == "frame" else "-"
            box = FancyBboxPatch(
                (x, y + 26), w, h, "round,pad=0,rounding_size=4", fc=FILLS[what], ec=GRAY, ls=line, lw=0.8
            )
            axes.add_patch(box)
        elif kind == "text":
            x, y, anchor, style, said = rest
            weight = "bold" if style == "ta-strong" else "normal"
            align = {"start": "left", "middle": "center", "end": "right"}[anchor]
            axes.text(x, y + 26, said, ha=align, va="baseline", fontsize=7.5, weight=weight)
        elif kind == "path":
            points = [tuple(map(float, pair)) for pair in re.findall(r"([\d.-]+) ([\d.-]+)", rest[0])]
            axes.plot([x for x, _ in points], [y + 26 for _, y in points], color="black", lw=1)
            if rest[1] == "arrow":
                axes.annotate(
                    "",
                    (points[-1][0], points[-1][1] + 26),
                    (points[-2][0], points[-2][1] + 26),
                    arrowprops={"arrowstyle": "-|>", "lw": 1, "color": "black", "shrinkA": 0, "shrinkB": 0},
                )
        else:
            x, y = rest
            axes.add_patch(Circle((x, y + 26), 8, fc="white", ec="black", lw=1))
            axes.text(x, y + 26, "+", ha="center", va="center", fontsize=9)
