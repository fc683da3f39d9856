"""Turns a model's values into the shapes of its block; the page and the still picture draw the same shapes.

A shape is a list: ["box", x, y, width, height, kind, aspect], ["text", x, y, anchor, kind, words], ["path", d, kind] or
["sum", x, y]. Positions are pixels from the upper left corner. Tokens flow upwards along the residual stream on the
left; sublayers branch off to the right, and their results are added back.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...atlas.mixing import RECURRENT, mixers
from ...atlas.words import activation, families

Shape = list[Any]
WIDTH = 366
STREAM = 42  # x of the residual stream
NORM, MAIN = (62, 76), (148, 210)  # x and width of a norm and of a sublayer's box
TABLE, HEAD = (2, 254), (100, 264)  # x and width of the embedding's box and of the head's box next to a norm
SHORT = 15  # maximal number of letters next to the last sum
NEEDED = ("norm", "placement", "position", "activation", "n_heads", "n_kv_heads", "head_dim", "d_ff", "n_layers")
KEYS = {  # what is not published of some row → its name
    "norm": "norm",
    "placement": "place of the norms",
    "position": "positions",
    "activation": "activation",
    "gated": "feed-forward matrices",
    "n_layers": "number of layers",
    "d_model": "width",
    "n_heads": "number of heads",
    "n_kv_heads": "key-value heads",
    "head_dim": "width of a head",
    "d_ff": "feed-forward width",
    "vocab": "vocabulary",
}
NORM_LINES = {
    "layer": ["LayerNorm"],
    "layer_no_bias": ["LayerNorm", "no bias"],
    "layer_no_weights": ["LayerNorm", "no weights"],
    "layer_plus_one": ["LayerNorm", "1 + weight"],
    "rms": ["RMSNorm"],
    "gemma": ["RMSNorm", "1 + weight"],
}
IN_ATTENTION = {
    "rope": "RoPE on q and k",
    "rope_pairs": "RoPE on q and k",
    "rope_and_none": "RoPE in three layers of four",
    "alibi": "ALiBi on the scores",
    "t5": "a bias per distance",
    "transformer_xl": "relative positions",
    "deberta": "relative positions",
}
SHORT_NAMES = {"delta": "gated delta rule", "kda": "delta rule (KDA)", "ssm": "state space"}
ADDED = {"learned": "+ {n:,} learned positions", "sinusoidal": "+ sinusoids of the position"}


def _tall(lines: Sequence[str]) -> int:
    """Height of a box with these lines."""
    return 12 + 13 * len(lines)


class _Drawing:
    """Builds shapes from the bottom up; ``u`` is the height reached on the stream."""

    def __init__(self, v: Mapping[str, Any]) -> None:
        self.v, self.u = v, 0.0
        self.shapes: list[Shape] = []

    def box(self, x, u, width, lines, kind, aspect):
        """Adds a box that starts at height u, with its first line in bold; returns the height where it ends."""
        height = _tall(lines)
        self.shapes.append(["box", x, u + height, width, height, kind, aspect])
        for i, line in enumerate(lines):
            bold = "ta-strong" if i == 0 and kind != "norm" else "ta-text" if i == 0 else "ta-small"
            self.text(x + width / 2, u + height - 16.5 - 13 * i, line, "middle", bold)
        return u + height

    def text(self, x, u, words, anchor="start", kind="ta-small"):
        self.shapes.append(["text", x, u, anchor, kind, words])

    def path(self, points, arrow=True):
        self.shapes.append(["path", [list(p) for p in points], "arrow" if arrow else "line"])

    @property
    def half(self):
        """Half the height of a norm's box."""
        return _tall(NORM_LINES[self.v["norm"]]) / 2

    def norm(self, x, middle):
        """Adds a norm's box around that height; returns where it begins and ends."""
        low = middle - self.half
        return low, self.box(x, low, NORM[1], NORM_LINES[self.v["norm"]], "norm", "norm")

    def on_stream(self, gap=12):
        """Adds a norm on the stream itself, ``gap`` above the current height."""
        low, high = self.norm(STREAM - NORM[1] / 2, self.u + gap + self.half)
        self.path([(STREAM, self.u), (STREAM, low)])
        self.u = high

    def back(self, center, top, end, norm=False):
        """Adds the path of a result from (center, top) to the stream at height end (with a norm or not) and the sum."""
        if norm:
            self.norm(NORM[0], end)
            self.path([(center, top), (center, end), (sum(NORM), end)])
            self.path([(NORM[0], end), (STREAM + 8, end)])
        else:
            self.path([(center, top), (center, end), (STREAM + 8, end)])
        self.text(min(center, sum(MAIN) - MAIN[1] / 2) - 8, end + 4, f"T × {self.v['d_model']:,}", "end")
        self.shapes.append(["sum", STREAM, end])
        self.path([(STREAM, self.u), (STREAM, end - 8)])
        self.u = end + 8

    def sublayer(self, lines, kind):
        """Adds a sublayer, its norms according to the placement, and the sum."""
        x, width = MAIN
        place, half = self.v["placement"], _tall(lines) / 2
        middle = self.u + 8 + max(half, self.half if self.v["placement"] in ("pre", "both") else 0)
        self.box(x, middle - half, width, lines, kind, "activation" if kind == "ffn" else "attention")
        end = middle + half + 9
        if place in ("pre", "both"):
            self.norm(NORM[0], middle)
            self.path([(STREAM, middle), (NORM[0], middle)])
            self.path([(sum(NORM), middle), (x, middle)])
            end = max(end, middle + self.half + 9)
        else:
            self.path([(STREAM, middle), (x, middle)])
        after = place in ("both", "inside")
        if after:
            end = max(end, middle + 7 + self.half + (self.half if place == "both" else 0))
        self.back(x + width / 2, middle + half, end, norm=after)
        if after:
            higher = max(self.u, end + self.half - 2)
            self.path([(STREAM, self.u), (STREAM, higher)], arrow=False)
            self.u = higher
        if place == "post":
            self.on_stream()

    def parallel(self, attention, ffn):
        """Adds both sublayers in parallel, after one shared norm or one norm each."""
        x, width = MAIN[0], MAIN[1] - 14
        two = self.v["placement"] == "parallel_two"
        halves = [_tall(lines) / 2 for lines in (attention, ffn)]
        middles = [self.u + 8 + halves[0], self.u + 8 + 2 * halves[0] + 8 + halves[1]]
        for lines, half, middle, kind in zip((attention, ffn), halves, middles, ("attention", "ffn"), strict=True):
            self.box(x, middle - half, width, lines, kind, "activation" if kind == "ffn" else "attention")
        for middle in middles if two else [sum(middles) / 2]:
            self.norm(NORM[0], middle)
            self.path([(STREAM, middle), (NORM[0], middle)])
            for end in [middle] if two else middles:
                self.path([(sum(NORM), middle), (sum(NORM) + 3, middle), (sum(NORM) + 3, end), (x, end)])
        end, right = middles[1] + halves[1] + 9, x + width + 8
        self.path([(x + width, middles[0]), (right, middles[0]), (right, end)], arrow=False)
        self.path([(x + width, middles[1]), (right, middles[1])], arrow=False)
        self.back(right, end, end)

    def flipped(self):
        """Returns (height, shapes) with positions counted from the top."""
        height = self.u + 4
        for shape in self.shapes:
            if shape[0] == "path":
                shape[1] = "M" + "L".join(f"{x:g} {height - u:g}" for x, u in shape[1])
            else:
                shape[2] = round(height - shape[2], 1)
        return round(height), self.shapes


