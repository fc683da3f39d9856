"""Mistakes in cross-attention, and in a block with it."""

import math

import torch

from autograder.judge.spec import Mutant
from autograder.reference.assembly.encoder_decoder import CrossAttention, CrossBlock

from .shared import variant


def crossing(
    keys=lambda self, x, memory, past: past or (_cut(self, self.k_proj(memory)), _cut(self, self.v_proj(memory))),
    query=lambda self, x, memory: _cut(self, self.q_proj(x)),
    scores=lambda q, k: q @ k.mT,
    mask=lambda mask, scores: mask,
    out=lambda self, out: self.o_proj(out.transpose(1, 2).flatten(2)),
    result=lambda out, pair: (out, pair),
):
    """CrossAttention with one thing done in another way."""

    def forward(self, x, memory, mask_=None, past=None):
        k, v = keys(self, x, memory, past)
        s = scores(query(self, x, memory), k)
        added = mask(mask_, s)
        weights = (s if added is None else s + added).softmax(-1)
        return result(out(self, weights @ v), (k, v))

    return variant(
        CrossAttention, forward=lambda self, x, memory, mask=None, past=None: forward(self, x, memory, mask, past)
    )


def _cut(self, y):
    return y.unflatten(-1, (-1, self.c["head_dim"])).transpose(1, 2)


def _cut_wrong(self, y):
    return y.reshape(len(y), self.c["n_heads"], -1, self.c["head_dim"])


def _new(self, x, memory, past):
    return _cut(self, self.k_proj(memory)), _cut(self, self.v_proj(memory))


def _joined(self, x, memory, past):
    k, v = _new(self, x, memory, past)
    return (k, v) if past is None else (torch.cat([past[0], k], 2), torch.cat([past[1], v], 2))


def _own_keys(self, x, memory, past):
    return past or (_cut(self, self.k_proj(x)), _cut(self, self.v_proj(x)))


def _values_by_keys(self, x, memory, past):
    return past or (_cut(self, self.k_proj(memory)), _cut(self, self.k_proj(memory)))


def _kept(self, x, memory, past):
    if not hasattr(self, "pair"):
        self.pair = _new(self, x, memory, past)
    return past or self.pair


def _exchanged(self, x, memory, past):
    return past or _new(self, x, memory, past)[::-1]


def _keys_reshaped(self, x, memory, past):
    return past or (_cut_wrong(self, self.k_proj(memory)), _cut_wrong(self, self.v_proj(memory)))


def causal_too(mask, scores):
    seen = torch.ones(scores.shape[-2:]).tril() > 0
    return torch.zeros(()).masked_fill(~seen, -math.inf) + (0 if mask is None else mask)


def block(
    first=lambda self, x: self.attention_norm(x),
    second=lambda self, x: self.cross_norm(x),
    third=lambda self, x: self.ffn_norm(x),
    memory=lambda self, memory, x: memory,
    masks=lambda mask, cross: (mask, cross),
    past=lambda past: past or (None, None),
    add=lambda x, out: x + out,
    result=lambda x, own, cross: (x, (own, cross)),
    order="own cross ffn",
):
    """CrossBlock with one thing done in another way."""

    def forward(self, x, memory_, mask=None, cross_mask=None, past_=None):
        (mine, theirs), (own, cross) = masks(mask, cross_mask), past(past_)
        for step in order.split():
            if step == "own":
                out, own = self.attention(first(self, x), mine, None, own)
            elif step == "cross":
                out, cross = self.cross_attention(second(self, x), memory(self, memory_, x), theirs, cross)
            else:
                out = self.ffn(third(self, x))
            x = add(x, out)
        return result(x, own, cross)

    return variant(
        CrossBlock,
        forward=lambda self, x, memory, mask=None, cross_mask=None, past=None: forward(
            self, x, memory, mask, cross_mask, past
        ),
    )


def _side_by_side(self, x, memory, mask=None, cross_mask=None, past=None):
    own, cross = past or (None, None)
    out, own = self.attention(self.attention_norm(x), mask, None, own)
    read, cross = self.cross_attention(self.cross_norm(x), memory, cross_mask, cross)
    x = x + out + read
    return x + self.ffn(self.ffn_norm(x)), (own, cross)


def _post(self, x, memory, mask=None, cross_mask=None, past=None):
    own, cross = past or (None, None)
    out, own = self.attention(x, mask, None, own)
    x = self.attention_norm(x + out)
    out, cross = self.cross_attention(x, memory, cross_mask, cross)
    x = self.cross_norm(x + out)
    return self.ffn_norm(x + self.ffn(x)), (own, cross)


def _normed_stream(self, x, memory, mask=None, cross_mask=None, past=None):
    """Each residual starts from the normed stream."""
    own, cross = past or (None, None)
    x = self.attention_norm(x)
    out, own = self.attention(x, mask, None, own)
    x = self.cross_norm(x + out)
    out, cross = self.cross_attention(x, memory, cross_mask, cross)
    x = self.ffn_norm(x + out)
    return x + self.ffn(x), (own, cross)


def _a(fn):
    return fn, CrossBlock


def _b(fn):
    return CrossAttention, fn


