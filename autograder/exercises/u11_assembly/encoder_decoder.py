"""T5: one stack reads, the other writes."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Ref, Source
from autograder.reference.assembly.encoder_decoder import EncoderDecoder, t5_bias
from autograder.reference.positions.t5_buckets import t5_relative_bucket

from ._t5 import SLIM_T5, hidden, t5, t5_later
from .shared import Config, made


class ByRows(EncoderDecoder):
    """Right: the new tokens' rows of the bias alone, from their own positions; masks as sums."""

    def bias(self, table, query, key, bidirectional):
        distance = key[None] - query[:, None]
        return table.weight[t5_relative_bucket(distance, bidirectional)].permute(2, 0, 1)

    def encode(self, ids, real=None):
        places = torch.arange(ids.shape[1])
        mask = self.bias(self.encoder_bias, places, places, True)
        if real is not None:
            mask = mask + hidden(real)
        x = self.embeddings.tokens(ids)
        for block in self.encoder:
            x = block(x, mask)[0]
        return self.encoder_norm(x)

    def decode(self, ids, memory, real=None, past=None):
        seen = {k.shape[2] for (k, _), _ in past}.pop() if past else 0  # all layers hold as many
        key = torch.arange(seen + ids.shape[1])
        query = key[seen:]
        mask = self.bias(self.decoder_bias, query, key, False)
        mask = mask.masked_fill(key[None] > query[:, None], -math.inf)
        x, caches = self.embeddings.tokens(ids), []
        for i, block in enumerate(self.decoder):
            old = None if past is None else past[i]
            x, new = block(x, memory, mask, None if real is None else hidden(real), old)
            caches.append(new)
        x = self.decoder_norm(x)
        if self.c["tied"]:
            return nn.functional.linear(x * self.c["d_model"] ** -0.5, self.embeddings.tokens.weight), caches
        return self.head(x), caches


class ByParts(EncoderDecoder):
    """Right: zeros where there is no mask, one loop over both lists, a head chosen beforehand."""

    def encode(self, ids, real=None):
        real = torch.ones_like(ids, dtype=torch.bool) if real is None else real
        S = ids.shape[1]
        mask = t5_bias(self.encoder_bias.weight, S, S) + hidden(real)
        x = self.embeddings(ids, None)
        for i in range(len(self.encoder)):
            x, _ = self.encoder[i](x, mask)
        return self.encoder_norm(x)

    def decode(self, ids, memory, real=None, past=None):
        old = [None] * self.c["n_layers"] if past is None else past
        S = ids.shape[1] + ({v.shape[2] for (_, v), _ in past}.pop() if past else 0)
        whole = t5_bias(self.decoder_bias.weight, S, S, False) + torch.full((S, S), -math.inf).triu(1)
        real = torch.ones(memory.shape[:2], dtype=torch.bool) if real is None else real
        x, new = self.embeddings(ids, None), []
        for i in range(len(self.decoder)):
            x, caches = self.decoder[i](x, memory, whole[:, :, -ids.shape[1] :], hidden(real), old[i])
            new += [caches]
        x = self.decoder_norm(x)
        logits = (x @ self.embeddings.tokens.weight.T) / math.sqrt(x.shape[-1]) if self.c["tied"] else self.head(x)
        return logits, new


def _tokens(g: Source, B: int, T: int) -> Tensor:
    return g.integers(0, 13, B, T)


REAL = torch.tensor([[True, True, True, True, True], [True, True, True, False, False]])


def _plain(g: Source, c: Config, B: int = 2, S: int = 4, T: int = 3) -> Program:
    return made(g, "EncoderDecoder", EncoderDecoder, c).call(_tokens(g, B, S), _tokens(g, B, T))


def _encoded(g: Source) -> Program:
    program = made(g, "EncoderDecoder", EncoderDecoder, t5()).call(_tokens(g, 2, 5), method="encode")
    return program.call(_tokens(g, 2, 5), REAL, method="encode").double()


def _padded(g: Source) -> Program:
    program = made(g, "EncoderDecoder", EncoderDecoder, t5_later(n_layers=g.integer(1, 4)))
    return program.call(_tokens(g, 2, 5), _tokens(g, 2, 4), REAL)


