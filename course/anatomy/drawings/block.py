"""One block with its residual stream, and the shape at every edge, from a model's configuration."""

from collections.abc import Callable, Sequence

from ..models.config import Config
from .sheet import PAD, RADIUS, Box, Drawing, Panel, Point, width_of
from .sizes import ACTIVATIONS, NORMS, ROTARY, complete, score, shape, visible

STREAM, LEFT, MIDDLE, RIGHT, RAIL = 40.0, 108.0, 206.0, 304.0, 355.0
GAP, STEP = 30.0, 16.0  # between two boxes, with and without a shape label between them


def block(c: Config) -> Drawing:
    """Draws a model's block: the residual stream on the left, its computations on the right, shapes at all edges.

    c: a configuration from ``anatomy.models.config``; missing entries are filled in. For an encoder–decoder, draws the
    decoder's block, which attends to the encoder's output as well. B is the batch, T the length, S the length of the
    encoder's input.

    Raises: ValueError for an invalid configuration.
    """
    made = _Block(complete(c))
    return Drawing(made.panel.title, made.panel.says, (made.panel,))


class _Block:
    """Draws from the bottom up; ``y`` is the height that the stream has reached."""

    def __init__(self, c: Config) -> None:
        self.c, self.y = c, 0.0
        self.x = shape("B", "T", c["d_model"])
        self.stops: list[Point] = []  # (low, high) of each norm or sum that interrupts the stream
        self.words: list[str] = []
        kind = "Encoder" if c["kind"] == "encoder" else "Decoder"
        self.panel = Panel(f"{kind} block, d_model = {c['d_model']}")
        self._draw()
        self.panel.says = f"From bottom to top, the stream x {self.x}. " + " ".join(self.words)

    def _draw(self) -> None:
        self._edge("x ")
        if self.c["placement"] == "parallel":
            self._parallel()
        else:
            self._sublayer("attention", self._attention)
            self._edge()
            if self.c["kind"] == "encoder-decoder":
                self._sublayer("cross-attention", self._cross)
                self._edge()
            self._sublayer("feed-forward", self._ffn)
        self._edge()
        start = 0.0
        for low, high in self.stops:
            self.panel.wire((STREAM, start), (STREAM, low), kind="stream")
            start = high
        self.panel.wire((STREAM, start), (STREAM, self.y + 14), kind="stream")

    def _edge(self, name: str = "") -> None:
        """Draws a piece of the bare stream, with its shape."""
        self.panel.label(STREAM + 9, self.y + 12, name + self.x, anchor="start")
        self.y += 30

    def _norm(self, x: float, y: float) -> Box:
        return self.panel.box(x, y, NORMS[self.c["norm"]], "norm", up=True)

    def _sublayer(self, name: str, inside: Callable[[Box | None, Point], Box]) -> None:
        """Draws one branch: a fork, norms according to the placement, the computation, and the sum."""
        placement, start = self.c["placement"], self.y
        words = [f"{name}:"]
        if placement in ("pre", "both"):
            below = self._norm(MIDDLE, start + STEP)
            self.panel.wire((STREAM, start), (MIDDLE, start), below.bottom)
            words.append("a norm reads the stream,")
            top = inside(below, below.top)
        else:
            words.append("it reads the bare stream,")
            top = inside(None, (STREAM, start))
        if placement in ("both", "inside"):
            after = self._norm(MIDDLE, top.top[1] + GAP)
            self.panel.rise(top, after, self.x)
            words.append("a norm takes its output,")
            top = after
        words.append("the result is added to the stream" + (", and a norm follows." if placement == "post" else "."))
        self._add(top)
        if placement == "post":
            wide = width_of(NORMS[self.c["norm"]]) / 2 + 2 * PAD
            norm = self._norm(max(STREAM, wide), self.y + STEP)
            self.panel.label(norm.right[0] + 8, norm.y, "on the stream itself", "note", "start")
            self.stops.append((norm.bottom[1], norm.top[1]))
            self.y = norm.top[1] + 8
        self.words.append(" ".join(words).capitalize())

    def _add(self, top: Box) -> None:
        """Leads the branch back to the stream and adds it."""
        plus = self.panel.sum(STREAM, top.top[1] + GAP)
        self.panel.wire(top.top, (top.x, plus.y), plus.right)
        self.panel.label((STREAM + top.x) / 2 + 20, plus.y, self.x)
        self.stops.append((plus.bottom[1], plus.top[1]))
        self.y = plus.y + RADIUS + 6

    def _spread(self, below: Box | None, start: Point, columns: Sequence[float], texts: Sequence[str]) -> list[Box]:
        """Draws boxes side by side that all read one input: a norm's output, or the stream itself."""
        if below is not None:
            bus = below.top[1] + GAP - 4
            self.panel.wire(below.top, (below.x, bus), head=False)
            self.panel.label(below.x, (below.top[1] + bus) / 2 - 1, self.x)
            feed = (below.x, bus)
        else:
            feed, bus = start, start[1]
        y = bus + STEP
        made = [self.panel.box(x, y, text, width=84, up=True) for x, text in zip(columns, texts, strict=True)]
        for box in made:
            points = [feed, (box.x, bus), box.bottom]
            self.panel.wire(*(p for i, p in enumerate(points) if i == 0 or p != points[i - 1]))
        return made

    def _attention(self, below: Box | None, start: Point) -> Box:
        c = self.c
        if c["attention"] == "latent":
            return self._one(below, start, f"latent attention\n{c['n_heads']} heads", "mix")
        H, G, D = c["n_heads"], c["n_kv_heads"], c["head_dim"]
        q, k, v = self._spread(below, start, (LEFT, MIDDLE, RIGHT), [f"{n}_proj\nsplit" for n in "qkv"])
        prepared = [w for w, has in (("norm", c["qk_norm"]), ("RoPE", c["position"] in ROTARY)) if has]
        mine, theirs = shape("B", H, "T", D), shape("B", G, "T", D)
        if prepared:
            y = q.top[1] + GAP
            turned = [self.panel.box(b.x, y, ", ".join(prepared), width=84, up=True) for b in (q, k)]
            for below_, above, words in zip((q, k), turned, (mine, theirs), strict=True):
                self.panel.rise(below_, above, words)
            q, k = turned
        self.words.append(
            f"{H} query heads and {G} key-value heads of {D} numbers"
            + (f", queries and keys through {' and '.join(prepared)}." if prepared else ".")
        )
        return self._core((q, k, v), (mine, theirs, theirs), visible(c))

    def _core(self, qkv: Sequence[Box], shapes: Sequence[str], seen: str, biased: bool = True) -> Box:
        """Draws scores, softmax and the weighted sum of values; then joining the heads and their projection."""
        c, H, D = self.c, self.c["n_heads"], self.c["head_dim"]
        shared = H // c["n_kv_heads"]
        lines = [f"softmax({score(c, biased)}) · v", seen]
        if shared > 1:
            lines.append(f"{shared} query heads share each key head")
        y = max(b.top[1] for b in qkv) + GAP
        core = self.panel.box(MIDDLE, y, "\n".join(lines), "mix", width=286, up=True)
        for box, words in zip(qkv, shapes, strict=True):
            self.panel.wire(box.top, (box.x, core.bottom[1]))
            self.panel.label(box.x, core.bottom[1] - GAP / 2 - 2, words)
        out = self.panel.box(MIDDLE, core.top[1] + GAP, "join heads, o_proj", up=True)
        self.panel.rise(core, out, shape("B", H, "T", D))
        return out

    def _cross(self, below: Box | None, start: Point) -> Box:
        """Draws queries from the stream, keys and values from the encoder's output."""
        c, y = self.c, self.y
        H, G, D = c["n_heads"], c["n_kv_heads"], c["head_dim"]
        base = below.top[1] if below else start[1]
        memory = self.panel.box(284, base + 10, "encoder’s output", "kept", up=True)
        bus = memory.top[1] + GAP - 4
        q = self.panel.box(LEFT, bus + STEP, "q_proj\nsplit", width=84, up=True)
        if below:
            turn = below.top[1] + 8
            self.panel.wire(below.top, (below.x, turn), (LEFT, turn), q.bottom)
        else:
            self.panel.wire((STREAM, y), (LEFT, y), q.bottom)
        self.panel.label(LEFT, (base + q.bottom[1]) / 2 + 4, self.x)
        k, v = (
            self.panel.box(x, bus + STEP, f"{n}_proj\nsplit", width=84, up=True)
            for x, n in ((MIDDLE, "k"), (RIGHT, "v"))
        )
        self.panel.wire(memory.top, (memory.x, bus), head=False)
        for box in (k, v):
            self.panel.wire((memory.x, bus), (box.x, bus), box.bottom)
        self.panel.label(memory.x, (memory.top[1] + bus) / 2 - 1, shape("B", "S", c["d_model"]))
        theirs = shape("B", G, "S", D)
        self.words.append("Keys and values are made from the encoder’s output, so they have its length S.")
        return self._core(
            (q, k, v), (shape("B", H, "T", D), theirs, theirs), "a token sees all that the encoder read", False
        )

    def _one(self, below: Box | None, start: Point, text: str, kind: str) -> Box:
        """Draws a single box on the branch."""
        if below is None:
            box = self.panel.box(MIDDLE, start[1] + STEP, text, kind, up=True)
            self.panel.wire(start, (MIDDLE, start[1]), box.bottom)
            return box
        box = self.panel.box(MIDDLE, below.top[1] + GAP, text, kind, up=True)
        self.panel.rise(below, box, self.x)
        return box

    def _ffn(self, below: Box | None, start: Point) -> Box:
        c, name = self.c, ACTIVATIONS[self.c["activation"]]
        wide = shape("B", "T", c["d_ff"])
        if c["n_experts"]:
            kind = "gated, " if c["gated"] else ""
            text = f"router picks {c['n_active']} of {c['n_experts']} experts\neach {kind}{c['d_ff']} wide, {name}"
            return self._one(below, start, text, "ffn")
        self.words.append(f"It widens to {c['d_ff']} numbers, {name}" + (", times a gate." if c["gated"] else "."))
        if not c["gated"]:
            (up,) = self._spread(below, start, (MIDDLE,), ("up_proj",))
            act = self.panel.box(MIDDLE, up.top[1] + GAP, name, "ffn", width=84, up=True)
            self.panel.rise(up, act, wide)
            down = self.panel.box(MIDDLE, act.top[1] + GAP, "down_proj", width=84, up=True)
            self.panel.rise(act, down, wide)
            return down
        gate, up = self._spread(below, start, (LEFT + 44, RIGHT - 44), ("gate_proj", "up_proj"))
        act = self.panel.box(gate.x, gate.top[1] + GAP, name, "ffn", width=84, up=True)
        self.panel.rise(gate, act, wide)
        times = self.panel.sum(MIDDLE, act.top[1] + 18, "×")
        self.panel.wire(act.top, (act.x, times.y), times.left)
        self.panel.wire(up.top, (up.x, times.y), times.right)
        self.panel.label(up.x, (up.top[1] + times.y) / 2, wide)
        down = self.panel.box(MIDDLE, times.top[1] + GAP, "down_proj", width=84, up=True)
        self.panel.rise(times, down, wide)
        return down

    def _parallel(self) -> None:
        """Draws one norm that attention and the feed-forward layer both read; both results are added."""
        start = self.y
        norm = self._norm(MIDDLE, start + STEP)
        self.panel.wire((STREAM, start), (MIDDLE, start), norm.bottom)
        self.words.append("One norm reads the stream; attention and the feed-forward layer both read that norm.")
        top = self._attention(norm, norm.top)
        self._add(top)
        level = self.y + 12  # the wire to the feed-forward layer goes past attention
        self.panel.wire(norm.right, (RAIL, norm.y), (RAIL, level), (MIDDLE, level), head=False)
        self.panel.label((MIDDLE + RAIL) / 2 + 4, level, self.x)
        self._add(self._ffn(None, (MIDDLE, level)))
        self.words.append("Both results are added to the stream.")
