"""T5: one stack reads, the other writes."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from autograder.judge.spec import Case, Exercise, Mutant, Program, Ref, Source
from autograder.reference.assembly.encoder_decoder import EncoderDecoder, blocked, t5_bias
from autograder.reference.positions.t5_buckets import t5_relative_bucket

from ._t5 import t5, t5_later
from .shared import Config, made, variant


def _hidden(real: Tensor) -> Tensor:
    return blocked(torch.zeros(()), real[:, None, None, :])


class ByRows(EncoderDecoder):
    """Right: the new tokens' rows of the bias alone, from their own positions; masks as sums."""

    def bias(self, table, query, key, bidirectional):
        distance = key[None] - query[:, None]
        return table.weight[t5_relative_bucket(distance, bidirectional)].permute(2, 0, 1).unsqueeze(0)

    def encode(self, ids, real=None):
        places = torch.arange(ids.shape[1])
        mask = self.bias(self.encoder_bias, places, places, True)
        if real is not None:
            mask = mask + _hidden(real)
        x = self.embeddings.tokens(ids)
        for block in self.encoder:
            x = block(x, mask)[0]
        return self.encoder_norm(x)

    def decode(self, ids, memory, real=None, past=None):
        seen = past[0][0][0].shape[2] if past is not None else 0
        key = torch.arange(seen + ids.shape[1])
        query = key[seen:]
        mask = self.bias(self.decoder_bias, query, key, False)
        mask = mask.masked_fill(key[None] > query[:, None], -math.inf)
        x, caches = self.embeddings.tokens(ids), []
        for block, old in zip(self.decoder, past or [None] * len(self.decoder), strict=True):
            x, new = block(x, memory, mask, None if real is None else _hidden(real), old)
            caches.append(new)
        x = self.decoder_norm(x)
        if self.c["tied"]:
            return nn.functional.linear(x * self.c["d_model"] ** -0.5, self.embeddings.tokens.weight), caches
        return self.head(x), caches


class ByParts(EncoderDecoder):
    """Right: zeros where there is no mask, one loop over both lists, a head chosen beforehand."""

    def encode(self, ids, real=None):
        real = torch.ones_like(ids, dtype=torch.bool) if real is None else real
        mask = t5_bias(self.encoder_bias.weight, *[ids.shape[1]] * 2) + _hidden(real)
        x = self.embeddings(ids, None)
        for i in range(len(self.encoder)):
            x, _ = self.encoder[i](x, mask)
        return self.encoder_norm(x)

    def decode(self, ids, memory, real=None, past=None):
        old = [None] * self.c["n_layers"] if past is None else past
        S = ids.shape[1] + (0 if past is None else past[0][0][1].shape[2])
        whole = t5_bias(self.decoder_bias.weight, S, S, False) + torch.full((S, S), -math.inf).triu(1)
        real = torch.ones(memory.shape[:2], dtype=torch.bool) if real is None else real
        x, new = self.embeddings(ids, None), []
        for i in range(len(self.decoder)):
            x, caches = self.decoder[i](x, memory, whole[:, :, -ids.shape[1] :], _hidden(real), old[i])
            new += [caches]
        x = self.decoder_norm(x)
        logits = (x @ self.embeddings.tokens.weight.T) / math.sqrt(x.shape[-1]) if self.c["tied"] else self.head(x)
        return logits, new


def reading(
    bias=lambda self, S: t5_bias(self.encoder_bias.weight, S, S),
    mask=lambda bias, real: bias if real is None else blocked(bias, real[:, None, None, :]),
    layers=lambda bias, later: later,
    norm=lambda self, x: self.encoder_norm(x),
):
    """``encode`` with one thing done in another way. layers: (the first layer's mask, the others')."""

    def encode(self, ids, real=None):
        x, added = self.embeddings(ids, None), mask(bias(self, ids.shape[1]), real)
        for i, block in enumerate(self.encoder):
            x, _ = block(x, added if i == 0 else layers(added, added))
        return norm(self, x)

    return variant(EncoderDecoder, encode=encode)


