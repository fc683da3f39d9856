"""Draws how far a token sees through stacked layers of windowed attention."""

from .sheet import Drawing, Panel
from .sizes import positive

STEP = 22.0


def cone(layers: int = 4, window: int = 3, length: int = 14) -> Drawing:
    """Draws layers of windowed causal attention, and every position that the last token's output depends on.

    In each layer a token sees itself and the ``window`` − 1 tokens before it, so L layers reach L · (window − 1) back.

    Raises:
        ValueError: a size is not a positive integer.
    """
    L, w, T = positive("layers", layers), positive("window", window), positive("length", length)
    panel = Panel(f"{L} layers, a window of {w}", width=max(300.0, 76 + STEP * T))
    for level in range(L + 1):
        reach = (L - level) * (w - 1)
        y = STEP * level
        for t in range(T):
            depends = T - 1 - reach <= t
            kind = "new" if level == L and t == T - 1 else "on" if depends else "off"
            panel.box(70 + STEP * (t + 0.5), y, "", kind, STEP - 4, STEP - 4)
        panel.label(62, y, "input" if not level else f"layer {level}", "note", "end")
    back = min(L * (w - 1), T - 1)
    panel.label(70, -STEP, f"reaches {back} tokens back" + (" (all of them)" if back == T - 1 else ""), "note", "start")
    panel.says = (
        f"A row of {T} tokens for the input and for each of {L} layers, one above the other. The last token of the top "
        f"row depends on itself and {w - 1} tokens before it in the row below, on {2 * (w - 1)} in the next one, and "
        f"so on: on {back} earlier tokens of the input, {L} · ({w} − 1)."
    )
    return Drawing("How far stacked windows see", panel.says, (panel,))