def block(row: Any) -> tuple[int, list[Shape]]:
    """Returns (height, shapes) of a row's block, WIDTH pixels wide; only a sentence if too little is published."""
    v = row.values
    unknown = [key for key in NEEDED if key not in v and not (key == "activation" and "gated" in v)]
    drawing = _Drawing(v)
    if unknown:
        drawing.u = 44
        drawing.text(4, 30, "Not published:", kind="ta-text")
        drawing.text(4, 14, f"{', '.join(KEYS[key] for key in unknown[:3])}.", kind="ta-text")
        return drawing.flipped()
    _embedding(drawing)
    bottom = drawing.u + 3
    drawing.path([(STREAM, drawing.u), (STREAM, bottom + 2)], arrow=False)
    drawing.u = bottom + 2
    attention, ffn = _attention(row), _ffn(v)
    if v["placement"] in ("parallel", "parallel_two"):
        drawing.parallel(attention, ffn)
    else:
        drawing.sublayer(attention, "attention")
        if v.get("kind") == "encoder-decoder":
            drawing.sublayer(["cross-attention", "keys and values of the encoder"], "attention")
        drawing.sublayer(ffn, "ffn")
    times = f"{v['n_layers']} {'times the same layer' if v.get('shared_layers') else 'layers'}"
    times += ", each with one of its sublayers" if v.get("split") else ""
    times += f", {v['n_streams']} streams" if v.get("n_streams") else ""
    if v.get("kind") == "encoder-decoder":
        times += f", and {v['n_layers']} in the encoder without cross-attention"
    top = drawing.u + (8 if len(times) <= SHORT else 22)
    drawing.text(WIDTH - 10, top - 12, times, "end", "ta-small")
    drawing.shapes.insert(0, ["box", 2, top, WIDTH - 4, top - bottom, "frame", "sizes"])
    _head(drawing, top)
    return drawing.flipped()


