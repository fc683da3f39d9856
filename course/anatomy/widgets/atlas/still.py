"""Still pictures of the atlas: the timeline, and blocks drawn from the same shapes as on the page."""

import itertools
import math
import re
import textwrap
from collections.abc import Sequence
from typing import Any

from ..tools.drawing import BLUE, GRAY, VERMILLION, Axes, Figure, new_figure, plain
from .block import WIDTH

Card = dict[str, Any]
ACROSS, MARK, LETTER, GAP = 100, 2.2, 0.92, 2.4  # units of the timeline, of which a line of text has a hundred letters
MARKS = {"decoder": "o", "encoder": "s", "encoder-decoder": "D", "": "o"}
FILLS = {"norm": "#f3f4f6", "attention": "#dcebf5", "ffn": "#fbe6d4", "table": "#ffffff", "frame": "none"}


def timeline(
    cards: Sequence[Card], shown: Sequence[int], here: int, filled: Sequence[bool | None], asked: str
) -> Figure:
    """Models by year with the names of their families, and lines to what a model starts from and what goes back to it.

    Filled is what the filter asks for, RMSNorm if it asks for nothing (""); gray is not published (None). Models
    outside the filter are pale.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Bezier

    marks, names, rows = _laid_out(cards)
    fig = new_figure(8.4, 0.24 * len(rows) + 0.5)
    axes = fig.add_subplot()
    for parent, child, later in _lineage(cards, here):
        (x, y), (u, v) = marks[parent], marks[child]
        curve = Bezier([(x, y), (x, (y + v) / 2), (u, (y + v) / 2), (u, v)], [1, 4, 4, 4])
        axes.add_patch(PathPatch(curve, fill=False, ec=VERMILLION, lw=1, alpha=0.35 if later else 0.75))
    for i, card in enumerate(cards):
        color = GRAY if filled[i] is None else BLUE
        axes.plot(
            *marks[i],
            MARKS[card["kind"]],
            color=VERMILLION if i == here else color,
            fillstyle="full" if filled[i] else "none",
            alpha=1 if i in shown else 0.2,
            markersize=0.7 * (3.5 + 1.75 * (math.log10(card["size"]) - 7)) if card["size"] else 5,
        )
    for name, x, y in names:
        axes.text(x, y, name, fontsize=6.5, va="center")
    axes.set(xlim=(-1, ACROSS), ylim=(len(rows) - 0.4, -0.6), xticks=[])
    axes.set_yticks([k for k, year in enumerate(rows) if year], [str(year) for year in rows if year])
    told = f"filled: {asked}, hollow: others" if asked else "filled: RMSNorm, hollow: LayerNorm"
    plain(axes, f"{len(shown)} of {len(cards)} models; {told}; here: {cards[here]['title']}")
    return fig


def _laid_out(cards):
    """Places of marks, [(name, x, y)] of families, and the year of each row ("" where a year goes on)."""
    marks, names, rows, x = [], [], [], 0.0
    for (year, stem), family in itertools.groupby(cards, lambda card: (card["year"], card["stem"])):
        members = len(list(family))
        width = MARK * members + LETTER * len(stem) + GAP
        if year not in rows:
            rows, x = [*rows, year], 0.0
        elif x + width > ACROSS:
            rows, x = [*rows, ""], 0.0
        marks += [(x + MARK * k, len(rows) - 1) for k in range(members)]
        names.append((stem, x + MARK * (members - 0.4), len(rows) - 1))
        x += width
    return marks, names, rows


def _lineage(cards, here):
    """(what it starts from, model, is that a later generation) for ``here``, all before it, and all that go back to
    its family."""
    family = cards[here]["stem"]
    chains = {k: list(_chain(cards, k)) for k in range(len(cards))}
    pairs = [
        (chain[0], k, cards[chain[0]]["stem"] != family)
        for k, chain in chains.items()
        if family in [cards[parent]["stem"] for parent in chain]
    ]
    back = [here, *chains[here]]
    return pairs + [(parent, child, False) for child, parent in itertools.pairwise(back)]


def _chain(cards, i):
    while (i := cards[i]["after"]) >= 0:
        yield i


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
    from matplotlib.patches import Circle, FancyBboxPatch

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
