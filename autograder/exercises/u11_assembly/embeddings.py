"""Token, position and segment tables, factorized where the configuration says so, and the tied head."""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source
from autograder.reference.assembly.embeddings import Embeddings

from .shared import Config, gpt, llama, made


class Tables(nn.Module):
    """The tables, the norm and the matrix, each None where there is none."""

    def __init__(self, c):
        super().__init__()
        rows = {"tokens": c["vocab"], "segments": c["n_segments"]}
        rows["positions"] = c["max_positions"] * (c["position"] == "learned")
        for name, n in rows.items():
            self.add_module(name, nn.Embedding(n, c["d_embedding"]) if n else None)
        self.norm = nn.LayerNorm(c["d_embedding"], eps=c["eps"]) if c["embedding_norm"] else None
        self.widen = None if c["d_embedding"] == c["d_model"] else nn.Linear(c["d_embedding"], c["d_model"])


class Named(Tables):
    """Correct: rows by functional calls, sums in a list."""

    def forward(self, ids, positions, segments=None):
        parts = [F.embedding(ids, self.tokens.weight)]
        if self.positions is not None:
            try:
                parts.append(F.embedding(positions, self.positions.weight))
            except IndexError as error:
                raise ValueError("a position behind the table") from error
        if self.segments is not None:
            segments = torch.zeros_like(ids) if segments is None else segments
            parts.append(F.embedding(segments, self.segments.weight))
        x = torch.stack(parts).sum(0)
        for layer in (self.norm, self.widen):
            x = x if layer is None else layer(x)
        return x

    def logits(self, x):
        return F.linear(x, self.tokens.weight)


class OneHot(Tables):
    """Correct: rows picked by a product with ones and zeros."""

    def forward(self, ids, positions, segments=None):
        pick = lambda i, table: F.one_hot(i, len(table.weight)).to(table.weight.dtype) @ table.weight
        x = pick(ids, self.tokens)
        if self.positions is not None:
            if not (positions < len(self.positions.weight)).all():
                raise ValueError("too far")
            x = pick(positions, self.positions) + x
        if self.segments is not None:
            x = x + (self.segments.weight[0] if segments is None else pick(segments, self.segments))
        x = x if self.norm is None else self.norm(x)
        return x if self.widen is None else self.widen(x)

    def logits(self, x):
        return torch.einsum("...d,vd->...v", x, self.tokens.weight)


def bert(**changes: object) -> Config:
    """BERT's choices in small."""
    return gpt(**{"n_segments": 2, "embedding_norm": True, "eps": 0.01, **changes})


def _new(g: Source, c: Config) -> Program:
    return made(g, "Embeddings", Embeddings, c)


def _ids(g: Source, c: Config, B: int = 2, T: int = 5) -> torch.Tensor:
    return g.integers(0, c["vocab"], B, T)


def _places(g: Source, c: Config, B: int = 2, T: int = 5) -> torch.Tensor:
    """Different positions in each row, the last one of the table among them."""
    places = torch.stack([torch.randperm(c["max_positions"], generator=g.generator)[:T] for _ in range(B)])
    places[0, 0] = c["max_positions"] - 1
    return places


