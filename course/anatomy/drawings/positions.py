"""Draws where each position scheme enters a layer of attention."""

from .sheet import Drawing, Panel

MIDDLE, LEFT, RIGHT = 96.0, 40.0, 152.0
SIDE = 250.0  # where the schemes' names begin


def position_map() -> Drawing:
    """Draws attention from the token ids to its weights, and beside each step the schemes that change it there."""
    panel = Panel("Where positions enter", width=500)
    ids = panel.box(MIDDLE, 0, "token ids", width=110, up=True)
    embed = panel.box(MIDDLE, ids.top[1] + 26, "embedding", width=110, up=True)
    panel.rise(ids, embed)
    plus = panel.sum(MIDDLE, embed.top[1] + 30)
    panel.rise(embed, plus)
    panel.wire((SIDE - 14, plus.y), plus.right)
    q = panel.box(LEFT, plus.top[1] + 36, "queries", width=76, up=True)
    k = panel.box(RIGHT, plus.top[1] + 36, "keys", width=76, up=True)
    for box in (q, k):
        panel.wire(plus.top, (MIDDLE, plus.top[1] + 14), (box.x, plus.top[1] + 14), box.bottom)
    turn = [panel.box(b.x, b.top[1] + 26, "turn", "norm", 76, up=True) for b in (q, k)]
    for a, b in zip((q, k), turn, strict=True):
        panel.rise(a, b)
    panel.wire((SIDE - 14, turn[1].y), turn[1].right)
    scores = panel.box(MIDDLE, turn[0].top[1] + 30, "scores q · k", "mix", 188, up=True)
    for b in turn:
        panel.wire(b.top, (b.x, scores.bottom[1]))
    bias = panel.sum(MIDDLE, scores.top[1] + 30)
    panel.rise(scores, bias)
    panel.wire((SIDE - 14, bias.y), bias.right)
    weights = panel.box(MIDDLE, bias.top[1] + 28, "softmax", width=110, up=True)
    panel.rise(bias, weights)
    for y, where, names in (
        (plus.y, "added to the embedding", "learned table, sinusoids"),
        (turn[1].y, "turns queries and keys", "RoPE"),
        (bias.y, "changes the scores", "T5’s bias, ALiBi,"),
    ):
        panel.label(SIDE, y + 8, where, "note", "start")
        panel.label(SIDE, y - 8, names, "", "start")
    panel.label(SIDE, bias.y - 24, "Transformer-XL, DeBERTa, TUPE", "", "start")
    panel.says = (
        "From bottom to top: token ids, embedding, queries and keys, scores, softmax. Learned tables and sinusoids are "
        "added to the embedding. RoPE turns queries and keys. T5’s bias and ALiBi add a number to each score; "
        "Transformer-XL, DeBERTa and TUPE add products with vectors of distances or positions to it."
    )
    return Drawing("Where positions enter", panel.says, (panel,))
