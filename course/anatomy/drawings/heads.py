"""Draws how a word's numbers are split into heads, and joined again."""

from .sheet import Drawing, Panel
from .sizes import divided, positive, shape

MIDDLE, SPAN, ROW = 180.0, 312.0, 11.0
ROWS = 3  # number of words drawn


def split_and_merge(d_model: int, n_heads: int, batch: int | str = "B", length: int | str = "T") -> Drawing:
    """Draws a tensor's path: (B, T, d_model) → (B, T, H, D) → (B, H, T, D), attention in each head, and back.

    Args:
        d_model, n_heads: positive integers. batch, length: numbers, or letters.

    Raises:
        ValueError: n_heads does not divide d_model, or a size is not a positive integer.
    """
    n = positive("n_heads", n_heads)
    D = divided("d_model", positive("d_model", d_model), "n_heads", n)
    for name, value in (("batch", batch), ("length", length)):
        if not isinstance(value, str):
            positive(name, value)
    panel = Panel(f"{d_model} numbers a word, {n} head{'s' * (n > 1)} of {D}")
    names = _names(n)
    x0, first = MIDDLE - SPAN / 2, 12.0
    width = SPAN / len(names)
    whole, cut, apart = shape(batch, length, d_model), shape(batch, length, n, D), shape(batch, n, length, D)

    def word_rows(y: float) -> float:
        """Draws words with all heads' numbers; returns the height above them."""
        for i, name in enumerate(names):
            _rows(panel, x0 + (i + 0.5) * width, y, width, "off" if name == "…" else _shade(i))
        return y + ROWS * ROW

    y = word_rows(first)
    panel.label(x0 - 2, first - 11, "rows: words; bands: the heads’ numbers", "note", "start")
    panel.wire((MIDDLE, y), (MIDDLE, y + 58))
    panel.label(MIDDLE, y + 14, whole)
    panel.label(MIDDLE, y + 36, f"cut each row: {cut}")
    low, size = y + 60, min(width - 10, 84.0)
    high = low
    for i, name in enumerate(names):
        x = x0 + (i + 0.5) * width
        if name == "…":
            panel.label(x, low + 86, name, "note")
            continue
        _rows(panel, x, low, size, _shade(i))
        head = panel.box(x, low + ROWS * ROW + 40, name, "mix", width=max(size, 34), up=True)
        panel.wire((x, low + ROWS * ROW), head.bottom)
        high = head.top[1] + 18
        panel.wire(head.top, (x, high))
        _rows(panel, x, high, size, _shade(i))
    panel.label(MIDDLE, low + ROWS * ROW + 18, f"the same, head by head: {apart}")
    y = high + ROWS * ROW
    panel.wire((MIDDLE, y), (MIDDLE, y + 58))
    panel.label(MIDDLE, y + 14, apart)
    panel.label(MIDDLE, y + 36, f"side by side again: {cut}")
    y = word_rows(y + 60)
    panel.wire((MIDDLE, y), (MIDDLE, y + 36))
    panel.label(MIDDLE, y + 14, whole)
    panel.says = (
        f"From bottom to top: a tensor {whole}; each word’s row is cut into {n} bands of {D} numbers, {cut}; the head "
        f"axis moves forward, {apart}; each head attends by itself; then the way back, to {whole}."
    )
    return Drawing("Heads are split and merged", panel.says, (panel,))


def _rows(panel: Panel, x: float, y: float, width: float, kind: str) -> None:
    """Draws words one above the other, from height y."""
    for r in range(ROWS):
        panel.box(x, y + (r + 0.5) * ROW, "", kind, width, ROW)


def _names(n: int) -> list[str]:
    if n <= 4:
        return [f"head {h}" for h in range(n)]
    return ["head 0", "head 1", "…", f"head {n - 1}"]


def _shade(i: int) -> str:
    return f"band{i % 4}"
