"""Draws a feed-forward layer without and with a gate."""

from .sheet import Box, Drawing, Panel, Point
from .sizes import positive, shape

LEFT, MIDDLE, RIGHT, RISE = 66.0, 130.0, 194.0, 28.0


def feed_forward(d_model: int, d_ff: int, gated_d_ff: int, activation: str = "SiLU") -> Drawing:
    """Draws a plain feed-forward layer of hidden width ``d_ff`` and a gated one of width ``gated_d_ff``, side by side.

    Raises:
        ValueError: a size is not a positive integer.
    """
    for name, value in (("d_model", d_model), ("d_ff", d_ff), ("gated_d_ff", gated_d_ff)):
        positive(name, value)
    panels = (_plain(d_model, d_ff, activation), _gated(d_model, gated_d_ff, activation))
    return Drawing("A layer without and with a gate", " ".join(p.says for p in panels), panels, 2)


def _plain(d: int, width: int, activation: str) -> Panel:
    panel = Panel(f"plain, width {width:,}", width=260)
    inside, outside = shape("B", "T", width), shape("B", "T", d)
    up, act, down = _column(panel, MIDDLE, ("up_proj", activation, "down_proj"), inside)
    _ends(panel, up.bottom, down.top, outside)
    panel.label(4, -40, f"2 · {d} · {width} = {2 * d * width:,} numbers", "note", "start")
    panel.says = (
        f"Plain: from bottom to top, {outside} goes through up_proj to {inside}, through {activation}, and through "
        f"down_proj back to {outside}; {2 * d * width} numbers."
    )
    return panel


def _gated(d: int, width: int, activation: str) -> Panel:
    panel = Panel(f"gated, width {width:,}", width=260)
    inside, outside = shape("B", "T", width), shape("B", "T", d)
    gate = panel.box(LEFT, 40, "gate_proj", "ffn", 92, up=True)
    act = panel.box(LEFT, gate.top[1] + RISE, activation, "part", 92, up=True)
    up = panel.box(RIGHT, 40, "up_proj", "ffn", 92, up=True)
    panel.rise(gate, act, inside)
    product = panel.sum(MIDDLE, act.top[1] + 30, "⊙")
    panel.wire(act.top, (LEFT, product.y), product.left)
    panel.wire(up.top, (RIGHT, product.y), product.right)
    panel.label(RIGHT, (up.top[1] + product.y) / 2, inside)
    down = panel.box(MIDDLE, product.top[1] + RISE, "down_proj", "ffn", 92, up=True)
    panel.rise(product, down, inside)
    panel.wire((MIDDLE, 0), (MIDDLE, 20), (LEFT, 20), gate.bottom)
    panel.wire((MIDDLE, 0), (MIDDLE, 20), (RIGHT, 20), up.bottom)
    panel.label(MIDDLE, -10, outside)
    panel.wire(down.top, (MIDDLE, down.top[1] + 34))
    panel.label(MIDDLE, down.top[1] + 13, outside)
    panel.label(4, -40, f"3 · {d} · {width} = {3 * d * width:,} numbers", "note", "start")
    panel.says = (
        f"Gated: {outside} goes through gate_proj and {activation} on the left and through up_proj on the right, to "
        f"{inside} each; the two are multiplied entry by entry, and down_proj brings the product back to {outside}; "
        f"{3 * d * width} numbers."
    )
    return panel


def _column(panel: Panel, x: float, names: tuple[str, ...], words: str) -> list[Box]:
    boxes: list[Box] = []
    y = 40.0
    for name in names:
        box = panel.box(x, y, name, "ffn" if name.endswith("proj") else "part", 92, up=True)
        if boxes:
            panel.rise(boxes[-1], box, words)
        boxes.append(box)
        y = box.top[1] + RISE
    return boxes


def _ends(panel: Panel, bottom: Point, top: Point, words: str) -> None:
    panel.wire((bottom[0], 0), bottom)
    panel.label(bottom[0], -10, words)
    panel.wire(top, (top[0], top[1] + 34))
    panel.label(top[0], top[1] + 13, words)
