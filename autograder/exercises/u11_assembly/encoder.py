"""An encoder from a configuration."""

from typing import Any

import torch
from anatomy.program import toys
from torch import nn

from autograder.judge.spec import Case, Exercise, Fn, Mutant, Program, Source
from autograder.reference.assembly.attention import Attention
from autograder.reference.assembly.block import Block
from autograder.reference.assembly.embeddings import Embeddings
from autograder.reference.assembly.encoder import Encoder
from autograder.reference.assembly.pieces import make_ffn, make_norm

from .shared import SLIM, Config, gpt, llama, made, variant, weights

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


def _in_order(n, blocks):
    return [i % blocks for i in range(n)]


def encoding(
    mask=lambda real, T: None if real is None else real[:, None, None, :],
    positions=lambda ids, real: torch.arange(ids.shape[1]).expand(ids.shape),
    segments=lambda segments, ids: segments,
    order=_in_order,
    norm=lambda self, x: self.final_norm(x),
    result=lambda x, pair, real: x,
    given=lambda positions: positions,
):
    """An encoder whose forward does one thing in another way."""

    def forward(self, ids, segments_=None, real=None):
        places = positions(ids, real)
        x, pair = self.embeddings(ids, places, segments(segments_, ids)), None
        for i in order(self.c["n_layers"], len(self.blocks)):
            x, pair = self.blocks[i](x, mask(real, ids.shape[1]), given(places))
        return result(norm(self, x), pair, real)

    return variant(Encoder, forward=lambda self, ids, segments=None, real=None: forward(self, ids, segments, real))


def built(build):
    """An encoder whose ``__init__`` goes on with ``build(self, c, attention, ffn)``."""

    def init(self, c, attention=Attention, ffn=make_ffn):
        Encoder.__init__(self, c, attention, ffn)
        build(self, c, attention, ffn)

    return variant(Encoder, __init__=init)


def always_normed(self, c, attention, ffn):
    self.final_norm = make_norm(c)


def never_normed(self, c, attention, ffn):
    self.final_norm = nn.Identity()


def all_stored(self, c, attention, ffn):
    self.blocks = nn.ModuleList(Block(c, attention, ffn) for _ in range(c["n_layers"]))


def one_stored(self, c, attention, ffn):
    self.blocks = self.blocks[:1]


def own_attention(self, c, attention, ffn):
    for block in self.blocks:
        block.attention = Attention(c)


def own_ffn(self, c, attention, ffn):
    for block in self.blocks:
        block.ffn = make_ffn(c)


def plain_list(self, c, attention, ffn):
    kept = list(self.blocks)
    del self.blocks
    self.blocks = kept


def causal_and_real(real, T):
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    return causal if real is None else causal & real[:, None, None, :] | torch.eye(T, dtype=torch.bool)


def _not_chained(self, ids, segments=None, real=None):
    places = torch.arange(ids.shape[1]).expand(ids.shape)
    first = self.embeddings(ids, places, segments)
    for layer in range(self.c["n_layers"]):
        mask = None if real is None else real[:, None, None, :]
        x, _ = self.blocks[layer % len(self.blocks)](first, mask, places)
    return self.final_norm(x)


def _normed_each(self, ids, segments=None, real=None):
    places = torch.arange(ids.shape[1]).expand(ids.shape)
    x = self.embeddings(ids, places, segments)
    for layer in range(self.c["n_layers"]):
        mask = None if real is None else real[:, None, None, :]
        x = self.final_norm(self.blocks[layer % len(self.blocks)](x, mask, places)[0])
    return x


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