MISTAKES = [
    Mutant(
        "pair_kept",
        _a(crossing(keys=_kept)),
        "The module keeps the first memory's keys and values, so no other memory is read. They travel in past alone.",
    ),
    Mutant(
        "read_anew",
        _a(crossing(keys=_new)),
        "The memory is projected again although a past is there. Its keys and values never change: take them from "
        "past.",
    ),
    Mutant(
        "grows",
        _a(crossing(keys=_joined)),
        "The memory's keys are joined to the past's. They are the same keys once more: with a past, nothing is "
        "projected and nothing joined.",
    ),
    Mutant(
        "own_keys",
        _a(crossing(keys=_own_keys)),
        "Keys and values come from x. In cross-attention they come from memory; only queries come from x.",
    ),
    Mutant(
        "queries_of_memory",
        _a(crossing(query=lambda self, x, memory: _cut(self, self.q_proj(memory)))),
        "Queries come from memory. The text that is written asks: q_proj(x).",
    ),
    Mutant(
        "values_by_keys",
        _a(crossing(keys=_values_by_keys)),
        "Values go through k_proj. They have a projection of their own, v_proj.",
    ),
    Mutant(
        "exchanged",
        _a(crossing(keys=_exchanged)),
        "Keys and values are exchanged. The first of the pair is k_proj(memory).",
    ),
    Mutant(
        "scaled",
        _a(crossing(scores=lambda q, k: q @ k.mT / math.sqrt(q.shape[-1]))),
        "Scores are divided by √D. T5 doesn't: go through self.attend, which your T5Attention brings.",
    ),
    Mutant(
        "mask_ignored",
        _a(crossing(mask=lambda mask, scores: None)),
        "CrossAttention does not use its mask. Hand it to self.attend.",
    ),
    Mutant(
        "causal",
        _a(crossing(mask=causal_too)),
        "A causal mask hides a part of the memory. The whole source may be read at every step.",
    ),
    Mutant(
        "no_output_projection",
        _a(crossing(out=lambda self, out: out.transpose(1, 2).flatten(2))),
        "The heads are joined, but o_proj is missing.",
    ),
    Mutant(
        "heads_reshaped",
        _a(crossing(keys=_keys_reshaped, query=lambda self, x, memory: _cut_wrong(self, self.q_proj(x)))),
        "Heads are cut by a reshape to (B, H, T, D), which mixes tokens. Cut the last axis, then swap: unflatten, "
        "transpose(1, 2).",
    ),
    Mutant(
        "not_merged",
        _a(crossing(out=lambda self, out: self.o_proj(out.reshape(len(out), out.shape[2], -1)))),
        "The heads are joined without a swap of axes, which mixes tokens. transpose(1, 2) first, then flatten(2).",
    ),
    Mutant(
        "no_pair",
        _a(crossing(result=lambda out, pair: out)),
        "CrossAttention returns its result alone. The pair (keys, values) is the next call's past: return both.",
    ),
    Mutant(
        "cross_first",
        _b(block(order="cross own ffn")),
        "Cross-attention comes before self-attention. A token first reads its own text, then the other.",
    ),
    Mutant(
        "ffn_before_cross",
        _b(block(order="own ffn cross")),
        "The feed-forward layer comes before cross-attention. It is the last of the three.",
    ),
    Mutant(
        "no_cross",
        _b(block(order="own ffn")),
        "Cross-attention is missing: the memory is never read.",
    ),
    Mutant(
        "side_by_side",
        _b(variant(CrossBlock, forward=_side_by_side)),
        "Both attentions read the same x. Cross-attention reads what self-attention has added already.",
    ),
    Mutant(
        "post",
        _b(variant(CrossBlock, forward=_post)),
        "The norms stand behind the sums. T5 is Pre-LN: each norm stands before its sublayer.",
    ),
    Mutant(
        "normed_stream",
        _b(variant(CrossBlock, forward=_normed_stream)),
        "The stream itself is normed, and the sums start from that. Norm only what a sublayer reads: "
        "x = x + f(norm(x)).",
    ),
    Mutant(
        "cross_not_normed",
        _b(block(second=lambda self, x: x)),
        "Cross-attention reads the stream without its norm. Put cross_norm before it.",
    ),
    Mutant(
        "norms_exchanged",
        _b(block(second=lambda self, x: self.ffn_norm(x), third=lambda self, x: self.cross_norm(x))),
        "cross_norm and ffn_norm are exchanged.",
    ),
    Mutant(
        "memory_normed",
        _b(block(memory=lambda self, memory, x: self.cross_norm(memory))),
        "cross_norm is applied to the memory too. The encoder has normed it at its end: it goes in as it is.",
    ),
    Mutant(
        "no_residual",
        _b(block(add=lambda x, out: out)),
        "The sublayers' results are handed on without the stream. Add each to x.",
    ),
    Mutant(
        "masks_exchanged",
        _b(block(masks=lambda mask, cross: (cross, mask))),
        "The two masks are exchanged. mask is for self-attention, cross_mask for the memory.",
    ),
    Mutant(
        "cross_mask_ignored",
        _b(block(masks=lambda mask, cross: (mask, None))),
        "cross_mask is not used. Hand it to cross-attention, so that nobody reads the source's padding.",
    ),
    Mutant(
        "own_past_forgotten",
        _b(block(past=lambda past: (None, past[1] if past else None))),
        "Self-attention gets no past, or the wrong one. Its own is the first of the pair that the call before "
        "returned.",
    ),
    Mutant(
        "cross_past_forgotten",
        _b(block(past=lambda past: (past[0] if past else None, None))),
        "Cross-attention does not get its past, and reads the memory at every step. It is the second of the pair.",
    ),
    Mutant(
        "one_cache",
        _b(block(result=lambda x, own, cross: (x, own))),
        "Only one cache is returned. Return the pair: this text's keys and values, and the memory's.",
    ),
]