def _embedding(drawing):
    v, (x, width) = drawing.v, TABLE
    d = v.get("d_embedding") or v["d_model"]
    lines = [f"embedding {v['vocab']:,} × {d:,}" if "vocab" in v else "embedding"]
    if v["position"] in ADDED:
        lines.append(ADDED[v["position"]].format(n=v.get("max_positions", 0)))
    if d != v["d_model"]:
        lines.append(f"then {d:,} → {v['d_model']:,}")
    drawing.u = drawing.box(x, 2, width, lines, "table", "position")
    middle = 2 + _tall(lines) / 2
    drawing.text(x + width + 24, middle - 4, "T token ids")
    drawing.path([(x + width + 20, middle), (x + width, middle)])
    if v.get("embedding_norm"):
        drawing.on_stream()


def _head(drawing, top):
    """Adds the norm on the stream after the last layer, and the head next to it."""
    v, normed = drawing.v, drawing.v["placement"] != "post"
    drawing.path([(STREAM, drawing.u), (STREAM, top + 1)], arrow=False)
    drawing.u = top + 1
    if v.get("kind") == "encoder":
        if normed:
            drawing.on_stream()
        drawing.path([(STREAM, drawing.u), (STREAM, drawing.u + 14)])
        drawing.text(STREAM + 10, drawing.u + 5, f"T × {v['d_model']:,}")
        drawing.u += 18
        return
    lines = [f"head {v['d_model']:,} → {v['vocab']:,}" if "vocab" in v else "head"]
    if v.get("tied"):
        lines.append("the embedding's table")
    if v.get("logit_cap"):
        lines.append(f"capped at {v['logit_cap']:g}")
    if not normed:
        drawing.path([(STREAM, drawing.u), (STREAM, drawing.u + 12)])
        drawing.u = drawing.box(TABLE[0], drawing.u + 12, TABLE[1], lines, "table", "sizes")
        return
    half = _tall(lines) / 2
    gap = max(12, half - drawing.half + 6)
    middle = drawing.u + gap + drawing.half
    drawing.on_stream(gap)
    drawing.path([(STREAM + NORM[1] / 2, middle), (HEAD[0], middle)])
    drawing.u = max(drawing.u, drawing.box(HEAD[0], middle - half, HEAD[1], lines, "table", "sizes"))


def _attention(row):
    v, kind = row.values, families(row)["attention"]
    H, G, D = v["n_heads"], v["n_kv_heads"], v["head_dim"]
    if v.get("attention") == "latent":
        lines = [f"{H} heads, k and v from", f"{v['kv_rank']} + {v['rope_dim']} numbers a token"]
    else:
        lines = [f"{H} heads of {D}" + ("" if G == H else f", {G} of k and v")]
    extra = [IN_ATTENTION[v["position"]]] if v["position"] in IN_ATTENTION else []
    extra += _others(mixers(v))
    extra += [f"{v['index_top']:,} places, chosen by an index"] if v.get("index_top") else []
    if v.get("window"):
        extra.append(f"window {v['window']:,}" + ("" if _everywhere(v) else " in some layers"))
    extra += ["block-sparse in every second layer"] if v.get("attention") == "blocksparse" else []
    extra += ["q and k normalized"] if v.get("qk_norm") else []
    extra += [f"scores capped at {v['score_cap']:g}"] if v.get("score_cap") else []
    extra += ["a place to attend to nothing"] if v.get("sinks") else []
    return [f"attention: {kind}", *lines, *extra]


def _others(layers):
    """How many layers have another mixer in the place of attention, a line for each."""
    counted = [(name, layers.count(name)) for name in dict.fromkeys(layers) if name in RECURRENT]
    return [f"in {n} of {len(layers)} layers: {SHORT_NAMES[name]}" for name, n in counted]


def _everywhere(v):
    return v.get("window_every", 1) == 1 and not v.get("full_every")


def _ffn(v):
    name = activation(v) if "activation" in v else "not published"
    lines = [f"feed-forward: {name}", f"{v['d_model']:,} → {v['d_ff']:,} → {v['d_model']:,}"]
    if v.get("n_experts"):
        shared = f" + {v['n_shared']} for all" if v.get("n_shared") else ""
        lines.append(f"{v['n_active']} of {v['n_experts']} experts{shared}")
    return lines
