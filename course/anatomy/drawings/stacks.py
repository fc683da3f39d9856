"""Draws encoder, decoder, and both: what each stack reads, and which words see which."""

from ..models.config import Config
from .sheet import Box, Drawing, Panel
from .sizes import complete, shape

CELL, WORDS = 7.0, 4  # size of a cell and number of words in the small picture of a mask
GAP = 30.0


def stacks(*configurations: Config) -> Drawing:
    """Draws models side by side, each according to its kind: an encoder, a decoder, or one of each.

    configurations: from ``anatomy.models.config``; their ``kind`` decides. Norms and residual sums are left out. The
    small square next to an attention box is its mask: rows are words that look, columns are words that are seen.

    Raises: ValueError without a configuration, or for an invalid one.
    """
    if not configurations:
        raise ValueError("stacks takes at least one configuration, such as config(kind='encoder')")
    panels = tuple(_KINDS[c["kind"]](c) for c in map(complete, configurations))
    alt = "Read from the bottom. " + " ".join(p.says for p in panels)
    return Drawing("Stacks of layers", alt, panels, len(panels))


def seen(kind: str) -> list[list[bool]]:
    """The small mask: True in row t, column s if word t sees word s. kind: all or causal, else raises ValueError."""
    if kind not in ("all", "causal"):
        raise ValueError(f"a mask here is 'all' or 'causal', not {kind!r}")
    return [[kind == "all" or s <= t for s in range(WORDS)] for t in range(WORDS)]


def _mask(panel: Panel, x: float, y: float, kind: str) -> None:
    """Draws the mask around (x, y), its first row on top."""
    corner = WORDS * CELL / 2
    for t, row in enumerate(seen(kind)):
        for s, on in enumerate(row):
            at = x - corner + (s + 0.5) * CELL, y + corner - (t + 0.5) * CELL
            panel.box(*at, "", "on" if on else "off", CELL, CELL)


class _Stack:
    """One stack around x, drawn upwards from y: embedding, and a frame with its layer."""

    def __init__(self, panel: Panel, c: Config, x: float, y: float, letter: str, rows: list[tuple[str, str, str]]):
        self.panel, self.boxes = panel, {}
        wide, X = 104.0, shape("B", letter, c["d_model"])
        panel.label(x, y, f"ids {shape('B', letter)}", "shape")
        below = panel.box(x, y + 22, "embedding", width=wide, up=True)
        panel.wire((x, y + 8), below.bottom)
        bottom = below.top[1] + GAP + 4
        for i, (name, kind, mask) in enumerate(rows):
            box = panel.box(x, bottom + 10 if i == 0 else below.top[1] + 16, name, kind, width=wide, height=36, up=True)
            panel.rise(below, box, X if i == 0 else "")
            if mask:
                _mask(panel, x + 74, box.y, mask)
            self.boxes[name] = below = box
        top = below.top[1] + 24
        panel.label(x + 91, top - 9, f"× {c['n_layers']} layers", "note", "end")
        panel.box(x + 18, (bottom + top) / 2, "", "frame", 154, top - bottom)
        self.top, self.x, self.high, self.shape = below, x, top, X

    def leave(self, text: str, kind: str = "part") -> Box:
        """Draws the box above the frame."""
        box = self.panel.box(self.x, self.high + GAP, text, kind, width=112, up=True)
        self.panel.wire(self.top.top, box.bottom)
        self.panel.label(self.x, self.high + GAP / 2 - 2, self.shape)
        return box


def _encoder(c: Config) -> Panel:
    panel = Panel("Encoder", width=172)
    made = _Stack(panel, c, 62, 0, "T", [("self-\nattention", "mix", "all"), ("feed-forward", "ffn", "")])
    made.leave("one vector\nfor each word")
    panel.says = (
        f"Encoder: {c['n_layers']} layers, d_model {c['d_model']}; every word sees all; one vector for each word."
    )
    return panel


def _decoder(c: Config) -> Panel:
    panel = Panel("Decoder", width=172)
    made = _Stack(panel, c, 62, 0, "T", [("self-\nattention", "mix", "causal"), ("feed-forward", "ffn", "")])
    made.leave("head: logits of\nthe next word")
    panel.says = (
        f"Decoder: {c['n_layers']} layers, d_model {c['d_model']}; each word sees itself and the words before it; "
        "logits of the next word."
    )
    return panel


def _both(c: Config) -> Panel:
    panel = Panel("Encoder–decoder", width=360)
    left = _Stack(panel, c, 62, 0, "S", [("self-\nattention", "mix", "all"), ("feed-forward", "ffn", "")])
    rows = [("self-\nattention", "mix", "causal"), ("cross-\nattention", "mix", "all"), ("feed-forward", "ffn", "")]
    right = _Stack(panel, c, 250, 0, "T", rows)
    right.leave("head: logits of\nthe next word")
    cross = right.boxes["cross-\nattention"]
    # The wire leaves the encoder's frame at its top, goes down between the two frames and into the decoder's second
    # box.
    turn, lane = left.high + 18, 174.0
    panel.wire(left.top.top, (left.x, turn), (lane, turn), (lane, cross.y), cross.left)
    panel.label(112, turn, left.shape)
    panel.says = (
        f"Encoder–decoder: {c['n_layers']} layers each, d_model {c['d_model']}; the encoder’s words see each other; "
        "each word of the decoder sees itself and the words before it, and, across, all that the encoder read."
    )
    return panel


_KINDS = {"encoder": _encoder, "decoder": _decoder, "encoder-decoder": _both}
