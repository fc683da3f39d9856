"""A decoder from a configuration: positions, masks, caches, the last norm and the head."""

from collections.abc import Callable

import torch
from anatomy.models import config
from torch import nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Fn, Program, Ref, Source
from autograder.reference.assembly.attention import Attention
from autograder.reference.assembly.block import Block
from autograder.reference.assembly.decoder import Decoder
from autograder.reference.assembly.embeddings import Embeddings
from autograder.reference.assembly.pieces import make_ffn, make_norm
from autograder.reference.masks import left_padded, right_padded

from .shared import SLIM, SLIM_LLAMA, Config, bounds, gpt, llama, made, weights


class OnePass(nn.Module):
    """Correct: masks written out in the loop, the head as a function."""

    def __init__(self, c, attention=Attention, ffn=make_ffn):
        super().__init__()
        self.n, self.w, self.every = c["n_layers"], c["window"], c["window_every"]
        self.embeddings = Embeddings(c)
        self.blocks = nn.ModuleList([Block(each, attention=attention, ffn=ffn) for each in [c] * self.n])
        self.final_norm = None if c["placement"] == "post" else make_norm(c)
        self.head = None if c["tied"] else nn.Linear(c["d_model"], c["vocab"], bias=False)

    def forward(self, ids, real=None, past=None):
        B, T = ids.shape
        S = T if past is None else T + {v.shape[-2] for _, v in past}.pop()  # all layers hold as many
        real = torch.ones((B, S), dtype=torch.bool) if real is None else real
        place = torch.relu(torch.cumsum(real, 1) - 1)[:, -T:]
        columns = torch.arange(S)
        gap = columns[-T:, None] - columns
        x = self.embeddings(ids, place)
        pairs = []
        for i in range(self.n):
            w = self.w if self.w is not None and i % self.every == 0 else S
            mask = (gap >= 0) & (gap < w) & (real[:, None, None] | (gap == 0))
            x, pair = self.blocks[i](x, mask, place, None if past is None else past[i])
            pairs += [pair]
        x = x if self.final_norm is None else self.final_norm(x)
        return x @ (self.embeddings.tokens if self.head is None else self.head).weight.T, pairs


class TokenByToken(Decoder):
    """Correct, and slow: one column after the other, each with the past of those before."""

    def forward(self, ids, real=None, past=None):
        out = []
        for t, token in enumerate(ids.T):
            so_far = None if real is None else real[:, : real.shape[1] - ids.shape[1] + t + 1]
            logits, past = super().forward(token[:, None], so_far, past)
            out.append(logits)
        return torch.cat(out, dim=1), past


def _new(g: Source, c: Config) -> Program:
    return made(g, "Decoder", Decoder, c)


def _ids(g: Source, c: Config, B: int, T: int) -> torch.Tensor:
    return g.integers(0, c["vocab"], B, T)


def _whole(c: Config, B: int = 2, T: int = 5) -> Callable[[Source], Program]:
    return lambda g: _new(g, c).call(_ids(g, c, B, T))


def _padded(c: Config, pad: Callable[..., torch.Tensor]) -> Callable[[Source], Program]:
    """Three texts, each with some padding."""

    def build(g):
        return _new(g, c).call(_ids(g, c, 3, 6), real=pad(g.integers(1, 5, 3), 6))

    return build


def _chunks(c: Config, plan: list[int], is_padded: bool = False) -> Callable[[Source], Program]:
    """A text in pieces, each call with what the one before returned."""

    def build(g):
        program, T = _new(g, c), sum(plan)
        real = left_padded(torch.tensor([T - 3, T - 1]), T)
        for i, (a, b) in enumerate(bounds(plan)):
            given = {"real": real[:, :b]} if is_padded else {}
            given |= {"past": Ref(i, 1)} if i else {}
            program.call(_ids(g, c, 2, b - a), **given)
        return program

    return build


def _texts(g: Source) -> Program:
    """Two ways on from one past, and a text of its own: nothing that a call leaves behind may count for another."""
    c = gpt(**SLIM)
    program = _new(g, c).call(_ids(g, c, 2, 1)).call(_ids(g, c, 2, 3), past=Ref(1, 1))
    return program.call(_ids(g, c, 2, 2), past=Ref(1, 1)).call(_ids(g, c, 2, 1))