def _by_hand(g: Source) -> Program:
    c = llama(vocab=4, d_model=2, n_heads=1, n_kv_heads=1, position="none")
    table = torch.tensor([[0.0, 0.0], [1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    new = Program().new("Embeddings", c, state={"tokens.weight": table})
    return new.call(torch.tensor([[3, 1]]), torch.tensor([[0, 1]]))


def _learned(g: Source) -> Program:
    c = gpt()
    return _new(g, c).call(_ids(g, c), _places(g, c))


def _bert(g: Source) -> Program:
    c = bert()
    return _new(g, c).call(_ids(g, c), _places(g, c), g.integers(0, 2, 2, 5))


def _first_segment(g: Source) -> Program:
    c = bert(n_segments=3)
    return _new(g, c).call(_ids(g, c), _places(g, c)).call(_ids(g, c, 1, 3), _places(g, c, 1, 3), segments=None)


def _albert(g: Source) -> Program:
    c = bert(d_embedding=4, eps=0.3)
    return _new(g, c).call(_ids(g, c, 3, 4), _places(g, c, 3, 4), segments=g.integers(0, 2, 3, 4))


def _wide_only(g: Source) -> Program:
    c = llama(d_embedding=5)
    return _new(g, c).call(_ids(g, c), _places(g, c)).double()


def _segments_only(g: Source) -> Program:
    c = llama(n_segments=4, embedding_norm=True)
    return _new(g, c).call(_ids(g, c), None, g.integers(0, 4, 2, 5))


def _rotary(g: Source) -> Program:
    """Positions that no table would have: nobody looks them up."""
    c = llama(max_positions=3)
    return _new(g, c).call(_ids(g, c), 3 + g.integers(0, 90, 2, 5)).call(_ids(g, c, 1, 2), None)


def _head(g: Source) -> Program:
    """Vectors go out, then ids go in: ``logits`` is given, so by itself it would be passed by the stub."""
    c = llama(d_embedding=7)
    new = _new(g, c).call(g.randn(2, 3, 7), method="logits").call(g.randn(1, 7), method="logits")
    return new.call(_ids(g, c, 1, 2), None).double()


def _gradients(g: Source) -> Program:
    c = bert(d_embedding=4)
    new, ids = _new(g, c), _ids(g, c)
    ids[1, 2] = 0  # a row like any other: padding_idx=0 would cut it off
    return new.call(ids, _places(g, c), g.integers(0, 2, 2, 5), params=True, cotangent=g.randn(2, 5, 12))


def _head_gradients(g: Source) -> Program:
    c = llama()
    new = _new(g, c).call(g.randn(2, 3, 12), method="logits", grad=[0], params=True)
    return new.call(_ids(g, c, 1, 2), None)


def _too_far(row: int, behind: int) -> Callable[[Source], Program]:
    """One position in one text that no row of the table has."""

    def build(g: Source) -> Program:
        c = gpt()
        places = _places(g, c)
        places[row, 3] = c["max_positions"] + behind
        return _new(g, c).call(_ids(g, c), places)

    return build


def _long_text(g: Source) -> Program:
    """More tokens than the table has rows, at positions that it has."""
    c = gpt(max_positions=5)
    return _new(g, c).call(_ids(g, c, 2, 8), g.integers(0, 5, 2, 8))


MISTAKES = changes(
    Embeddings,
    """
no_positions: x = x + self.positions(positions) →
    The rows of the table of positions are not added. x = x + self.positions(positions).
counted: self.positions(positions) → self.positions(torch.arange(ids.shape[1]))
    positions is ignored: rows 0, 1, 2, … are looked up, which is wrong behind a past and with padding. Look up the
    argument.
first_row: self.positions(positions) → self.positions(positions[0])
    All texts get the positions of the first one. Look up positions as it is, (B, T).
places_times: x + self.positions(positions) → x * self.positions(positions)
    Tokens are multiplied by positions. The rows are added.
no_segments: if self.segments is not None: → if False:
    Segments are never added, though the configuration has a table of them.
segments_when_given: if self.segments is not None: → if self.segments is not None and segments is not None:
    Without segments nothing is added. segments=None means segment 0 for every token, and its row counts.
second_segment: torch.zeros_like(ids) → torch.ones_like(ids)
    Without segments the row of segment 1 is added. None means segment 0: torch.zeros_like(ids).
segments_dropped: torch.zeros_like(ids) if segments is None else segments → torch.zeros_like(ids)
    Every token counts as segment 0, also where segments are given.
no_norm: self.widen(self.norm(x)) → self.widen(x)
    The norm is not used. It comes after all sums.
norm_of_tokens: self.tokens(ids) → self.norm(self.tokens(ids)) ; self.widen(self.norm(x)) → self.widen(x)
    The norm is taken of the tokens alone, before positions and segments are added. It comes after all sums.
norm_after: self.widen(self.norm(x)) → self.norm(self.widen(x))
    The vectors are widened first and normalized then. The norm is on the narrow sum, widen comes last.
not_widened: self.widen(self.norm(x)) → self.norm(x)
    The vectors stay as narrow as the tables. widen leads from d_embedding to d_model.
always_norm: if c["embedding_norm"] else nn.Identity() →
    The weights do not load: there is a norm though embedding_norm is false. Then norm is nn.Identity().
always_positions: if c["position"] == "learned" else None →
    The weights do not load: there is a table of positions where c["position"] is not "learned".
wide_tables: d = c["d_embedding"] → d = c["d_model"] ; if d != c["d_model"] → if c["d_embedding"] != c["d_model"]
    The tables are c["d_model"] wide. All tables have the width c["d_embedding"], and widen leads on from there.
norm_of_model: LayerNorm(d, → LayerNorm(c["d_model"],
    The norm's weights are c["d_model"] long. It normalizes the sum of rows: c["d_embedding"].
rms_norm: LayerNorm(d, → nn.RMSNorm(d,
    The norm here is an RMSNorm. After embeddings it is nn.LayerNorm, with a bias.
widen_without_bias: nn.Linear(d, c["d_model"]) → nn.Linear(d, c["d_model"], bias=False)
    widen has no bias. It is a plain nn.Linear from d_embedding to d_model, with one.
widen_always: if d != c["d_model"] else nn.Identity() →
    There is a matrix widen though the two widths are equal. Then it is nn.Identity().
default_eps: c["eps"] → 1e-5
    The norm's ε is always the same. Hand c["eps"] on to nn.LayerNorm.
scaled: self.tokens(ids) → self.tokens(ids) * self.tokens.embedding_dim ** 0.5
    The rows of tokens are multiplied by √d, as in the first Transformer. Here they are taken as they are.
unchecked: if int(positions.max()) > last: → if False:
    Right where the table reaches. A position behind it should raise a ValueError that says where it ends.
checked_by_length: if int(positions.max()) > last: → if positions.shape[-1] > last + 1:
    The number of tokens is compared with the table, not their positions. With a past few tokens stand far out: ask
    for positions.max().
off_by_one: if int(positions.max()) > last: → if int(positions.max()) >= last:
    The last row of the table is refused. Rows are 0 to max_positions − 1: raise where a position is equal to
    max_positions or more.
checked_late: if int(positions.max()) > last: → if int(positions.max()) > last + 1:
    A position equal to max_positions passes the check, and there is no such row. Compare with >=.
one_row_checked: if int(positions.max()) > last: → if int(positions[0].max()) > last:
    Only the first text's positions are checked. Ask for the largest of all: positions.max().
head_transposed: x @ self.tokens.weight.T → (x @ self.tokens.weight.T).softmax(-1)
    logits gives probabilities. It is the bare product: x @ self.tokens.weight.T.
head_scaled: x @ self.tokens.weight.T → x @ self.tokens.weight.T / x.shape[-1] ** 0.5
    logits is divided by √d, as in T5. Here it is the bare product: x @ self.tokens.weight.T.
head_detached: self.tokens.weight.T → self.tokens.weight.detach().T
    The head's numbers are right, but no gradient reaches the table through it: it was cut off (detach, .data).
padding_row: nn.Embedding(c["vocab"], d) → nn.Embedding(c["vocab"], d, padding_idx=0)
    Row 0 of the table gets no gradient: padding_idx=0 cuts it off. Here 0 is an id like any other.
""",
)

EXERCISE = Exercise(
    id="assembly.embeddings",
    title="From ids to vectors, and back",
    points=1,
    difficulty=2,
    minutes=4,
    reference=Embeddings,
    alternatives=[Named, OneHot],
    cases=[
        Case("by hand", "a table of four rows, no positions: tokens 3 and 1 are (3, 30) and (1, 10)", _by_hand),
        Case("positions", "learned positions, other ones in each row, the table's last row among them", _learned),
        Case("segments", "BERT: tokens, positions, segments, then a norm", _bert, weight=2),
        Case("first segment", "segments left out: all tokens are of segment 0", _first_segment),
        Case("factorized", "ALBERT: tables 4 wide, the norm on 4 numbers, then a matrix to 12", _albert, weight=2),
        Case("wide only", "tables 5 wide and a matrix to 12, in float64, no norm and no positions", _wide_only),
        Case(
            "segments only", "four segments and a norm without a table of positions; positions are None", _segments_only
        ),
        Case("rotary", "with RoPE positions change nothing here, however far they go, or None", _rotary),
        Case("head", "the tied head: each vector's product with each token's row, in float64", _head),
        Case("gradients", "gradients reach all three tables, the norm and the matrix", _gradients),
        Case("head gradients", "gradients of x and of the table, through the tied head", _head_gradients, weight=0.5),
        Case("long text", "eight tokens at positions that a table of five rows has", _long_text, weight=0.5),
        Case("too far", "a position one behind the table raises ValueError", _too_far(0, 0), weight=0.5),
        Case("far out", "so does one far behind it, in the second text", _too_far(1, 30), weight=0.5),
    ],
    mutants=MISTAKES,
)
