"""Mistakes in a whole decoder."""

import math

import torch
from torch import nn

from autograder.judge.spec import Mutant
from autograder.reference.assembly.attention import Attention
from autograder.reference.assembly.decoder import Decoder, window_of
from autograder.reference.assembly.masks import decoder_mask, position_ids
from autograder.reference.assembly.pieces import make_ffn, make_norm

from .shared import variant


class Steps(Decoder):
    """The decoder with each step a method, so that one of them can be exchanged."""

    def before(self, past):
        return past[0][0].shape[2] if past else 0

    def all_real(self, ids, seen):
        return ids.new_ones(len(ids), seen + ids.shape[1], dtype=torch.bool)

    def places(self, real, seen, T):
        return position_ids(real)[:, seen:]

    def look(self, real, T, layer):
        return decoder_mask(real, T, window_of(self.c, layer))

    def old(self, past, layer):
        return past[layer] if past else None

    def end(self, x):
        return self.logits(self.final_norm(x))

    def back(self, logits, stored):
        return logits, stored

    def forward(self, ids, real=None, past=None):
        seen, T = self.before(past), ids.shape[1]
        real = self.all_real(ids, seen) if real is None else real
        positions = self.places(real, seen, T)
        x, stored = self.embeddings(ids, positions), []
        for layer, block in enumerate(self.blocks):
            x, pair = block(x, self.look(real, T, layer), positions, self.old(past, layer))
            stored.append(pair)
        return self.back(self.end(x), stored)


def wrong(**methods):
    return variant(Steps, **methods)


def built(also):
    """The decoder, then changed by ``also(self, c)``."""

    def start(self, c, attention=Attention, ffn=make_ffn):
        Decoder.__init__(self, c, attention, ffn)
        also(self, c)

    return wrong(__init__=start)


def made_for(change):
    """The decoder of another configuration."""

    def start(self, c, attention=Attention, ffn=make_ffn):
        Decoder.__init__(self, {**c, **change(c)}, attention, ffn)

    return wrong(__init__=start)


def _final_norm_always(self, c):
    self.final_norm = make_norm(c)


def _no_final_norm(self, c):
    self.final_norm = nn.Identity()


def _head_with_bias(self, c):
    if not c["tied"]:
        self.head = nn.Linear(c["d_model"], c["vocab"])


def _tied_by_assignment(self, c):
    self.head = nn.Linear(c["d_model"], c["vocab"], bias=False)
    if c["tied"]:
        self.head.weight = self.embeddings.tokens.weight


def _one_block(self, c):
    for i in range(1, c["n_layers"]):
        self.blocks[i] = self.blocks[0]


def _norm_each(self, c):
    for block in self.blocks:
        block.register_forward_hook(lambda m, i, o: (self.final_norm(o[0]), o[1]))


def _plain_list(self, c):
    blocks = list(self.blocks)
    del self.blocks
    self.blocks = blocks


def _own_attention(self, c, attention=Attention, ffn=make_ffn):
    Decoder.__init__(self, c, Attention, ffn)


def _own_ffn(self, c, attention=Attention, ffn=make_ffn):
    Decoder.__init__(self, c, attention, make_ffn)


def _only_last_layer(self, past, layer):
    return past[-1] if past else None


def _causal_only(self, real, T, layer):
    return decoder_mask(torch.ones_like(real), T, window_of(self.c, layer))


def _no_own(self, real, T, layer):
    """Padded rows see nothing."""
    S = real.shape[1]
    return decoder_mask(real, T, window_of(self.c, layer)) & real[:, None, None, :].expand(-1, 1, T, S)


def _square(self, real, T, layer):
    """The mask's first T rows."""
    return decoder_mask(real, real.shape[1], window_of(self.c, layer))[:, :, :T]


def _new_keys_visible(self, real, T, layer):
    """Behind a past the mask is left out."""
    S = real.shape[1]
    return decoder_mask(real, T, window_of(self.c, layer)) | (T < S)


def _window_by(rule):
    return lambda self, real, T, layer: decoder_mask(real, T, self.c["window"] if rule(self.c, layer) else None)


def _last_only(self, x):
    return self.logits(self.final_norm(x[:, -1:]))


def _one_layer_short(self, ids, real=None, past=None):
    blocks = self.blocks
    self.blocks = blocks[:-1]
    try:
        return Steps.forward(self, ids, real, past)
    finally:
        self.blocks = blocks