def _toys(g: Source) -> Program:
    c = llama(n_layers=3, norm="layer", eps=0.1)
    names = [f"blocks.{i}.{part}_norm" for i in range(3) for part in ("attention", "ffn")] + ["final_norm"]
    state = {f"{n}.{k}": g.uniform(12, low=0.5, high=1.5) for n in names for k in ("weight", "bias")}
    state["embeddings.tokens.weight"] = g.randn(13, 12)
    new = Program().new("Decoder", c, Fn("toy_attention"), Fn("toy_ffn"), state=state)
    return new.call(_ids(g, c, 2, 3)).call(_ids(g, c, 2, 2), past=Ref(1, 1))


def _toy_ffn(g: Source) -> Program:
    """Attention by default, the other sublayer from outside."""
    c = llama(n_layers=1)
    state = {n: t for n, t in _weights_of(g, c).items() if ".ffn." not in n}
    return Program().new("Decoder", c, ffn=Fn("toy_ffn"), state=state).call(_ids(g, c, 2, 4))


def _toy_attention(g: Source) -> Program:
    c = llama(n_layers=1)
    state = {n: t for n, t in _weights_of(g, c).items() if ".attention." not in n}
    return Program().new("Decoder", c, attention=Fn("toy_attention"), state=state).call(_ids(g, c, 2, 4))


def _weights_of(g: Source, c: Config) -> dict[str, torch.Tensor]:
    return weights(g, Decoder(c))


def _by_hand(g: Source) -> Program:
    """Attention and feed-forward layers that add nothing: the logits are products of rows of one table."""
    c = config(vocab=3, d_model=2, n_layers=1, n_heads=1, d_ff=2, placement="post", norm="layer", eps=0.0)
    state = {n: torch.zeros_like(t) for n, t in Decoder(c).state_dict().items()}
    state |= {n: torch.ones(2) for n in state if n.endswith("norm.weight")}
    state["embeddings.tokens.weight"] = torch.tensor([[0.0, 1.0], [1.0, 0.0], [3.0, -3.0]])
    return Program().new("Decoder", c, state=state).call(torch.tensor([[0, 1, 2]]))


def _gradients(c: Config) -> Callable[[Source], Program]:
    def build(g):
        B, T = 2, 4
        new, ids = _new(g, c), _ids(g, c, B, T)
        ids[1, 2] = 0
        return new.call(ids, params=True, cotangent=g.randn(B, T, c["vocab"]))

    return build


def _too_long(g: Source) -> Program:
    """Nine positions, ten tokens."""
    c = gpt(n_layers=1)
    return _new(g, c).call(_ids(g, c, 2, 10))


def _long_with_padding(g: Source) -> Program:
    """Eleven columns, at most nine of them real."""
    c = gpt(n_layers=1)
    return _new(g, c).call(_ids(g, c, 3, 11), left_padded(g.integers(4, 10, 3), 11))


# Where every layer's keys and values come back several times.
THIN, THIN_LLAMA = SLIM | {"n_layers": 2}, SLIM_LLAMA | {"n_layers": 2}
WINDOWS = llama(**SLIM_LLAMA | {"n_layers": 3}, window=2, window_every=2, max_positions=40)