def _decoded(g: Source) -> Program:
    """A memory that no encoder made, and that padding hides in part."""
    program = made(g, "EncoderDecoder", EncoderDecoder, t5_later(n_layers=1))
    return program.call(_tokens(g, 2, 4), g.randn(2, 5, 12), REAL, method="decode")


def _in_pieces(g: Source) -> Program:
    """Three tokens, then two with what the first call returned."""
    program = made(g, "EncoderDecoder", EncoderDecoder, t5(**SLIM_T5 | {"n_layers": 2}))
    memory = g.randn(2, 5, 6)
    for number, T in enumerate((3, 2)):
        past: dict[str, Any] = {"past": Ref(number, 1)} if number else {}
        program.call(g.integers(0, 7, 2, T), memory, REAL, method="decode", **past)
    return program.double()


def _long(g: Source) -> Program:
    """Twenty tokens on each side: distances that share a bucket, and a last token written alone."""
    program = made(g, "EncoderDecoder", EncoderDecoder, t5_later(**SLIM_T5 | {"vocab": 13}))
    program.call(_tokens(g, 1, 20), method="encode")
    program.call(_tokens(g, 1, 20), Ref(1), method="decode")
    return program.call(_tokens(g, 1, 1), Ref(1), None, Ref(2, 1), method="decode")


def _gradients(g: Source) -> Program:
    program = made(g, "EncoderDecoder", EncoderDecoder, t5(**SLIM_T5))
    return program.call(g.integers(0, 7, 2, 5), g.integers(0, 7, 2, 3), REAL, params=True)


def _gradients_of_memory(g: Source) -> Program:
    program = made(g, "EncoderDecoder", EncoderDecoder, t5_later(**SLIM_T5))
    return program.call(g.integers(0, 7, 1, 2), g.randn(1, 4, 6), method="decode", grad=[1])


MISTAKES = changes(
    EncoderDecoder,
    """
first_source: self.encode(source, real) → self.__dict__.setdefault("memory", self.encode(source, real))
    The module keeps the first source's memory and reads no other. Encode the source at each call of forward.
encoder_one_sided: self.encoder_bias.weight, S, S → self.encoder_bias.weight, S, S, bidirectional=False
    The encoder's bias has one-sided buckets. The encoder looks both ways: bidirectional=True.
decoder_two_sided: , bidirectional=False →
    The decoder's bias has buckets for both sides, of which the future's are never used. All 32 are for the past:
    bidirectional=False.
no_encoder_bias: t5_bias(self.encoder_bias.weight, S, S) → torch.zeros(1, 1, S, S)
    The encoder has no bias, and so no idea of order. Add t5_bias of encoder_bias.weight.
no_decoder_bias: t5_bias(self.decoder_bias.weight, S, S, bidirectional=False)[:, :, seen:] → torch.zeros(1, 1, T, S)
    The decoder has no bias. Add t5_bias of decoder_bias.weight.
one_table: self.decoder_bias.weight → self.encoder_bias.weight
    The decoder uses the encoder's table of biases. Each stack has its own: decoder_bias.
first_layer_of_encoder: x, _ = block(x, mask) → x, _ = block(x, mask); mask = None
    Only the encoder's first layer gets the bias and the mask. Its table is shared: every layer adds the same.
first_layer_of_decoder: stored.append(pair) → stored.append(pair); mask = blocked(mask.new_zeros(()), causal)
    Only the decoder's first layer gets the bias. Its table is shared: every layer adds the same.
sees_future: seen:], causal → seen:], None
    The decoder sees tokens that are not written yet. Fill the bias with −∞ above the diagonal.
encoder_causal: x = self.embeddings → mask = blocked(mask, torch.ones(S, S).tril() > 0); x = self.embeddings
    The encoder sees nothing of what follows. It reads the whole source, in both directions.
padding_encoded: None if real is None else real[:, None, None, :] → None
    The encoder looks at padding. Fill its bias with −∞ where real is False.
padding_read: None if real is None else blocked(memory.new_zeros(()), real[:, None, None, :]) → None
    Cross-attention looks at the source's padding. decode gets real for that: fill with −∞ where it is False.
padding_alone: blocked(memory.new_zeros(()), real → blocked(memory.new_zeros(()), ~real
    Cross-attention looks at the source's padding and at nothing else. True means real.
real_withheld: self.encode(source, real), real) → self.encode(source, real))
    forward does not hand real on to decode, so cross-attention looks at padding.
queries_masked: else real[:, None, None, :] → else real[:, None, None, :] | ~real[:, None, :, None]
    Padded tokens of the source look at padding. Only keys are masked, the same for every query.
starts_anew: S, S, bidirectional=False)[:, :, seen:] → T, S, bidirectional=False)
    With a past, the bias counts the new tokens from 0. The first of them stands behind all stored ones: take the
    last rows of the whole bias.
first_cache: past[layer] → past[0]
    All layers get the first layer's caches. Each has its own: past[i].
length_of_memory: past[0][0][0] → past[0][1][0]
    The number of stored tokens is read from the memory's keys, or is wrong. It is the length of the first cache of
    a layer: past[0][0][0].shape[2].
unscaled: x / math.sqrt(x.shape[-1]) → x
    The tied head is not scaled. Divide by √d_model before it.
always_scaled: self.head(x) → self.head(x / math.sqrt(x.shape[-1]))
    A head of its own is scaled too. It learned its own scale: only the tied one is divided.
scaled_by_head: math.sqrt(x.shape[-1]) → math.sqrt(self.c["head_dim"])
    The tied head is divided by √D, the root of the head dim. Divide by the root of d_model.
divided_by_width: math.sqrt(x.shape[-1]) → x.shape[-1]
    The tied head is divided by d_model. Divide by its square root.
memory_bare: return self.encoder_norm(x) → return x
    encode returns the bare stream. encoder_norm comes last.
memory_normed_again: block(x, memory, → block(x, self.encoder_norm(memory),
    decode norms the memory once more. encode has done it.
decoder_bare: self.decoder_norm(x) → x
    The head reads the bare stream. decoder_norm comes before it.
wrong_norm: self.decoder_norm(x) → self.encoder_norm(x)
    The decoder ends with encoder_norm. Each stack has a last norm of its own.
bare_source: self.encode(source, real) → self.embeddings(source, None)
    forward hands the source's embeddings to the decoder. The encoder has to read them first: self.encode.
turned_around: self.decode(target, self.encode(source, real), real) → self.decode(source, self.encode(target))
    forward exchanges source and target. The source is encoded, the target decoded.
logits_alone: self.decoder_norm(x)), stored → self.decoder_norm(x))
    decode returns the logits alone. The caches are the next call's past: return both.
pair_from_forward: real)[0] → real)
    forward returns the caches as well. It is for training, and returns the logits alone: [0].
""",
)