def writing(
    bias=lambda self, seen, S: t5_bias(self.decoder_bias.weight, S, S, False)[:, :, seen:],
    mask=lambda bias, seen, T: blocked(bias, torch.ones(T, seen + T).tril(seen) > 0),
    cross=lambda memory, real: None if real is None else _hidden(real),
    layers=lambda added: added,
    past=lambda past, i: past[i] if past else None,
    length=lambda past: past[0][0][0].shape[2] if past else 0,
    memory=lambda self, memory: memory,
    norm=lambda self, x: self.decoder_norm(x),
    result=lambda logits, kept: (logits, kept),
):
    """``decode`` with one thing done in another way. layers: the mask of all layers but the first."""

    def decode(self, ids, memory_, real=None, past_=None):
        seen, T = length(past_), ids.shape[1]
        added = mask(bias(self, seen, seen + T), seen, T)
        x, kept = self.embeddings(ids, None), []
        for i, block in enumerate(self.decoder):
            own = added if i == 0 else layers(added)
            x, new = block(x, memory(self, memory_), own, cross(memory_, real), past(past_, i))
            kept.append(new)
        return result(self.logits(norm(self, x)), kept)

    return variant(
        EncoderDecoder, decode=lambda self, ids, memory, real=None, past=None: decode(self, ids, memory, real, past)
    )


def heading(logits):
    """Another head: ``logits(self, x)``."""
    return variant(EncoderDecoder, logits=logits)


def whole(forward):
    return variant(EncoderDecoder, forward=forward)


def own_bias(self, S):
    return t5_bias(self.encoder_bias.weight, S, S, False)


def queries_hidden(bias, real):
    return bias if real is None else blocked(bias, (real[:, None, None, :] | ~real[:, None, :, None]))


def hidden_to_padding(memory, real):
    return None if real is None else _hidden(~real)


def both_biased(self, memory):
    return self.encoder_norm(memory)


def unpadded(self, source, target, real=None):
    return self.decode(target, self.encode(source, real))[0]


def turned_around(self, source, target, real=None):
    return self.decode(source, self.encode(target), None)[0]


def bare_source(self, source, target, real=None):
    return self.decode(target, self.embeddings(source, None), real)[0]


def _tokens(g: Source, B: int, T: int) -> Tensor:
    return g.integers(0, 13, B, T)


REAL = torch.tensor([[True, True, True, True, True], [True, True, True, False, False]])


def _plain(g: Source, c: Config, B: int = 2, S: int = 4, T: int = 3) -> Program:
    return made(g, "EncoderDecoder", EncoderDecoder, c).call(_tokens(g, B, S), _tokens(g, B, T))


def _encoded(g: Source) -> Program:
    program = made(g, "EncoderDecoder", EncoderDecoder, t5()).call(_tokens(g, 2, 5), method="encode")
    return program.call(_tokens(g, 2, 5), REAL, method="encode")


def _padded(g: Source) -> Program:
    program = made(g, "EncoderDecoder", EncoderDecoder, t5_later(n_layers=g.integer(1, 4)))
    return program.call(_tokens(g, 2, 5), _tokens(g, 2, 4), REAL)


def _decoded(g: Source) -> Program:
    """A memory that no encoder made, and that padding hides in part."""
    program = made(g, "EncoderDecoder", EncoderDecoder, t5_later())
    return program.call(_tokens(g, 2, 4), g.randn(2, 5, 12), REAL, method="decode")


def _in_pieces(g: Source) -> Program:
    """Three tokens, then two, then one, each with what the call before returned."""
    program = made(g, "EncoderDecoder", EncoderDecoder, t5())
    memory = g.randn(2, 5, 12)
    for number, T in enumerate((3, 2, 1)):
        past: dict[str, Any] = {"past": Ref(number, 1)} if number else {}
        program.call(_tokens(g, 2, T), memory, REAL, method="decode", **past)
    return program


