"""A block that reads two texts: its own and another one."""

from typing import Any

import torch
from torch import nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Ref, Source
from autograder.reference.assembly.encoder_decoder import CrossAttention, CrossBlock, T5Attention, blocked
from autograder.reference.assembly.pieces import make_ffn, make_norm

from ._t5 import SLIM_T5, hidden, t5, t5_later
from .shared import causal, made, weights


class ByEinsum(CrossAttention):
    """Right: heads as an axis of einsum, the softmax as a logarithm's exponential."""

    def forward(self, x, memory, mask=None, past=None):
        cut = lambda y: y.reshape(*y.shape[:2], self.c["n_heads"], self.c["head_dim"])
        if past is None:
            past = [cut(p(memory)).permute(0, 2, 1, 3) for p in (self.k_proj, self.v_proj)]
        keys, values = past
        scores = torch.einsum("bthd,bhsd->bhts", cut(self.q_proj(x)), keys)
        if mask is not None:
            scores = scores + mask
        weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
        out = torch.einsum("bhts,bhsd->bthd", weights, values)
        return self.o_proj(out.reshape(*x.shape[:2], -1)), (keys, values)


class BySums(nn.Module):
    """Right: the three sublayers in a row, on names of its own for what they return."""

    def __init__(self, c):
        super().__init__()
        self.attention = T5Attention(c)
        self.cross_attention = CrossAttention(c)
        self.ffn = make_ffn(c)
        for name in ("attention", "cross", "ffn"):
            setattr(self, f"{name}_norm", make_norm(c))

    def forward(self, x, memory, mask=None, cross_mask=None, past=None):
        past = past if past is not None else (None, None)
        said, own = self.attention(self.attention_norm(x), mask=mask, past=past[0])
        heard, other = self.cross_attention(self.cross_norm(x + said), memory, mask=cross_mask, past=past[1])
        middle = x + said + heard
        return middle + self.ffn(self.ffn_norm(middle)), (own, other)


def _attention(g: Source) -> Program:
    """Two memories: what the first one left behind must not count."""
    program = made(g, "CrossAttention", CrossAttention, t5(d_model=10)).call(g.randn(2, 3, 10), g.randn(2, 5, 10))
    return program.call(g.randn(2, 1, 10), g.randn(2, 5, 10))


def _attention_masked(g: Source) -> Program:
    real = torch.tensor([[True, True, True, False, False], [False, True, True, True, True]])
    program = made(g, "CrossAttention", CrossAttention, t5())
    return program.call(g.randn(2, 3, 12), g.randn(2, 5, 12), hidden(real) + g.randn(1, 3, 3, 5)).double()


def _attention_stored(g: Source) -> Program:
    """The second time other vectors stand where the memory was: they must not count."""
    program = made(g, "CrossAttention", CrossAttention, t5()).call(g.randn(1, 3, 12), g.randn(1, 4, 12))
    return program.call(g.randn(1, 1, 12), g.randn(1, 4, 12), g.randn(1, 3, 1, 4), Ref(1, 1))


def _block(g: Source) -> Program:
    program = made(g, "CrossBlock", CrossBlock, t5())
    return program.call(g.randn(2, 4, 12), g.randn(2, 3, 12))


def _block_masked(g: Source) -> Program:
    real = torch.tensor([[True, True, False], [True, True, True]])
    mine = blocked(g.randn(1, 3, 4, 4), causal(0, 4))
    program = made(g, "CrossBlock", CrossBlock, t5_later())
    return program.call(g.randn(2, 4, 12), g.randn(2, 3, 12), mine, hidden(real)).double()


def _block_stored(g: Source) -> Program:
    """Three tokens, then two, whose memory is another one that must not count."""
    program, real = made(g, "CrossBlock", CrossBlock, t5()), torch.tensor([[True, True, True, False], [True] * 4])
    for number, (a, b) in enumerate(((0, 3), (3, 5))):
        past: dict[str, Any] = {"past": Ref(number, 1)} if number else {}
        mask = blocked(g.randn(1, 3, b - a, b), causal(a, b))
        program.call(g.randn(2, b - a, 12), g.randn(2, 4, 12), mask, hidden(real), **past)
    return program