MISTAKES = changes(
    Decoder,
    """
remembered: seen = past[0][0] → past = past or getattr(self, "pairs", None); seen = past[0][0]
; return self.logits → self.pairs = stored; return self.logits
    The module keeps the pairs, so another text goes on from the last one. What came before comes in as past, and
    nowhere else.
written_into: return self.logits → past = past or []; past[:] = stored; return self.logits ; (x)), stored → (x)), past
    The new pairs are written into the list that came in as past, so nobody can go on from it a second time. Make a
    new list.
places_by_column: position_ids(real) → torch.arange(seen + T).clamp(max=self.c["max_positions"] - 1).expand(real.shape)
    The positions count padding. A padded text's first real token stands at 0: take them from position_ids(real).
places_by_column_unbounded: position_ids(real) → torch.arange(seen + T).expand(real.shape)
    The positions count padding, so a padded text stands too far along, or beyond the table. Take them from
    position_ids(real).
places_from_zero: position_ids(real)[:, seen:] → position_ids(real[:, seen:])
    With a past the new tokens stand at 0, 1, … again. Count all of real, past included, and keep the last T
    positions.
first_places: [:, seen:] → [:, :T]
    With a past these are the first T positions of the text. The new tokens have the last: [:, seen:].
first_text_places: [:, seen:] → [:1, seen:].expand(len(real), -1)
    All texts get the positions of the first one. Each row of real has its own.
wrong_axis: past[0][0].shape[2] → past[0][0].shape[1]
    With a past the number of key-value heads is taken for the number of tokens. Keys are (B, G, S, D): the tokens
    stored are past[0][0].shape[2].
padding_seen: decoder_mask(real, → decoder_mask(torch.ones_like(real),
    Padding is seen: real does not reach the mask. Hand it to decoder_mask.
padding_blind: window_of(self.c, layer)) → window_of(self.c, layer)) & real[:, None, None, :]
    A padded token sees no key at all, so its row is NaN, and the next layer spreads it. Each token sees itself.
no_mask: decoder_mask(real, T, window_of(self.c, layer)) → None
    There is no mask, so tokens see the future and padding. Hand decoder_mask(real, T, …) to each block.
first_rows: decoder_mask(real, T, → decoder_mask(real, seen + T, ; layer)) → layer))[:, :, :T]
    With a past the mask's first T rows are used. The new tokens are the last T: decoder_mask(real, T, …).
open_behind_past: layer)) → layer)) | (seen > 0)
    With a past everything is visible. Several new tokens still hide the future from each other, and padding stays
    hidden.
window_ignored: window_of(self.c, layer) → None
    No layer has a window. Layer i has c["window"] where has_window(c, i) says so.
window_everywhere: window_of(self.c, layer) → self.c["window"]
    Every layer has the window. Only where has_window(c, i) says so: the configuration has window_every.
window_other_layers: window_of(self.c, layer) → self.c["window"] if layer % self.c["window_every"] else None
    The window is in the wrong layers. Layers count from 0, and the first has it: ask has_window(c, i).
final_norm_always: nn.Identity() if c["placement"] == "post" else make_norm(c) → make_norm(c)
    The weights do not load: with placement "post" there is no last norm, final_norm is nn.Identity().
no_final_norm: nn.Identity() if c["placement"] == "post" else make_norm(c) → nn.Identity()
    The weights do not load: final_norm is missing. Where the placement is not "post", make_norm(c) makes it.
final_norm_unused: self.logits(self.final_norm(x)) → self.logits(x)
    final_norm is there, and nobody calls it. The head reads the normalized stream: self.final_norm(x).
final_norm_in_loop: self.logits(self.final_norm(x)) → self.logits(x)
; stored.append(pair) → x = self.final_norm(x); stored.append(pair)
    final_norm is called behind every block. It comes once, behind the last.
always_tied: if self.c["tied"] else self.head(x) →
    The embedding is always the head. Where c["tied"] is false the head has weights of its own: self.head(x).
own_head_always: if not c["tied"]: → if True:
    The weights do not load: where c["tied"] is true there is no head of its own.
no_own_head: if not c["tied"]: → if False:
    The weights do not load: where c["tied"] is false, head is an nn.Linear to c["vocab"] numbers, without bias.
probabilities: self.logits(self.final_norm(x)) → self.logits(self.final_norm(x)).softmax(-1)
    Probabilities come back. Return the logits: training and sampling take their softmax themselves.
last_only: self.final_norm(x) → self.final_norm(x[:, -1:])
    Only the last token's logits come back. Return one row for each new token, (B, T, vocab).
one_block: Block(c, attention, ffn) for _ in range(c["n_layers"]) → [Block(c, attention, ffn)] * c["n_layers"]
    All layers are one block with one set of weights. Make a new Block for each layer.
plain_list: nn.ModuleList( → list(
    The weights do not load: a plain list hides the blocks from torch. Use nn.ModuleList.
one_layer_short: enumerate(self.blocks) → enumerate(self.blocks[:-1])
    The last block never runs. Go through all of self.blocks.
own_attention: Block(c, attention, ffn) → Block(c, Attention, ffn)
    The blocks always have Attention. Hand the argument on: Block(c, attention, ffn).
own_ffn: Block(c, attention, ffn) → Block(c, attention, make_ffn)
    The blocks always have make_ffn's layer. Hand the argument on: Block(c, attention, ffn).
past_unused: past[layer] if past else None → None ; decoder_mask(real, → decoder_mask(real[:, -T:],
    The past does not reach the blocks. Each gets its own layer's pair: past[i].
first_layers_past: past[layer] → past[0]
    Every block gets the first layer's pair. Each has its own: past[i].
last_layers_past: past[layer] → past[-1]
    Every block gets the last layer's pair. Each has its own: past[i].
only_last_pair: (x)), stored → (x)), stored[-1]
    Only the last layer's pair comes back. Return a list with one for each layer.
logits_alone: (x)), stored → (x))
    Only the logits come back. Return the layers' pairs as well: logits, past.
scaled_embedding: self.embeddings(ids, positions) → self.embeddings(ids, positions) * self.c["d_model"] ** 0.5
    The embeddings are multiplied by √d_model, as in Gemma. Here they enter the first block as they are.
embedding_past_end: [:, seen:] → [:, seen:].clamp(max=self.c["max_positions"] - 1)
    Positions beyond the table are bent back to its last row, so a text that is too long goes unnoticed. Let your
    Embeddings raise the ValueError.
cut_off: self.logits(self.final_norm(x)) → self.logits(self.final_norm(x)).detach()
    The numbers are right, but the logits are cut off from the weights (detach, .data, no_grad), so nothing learns.
""",
)