EXERCISE = Exercise(
    id="assembly.encoder_decoder",
    title="T5",
    points=5,
    difficulty=5,
    minutes=25,
    extension=True,
    signature="EncoderDecoder(c)",
    reference=EncoderDecoder,
    alternatives=[ByRows, ByParts],
    cases=[
        Case(
            "version 1.0",
            "four tokens read, three written, then another pair of texts; the head is tied and scaled",
            lambda g: _plain(g, t5()).call(_tokens(g, 2, 4), _tokens(g, 2, 2)),
            weight=2,
        ),
        Case(
            "version 1.1",
            "a gate in the feed-forward layers, and a head of its own, in float64",
            lambda g: _plain(g, t5_later(), B=1, S=3, T=5).double(),
            weight=2,
        ),
        Case("encode", "the memory of two texts in float64, without padding and with two padded tokens", _encoded),
        Case("padding", "the source's padding is hidden from the encoder and from cross-attention", _padded, weight=2),
        Case("decode", "logits on a memory that is given, two of whose vectors are padding", _decoded),
        Case("in pieces", "three tokens, then two, which go on from the caches, in float64", _in_pieces, weight=2),
        Case("long", "twenty tokens on each side, then one more: wide buckets, counted from the right position", _long),
        Case("gradients", "gradients reach all weights, and both tables of biases", _gradients),
        Case("gradients, memory", "gradients reach the memory, through a head of its own", _gradients_of_memory),
    ],
    mutants=MISTAKES,
    equivalent="""
the same number at every real token of the memory changes no weight of a softmax
    17dea0f161 solution, name: zeros → ones in torch.zeros(1)
a layer has as many values as keys
    8aaef697cc solution, constant: 0 → 1 in past[0][0][0]
    91a2a6b854 solution, constant: 0 → -1 in past[0][0][0]
all layers hold the same number of tokens
    e2ee133078 solution, constant: 0 → -1 in past[0]
""",
)