def _gradients(g: Source) -> Program:
    """Of a soft attention: T5 does not divide its scores, and a sharp one makes gradients ill-conditioned."""
    c = t5(**SLIM_T5)
    program = Program().new("CrossBlock", c, state=weights(g, CrossBlock(c), spread=0.75))
    mask = blocked(g.randn(1, 2, 3, 3), causal(0, 3))
    return program.call(g.randn(2, 3, 6), g.randn(2, 4, 6), mask, grad=[0, 1, 2], params=True)


def _attention_gradients(g: Source) -> Program:
    program = made(g, "CrossAttention", CrossAttention, t5(**SLIM_T5))
    return program.call(g.randn(2, 3, 6), g.randn(2, 4, 6), g.randn(1, 2, 3, 4), grad=[0, 1, 2], params=True)


def attending(mistake: Mutant) -> Mutant:
    """A mistake in CrossAttention alone: changed in one text with it, CrossBlock would be made of the changed one."""
    assert not isinstance(mistake.fn, tuple)
    return Mutant(mistake.name, (mistake.fn, CrossBlock), mistake.message, mistake.change)


MISTAKES = [
    *map(
        attending,
        changes(
            CrossAttention,
            """
pair_kept: past or (heads → past or self.__dict__.setdefault("pair", (heads ; (memory), H)) → (memory), H)))
    The module keeps the first memory's keys and values, so no other memory is read. They travel in past alone.
read_anew: past or →
    The memory is projected again although a past is there. Its keys and values never change: take them from past.
grows: past or →
; return self → k, v = (torch.cat(both, 2) for both in zip(past, (k, v))) if past else (k, v); return self
    The memory's keys are joined to the past's. They are the same keys once more: with a past, nothing is projected
    and nothing joined.
own_keys: self.k_proj(memory) → self.k_proj(x) ; self.v_proj(memory) → self.v_proj(x)
    Keys and values come from x. In cross-attention they come from memory; only queries come from x.
queries_of_memory: self.q_proj(x) → self.q_proj(memory)
    Queries come from memory. The text that is written asks: q_proj(x).
values_by_keys: self.v_proj → self.k_proj
    Values go through k_proj. They have a projection of their own, v_proj.
exchanged: (heads(self.k_proj → (heads(self.v_proj ; , heads(self.v_proj → , heads(self.k_proj
    Keys and values are exchanged. The first of the pair is k_proj(memory).
scaled: heads(self.q_proj(x), H) → heads(self.q_proj(x), H) / math.sqrt(k.shape[-1])
    Scores are divided by √D. T5 doesn't: go through self.attend, which your T5Attention brings.
mask_ignored: k, v, mask → k, v, None
    CrossAttention does not use its mask. Hand it to self.attend.
""",
        ),
    ),
    *map(
        attending,
        changes(
            ByEinsum,
            """
causal: weights = (scores → scores = scores + torch.full(scores.shape[-2:], -torch.inf).triu(1); weights = (scores
    A causal mask hides a part of the memory. The whole source may be read at every step.
""",
        ),
    ),
    *map(
        attending,
        changes(
            CrossAttention,
            """
no_output_projection: self.o_proj(merge → (merge
    The heads are joined, but o_proj is missing.
heads_reshaped: H = self → heads = lambda y, n: y.reshape(len(y), n, -1, self.c["head_dim"]); H = self
    Heads are cut by a reshape to (B, H, T, D), which mixes tokens. Cut the last axis, then swap: unflatten,
    transpose(1, 2).
not_merged: H = self → merge_heads = lambda out: out.reshape(len(out), out.shape[2], -1); H = self
    The heads are joined without a swap of axes, which mixes tokens. transpose(1, 2) first, then flatten(2).
no_pair: , (k, v) →
    CrossAttention returns its result alone. The pair (keys, values) is the next call's past: return both.
""",
        ),
    ),
    *changes(
        (CrossAttention, CrossBlock),
        """
cross_first: out, cross = self.cross_attention(self.cross_norm(x), memory, cross_mask, cross) → out = 0
; out, own → out, cross = self.cross_attention(self.cross_norm(x), memory, cross_mask, cross); x = x + out; out, own
    Cross-attention comes before self-attention. A token first reads its own text, then the other.
ffn_before_cross: return x + self.ffn(self.ffn_norm(x)) → return x
; out, cross = → x = x + self.ffn(self.ffn_norm(x)); out, cross =
    The feed-forward layer comes before cross-attention. It is the last of the three.
""",
    ),
    *changes(
        (CrossAttention, BySums),
        """
no_cross: self.cross_attention(self.cross_norm(x + said), memory, mask=cross_mask, past=past[1]) → 0, past[1]
    Cross-attention is missing: the memory is never read.
side_by_side: self.cross_norm(x + said) → self.cross_norm(x)
    Both attentions read the same x. Cross-attention reads what self-attention has added already.
post: self.attention(self.attention_norm(x) → self.attention(x
; self.cross_norm(x + said) → x := self.attention_norm(x + said) ; x + said + heard → self.cross_norm(x + heard)
; middle + self.ffn(self.ffn_norm(middle)) → self.ffn_norm(middle + self.ffn(middle))
    The norms stand behind the sums. T5 is Pre-LN: each norm stands before its sublayer.
normed_stream: self.attention(self.attention_norm(x) → self.attention(x := self.attention_norm(x)
; self.cross_norm(x + said) → x := self.cross_norm(x + said) ; x + said + heard → self.ffn_norm(x + heard)
; self.ffn(self.ffn_norm(middle)) → self.ffn(middle)
    The stream itself is normed, and the sums start from that. Norm only what a sublayer reads: x = x + f(norm(x)).
cross_not_normed: self.cross_norm(x + said) → x + said
    Cross-attention reads the stream without its norm. Put cross_norm before it.
norms_exchanged: self.cross_norm(x → self.ffn_norm(x ; self.ffn_norm(middle) → self.cross_norm(middle)
    cross_norm and ffn_norm are exchanged.
memory_normed: memory, mask=cross_mask → self.cross_norm(memory), mask=cross_mask
    cross_norm is applied to the memory too. The encoder has normed it at its end: it goes in as it is.
no_residual: self.cross_norm(x + said) → self.cross_norm(said) ; x + said + heard → heard ; return middle + → return
    The sublayers' results are handed on without the stream. Add each to x.
masks_exchanged: mask=mask → mask=cross_mask ; memory, mask=cross_mask → memory, mask=mask
    The two masks are exchanged. mask is for self-attention, cross_mask for the memory.
cross_mask_ignored: mask=cross_mask → mask=None
    cross_mask is not used. Hand it to cross-attention, so that nobody reads the source's padding.
own_past_forgotten: past=past[0] → past=None
    Self-attention gets no past, or the wrong one. Its own is the first of the pair that the call before returned.
cross_past_forgotten: past=past[1] → past=None
    Cross-attention does not get its past, and reads the memory at every step. It is the second of the pair.
one_cache: (own, other) → own
    Only one cache is returned. Return the pair: this text's keys and values, and the memory's.
""",
    ),
]

