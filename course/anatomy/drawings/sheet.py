"""The parts of a drawing: boxes, wires and words on a panel, written as SVG.

Positions are pixels, x to the right and y **upwards**, since tokens flow upwards here, in line with the "top" and
"bottom" of a model. Numbers are rounded to a tenth, so that the same description gives the same bytes everywhere.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..figures.pictured import in_svg
from ..system.labels import label
from ..system.translation import listed_and
from .theme import NARROWEST, PAGE_STYLE, SIZE, STYLE, TITLE_SIZE

Point = tuple[float, float]
LINE, PAD, MARGIN = 15.0, 6.0, 6.0
RADIUS = 9.0  # of the circle of a sum
HEAD = 7.0  # length of an arrow head
NAMESPACE = "http://www.w3.org/2000/svg"

# Widths of DejaVu Sans in ems, the widest of the usual fonts: text that fits with it always fits.
_WIDTHS = {0.28: "ijl'|", 0.34: "fI.,:; ·", 0.4: "t()r[]-", 0.84: "=+→×≥≤−⊙", 0.98: "mMW%", 0.82: "wOQGN"}
_WIDTH = {character: width for width, characters in _WIDTHS.items() for character in characters}


def width_of(text: str, size: float = SIZE) -> float:
    """Maximal width of ``text`` on one line, in pixels."""
    return size * sum(_WIDTH.get(c, 0.69 if c.isupper() else 0.64) for c in text)


@dataclass(frozen=True)
class Box:
    """A rectangle (a circle if ``kind`` is "sum") with lines of text in it; x and y are its center."""

    x: float
    y: float
    width: float
    height: float
    text: str
    kind: str

    @property
    def top(self) -> Point:
        """Point where a wire leaves it upwards."""
        return self.x, self.y + self.height / 2

    @property
    def bottom(self) -> Point:
        """Point where a wire enters from below."""
        return self.x, self.y - self.height / 2

    @property
    def left(self) -> Point:
        """The middle of its left side."""
        return self.x - self.width / 2, self.y

    @property
    def right(self) -> Point:
        """The middle of its right side."""
        return self.x + self.width / 2, self.y


@dataclass(frozen=True)
class Wire:
    """A line through points, each segment vertical or horizontal (except in a fan). head: it ends in an arrow."""

    points: tuple[Point, ...]
    kind: str
    head: bool


@dataclass(frozen=True)
class Label:
    """Words next to or on a wire. anchor: start, middle or end; y is the middle of the line."""

    x: float
    y: float
    text: str
    kind: str
    anchor: str


@dataclass
class Panel:
    """One picture. title: its heading; says: a description, for those who cannot see it."""

    title: str
    says: str = ""
    width: float = 360
    boxes: list[Box] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)

    def box(
        self, x: float, y: float, text: str, kind: str = "part", width: float = 0, height: float = 0, up: bool = False
    ) -> Box:
        """Adds a box around its text, or of the given size. up: y is its lower edge, not its center."""
        lines = text.split("\n")
        width = width or max(map(width_of, lines)) + 2 * PAD
        height = height or LINE * len(lines) + 2 * PAD - 1
        made = Box(x, y + height / 2 if up else y, width, height, text, kind)
        self.boxes.append(made)
        return made

    def sum(self, x: float, y: float, sign: str = "+") -> Box:
        """Adds a circle with a sign in it."""
        made = Box(x, y, 2 * RADIUS, 2 * RADIUS, sign, "sum")
        self.boxes.append(made)
        return made

    def wire(self, *points: Point, kind: str = "wire", head: bool = True) -> None:
        """Adds a wire."""
        self.wires.append(Wire(points, kind, head))

    def label(self, x: float, y: float, text: str, kind: str = "shape", anchor: str = "middle") -> None:
        """Adds words."""
        self.labels.append(Label(x, y, text, kind, anchor))

    def rise(self, a: Box, b: Box, label: str = "") -> None:
        """Adds a wire straight up from ``a`` to ``b`` above it, with a label on the wire."""
        self.wire(a.top, (a.x, b.bottom[1]))
        if label:
            self.label(a.x, (a.top[1] + b.bottom[1] - HEAD / 2) / 2, label)

    def bounds(self) -> tuple[float, float]:
        """(lowest, highest) y of anything in it."""
        ys = [b.y + s * b.height / 2 for b in self.boxes for s in (-1, 1)]
        ys += [y for w in self.wires for _, y in w.points]
        ys += [label.y + s * LINE / 2 for label in self.labels for s in (-1, 1)]
        return min(ys), max(ys)

    @property
    def height(self) -> float:
        """Height in pixels, including heading and margins."""
        low, high = self.bounds()
        return round(high - low + 2 * MARGIN + self._above, 1)

    @property
    def _above(self) -> float:
        return 20.0 if self.title else 0.0

    def shapes(self) -> list[str]:
        """SVG elements, from the upper left corner."""
        top = self.bounds()[1] + MARGIN + self._above
        out = [_wire(w, top) for w in self.wires if w.kind == "stream"]
        out += [_wire(w, top) for w in self.wires if w.kind != "stream"]
        # A label on a wire interrupts the wire. With only the text's halo, the wire would be visible between words.
        out += [_ground(w, top) for w in self.labels if w.anchor == "middle" and w.kind == "shape"]
        out += [_box(b, top) for b in self.boxes]
        if self.title:
            out.append(_text(4, MARGIN + 9, self.title, "title", "start"))
        return out + [_text(w.x, top - w.y, w.text, w.kind, w.anchor) for w in self.labels]

    def svg(self, style: str = STYLE) -> str:
        """The panel as an SVG element; with style="", the page has to provide the style."""
        return _svg(self.width, self.height, self.title, self.says, style, self.shapes())


@dataclass(frozen=True)
class Drawing:
    """Panels that belong together; a notebook shows it, ``svg()`` returns a standalone file.

    title: its name; alt: a description in words. columns: number of columns of panels if there is enough room.
    """

    title: str
    alt: str
    panels: tuple[Panel, ...]
    columns: int = 1

    def svg(self, columns: int | None = None) -> str:
        """All panels in one file, ``columns`` side by side. Raises ValueError for fewer than one column."""
        n = self.columns if columns is None else columns
        if n < 1:
            raise ValueError(f"panels stand in one column or more, not in {n}")
        rows = [self.panels[i : i + n] for i in range(0, len(self.panels), n)]
        gap, shapes, y, widest = 12.0, [], 0.0, 0.0
        for row in rows:
            height, x = max(p.height for p in row), 0.0
            for panel in row:
                # Panels are aligned at the bottom, so that streams begin at the same height.
                shapes.append(f'<g transform="translate({_n(x)} {_n(y + height - panel.height)})">')
                shapes += [*panel.shapes(), "</g>"]
                x += panel.width + gap
            y, widest = y + height + gap, max(widest, x - gap)
        return _svg(widest, y - gap, self.title, self.alt, STYLE, shapes)

    def html(self) -> str:
        """HTML for a page: panels side by side, in as many rows as the page's width needs."""
        if len(self.panels) == 1:
            panels = [_svg(p.width, p.height, self.title, self.alt, "", p.shapes(), True) for p in self.panels]
            around = '<div class="ad-row">'
        else:
            panels = [_svg(p.width, p.height, p.title, p.says, "", p.shapes(), True) for p in self.panels]
            around = f'<div class="ad-row" role="group" aria-label="{html.escape(label(self.title))}">'
        return "\n".join([around, f"<style>{STYLE}{PAGE_STYLE}</style>", *map(in_svg, panels), "</div>"])

    def save(self, path: str | Path) -> Path:
        """Writes the SVG file; returns its path."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.svg(), encoding="utf-8", newline="\n")
        return path

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        # No image/svg+xml in addition: as an image, the drawing could not follow JupyterLab's theme.
        return {"text/html": self.html(), "text/plain": f"{label(self.title)}. {label(self.alt)}"}


def side_by_side(*drawings: Drawing) -> Drawing:
    """Joins several drawings into one. Raises ValueError without any."""
    if not drawings:
        raise ValueError("side_by_side takes at least one drawing")
    panels = tuple(p for d in drawings for p in d.panels)
    title = listed_and(dict.fromkeys(label(d.title) for d in drawings))
    return Drawing(title, " ".join(d.alt for d in drawings), panels, len(panels))


def _n(value: float) -> str:
    return f"{round(value, 1) + 0:.1f}".removesuffix(".0")  # + 0: no minus before a zero


def _svg(
    width: float, height: float, title: str, says: str, style: str, shapes: Sequence[str], fluid: bool = False
) -> str:
    w, h = _n(width), _n(height)
    # In a page a drawing shrinks with the available room, but only as far as its text is readable.
    size = f' style="width:100%;min-width:{_n(width * NARROWEST)}px;max-width:{w}px"' if fluid else ""
    out = [
        f'<svg xmlns="{NAMESPACE}" class="ad" role="img" viewBox="0 0 {w} {h}" width="{w}" height="{h}"{size}>',
        f"<title>{html.escape(title)}</title>",
        f"<desc>{html.escape(says)}</desc>",
    ]
    if style:
        out.append(f"<style>{style}</style>")
    return "\n".join([*out, f'<rect class="paper" width="{w}" height="{h}"/>', *shapes, "</svg>"]) + "\n"


def _ground(w: Label, top: float) -> str:
    width = width_of(w.text) - 4
    at = f'x="{_n(w.x - width / 2)}" y="{_n(top - w.y - LINE / 2)}"'
    return f'<rect class="paper" {at} width="{_n(width)}" height="{_n(LINE)}"/>'


def _text(x: float, y: float, words: str, kind: str, anchor: str) -> str:
    size = TITLE_SIZE if kind == "title" else SIZE
    place = f'x="{_n(x)}" y="{_n(y + 0.35 * size)}"'
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} {place} text-anchor="{anchor}">{html.escape(words)}</text>'


def _box(b: Box, top: float) -> str:
    x, y = b.x, top - b.y
    if b.kind == "sum":
        shape = f'<circle class="sum" cx="{_n(x)}" cy="{_n(y)}" r="{_n(b.width / 2)}"/>'
    else:
        corner = ' rx="4"' if b.text or b.kind == "frame" else ""
        at = f'x="{_n(x - b.width / 2)}" y="{_n(y - b.height / 2)}"'
        shape = f'<rect class="{b.kind}" {at} width="{_n(b.width)}" height="{_n(b.height)}"{corner}/>'
    lines = b.text.split("\n") if b.text else []
    first = y - LINE * (len(lines) - 1) / 2
    return "".join([shape, *(_text(x, first + i * LINE, line, "", "middle") for i, line in enumerate(lines))])


def _wire(w: Wire, top: float) -> str:
    points = [(x, top - y) for x, y in w.points]
    if not w.head:
        return f'<path class="{w.kind}" d="{_path(points)}"/>'
    (x1, y1), (x, y) = points[-2:]
    length = max(((x - x1) ** 2 + (y - y1) ** 2) ** 0.5, 1e-9)
    ux, uy = (x - x1) / length, (y - y1) / length
    bx, by = x - ux * HEAD, y - uy * HEAD  # end of the line, where the head begins
    points[-1] = (bx, by)
    wide = 6.0 if w.kind == "stream" else 4.0
    tip = f"M{_n(x)} {_n(y)}L{_n(bx - uy * wide)} {_n(by + ux * wide)}L{_n(bx + uy * wide)} {_n(by - ux * wide)}Z"
    head = "stream-head" if w.kind == "stream" else "head"
    return f'<path class="{w.kind}" d="{_path(points)}"/><path class="{head}" d="{tip}"/>'


def _path(points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