def _remembered(self, ids, real=None, past=None):
    """Whoever gives no past goes on from what the last call stored."""
    logits, self.stored = Steps.forward(self, ids, real, past or getattr(self, "stored", None))
    return logits, self.stored


def _written_into(self, ids, real=None, past=None):
    logits, new = Steps.forward(self, ids, real, past)
    if past is None:
        return logits, new
    past[:] = new
    return logits, past


MISTAKES = [
    Mutant(
        "remembered",
        wrong(forward=_remembered),
        "The module keeps the pairs, so another text goes on from the last one. What came before comes in as past, and "
        "nowhere else.",
    ),
    Mutant(
        "written_into",
        wrong(forward=_written_into),
        "The new pairs are written into the list that came in as past, so nobody can go on from it a second time. Make "
        "a new list.",
    ),
    Mutant(
        "places_by_column",
        wrong(
            places=lambda self, real, seen, T: (
                torch.arange(seen, seen + T).expand(len(real), T).clamp(max=self.c["max_positions"] - 1)
            )
        ),
        "Places count padding. A padded text's first word stands at 0: take them from position_ids(real).",
    ),
    Mutant(
        "places_by_column_unbounded",
        wrong(places=lambda self, real, seen, T: torch.arange(seen, seen + T).expand(len(real), T)),
        "Places count padding, so a padded text stands too far along, or beyond the table. Take them from "
        "position_ids(real).",
    ),
    Mutant(
        "places_from_zero",
        wrong(places=lambda self, real, seen, T: position_ids(real[:, seen:])),
        "With a past the new tokens stand at 0, 1, … again. Count all of real, past included, and keep the last T "
        "places.",
    ),
    Mutant(
        "first_places",
        wrong(places=lambda self, real, seen, T: position_ids(real)[:, :T]),
        "With a past these are the first T places of the text. The new tokens have the last: [:, seen:].",
    ),
    Mutant(
        "first_text_places",
        wrong(places=lambda self, real, seen, T: position_ids(real)[:1, seen:].expand(len(real), -1)),
        "All texts get the places of the first one. Each row of real has its own.",
    ),
    Mutant(
        "wrong_axis",
        wrong(before=lambda self, past: past[0][0].shape[1] if past else 0),
        "With a past the number of key-value heads is taken for the number of tokens. Keys are (B, G, S, D): the "
        "tokens stored are past[0][0].shape[2].",
    ),
    Mutant(
        "padding_seen",
        wrong(look=_causal_only),
        "Padding is seen: real does not reach the mask. Hand it to decoder_mask.",
    ),
    Mutant(
        "padding_blind",
        wrong(look=_no_own),
        "A padded token sees no key at all, so its row is NaN, and the next layer spreads it. Each token sees itself.",
    ),
    Mutant(
        "no_mask",
        wrong(look=lambda self, real, T, layer: None),
        "There is no mask, so tokens see the future and padding. Hand decoder_mask(real, T, …) to each block.",
    ),
    Mutant(
        "first_rows",
        wrong(look=_square),
        "With a past the mask's first T rows are used. The new tokens are the last T: decoder_mask(real, T, …).",
    ),
    Mutant(
        "open_behind_past",
        wrong(look=_new_keys_visible),
        "With a past everything is visible. Several new tokens still hide the future from each other, and padding "
        "stays "
        "hidden.",
    ),
    Mutant(
        "window_ignored",
        wrong(look=_window_by(lambda c, layer: False)),
        'No layer has a window. Layer i has c["window"] where has_window(c, i) says so.',
    ),
    Mutant(
        "window_everywhere",
        wrong(look=_window_by(lambda c, layer: True)),
        "Every layer has the window. Only where has_window(c, i) says so: the configuration has window_every.",
    ),
    Mutant(
        "window_other_layers",
        wrong(look=_window_by(lambda c, layer: c["window"] is not None and layer % c["window_every"])),
        "The window is in the wrong layers. Layers count from 0, and the first has it: ask has_window(c, i).",
    ),
    Mutant(
        "final_norm_always",
        built(_final_norm_always),
        'The weights do not load: with placement "post" there is no last norm, final_norm is nn.Identity().',
    ),
    Mutant(
        "no_final_norm",
        built(_no_final_norm),
        'The weights do not load: final_norm is missing. Where the placement is not "post", make_norm(c) makes it.',
    ),
    Mutant(
        "final_norm_unused",
        wrong(end=lambda self, x: self.logits(x)),
        "final_norm is there, and nobody calls it. The head reads the normalized stream: self.final_norm(x).",
    ),
    Mutant(
        "final_norm_in_loop",
        variant(built(_norm_each), end=lambda self, x: self.logits(x)),
        "final_norm is called behind every block. It comes once, behind the last.",
    ),
    Mutant(
        "always_tied",
        wrong(logits=lambda self, x: self.embeddings.logits(x)),
        'The embedding is always the head. Where c["tied"] is false the head has weights of its own: self.head(x).',
    ),
    Mutant(
        "own_head_always",
        made_for(lambda c: {"tied": False}),
        'The weights do not load: where c["tied"] is true there is no head of its own.',
    ),
    Mutant(
        "no_own_head",
        made_for(lambda c: {"tied": True}),
        'The weights do not load: where c["tied"] is false, head is an nn.Linear to c["vocab"] numbers, without bias.',
    ),
    Mutant(
        "probabilities",
        wrong(end=lambda self, x: Decoder.logits(self, self.final_norm(x)).softmax(-1)),
        "Probabilities come back. Return the logits: training and sampling take their softmax themselves.",
    ),
    Mutant(
        "last_only",
        wrong(end=_last_only),
        "Only the last token's logits come back. Return one row for each new token, (B, T, vocab).",
    ),
    Mutant(
        "one_block",
        built(_one_block),
        "All layers are one block with one set of weights. Make a new Block for each layer.",
    ),
    Mutant(
        "plain_list",
        built(_plain_list),
        "The weights do not load: a plain list hides the blocks from torch. Use nn.ModuleList.",
    ),
    Mutant(
        "one_layer_short",
        wrong(forward=_one_layer_short),
        "The last block never runs. Go through all of self.blocks.",
    ),
    Mutant(
        "own_attention",
        wrong(__init__=_own_attention),
        "The blocks always have Attention. Hand the argument on: Block(c, attention, ffn).",
    ),
    Mutant(
        "own_ffn",
        wrong(__init__=_own_ffn),
        "The blocks always have make_ffn's layer. Hand the argument on: Block(c, attention, ffn).",
    ),
    Mutant(
        "past_unused",
        wrong(
            old=lambda self, past, layer: None,
            look=lambda self, real, T, layer: decoder_mask(real[:, -T:], T, window_of(self.c, layer)),
        ),
        "The past does not reach the blocks. Each gets its own layer's pair: past[i].",
    ),
    Mutant(
        "first_layers_past",
        wrong(old=lambda self, past, layer: past[0] if past else None),
        "Every block gets the first layer's pair. Each has its own: past[i].",
    ),
    Mutant(
        "last_layers_past",
        wrong(old=_only_last_layer),
        "Every block gets the last layer's pair. Each has its own: past[i].",
    ),
    Mutant(
        "only_last_pair",
        wrong(back=lambda self, logits, stored: (logits, stored[-1])),
        "Only the last layer's pair comes back. Return a list with one for each layer.",
    ),
    Mutant(
        "logits_alone",
        wrong(back=lambda self, logits, stored: logits),
        "Only the logits come back. Return the layers' pairs as well: logits, past.",
    ),
    Mutant(
        "scaled_embedding",
        built(lambda self, c: self.embeddings.register_forward_hook(lambda m, i, x: x * math.sqrt(c["d_model"]))),
        "The embeddings are multiplied by √d_model, as in Gemma. Here they enter the first block as they are.",
    ),
    Mutant(
        "embedding_past_end",
        wrong(places=lambda self, real, seen, T: position_ids(real)[:, seen:].clamp(max=self.c["max_positions"] - 1)),
        "Places beyond the table are bent back to its last row, so a text that is too long goes unnoticed. Let your "
        "Embeddings raise the ValueError.",
    ),
    Mutant(
        "cut_off",
        wrong(end=lambda self, x: Decoder.logits(self, self.final_norm(x)).detach()),
        "The numbers are right, but the logits are cut off from the weights (detach, .data, no_grad), so nothing "
        "learns.",
    ),
]