EXERCISE = Exercise(
    id="assembly.encoder",
    title="An encoder",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    signature="Encoder(c, attention=Attention, ffn=make_ffn)",
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
    mutants=[
        Mutant(
            "causal",
            encoding(mask=causal_and_real),
            "Tokens see nothing of what follows. An encoder is no decoder: every token sees every real one, on both "
            "sides.",
        ),
        Mutant(
            "padding_seen",
            encoding(mask=lambda real, T: None),
            "real is not used: tokens look at padding. Give the blocks a mask that is False at keys that are not real.",
        ),
        Mutant(
            "queries_masked",
            encoding(mask=lambda real, T: None if real is None else real[:, None, :, None]),
            "The mask hides rows instead of columns: padded queries see nothing, and real ones see padding. Keys are "
            "the last axis: real[:, None, None, :].",
        ),
        Mutant(
            "polarity",
            encoding(mask=lambda real, T: None if real is None else ~real[:, None, None, :]),
            "The mask is turned around: only padding is seen. True means that a key may be looked at.",
        ),
        Mutant(
            "both_masked",
            encoding(mask=lambda real, T: None if real is None else real[:, None, None, :] & real[:, None, :, None]),
            "Padded queries see nothing, and a softmax over nothing is NaN. Mask the keys alone.",
        ),
        Mutant(
            "segments_ignored",
            encoding(segments=lambda segments, ids: None),
            "segments do not reach the embeddings: all tokens count as text 0. Hand them on.",
        ),
        Mutant(
            "second_segment",
            encoding(segments=lambda segments, ids: torch.ones_like(ids) if segments is None else segments),
            "Without segments all tokens get segment 1. None stands for segment 0: hand it on as it is.",
        ),
        Mutant(
            "positions_of_real",
            encoding(
                positions=lambda ids, real: (
                    torch.arange(ids.shape[1]).expand(ids.shape)
                    if real is None
                    else (real.long().cumsum(-1) - 1).clamp(min=0)
                )
            ),
            "Positions count real tokens only, as in your decoder. BERT counts places, padding too: torch.arange(T).",
        ),
        Mutant(
            "positions_from_one",
            encoding(positions=lambda ids, real: torch.arange(1, ids.shape[1] + 1).expand(ids.shape)),
            "Positions start at 1. They count from 0.",
        ),
        Mutant(
            "positions_withheld",
            encoding(given=lambda positions: None),
            "The blocks get no positions. Learned ones are in the embeddings already, but RoPE turns inside of "
            "attention.",
        ),
        Mutant(
            "always_normed",
            built(always_normed),
            "There is a final_norm in a Post-LN model as well. Its last step is a norm already: nn.Identity().",
        ),
        Mutant(
            "never_normed",
            built(never_normed),
            "There is no final_norm with weights. Where the placement is not post, nothing else brings the stream to "
            "size: make_norm(c).",
        ),
        Mutant(
            "norm_unused",
            encoding(norm=lambda self, x: x),
            "final_norm is made and never used. Return self.final_norm(x).",
        ),
        Mutant(
            "norm_in_loop",
            variant(Encoder, forward=_normed_each),
            "final_norm stands inside of the loop. It comes once, after the last block.",
        ),
        Mutant(
            "all_stored",
            built(all_stored),
            "With shared_layers there are n_layers blocks. ALBERT stores one, and runs it n_layers times.",
        ),
        Mutant(
            "one_stored",
            built(one_stored),
            "There is one block, whatever shared_layers says. Without it each layer has a block of its own.",
        ),
        Mutant(
            "runs_once",
            encoding(order=lambda n, blocks: range(blocks)),
            "The shared block runs once. It runs n_layers times, each time on what it gave before.",
        ),
        Mutant(
            "last_skipped",
            encoding(order=lambda n, blocks: [i % blocks for i in range(n - 1)]),
            "One round is missing. All n_layers layers run.",
        ),
        Mutant(
            "once_too_often",
            encoding(order=lambda n, blocks: [i % blocks for i in range(n + 1)]),
            "There is one round too many. n_layers layers run.",
        ),
        Mutant(
            "backwards",
            encoding(order=lambda n, blocks: [i % blocks for i in range(n)][::-1]),
            "The blocks run from the last to the first. Run them in the order of their numbers.",
        ),
        Mutant(
            "first_block_always",
            encoding(order=lambda n, blocks: [0] * n),
            "Every layer runs block 0. Without shared_layers each has its own: self.blocks[layer].",
        ),
        Mutant(
            "not_chained",
            variant(Encoder, forward=_not_chained),
            "Every block gets the embeddings. Feed it with what the block before gave: x, _ = block(x, …).",
        ),
        Mutant(
            "own_attention",
            built(own_attention),
            "The argument attention is not used. Hand it on to Block: families bring attention of their own.",
        ),
        Mutant(
            "own_ffn",
            built(own_ffn),
            "The argument ffn is not used. Hand it on to Block: families bring feed-forward layers of their own.",
        ),
        Mutant(
            "plain_list",
            built(plain_list),
            "The blocks lie in a plain Python list, where torch does not find their weights. Use nn.ModuleList.",
        ),
        Mutant(
            "first_token",
            encoding(result=lambda x, pair, real: x[:, 0]),
            "Only the first token's vector is returned. Return all of them, (B, T, d_model); who needs the first takes "
            "it.",
        ),
        Mutant(
            "mean",
            encoding(result=lambda x, pair, real: x.mean(1)),
            "The mean over the tokens is returned. Return one vector for each token, (B, T, d_model).",
        ),
        Mutant(
            "with_pair",
            encoding(result=lambda x, pair, real: (x, pair)),
            "Keys and values are returned beside the stream. An encoder reads once and needs no cache: return x alone.",
        ),
        Mutant(
            "padding_cleared",
            encoding(result=lambda x, pair, real: x if real is None else x * real[..., None]),
            "The vectors of padding are set to 0. Leave them: the mask keeps the others from looking there.",
        ),
    ],
)
