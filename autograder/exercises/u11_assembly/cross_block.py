"""A block that reads two texts: its own and another one."""

from typing import Any

import torch
from torch import nn

from autograder.judge.spec import Case, Exercise, Program, Ref, Source
from autograder.reference.assembly.encoder_decoder import CrossAttention, CrossBlock, T5Attention, blocked
from autograder.reference.assembly.pieces import make_ffn, make_norm

from ._cross_block import MISTAKES
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
