"""Draws where the norms are: residual wirings side by side, from a table or from a learner's own function.

A wiring is described by the functions on each path from the old stream to the sum, and by those after the sum. A path
without a sublayer is the stream itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..system.translation import _
from .sheet import RADIUS, Drawing, Panel, width_of
from .tracing import follow

Way = tuple[str, ...]  # "norm", "× α", "F", "attention" and "FFN", from the old stream upwards
STREAM, WIDTH, GAP = 34.0, 176.0, 20.0
_LETTERS = {"attention": "A", "FFN": "F", "F": "F"}


@dataclass(frozen=True)
class Wiring:
    """name; ways: the paths that are added up, the stream's own path first; after: the functions after the sum; shared:
    two paths share their first box. kind: the kind of norms. source: the paper. models: models that use it."""

    name: str
    ways: tuple[Way, ...]
    after: Way = ()
    shared: bool = False
    kind: str = "LayerNorm"
    source: str = ""
    models: str = ""

    @property
    def formula(self) -> str:
        """Formula of the step, e.g. ``x + F(norm(x))``."""
        branches = [way for way in self.ways if _branches(way)]
        several = len(branches) > 1 and not self.shared and all("norm" in way for way in branches)
        terms = []
        for way in self.ways:
            term = "h" if self.shared and _branches(way) else "x"
            for word in way[term == "h" :]:
                norm = "norm" + "₁₂"[branches.index(way)] if several and way in branches else "norm"
                term = "α·" + term if word == "× α" else f"{_LETTERS.get(word, norm)}({term})"
            terms.append(term)
        made = " + ".join(terms)
        for word in self.after:
            made = f"α·({made})" if word == "× α" else f"{word}({made})"
        return made + (", h = norm(x)" if self.shared else "")


WIRINGS = {
    w.name: w
    for w in (
        Wiring("Post-LN", ((), ("F",)), ("norm",), source="arXiv:1706.03762", models="GPT-1, BERT"),
        Wiring("Pre-LN", ((), ("norm", "F")), source="arXiv:2002.04745", models="GPT-2, GPT-3"),
        Wiring("sandwich", ((), ("norm", "F", "norm")), source="arXiv:2105.13290", models="CogView"),
        Wiring("pre+post", ((), ("norm", "F", "norm")), (), False, "RMSNorm", "arXiv:2408.00118", "Gemma 2 and 3"),
        Wiring("norm inside", ((), ("F", "norm")), (), False, "RMSNorm", "arXiv:2501.00656", "OLMo 2"),
        Wiring("DeepNorm", (("× α",), ("F",)), ("norm",), source="arXiv:2203.00555", models="GLM-130B"),
        Wiring(
            "parallel",
            ((), ("norm", "attention"), ("norm", "FFN")),
            (),
            True,
            "LayerNorm",
            "arXiv:2204.02311",
            "GPT-J, PaLM",
        ),
        Wiring(
            "parallel, two norms",
            ((), ("norm", "attention"), ("norm", "FFN")),
            source="arXiv:2204.06745",
            models="GPT-NeoX",
        ),
    )
}


def wirings() -> Drawing:
    """Draws the eight wirings of unit 03 side by side, one step of the stream each."""
    panels = tuple(_panel(w) for w in WIRINGS.values())
    alt = "Eight residual wirings, one step each, read from the bottom. " + " ".join(p.says for p in panels)
    return Drawing("Residual wirings", alt, panels, 4)


def wiring(name: str) -> Drawing:
    """Draws one wiring, by its name in ``WIRINGS``. Raises ValueError for an unknown name."""
    if name not in WIRINGS:
        raise ValueError(f"no wiring is named {name!r}; there are {', '.join(WIRINGS)}")
    panel = _panel(WIRINGS[name])
    return Drawing(_("Residual wiring {name}").format(name=name), panel.says, (panel,))


def wiring_of(step: Callable[..., Any], name: str = "") -> Drawing:
    """Draws the wiring of a function, by calling it with stand-ins that record each operation.

    Args:
        step: takes the stream and a sublayer, then norms and perhaps DeepNorm's α (named ``alpha``), or the stream,
            ``attention``, ``ffn`` and norms. name: the drawing's name; by default the function's.

    Raises:
        ValueError: the step does something that is not a wiring, e.g. calls methods of the stream. The function's own
            errors are passed on.
    """
    found = follow(step)
    made = Wiring(name or found.name, found.ways, found.after, found.shared, "norm")
    panel = _panel(made)
    return Drawing(_("Residual wiring {name}").format(name=made.name), panel.says, (panel,))


def _panel(w: Wiring) -> Panel:
    panel = Panel(w.name, width=WIDTH)
    used = f"{w.kind}: {w.models}" if w.models else ""
    panel.says = f"{w.name}: the new stream is {w.formula}" + (f"; {used}." if used else ".")
    words = [*_lines(w.formula), *filter(None, [used])]
    for i, line in enumerate(reversed(words)):
        panel.label(4, 16.0 * i, line, "note", "start")
    start = 16.0 * len(words) + 14
    panel.label(STREAM + 9, start, "x", anchor="start")
    own = next((way for way in w.ways if not _branches(way)), None)
    branches = [way for way in w.ways if _branches(way)]
    fork = start + 18
    tops = _rise(panel, w, branches, fork)
    least = fork + 14 + 40 * len(own or ())
    level = max([b.top[1] for b in tops] + [least]) + GAP
    cuts = []  # (from, to) heights between which the stream is interrupted
    if own is None:
        cuts.append((fork, level))
        panel.wire(tops[0].top, (tops[0].x, level), (STREAM, level), head=False)
        tops, level = tops[1:], level + 34
    for i, word in enumerate(own or ()):
        box = _part(panel, word, STREAM, fork + 12 + 40 * i)
        cuts.append((box.bottom[1], box.top[1]))
    y = level
    for top in tops:
        plus = panel.sum(STREAM, y + RADIUS)
        panel.wire(top.top, (top.x, plus.y), plus.right)
        cuts.append((plus.bottom[1], plus.top[1]))
        y = plus.top[1] + 14
    for word in w.after:
        box = _part(panel, word, STREAM, y)
        cuts.append((box.bottom[1], box.top[1]))
        y = box.top[1] + 14
    bottom = start - 6
    for low, high in cuts:
        panel.wire((STREAM, bottom), (STREAM, low), kind="stream", head=low != fork)
        bottom = high
    panel.wire((STREAM, bottom), (STREAM, y + 8), kind="stream")
    return panel


def _lines(formula: str) -> list[str]:
    """Splits the formula into lines that fit, after a comma or a plus."""
    if width_of(formula) <= WIDTH - 8:
        return [formula]
    head, mark, tail = formula.rpartition(", ") if ", " in formula else formula.rpartition(" + ")
    return [*_lines(head + mark.rstrip()), tail] if head else [formula]


def _rise(panel, w, branches, fork):
    """Draws the branches, two of them side by side; returns the last box of each."""
    if len(branches) > 1:
        columns, sizes = (91.0, 154.0), (68.0, 40.0)
    else:
        columns, sizes = (110.0,), (76.0,)
    common = None
    if w.shared:
        common = _part(panel, branches[0][0], sum(columns) / 2, fork + 16)
        panel.wire((STREAM, fork), (common.x, fork), common.bottom)
    tops = []
    for x, size, way in zip(columns, sizes, branches, strict=True):
        y, below = (common.top[1] + 24 if common else fork + 16), None
        for word in way[common is not None :]:
            box = _part(panel, word, x, y, size)
            if below is not None:
                panel.rise(below, box)
            elif common is not None:
                turn = common.top[1] + 9
                panel.wire(common.top, (common.x, turn), (x, turn), box.bottom)
            else:
                panel.wire((STREAM, fork), (x, fork), box.bottom)
            below, y = box, box.top[1] + GAP
        tops.append(below)
    return tops


def _branches(way: Way) -> bool:
    return any(word in _LETTERS for word in way)


def _part(panel, word, x, y, width=0.0):
    kind = {"norm": "norm", "F": "mix", "attention": "mix", "FFN": "ffn"}.get(word, "part")
    return panel.box(x, y, word, kind, width=width, up=True)
