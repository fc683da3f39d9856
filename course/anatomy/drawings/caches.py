"""Draws what a decoder stores: the step that adds a token to its cache, and key-value heads shared by query heads."""

from ..models.config import Config
from .sheet import Drawing, Panel
from .sizes import ROTARY, complete, divided, positive, score, shape

LEFT, MIDDLE, RIGHT = 66.0, 184.0, 298.0
GAP, STEP = 30.0, 16.0


def cache(c: Config) -> Drawing:
    """Draws a step with a KV cache: keys and values are computed only for the new token, and join all earlier ones.

    c: a decoder's configuration with ``attention="grouped"``. S counts the tokens so far, including the new one.
    Raises: ValueError for a different kind of model, or an invalid configuration.
    """
    c = complete(c)
    if c["kind"] == "encoder" or c["attention"] != "grouped":
        raise ValueError(
            "cache draws a decoder that keeps keys and values; what latent attention keeps, latent(c) draws"
        )
    H, G, D, d = c["n_heads"], c["n_kv_heads"], c["head_dim"], c["d_model"]
    mine, new, kept = shape("B", H, 1, D), shape("B", G, 1, D), shape("B", G, "S", D)
    panel = Panel(f"One step with a cache, H = {H}, G = {G}")
    panel.label(MIDDLE, 0, f"the new token {shape('B', 1, d)}")
    bus = 30.0
    panel.wire((MIDDLE, 8), (MIDDLE, bus), head=False)
    boxes = []
    for x, name in ((LEFT, "q"), (MIDDLE, "k"), (RIGHT, "v")):
        box = panel.box(x, bus + STEP, f"{name}_proj\nsplit", width=84, up=True)
        panel.wire(*([(MIDDLE, bus)] if x == MIDDLE else [(MIDDLE, bus), (x, bus)]), box.bottom)
        boxes.append(box)
    q, k, v = boxes
    if c["position"] in ROTARY:
        turned = [panel.box(b.x, b.top[1] + GAP, "RoPE", width=84, up=True) for b in (q, k)]
        for a, b, words in zip((q, k), turned, (mine, new), strict=True):
            panel.rise(a, b, words)
        q, k = turned
    level = k.top[1] + GAP + 24
    stores = []
    for below, name in ((k, "keys"), (v, "values")):
        left = below.x - 48
        for i in range(6):
            panel.box(left + 8 + 16 * i, level, "", "new" if i == 5 else "old", 16, 16)
        panel.label(below.x, level + 18, f"{name} so far", "note")
        # The new key or value joins at the right end.
        panel.wire(below.top, (below.x, level - 22), (left + 88, level - 22), (left + 88, level - 8))
        panel.label(below.x, (below.top[1] + level - 22) / 2, new)
        stores.append((below.x, level + 27))
    core = panel.box(MIDDLE, level + 62, f"softmax({score(c)}) · v", "mix", width=324, up=True)
    panel.rise(q, core)
    panel.label(q.x, (q.top[1] + core.bottom[1]) / 2, mine)
    for x, y in stores:
        panel.wire((x, y), (x, core.bottom[1]))
        panel.label(x, (y + core.bottom[1]) / 2, kept)
    out = panel.box(MIDDLE, core.top[1] + GAP, "join heads, o_proj", up=True)
    panel.rise(core, out, mine)
    panel.wire(out.top, (out.x, out.top[1] + 36))
    panel.label(out.x, out.top[1] + 14, shape("B", 1, d))
    numbers = 2 * G * D
    panel.label(4, -26, f"kept per token and layer: 2 · {G} · {D} = {numbers:,}", "note", "start")
    panel.says = (
        f"From bottom to top: the new token {shape('B', 1, d)} gives queries {mine}, a key and a value {new}. The key "
        f"and the value join the stored ones, {kept}, and the queries attend to all of them. Of each token "
        f"2 · {G} · {D} = {numbers} numbers are kept in each layer."
    )
    return Drawing("One step with a KV cache", panel.says, (panel,))


def key_value_heads(n_heads: int, n_kv_heads: int, head_dim: int) -> Drawing:
    """Draws which query head reads which key-value head: MHA, GQA with ``n_kv_heads``, and MQA side by side.

    Raises: ValueError if a size is not a positive integer, or heads cannot be shared evenly.
    """
    H, G = positive("n_heads", n_heads), positive("n_kv_heads", n_kv_heads)
    D = positive("head_dim", head_dim)
    divided("n_heads", H, "n_kv_heads", G)
    panels = tuple(_sharing(H, g, D) for g in sorted({H, G, 1}, reverse=True))
    alt = f"{H} query heads on top, key-value heads below. " + " ".join(p.says for p in panels)
    return Drawing("Key-value heads", alt, panels, len(panels))


def _sharing(H: int, G: int, D: int) -> Panel:
    name = "MHA" if G == H else "MQA" if G == 1 else "GQA"
    panel = Panel(f"{name}, G = {G}", width=176)
    span, low, high = 160.0, 52.0, 112.0
    size = max(min(14.0, span / H - 2), 0.6 * span / H)
    centers = {n: [8 + span * (i + 0.5) / n for i in range(n)] for n in (H, G)}
    for x in centers[G]:
        panel.box(x, low, "", "new", size, size)
    for h, x in enumerate(centers[H]):
        panel.box(x, high, "", "on", size, size)
        panel.wire((x, high - size / 2), (centers[G][h // (H // G)], low + size / 2), kind="thin", head=False)
    panel.label(8, high + 20, f"{H} query head{'s' * (H > 1)}", "note", "start")
    panel.label(8, low - 20, f"{G} key-value head{'s' * (G > 1)}", "note", "start")
    panel.label(8, low - 36, f"2 · {G} · {D} = {2 * G * D:,}", "note", "start")
    panel.label(8, low - 52, "per token and layer", "note", "start")
    each = H // G
    readers = "1 query head reads" if each == 1 else f"{each} query heads read"
    panel.says = (
        f"{name}: {readers} each of {G} key-value heads; 2 · {G} · {D} = {2 * G * D} numbers per token and layer."
    )
    return panel
