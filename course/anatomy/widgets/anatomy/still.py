"""The still picture of AnatomyView: parts with their signs, the river of streams, one head, and layers' predictions."""

from typing import Any

import numpy as np

from ..tools.drawing import BLUE, GRAY, VERMILLION, Figure, new_figure, plain, rectangle, sequential
from .places import PLACES

SIGNS = {0: "", 1: "✓", 2: "", 3: "✓", 4: "✗", 5: "✗", 6: "✗"}


def shown(token: str) -> str:
    """A token as a word in a picture: drops a space in front of it, and marks other white space."""
    return token.replace("\n", "⏎").replace(" ", "␣") if not token.strip() or token[0] != " " else token[1:]


def picture(view: Any) -> Figure:
    """Draws the current state of an AnatomyView."""
    fig = new_figure(8.4, 4.6)
    parts, river, right = np.ravel(fig.subfigures(1, 3, squeeze=False, width_ratios=[0.8, 1.75, 1.5]))
    _parts(parts.subplots(), view)
    _river(river.subplots(), view)
    heat, lens = right.subplots(2, 1, height_ratios=[1.5, 1])
    _head(heat, view)
    _lens(lens, view)
    return fig


def _parts(axes, view):
    axes.axis("off")
    axes.set(xlim=(0, 1), ylim=(-0.5, len(PLACES) - 0.5))
    states = view.states()
    for i, place in enumerate(PLACES):
        state = states[place.key]
        bad, good = state >= 4, state in (1, 3)
        edge = VERMILLION if bad else BLUE if good else GRAY
        box = rectangle((0.02, i - 0.32), 0.96, 0.64, facecolor="#dcebf5" if good else "#f3f4f6", edgecolor=edge)
        box.set_linestyle("--" if bad else "-")
        axes.add_patch(box)
        axes.text(0.5, i, f"{SIGNS[state]} {place.title}".strip(), ha="center", va="center", fontsize=8)
    axes.set_title("Parts", fontsize=10, loc="left")


def _river(axes, view):
    norms, levels = view.shown("norms"), np.arange(len(view.shown("norms")))
    for token in range(norms.shape[1]):
        here = token == view.at
        for i in levels[:-1]:
            axes.plot([token, token], [i, i + 1], color=VERMILLION if here else BLUE, alpha=1 if here else 0.5,
                      linewidth=0.4 + 5 * norms[i + 1, token] / norms.max(), solid_capstyle="butt")  # fmt: skip
    words = [shown(word) for word in view.read_words]
    axes.set_xticks(range(len(words)), words, rotation=90)
    axes.set_yticks(levels[::2], ["in", *(f"L{i}" for i in range(len(levels) // 2))])
    plain(axes, "Residual streams, wide where numbers are large")
    axes.tick_params(labelsize=6.5)


def _head(axes, view):
    axes.imshow(view.shown("att")[view.layer, view.head], cmap=sequential(), vmin=0, vmax=1)
    axes.add_patch(
        rectangle((-0.5, view.at - 0.5), len(view.read_words), 1, fill=False, edgecolor="black", linewidth=1)
    )
    plain(axes, f"Attention, layer {view.layer}, head {view.head}", "key", "query")


def _lens(axes, view):
    axes.axis("off")
    axes.set_title(f"After “{shown(view.read_words[view.at])}” each layer would say", fontsize=9, loc="left")
    for i in range(view.spec["layers"] + 1):
        said = "   ".join(f"{shown(word)} {share:.0%}" for word, share in view.likely(view.at, 2 * i)[:3])
        axes.text(0, (i + 0.5) / (view.spec["layers"] + 1), f"{'in' if i == 0 else f'L{i - 1}'}:  {said}",
                  fontsize=7.5, va="center", parse_math=False)  # fmt: skip