EXERCISE = Exercise(
    id="assembly.decoder",
    title="A decoder",
    points=3,
    difficulty=4,
    minutes=14,
    reference=Decoder,
    alternatives=[OnePass, TokenByToken],
    cases=[
        Case("by hand", "layers that add nothing: vectors become (−1, 1) or (1, −1), logits are products", _by_hand),
        Case("llama", "two blocks with RMSNorm, RoPE and a gate; 4 query heads on 2; tied", _whole(llama()), weight=2),
        Case("gpt", "learned positions, LayerNorm, biases, no gate; tied", _whole(gpt())),
        Case(
            "own head",
            "the head has weights of its own; one text of one token",
            _whole(llama(tied=False, n_layers=1), 1, 1),
        ),
        Case("post", "Post-LN: no norm after the last block", _whole(gpt(placement="post", n_layers=1, eps=0.1))),
        Case("olmo", "norms inside, then a last norm", _whole(llama(placement="inside", tied=False, n_layers=1), 1, 4)),
        Case("gemma", "four norms per block", _whole(llama(placement="both", n_layers=1))),
        Case("left", "three texts padded on the left, RoPE", _padded(llama(**THIN_LLAMA), left_padded)),
        Case("right", "three texts padded on the right, learned positions", _padded(gpt(**SLIM), right_padded)),
        Case(
            "left places",
            "three texts padded on the left, learned positions",
            _padded(gpt(**THIN), left_padded),
            weight=2,
        ),
        Case(
            "chunks",
            "2, 3 and 1 tokens, each with the past from before",
            _chunks(llama(**THIN_LLAMA), [2, 3, 1]),
            weight=2,
        ),
        Case(
            "two ways on",
            "a token, then three with its past, then two others with the same past, and last a text of its own",
            _texts,
        ),
        Case(
            "padded chunks",
            "3 and 2 tokens in float64; the first three of one text are padding",
            lambda g: _chunks(gpt(**THIN), [3, 2], True)(g).double(),
            weight=2,
        ),
        Case("windows", "three layers, the first and the third see two keys", _whole(WINDOWS, 2, 6)),
        Case(
            "windows in chunks", "two layers, 3 and 3 tokens, padded", _chunks({**WINDOWS, "n_layers": 2}, [3, 3], True)
        ),
        Case("window in every layer", "both layers see three keys", _whole(llama(window=3), 1, 6)),
        Case("toys", "sublayers made by the two functions that are handed in, with a past", _toys),
        Case("toy ffn", "only the feed-forward layer is handed in", _toy_ffn, weight=0.5),
        Case("toy attention", "only attention is handed in", _toy_attention, weight=0.5),
        Case(
            "gradients", "gradients reach every weight of a LLaMA, through a tied head", _gradients(llama(**SLIM_LLAMA))
        ),
        Case("more gradients", "and of a GPT whose head is its own", _gradients(gpt(**SLIM, tied=False)), weight=0.5),
        Case("wide batch", "eleven columns, at most nine of them real: they fit nine positions", _long_with_padding),
        Case("too long", "ten tokens for nine learned positions raise ValueError", _too_long, weight=0.5),
    ],
    mutants=MISTAKES,
    equivalent="""
the blocks are made alike and get their weights by name
    ceabf4b56d solution, reversed: range(c['n_layers']) reversed
a layer has as many values as keys
    eb3886fe5f solution, constant: 0 → 1 in past[0][0]
    b24276a686 solution, constant: 0 → -1 in past[0][0]
all layers hold the same number of tokens
    74060b4b46 solution, constant: 0 → -1 in past[0]
""",
)
