"""Mistakes in a whole T5."""

import math

import torch

from autograder.judge.spec import Mutant
from autograder.reference.assembly.encoder_decoder import EncoderDecoder, blocked, t5_bias

from ._t5 import hidden
from .shared import variant


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
    cross=lambda memory, real: None if real is None else hidden(real),
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
    return None if real is None else hidden(~real)


def both_biased(self, memory):
    return self.encoder_norm(memory)


def unpadded(self, source, target, real=None):
    return self.decode(target, self.encode(source, real))[0]


def turned_around(self, source, target, real=None):
    return self.decode(source, self.encode(target), None)[0]


def bare_source(self, source, target, real=None):
    return self.decode(target, self.embeddings(source, None), real)[0]


def first_source(self, source, target, real=None):
    if not hasattr(self, "memory"):
        self.memory = self.encode(source, real)
    return self.decode(target, self.memory, real)[0]


MISTAKES = [
    Mutant(
        "first_source",
        whole(first_source),
        "The module keeps the first source's memory and reads no other. Encode the source at each call of forward.",
    ),
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
        "Only the encoder's first layer gets the bias and the mask. Its table is shared: every layer adds the same.",
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
]
