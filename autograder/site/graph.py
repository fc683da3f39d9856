"""Draws the dependencies between units: rows from top to bottom, as narrow as a phone, in the page's own colors."""

import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from anatomy.system.translation import listed, sentences

from .words import _

WIDTH, HEIGHT, GAP = 360, 70, 30  # width of the picture, height of a box, space between two rows
WIDEST, LETTER, LANE = 100, 5.8, 7  # maximum width of a box, width of a letter, distance of arrows side by side
Places = Mapping[str, tuple[float, int, float]]  # unit → middle of its box, row, width of its box


def reduced(needs: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The transitive reduction: leaves out a dependency that follows from other ones."""
    every = {name: _all(name, needs) for name in needs}
    return {
        name: [n for n in wanted if not any(n in every[other] for other in wanted)] for name, wanted in needs.items()
    }


def _all(name: str, needs: Mapping[str, Sequence[str]]) -> set[str]:
    """All direct and indirect dependencies of a unit."""
    return set(needs[name]).union(*(_all(n, needs) for n in needs[name]))


def rows(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The units in rows: each below everything that it needs; within a row in course order, from left to right."""
    depth: dict[str, int] = {}
    for name in needs:  # in course order, so that needed units come first
        depth[name] = max((depth[n] + 1 for n in needs[name]), default=0)
    found: list[list[str]] = [[n for n in needs if depth[n] == d] for d in range(max(depth.values()) + 1)]
    return found


def svg(needs: Mapping[str, Sequence[str]], titles: Mapping[str, str], hrefs: Mapping[str, str]) -> str:
    """SVG of the graph, on one line; each box is a link. needs: unit → units, in course order."""
    lines, places = rows(needs), {}
    for y, row in enumerate(lines):
        for i, name in enumerate(row):
            places[name] = (WIDTH * (2 * i + 1) / (2 * len(row)), y, min(WIDEST, WIDTH / len(row) - 6))
    height = len(lines) * (HEIGHT + GAP) - GAP + 8
    arrows = reduced(needs)
    taken: Counter[float] = Counter()
    paths = [_arrow(n, name, places, lines, taken) for name, wanted in arrows.items() for n in wanted]
    boxes = [_box(name, titles[name], hrefs[name], places[name]) for name in needs]
    told = sentences(
        _("Which unit needs which, from the top down."),
        *(
            _("{unit} needs {others}.").format(unit=titles[name], others=listed(titles[n] for n in wanted))
            if wanted
            else _("{unit} needs nothing.").format(unit=titles[name])
            for name, wanted in needs.items()
        ),
    )
    return (
        f'<svg class="course-map" viewBox="0 0 {WIDTH} {height}" role="group" '
        f'aria-label="{html.escape(told, quote=True)}" '
        'style="width: 100%; max-width: 560px; height: auto; color: inherit" xmlns="http://www.w3.org/2000/svg">'
        '<defs><marker id="course-map-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" '
        'orient="auto"><path d="M0 0L8 4L0 8z" fill="currentColor"/></marker></defs>'
        f'<g fill="none" stroke="currentColor" stroke-opacity=".65">'
        f"{''.join(paths)}</g>{''.join(boxes)}</svg>"
    )


def _top(row: int) -> float:
    return 4 + row * (HEIGHT + GAP)


def _arrow(start: str, end: str, places: Places, lines: list[list[str]], taken: Counter[float]) -> str:
    """A curve from one box to another; it passes rows in between through gaps, next to other arrows there."""
    (x0, r0, _), (x1, r1, _) = places[start], places[end]
    lane = 0
    points = [(x0, _top(r0) + HEIGHT)]
    for row in range(r0 + 1, r1):
        wanted = points[-1][0] + (x1 - points[-1][0]) / (r1 - row + 1)
        gap = min(_gaps(lines[row], places), key=lambda gap: abs(gap - wanted))
        lane = lane or 1 + taken[gap]
        taken[gap] = max(taken[gap], lane)
        x = gap + LANE * (lane - 1) * (-1 if gap < WIDTH / 2 else 1)
        points += [(x, _top(row) - 4), (x, _top(row) + HEIGHT + 4)]
    points.append((x1, _top(r1) - 2))
    path = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    for (ax, ay), (bx, by) in zip(points, points[1:], strict=False):
        middle = (ay + by) / 2
        path += f"C{ax:.0f} {middle:.0f} {bx:.0f} {middle:.0f} {bx:.0f} {by:.0f}"
    return f'<path d="{path}" marker-end="url(#course-map-tip)"/>'


def _gaps(row: list[str], places: Places) -> list[float]:
    """x positions where an arrow may pass a row: between its boxes, and left and right of them."""
    boxes = [places[name] for name in row]
    between = [(a[0] + b[0]) / 2 for a, b in zip(boxes, boxes[1:], strict=False)]
    first, last = boxes[0], boxes[-1]
    return [max(4, first[0] - first[2] / 2 - 12), *between, min(WIDTH - 4, last[0] + last[2] / 2 + 12)]


def _wrapped(title: str, wide: float) -> list[str]:
    """The title in lines; between Chinese characters, which are twice as wide as letters, a line may break anywhere."""
    room, found, line, length = int(wide / LETTER), list[str](), "", 0
    for piece in re.findall(r"[\u3000-\u9fff\uff00-\uffef]|[^-\s\u3000-\u9fff\uff00-\uffef]+-?|[-\s]+", title):
        size = 2 * len(piece) if piece[0] >= "\u3000" else len(piece)
        if line and length + size > room and piece not in "，。：、）":
            found, line, length = [*found, line.strip()], "", 0
        line, length = line + piece, length + size
    return [*found, line.strip()]


def _box(name: str, title: str, href: str, place: tuple[float, int, float]) -> str:
    x, y, wide = place[0], _top(place[1]), place[2]
    lines = [name[:2], *_wrapped(title, wide)[:4]]
    step = 12
    first = y + HEIGHT / 2 - step * (len(lines) - 1) / 2 + 4
    text = "".join(
        f'<tspan x="{x:.0f}" y="{first + step * i:.0f}" font-weight="{400 if i else 700}">{html.escape(line)}</tspan>'
        for i, line in enumerate(lines)
    )
    return (
        f'<a href="{html.escape(href, quote=True)}" aria-label="{html.escape(f"{name[:2]} {title}", quote=True)}">'
        f'<rect x="{x - wide / 2:.0f}" y="{y:.0f}" width="{wide:.0f}" height="{HEIGHT}" rx="5" fill="none" '
        f'stroke="currentColor" pointer-events="all"/><text text-anchor="middle" font-size="10.5" fill="currentColor">'
        f"{text}</text></a>"
    )