def _long(g: Source) -> Program:
    """Twenty tokens on each side: distances that share a bucket, and a last token written alone."""
    program = made(g, "EncoderDecoder", EncoderDecoder, t5_later(n_layers=1))
    program.call(_tokens(g, 1, 20), method="encode")
    program.call(_tokens(g, 1, 20), Ref(1), method="decode")
    return program.call(_tokens(g, 1, 1), Ref(1), None, Ref(2, 1), method="decode")


def _gradients(g: Source) -> Program:
    program = made(g, "EncoderDecoder", EncoderDecoder, t5())
    program.call(_tokens(g, 2, 5), _tokens(g, 2, 3), REAL, params=True)
    program.call(_tokens(g, 1, 3), method="encode", params=True)
    return program.call(_tokens(g, 1, 2), g.randn(1, 4, 12), method="decode", grad=[1])


EXERCISE = Exercise(
    id="assembly.encoder_decoder",
    unit="11-assembly",
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
            "four tokens read, three written; the head is tied and scaled",
            lambda g: _plain(g, t5()),
            weight=2,
        ),
        Case(
            "version 1.1",
            "a gate in the feed-forward layers, and a head of its own",
            lambda g: _plain(g, t5_later(), B=1, S=3, T=5),
            weight=2,
        ),
        Case("encode", "the memory of two texts, without padding and with two padded tokens", _encoded),
        Case("padding", "the source's padding is hidden from the encoder and from cross-attention", _padded, weight=2),
        Case("decode", "logits on a memory that is given, two of whose vectors are padding", _decoded),
        Case("in pieces", "three tokens, then two, then one: each call goes on from the caches", _in_pieces, weight=2),
        Case("long", "twenty tokens on both sides, then one more: wide buckets, counted from the right place", _long),
        Case("gradients", "gradients reach all weights, both tables of biases and the memory", _gradients),
    ],
    mutants=[
        Mutant(
            "encoder_one_sided",
            reading(bias=own_bias),
            "The encoder's bias has one-sided buckets. The encoder looks both ways: bidirectional=True.",
        ),
        Mutant(
            "decoder_two_sided",
            writing(bias=lambda self, seen, S: t5_bias(self.decoder_bias.weight, S, S)[:, :, seen:]),
            "The decoder's bias has buckets for both sides, of which the future's are never used. All 32 are for the "
            "past: bidirectional=False.",
        ),
        Mutant(
            "no_encoder_bias",
            reading(bias=lambda self, S: torch.zeros(1, 1, S, S)),
            "The encoder has no bias, and so no idea of order. Add t5_bias of encoder_bias.weight.",
        ),
        Mutant(
            "no_decoder_bias",
            writing(bias=lambda self, seen, S: torch.zeros(1, 1, S - seen, S)),
            "The decoder has no bias. Add t5_bias of decoder_bias.weight.",
        ),
        Mutant(
            "one_table",
            writing(bias=lambda self, seen, S: t5_bias(self.encoder_bias.weight, S, S, False)[:, :, seen:]),
            "The decoder uses the encoder's table of biases. Each stack has its own: decoder_bias.",
        ),
        Mutant(
            "first_layer_of_encoder",
            reading(layers=lambda bias, later: None),
            "Only the encoder's first layer gets the bias and the mask. Its table is shared: every layer adds the "
            "same.",
        ),
        Mutant(
            "first_layer_of_decoder",
            writing(layers=lambda added: torch.zeros_like(added).masked_fill(added == -math.inf, -math.inf)),
            "Only the decoder's first layer gets the bias. Its table is shared: every layer adds the same.",
        ),
        Mutant(
            "sees_future",
            writing(mask=lambda bias, seen, T: bias),
            "The decoder sees tokens that are not written yet. Fill the bias with −∞ above the diagonal.",
        ),
        Mutant(
            "encoder_causal",
            reading(
                mask=lambda bias, real: blocked(
                    bias, torch.ones(bias.shape[-2:]).tril().bool() & (True if real is None else real[:, None, None, :])
                )
            ),
            "The encoder sees nothing of what follows. It reads the whole source, in both directions.",
        ),
        Mutant(
            "padding_encoded",
            reading(mask=lambda bias, real: bias),
            "The encoder looks at padding. Fill its bias with −∞ where real is False.",
        ),
        Mutant(
            "padding_read",
            writing(cross=lambda memory, real: None),
            "Cross-attention looks at the source's padding. decode gets real for that: fill with −∞ where it is False.",
        ),
        Mutant(
            "padding_alone",
            writing(cross=hidden_to_padding),
            "Cross-attention looks at the source's padding and at nothing else. True means real.",
        ),
        Mutant(
            "real_withheld",
            whole(unpadded),
            "forward does not hand real on to decode, so cross-attention looks at padding.",
        ),
        Mutant(
            "queries_masked",
            reading(mask=queries_hidden),
            "Padded tokens of the source look at padding. Only keys are masked, the same for every query.",
        ),
        Mutant(
            "starts_anew",
            writing(bias=lambda self, seen, S: t5_bias(self.decoder_bias.weight, S - seen, S, False)),
            "With a past, the bias counts the new tokens from 0. The first of them stands behind all stored ones: take "
            "the last rows of the whole bias.",
        ),
        Mutant(
            "first_cache",
            writing(past=lambda past, i: past[0] if past else None),
            "All layers get the first layer's caches. Each has its own: past[i].",
        ),
        Mutant(
            "length_of_memory",
            writing(length=lambda past: past[0][1][0].shape[2] if past else 0),
            "The number of stored tokens is read from the memory's keys, or is wrong. It is the length of the first "
            "cache of a layer: past[0][0][0].shape[2].",
        ),
        Mutant(
            "unscaled",
            heading(lambda self, x: self.embeddings.logits(x) if self.c["tied"] else self.head(x)),
            "The tied head is not scaled. Divide by √d_model before it.",
        ),
        Mutant(
            "always_scaled",
            heading(
                lambda self, x: (
                    self.embeddings.logits(x / math.sqrt(x.shape[-1]))
                    if self.c["tied"]
                    else self.head(x / math.sqrt(x.shape[-1]))
                )
            ),
            "A head of its own is scaled too. It learned its own scale: only the tied one is divided.",
        ),
        Mutant(
            "scaled_by_head",
            heading(
                lambda self, x: (
                    self.embeddings.logits(x / math.sqrt(self.c["head_dim"])) if self.c["tied"] else self.head(x)
                )
            ),
            "The tied head is divided by √D, the root of the head dim. Divide by the root of d_model.",
        ),
        Mutant(
            "divided_by_width",
            heading(lambda self, x: self.embeddings.logits(x / x.shape[-1]) if self.c["tied"] else self.head(x)),
            "The tied head is divided by d_model. Divide by its square root.",
        ),
        Mutant(
            "memory_bare",
            reading(norm=lambda self, x: x),
            "encode returns the bare stream. encoder_norm comes last.",
        ),
        Mutant(
            "memory_normed_again",
            writing(memory=both_biased),
            "decode norms the memory once more. encode has done it.",
        ),
        Mutant(
            "decoder_bare",
            writing(norm=lambda self, x: x),
            "The head reads the bare stream. decoder_norm comes before it.",
        ),
        Mutant(
            "wrong_norm",
            writing(norm=lambda self, x: self.encoder_norm(x)),
            "The decoder ends with encoder_norm. Each stack has a last norm of its own.",
        ),
        Mutant(
            "bare_source",
            whole(bare_source),
            "forward hands the source's embeddings to the decoder. The encoder has to read them first: self.encode.",
        ),
        Mutant(
            "turned_around",
            whole(turned_around),
            "forward exchanges source and target. The source is encoded, the target decoded.",
        ),
        Mutant(
            "logits_alone",
            writing(result=lambda logits, kept: logits),
            "decode returns the logits alone. The caches are the next call's past: return both.",
        ),
        Mutant(
            "pair_from_forward",
            whole(lambda self, source, target, real=None: self.decode(target, self.encode(source, real), real)),
            "forward returns the caches as well. It is for training, and returns the logits alone: [0].",
        ),
    ],
)
