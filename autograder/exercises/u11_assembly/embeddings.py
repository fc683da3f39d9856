"""Token, position and segment tables, factorized where the configuration says so, and the tied head."""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from autograder.judge.spec import Case, Exercise, Program, Source
from autograder.reference.assembly.embeddings import Embeddings

from ._embeddings import MISTAKES
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
    """Different places in each row, the last one of the table among them."""
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
    c = llama(d_embedding=7)
    return _new(g, c).call(g.randn(2, 3, 7), method="logits").call(g.randn(1, 7), method="logits").double()


def _gradients(g: Source) -> Program:
    c = bert(d_embedding=4)
    new, ids = _new(g, c), _ids(g, c)
    ids[1, 2] = 0  # a row like any other: padding_idx=0 would cut it off
    return new.call(ids, _places(g, c), g.integers(0, 2, 2, 5), params=True, cotangent=g.randn(2, 5, 12))


def _head_gradients(g: Source) -> Program:
    return _new(g, llama()).call(g.randn(2, 3, 12), method="logits", grad=[0], params=True)


def _too_far(row: int, behind: int) -> Callable[[Source], Program]:
    """One position in one text that no row of the table has."""

    def build(g: Source) -> Program:
        c = gpt()
        places = _places(g, c)
        places[row, 3] = c["max_positions"] + behind
        return _new(g, c).call(_ids(g, c), places)

    return build


def _long_text(g: Source) -> Program:
    """More tokens than the table has rows, at places that it has."""
    c = gpt(max_positions=5)
    return _new(g, c).call(_ids(g, c, 2, 8), g.integers(0, 5, 2, 8))


EXERCISE = Exercise(
    id="assembly.embeddings",
    title="From ids to vectors, and back",
    points=1,
    difficulty=2,
    minutes=6,
    signature="Embeddings(c)",
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
        Case("long text", "eight tokens at places that a table of five rows has", _long_text, weight=0.5),
        Case("too far", "a position one behind the table raises ValueError", _too_far(0, 0), weight=0.5),
        Case("far out", "so does one far behind it, in the second text", _too_far(1, 30), weight=0.5),
    ],
    mutants=MISTAKES,
)
