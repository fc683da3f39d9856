"""Mistakes in the embeddings and the tied head."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from autograder.judge.spec import Mutant
from autograder.reference.assembly.embeddings import Embeddings

from .shared import variant


def wrong(segments_by=lambda ids, segments: torch.zeros_like(ids) if segments is None else segments, **steps):
    """Embeddings whose steps are given: place(x, positions), last(self, x), check."""
    place = steps.get("place", lambda table, positions, ids: table(positions))
    last = steps.get("last", lambda self, x: self.widen(self.norm(x)))
    begin = steps.get("begin", lambda x: x)
    check = steps.get("check", lambda positions, rows: positions.max() >= rows)

    def forward(self, ids, positions, segments=None):
        x = begin(self.tokens(ids))
        if self.positions is not None:
            if check(positions, self.positions.num_embeddings):
                raise ValueError("too far")
            x = x + place(self.positions, positions, ids)
        chosen = None if self.segments is None else segments_by(ids, segments)
        if chosen is not None:
            x = x + self.segments(chosen)
        return last(self, x)

    return variant(Embeddings, forward=forward)


def built(change):
    """Embeddings built from another configuration than the given one."""

    def start(self, c):
        Embeddings.__init__(self, {**c, **change(c)})

    return variant(Embeddings, __init__=start)


def _wide_tables(self, c):
    """Tables as wide as the stream."""
    Embeddings.__init__(self, {**c, "d_embedding": c["d_model"]})
    if c["d_embedding"] != c["d_model"]:
        self.widen = nn.Linear(c["d_model"], c["d_model"])


def _rms(self, c):
    Embeddings.__init__(self, c)
    if c["embedding_norm"]:
        self.norm = nn.RMSNorm(c["d_embedding"], c["eps"])


def _no_bias(self, c):
    Embeddings.__init__(self, c)
    if c["d_embedding"] != c["d_model"]:
        self.widen = nn.Linear(c["d_embedding"], c["d_model"], bias=False)


def _widen_always(self, c):
    Embeddings.__init__(self, c)
    self.widen = nn.Linear(c["d_embedding"], c["d_model"])


def _norm_of_model(self, c):
    Embeddings.__init__(self, c)
    if c["embedding_norm"]:
        self.norm = nn.LayerNorm(c["d_model"], c["eps"])


def _norm_after(self, x):
    return F.layer_norm(self.widen(x), (self.widen(x).shape[-1],)) if isinstance(self.norm, nn.LayerNorm) else x


def _with_padding_row(self, c):
    Embeddings.__init__(self, c)
    self.tokens.padding_idx = 0


MISTAKES = [
    Mutant(
        "no_positions",
        wrong(place=lambda table, positions, ids: 0.0),
        "The rows of the table of positions are not added. x = x + self.positions(positions).",
    ),
    Mutant(
        "counted",
        wrong(place=lambda table, positions, ids: table(torch.arange(ids.shape[1]))),
        "positions is ignored: the places are counted 0, 1, 2, …, which is wrong behind a past and with padding. "
        "Look "
        "up the argument.",
    ),
    Mutant(
        "first_row",
        wrong(place=lambda table, positions, ids: table(positions[0])),
        "All texts get the places of the first one. Look up positions as it is, (B, T).",
    ),
    Mutant(
        "places_times",
        variant(
            Embeddings,
            forward=lambda self, ids, positions, segments=None: wrong(
                place=lambda table, p, i: self.tokens(i) * (table(p) - 1)
            ).forward(self, ids, positions, segments),
        ),
        "Tokens are multiplied by positions. The rows are added.",
    ),
    Mutant(
        "no_segments",
        wrong(lambda ids, segments: None),
        "Segments are never added, though the configuration has a table of them.",
    ),
    Mutant(
        "segments_when_given",
        wrong(lambda ids, segments: segments),
        "Without segments nothing is added. segments=None means segment 0 for every token, and its row counts.",
    ),
    Mutant(
        "second_segment",
        wrong(lambda ids, segments: torch.ones_like(ids) if segments is None else segments),
        "Without segments the row of segment 1 is added. None means segment 0: torch.zeros_like(ids).",
    ),
    Mutant(
        "segments_dropped",
        wrong(lambda ids, segments: torch.zeros_like(ids)),
        "Every token counts as segment 0, also where segments are given.",
    ),
    Mutant(
        "no_norm",
        wrong(last=lambda self, x: self.widen(x)),
        "The norm is not used. It comes after all sums.",
    ),
    Mutant(
        "norm_of_tokens",
        variant(
            Embeddings,
            forward=lambda self, ids, positions, segments=None: wrong(
                begin=self.norm, last=lambda self, x: self.widen(x)
            ).forward(self, ids, positions, segments),
        ),
        "The norm is taken of the tokens alone, before positions and segments are added. It comes after all sums.",
    ),
    Mutant(
        "norm_after",
        wrong(last=_norm_after),
        "The vectors are widened first and normalized then. The norm is on the narrow sum, widen comes last.",
    ),
    Mutant(
        "not_widened",
        wrong(last=lambda self, x: self.norm(x)),
        "The vectors stay as narrow as the tables. widen leads from d_embedding to d_model.",
    ),
    Mutant(
        "always_norm",
        built(lambda c: {"embedding_norm": True}),
        "The weights do not load: there is a norm though embedding_norm is false. Then norm is nn.Identity().",
    ),
    Mutant(
        "always_positions",
        built(lambda c: {"position": "learned"}),
        'The weights do not load: there is a table of positions where c["position"] is not "learned".',
    ),
    Mutant(
        "wide_tables",
        variant(Embeddings, __init__=_wide_tables),
        'The tables are c["d_model"] wide. All tables have the width c["d_embedding"], and widen leads on from there.',
    ),
    Mutant(
        "norm_of_model",
        variant(Embeddings, __init__=_norm_of_model),
        'The norm\'s weights are c["d_model"] long. It normalizes the sum of rows: c["d_embedding"].',
    ),
    Mutant(
        "rms_norm",
        variant(Embeddings, __init__=_rms),
        "The norm here is an RMSNorm. After embeddings it is nn.LayerNorm, with a bias.",
    ),
    Mutant(
        "widen_without_bias",
        variant(Embeddings, __init__=_no_bias),
        "widen has no bias. It is a plain nn.Linear from d_embedding to d_model, with one.",
    ),
    Mutant(
        "widen_always",
        variant(Embeddings, __init__=_widen_always),
        "There is a matrix widen though the two widths are equal. Then it is nn.Identity().",
    ),
    Mutant(
        "default_eps",
        built(lambda c: {"eps": 1e-5}),
        'The norm\'s ε is always the same. Hand c["eps"] on to nn.LayerNorm.',
    ),
    Mutant(
        "scaled",
        wrong(begin=lambda x: x * math.sqrt(x.shape[-1])),
        "The rows of tokens are multiplied by √d, as in the first Transformer. Here they are taken as they are.",
    ),
    Mutant(
        "unchecked",
        wrong(check=lambda positions, rows: False),
        "Right where the table reaches. A position behind it should raise a ValueError that says where it ends.",
    ),
    Mutant(
        "checked_by_length",
        wrong(check=lambda positions, rows: positions.shape[-1] > rows),
        "The number of tokens is compared with the table, not their positions. With a past few tokens stand far "
        "out: "
        "ask for positions.max().",
    ),
    Mutant(
        "off_by_one",
        wrong(check=lambda positions, rows: positions.max() >= rows - 1),
        "The last row of the table is refused. Rows are 0 to max_positions − 1: raise where a position is equal to "
        "max_positions or more.",
    ),
    Mutant(
        "checked_late",
        wrong(check=lambda positions, rows: positions.max() > rows),
        "A position equal to max_positions passes the check, and there is no such row. Compare with >=.",
    ),
    Mutant(
        "one_row_checked",
        wrong(check=lambda positions, rows: positions[0].max() >= rows),
        "Only the first text's positions are checked. Ask for the largest of all: positions.max().",
    ),
    Mutant(
        "head_transposed",
        variant(Embeddings, logits=lambda self, x: (x @ self.tokens.weight.T).softmax(-1)),
        "logits gives probabilities. It is the bare product: x @ self.tokens.weight.T.",
    ),
    Mutant(
        "head_scaled",
        variant(Embeddings, logits=lambda self, x: x @ self.tokens.weight.T / math.sqrt(x.shape[-1])),
        "logits is divided by √d, as in T5. Here it is the bare product: x @ self.tokens.weight.T.",
    ),
    Mutant(
        "head_detached",
        variant(Embeddings, logits=lambda self, x: x @ self.tokens.weight.detach().T),
        "The head's numbers are right, but no gradient reaches the table through it: it was cut off (detach, .data).",
    ),
    Mutant(
        "padding_row",
        variant(Embeddings, __init__=_with_padding_row),
        "Row 0 of the table gets no gradient: padding_idx=0 cuts it off. Here 0 is an id like any other.",
    ),
]
