"""An encoder from a configuration."""

from typing import Any

import torch
from anatomy.program import toys
from torch import nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Fn, Program, Source
from autograder.reference.assembly.attention import Attention
from autograder.reference.assembly.block import Block
from autograder.reference.assembly.embeddings import Embeddings
from autograder.reference.assembly.encoder import Encoder
from autograder.reference.assembly.pieces import make_ffn, make_norm

from .shared import SLIM, Config, gpt, llama, made, weights

TOYS = (Fn("toy_attention"), Fn("toy_ffn"))


def bert(**changes: Any) -> Config:
    """A small BERT: Post-LN, segments, a norm after the embeddings, biases everywhere."""
    small = {"kind": "encoder", "placement": "post", "n_segments": 2, "embedding_norm": True, "activation": "gelu"}
    return gpt(**{**small, **changes})


class ByCycle(nn.Module):
    """Right: a list of blocks in which the same one may stand several times, and a mask for every query."""

    def __init__(self, c, attention=Attention, ffn=make_ffn):
        super().__init__()
        self.embeddings, self.n_layers = Embeddings(c), c["n_layers"]
        self.blocks = nn.ModuleList()
        while len(self.blocks) < (1 if c["shared_layers"] else self.n_layers):
            self.blocks.append(Block(c, attention, ffn))
        if c["placement"] != "post":
            self.final_norm = make_norm(c)

    def forward(self, ids, segments=None, real=None):
        B, T = ids.shape
        places = torch.arange(T).repeat(B, 1)
        real = torch.ones(B, T, dtype=torch.bool) if real is None else real
        mask = real.view(B, 1, 1, T).repeat(1, 1, T, 1)
        x = self.embeddings(ids, places, segments)
        blocks = list(self.blocks) * (self.n_layers // len(self.blocks))
        for block in blocks:
            x = block(x, mask, places)[0]
        return self.final_norm(x) if hasattr(self, "final_norm") else x


class ByBranch(Encoder):
    """Right: two loops, segments written out, and positions of one row."""

    def forward(self, ids, segments=None, real=None):
        places = torch.arange(ids.shape[1])
        segments = torch.zeros_like(ids) if segments is None else segments
        mask = None if real is None else real.unsqueeze(1).unsqueeze(1)
        x = self.embeddings(ids, places, segments)
        if self.c["shared_layers"]:
            for _ in range(self.c["n_layers"]):
                x = self.blocks[0](x, mask, places)[0]
        else:
            for block in self.blocks:
                x = block(x, mask, places)[0]
        return self.final_norm(x)


REAL = torch.tensor([[True, True, True, True, False], [False, True, True, True, True], [True, True, False, True, True]])


def _words(g: Source, B: int, T: int) -> torch.Tensor:
    return g.integers(0, 13, B, T)


def _plain(g: Source) -> Program:
    return made(g, "Encoder", Encoder, bert()).call(_words(g, 2, 4), g.integers(0, 2, 2, 4))


def _padded(g: Source) -> Program:
    """On the right, on the left, and in the middle."""
    c = bert(n_layers=g.integer(1, 4))
    return made(g, "Encoder", Encoder, c).call(_words(g, 3, 5), g.integers(0, 2, 3, 5), REAL)


def _left_out(g: Source) -> Program:
    program = made(g, "Encoder", Encoder, bert(n_layers=1)).call(_words(g, 2, 4))
    return program.call(_words(g, 3, 5), real=REAL)


def _bare(g: Source) -> Program:
    c = llama(kind="encoder", placement=g.choice(("pre", "both", "inside")))
    return made(g, "Encoder", Encoder, c).call(_words(g, 3, 5), None, REAL)


def _shared(g: Source) -> Program:
    c = bert(shared_layers=True, n_layers=g.integer(3, 6), d_embedding=5)
    return made(g, "Encoder", Encoder, c).call(_words(g, 2, 4), g.integers(0, 2, 2, 4))


def _toys(g: Source) -> Program:
    """An attention without weights; then a feed-forward layer without any, too."""
    one, both = bert(n_layers=3), bert(placement="pre", norm="rms", shared_layers=True)
    program = made(g, "Encoder", Encoder, one, TOYS[0]).call(_words(g, 3, 5), None, REAL)
    attention: Any = toys.Attention
    feed_forward: Any = toys.ffn
    state = weights(g, Encoder(both, attention, feed_forward))
    return program.new("Encoder", both, *TOYS, state=state).call(_words(g, 1, 3)).double()


def _gradient(g: Source) -> Program:
    program = made(g, "Encoder", Encoder, bert(**SLIM | {"n_layers": 3}, shared_layers=True))
    words = g.integers(0, 7, 3, 5)
    words[0, 1] = 0
    return program.call(words, g.integers(0, 2, 3, 5), REAL, params=True)


MISTAKES = changes(
    Encoder,
    """
causal: mask = None if → T = ids.shape[1]; causal = torch.ones(T, T).tril() > 0; mask = causal if
; else real[:, None, None, :] → else causal & real[:, None, None, :] | (torch.eye(T) > 0)
    Tokens see nothing of what follows. An encoder is no decoder: every token sees every real one, on both sides.
padding_seen: None if real is None else real[:, None, None, :] → None
    real is not used: tokens look at padding. Give the blocks a mask that is False at keys that are not real.
queries_masked: real[:, None, None, :] → real[:, None, :, None]
    The mask hides rows instead of columns: padded queries see nothing, and real ones see padding. Keys are the last
    axis: real[:, None, None, :].
polarity: else real[:, None, None, :] → else ~real[:, None, None, :]
    The mask is turned around: only padding is seen. True means that a key may be looked at.
both_masked: real[:, None, None, :] → real[:, None, None, :] & real[:, None, :, None]
    Padded queries see nothing, and a softmax over nothing is NaN. Mask the keys alone.
segments_ignored: self.embeddings(ids, positions, segments) → self.embeddings(ids, positions)
    segments do not reach the embeddings: all tokens count as text 0. Hand them on.
second_segment: positions, segments) → positions, torch.ones_like(ids) if segments is None else segments)
    Without segments all tokens get segment 1. None stands for segment 0: hand it on as it is.
positions_of_real: .expand(ids.shape) → .expand(ids.shape) if real is None else (real.long().cumsum(-1) - 1).clamp(0)
    Positions count real tokens only, as in your decoder. BERT counts padding too: torch.arange(T).
positions_from_one: torch.arange(ids.shape[1], device=ids.device) → torch.arange(1, ids.shape[1] + 1)
    Positions start at 1. They count from 0.
positions_withheld: (x, mask, positions) → (x, mask, None)
    The blocks get no positions. Learned ones are in the embeddings already, but RoPE turns inside of attention.
always_normed: nn.Identity() if c["placement"] == "post" else make_norm(c) → make_norm(c)
    There is a final_norm in a Post-LN model as well. Its last step is a norm already: nn.Identity().
never_normed: nn.Identity() if c["placement"] == "post" else make_norm(c) → nn.Identity()
    There is no final_norm with weights. Where the placement is not post, nothing else brings the stream to size:
    make_norm(c).
norm_unused: return self.final_norm(x) → return x
    final_norm is made and never used. Return self.final_norm(x).
norm_in_loop: return self.final_norm(x) → return x ; (x, mask, positions) → (x, mask, positions); x = self.final_norm(x)
    final_norm stands inside of the loop. It comes once, after the last block.
all_stored: 1 if c["shared_layers"] else c["n_layers"] → c["n_layers"]
    With shared_layers there are n_layers blocks. ALBERT stores one, and runs it n_layers times.
one_stored: 1 if c["shared_layers"] else c["n_layers"] → 1
    There is one block, whatever shared_layers says. Without it each layer has a block of its own.
runs_once: range(self.c["n_layers"]) → range(len(self.blocks))
    The shared block runs once. It runs n_layers times, each time on what it gave before.
last_skipped: range(self.c["n_layers"]) → range(self.c["n_layers"] - 1)
    One round is missing. All n_layers layers run.
once_too_often: range(self.c["n_layers"]) → range(self.c["n_layers"] + 1)
    There is one round too many. n_layers layers run.
backwards: range(self.c["n_layers"]) → reversed(range(self.c["n_layers"]))
    The blocks run from the last to the first. Run them in the order of their numbers.
first_block_always: self.blocks[layer % len(self.blocks)] → self.blocks[0]
    Every layer runs block 0. Without shared_layers each has its own: self.blocks[layer].
not_chained: x = self.embeddings → first = self.embeddings ; (x, mask, positions) → (first, mask, positions)
    Every block gets the embeddings. Feed it with what the block before gave: x, _ = block(x, …).
own_attention: Block(c, attention, ffn) → Block(c, Attention, ffn)
    The argument attention is not used. Hand it on to Block: families bring attention of their own.
own_ffn: Block(c, attention, ffn) → Block(c, attention, make_ffn)
    The argument ffn is not used. Hand it on to Block: families bring feed-forward layers of their own.
plain_list: nn.ModuleList( → list(
    The blocks lie in a plain Python list, where torch does not find their weights. Use nn.ModuleList.
first_token: return self.final_norm(x) → return self.final_norm(x)[:, 0]
    Only the first token's vector is returned. Return all of them, (B, T, d_model); who needs the first takes it.
mean: return self.final_norm(x) → return self.final_norm(x).mean(1)
    The mean over the tokens is returned. Return one vector for each token, (B, T, d_model).
with_pair: x, _ = → x, pair = ; return self.final_norm(x) → return self.final_norm(x), pair
    Keys and values are returned beside the stream. An encoder reads once and needs no cache: return x alone.
padding_cleared: return self.final_norm(x) → x = self.final_norm(x); return x if real is None else x * real[..., None]
    The vectors of padding are set to 0. Leave them: the mask keeps the others from looking there.
""",
)

EXERCISE = Exercise(
    id="assembly.encoder",
    title="An encoder",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    reference=Encoder,
    alternatives=[ByCycle, ByBranch],
    cases=[
        Case("BERT", "two texts with segments, two blocks, Post-LN: no norm at the end", _plain, weight=2),
        Case("padding", "three texts padded right, left and in the middle: nobody looks at padding", _padded, weight=2),
        Case("left out", "without segments all tokens belong to text 0; without real all are real", _left_out),
        Case("other placements", "RoPE and RMSNorm, with the bare stream normed at the end", _bare),
        Case("ALBERT", "one block that runs three to five times, and narrow tables", _shared, weight=2),
        Case(
            "other sublayers",
            "an attention and a feed-forward layer of the course's, without weights; in float64",
            _toys,
        ),
        Case("gradients", "gradients reach all weights, those of a shared block from every round", _gradient),
    ],
    mutants=MISTAKES,
    equivalent="""
one row of positions serves every text
    d85e369d57 solution, call: torch.arange(ids.shape[1]).expand(ids.shape) → torch.arange(ids.shape[1])
    6da3f711b7 alternative ByCycle, call: torch.arange(T).repeat(B, 1) → torch.arange(T)
the blocks are made alike and get their weights by name
    150534a44e solution, reversed: range(stored) reversed
a mask with one row serves every query
    cbd15c0eb0 alternative ByCycle, call: real.view(B, 1, 1, T).repeat(1, 1, T, 1) → real.view(B, 1, 1, T)
all are True, and their shape is made afterwards
    1662ee7d7f alternative ByCycle, argument: torch.ones(B, T, dtype=torch.bool): arguments 1 and 2 swapped
what is stored is one block or all, so the number divides evenly
    07ac12ce51 alternative ByCycle, arithmetic: self.n_layers // len(self.blocks) rounded up
the embeddings take None for segment 0
    7098729fef alternative ByBranch, statement: left out: segments = torch.zeros_like(ids) if segments is None else se…
    2cc70a1896 alternative ByBranch, branch: torch.zeros_like(ids) if segments is None else segments → segments
the number of the round is not used
    dd346d09df alternative ByBranch, reversed: range(self.c['n_layers']) reversed
both make (B, 1, 1, T) of (B, T)
    4c6ea4652a alternative ByBranch, constant: 1 → 2 in real.unsqueeze(1).unsqueeze(1)
the one block is the first and the last
    2db4e5b2a7 alternative ByBranch, constant: 0 → -1 in self.blocks[0]
""",
)