EXERCISE = Exercise(
    id="assembly.cross_block",
    title="A block that reads another text",
    points=4,
    difficulty=4,
    minutes=20,
    extension=True,
    signature="CrossAttention(c)",
    targets=("CrossAttention", "CrossBlock"),
    reference=(CrossAttention, CrossBlock),
    alternatives=[(ByEinsum, CrossBlock), (CrossAttention, BySums)],
    cases=[
        Case("attention", "three queries on a memory of five, three heads; then one on another", _attention, weight=2),
        Case(
            "attention, masked",
            "a mask that is added, in float64: −∞ at padding, other numbers elsewhere",
            _attention_masked,
        ),
        Case(
            "attention, stored",
            "with a past, the memory is not read: other vectors stand in its place",
            _attention_stored,
        ),
        Case("attention, gradients", "gradients reach both texts, the mask and all four weights", _attention_gradients),
        Case("block", "two texts, no masks: attention, cross-attention, feed-forward layer", _block, weight=2),
        Case("block, masked", "both masks, in float64: one for its own text, one for the other", _block_masked),
        Case(
            "block, stored",
            "three tokens, then two: its own cache grows, the other does not",
            _block_stored,
            weight=2,
        ),
        Case("block, gradients", "gradients reach x, the memory, the mask and all weights", _gradients),
    ],
    mutants=MISTAKES,
)
