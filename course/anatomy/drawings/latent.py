"""Multi-head latent attention: one small vector per token, from which all heads' keys and values are computed."""

from ..models.config import Config
from .sheet import Box, Drawing, Panel
from .sizes import complete, positive, shape

QUERY, KEY, VALUE, TURNED = 60.0, 160.0, 246.0, 314.0
GAP, STEP = 30.0, 14.0


def latent(c: Config) -> Drawing:
    """Draws latent attention (arXiv:2405.04434): the down-projection, the stored vectors, and their further use.

    c: a configuration with ``attention="latent"`` and ``kv_rank``, ``rope_dim`` and ``v_dim``; ``q_rank`` may be 0. A
    head's queries and keys have ``head_dim`` numbers that are not rotated, and ``rope_dim`` that are.

    Raises: ValueError for a different kind of attention, or a missing size.
    """
    c = complete(c)
    if c["attention"] != "latent":
        raise ValueError(f"latent draws attention='latent', not {c['attention']!r}; block(c) draws the others")
    for size in ("kv_rank", "rope_dim", "v_dim"):
        positive(size, c[size])
    panel = Panel(f"Latent attention, {c['n_heads']} heads")
    H, n, r, R, v = (c[k] for k in ("n_heads", "head_dim", "rope_dim", "kv_rank", "v_dim"))
    X = shape("B", "T", c["d_model"])
    panel.label(QUERY + 70, 0, f"x {X}")
    bus, start = 22.0, QUERY + 70
    panel.wire((start, 8), (start, bus), head=False)

    q = _queries(panel, c, start, bus)
    down = panel.box((KEY + TURNED) / 2, bus + STEP, "kv_down", width=84, up=True)
    panel.wire((start, bus), (down.x, bus), down.bottom)
    split = down.top[1] + 12
    norm = panel.box(200, split + GAP + 6, "norm", "norm", width=84, up=True)
    turn = panel.box(TURNED, split + GAP + 6, "RoPE", width=64, up=True)
    for box, words in ((norm, shape("B", "T", R)), (turn, shape("B", "T", r))):
        panel.wire((down.x, down.top[1]), (down.x, split), (box.x, split), box.bottom)
        panel.label(box.x, (split + box.bottom[1]) / 2 - 1, words)
    kept = panel.box(200, norm.top[1] + STEP, f"latent\n{R} numbers", "kept", width=96, up=True)
    key = panel.box(TURNED, turn.top[1] + STEP, f"key\n{r} numbers", "kept", width=84, up=True)
    panel.rise(norm, kept)
    panel.rise(turn, key)
    up = panel.box(200, kept.top[1] + GAP, "kv_up, split", width=96, up=True)
    panel.rise(kept, up, shape("B", "S", R))

    level = max(up.top[1] + 70, q.top[1] + GAP)
    lines = f"softmax((q·kᵀ + turned q · turned key) / √{c['query_scale'] if c['query_scale'] != n else n + r:g}) · v"
    core = panel.box(180, level, lines, "mix", width=346, up=True)
    panel.wire(q.top, (q.x, core.bottom[1]))
    panel.label(q.x, core.bottom[1] - GAP / 2 - 2, shape("B", H, "T", n + r))
    for name, x, words in (("k ", KEY, shape("B", H, "S", n)), ("v ", VALUE, shape("B", H, "S", v))):
        panel.wire((x, up.top[1]), (x, core.bottom[1]))
        # One above the other: side by side these labels would overlap.
        panel.label(x, core.bottom[1] - (GAP / 2 + 20 if name == "k " else GAP / 2 + 38), name + words)
    panel.wire(key.top, (TURNED, core.bottom[1]))
    panel.label(TURNED, core.bottom[1] - GAP / 2 - 2, shape("B", 1, "S", r))
    out = panel.box(180, core.top[1] + GAP, "join heads, o_proj", up=True)
    panel.rise(core, out, shape("B", H, "T", v))
    panel.wire(out.top, (out.x, out.top[1] + 34))
    panel.label(out.x, out.top[1] + 14, X)
    panel.label(4, -22, f"kept per token and layer (dotted): {R} + {r} = {R + r}", "note", "start")
    panel.label(4, -38, f"all heads’ keys and values: {H} · ({n + r} + {v}) = {H * (n + r + v):,}", "note", "start")
    panel.says = (
        f"From bottom to top: x {X} is projected down to a latent of {R} numbers and one key of {r} numbers that RoPE "
        f"turns. Only these {R + r} numbers are kept of each token. kv_up makes keys of {n} and values of {v} numbers "
        f"for {H} heads from the latent. Queries of {n + r} numbers attend; o_proj leads back to {X}."
    )
    return Drawing("Latent attention", panel.says, (panel,))


def _queries(panel: Panel, c: Config, start: float, bus: float) -> Box:
    """Draws the queries' path, through their own latent if ``q_rank`` is above 0; returns its last box."""
    wide = shape("B", c["n_heads"], "T", c["head_dim"] + c["rope_dim"])
    if c["q_rank"]:
        small = shape("B", "T", c["q_rank"])
        first = panel.box(QUERY, bus + STEP, "q_down", width=84, up=True)
        norm = panel.box(QUERY, first.top[1] + GAP, "norm", "norm", width=84, up=True)
        last = panel.box(QUERY, norm.top[1] + GAP, "q_up\nsplit", width=84, up=True)
        panel.rise(first, norm, small)
        panel.rise(norm, last, small)
    else:
        first = last = panel.box(QUERY, bus + STEP, "q_proj\nsplit", width=84, up=True)
    panel.wire((start, bus), (QUERY, bus), first.bottom)
    turn = panel.box(QUERY, last.top[1] + GAP, f"RoPE on the\nlast {c['rope_dim']}", width=96, up=True)
    panel.rise(last, turn, wide)
    return turn
