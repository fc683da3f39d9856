"""A Pre-LN stack with the norm at its end."""

from collections.abc import Sequence

import torch
from torch import nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Fn, Program, Source
from autograder.reference import placement as ref

from .shared import NAMES


class PreLNStack(nn.Module):
    def __init__(self, d_model, sublayers):
        super().__init__()
        self.blocks = nn.ModuleList(ref.PreLN(d_model, a, f) for a, f in sublayers)
        self.final_norm = nn.LayerNorm(d_model)

    def forward(self, x):
        stream = x
        for block in self.blocks:
            stream = block(stream)
        return self.final_norm(stream)


class BySequential(nn.Module):
    """Correct: a Sequential names its parts as a ModuleList does."""

    def __init__(self, d_model, sublayers):
        super().__init__()
        self.final_norm = nn.LayerNorm(d_model)
        self.blocks = nn.Sequential(*(ref.PreLN(d_model, a, f) for a, f in sublayers))

    def forward(self, x):
        return self.final_norm(self.blocks(x))


class ByAppending(nn.Module):
    """Correct: blocks appended one by one, the norm by its function."""

    def __init__(self, d_model, sublayers):
        super().__init__()
        self.blocks = nn.ModuleList()
        for pair in sublayers:
            self.blocks.append(ref.PreLN(d_model, *pair))
        self.final_norm = nn.LayerNorm(d_model)

    def forward(self, x):
        for i in range(len(self.blocks)):
            x = self.blocks[i](x)
        norm = self.final_norm
        return nn.functional.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias)


PAIRS = [("sin", "tanh"), ("square", "relu"), ("tanh", "sin")]


def _stack(g: Source, d: int, pairs: Sequence[tuple[str, str]]) -> Program:
    names = [f"blocks.{i}.{n}" for i in range(len(pairs)) for n in NAMES] + ["final_norm"]
    state = {f"{n}.{k}": g.uniform(d, low=-2.0, high=2.0) for n in names for k in ("weight", "bias")}
    return Program().new("PreLNStack", d, [(Fn(a), Fn(f)) for a, f in pairs], state=state)


def _stack_by_hand(g: Source) -> Program:
    names = [*(f"blocks.0.{n}" for n in NAMES), "final_norm"]
    state = {f"{n}.{k}": torch.full((2,), float(k == "weight")) for n in names for k in ("weight", "bias")}
    p = Program().new("PreLNStack", 2, [(Fn("square"), Fn("relu"))], state=state)
    return p.call(torch.tensor([[[1.0, 3.0]]]))


MISTAKES = changes(
    PreLNStack,
    """
forgotten: return self.final_norm(stream) → return stream
    final_norm is made and never used. Normalize what the last block gives.
no_norm: self.final_norm = nn.LayerNorm(d_model) → ; return self.final_norm(stream) → return stream
    No norm with weights is called final_norm. Make an nn.LayerNorm(d_model) of that name and use it after the last
    block.
at_the_start: stream = x → stream = self.final_norm(x) ; return self.final_norm(stream) → return stream
    The norm stands before the first block. That block normalizes its own input; nobody normalizes what the last one
    gives.
at_both_ends: stream = x → stream = self.final_norm(x)
    The norm is used before the first block as well. The stream goes in as it is.
after_each: stream = block(stream) → stream = self.final_norm(block(stream))
; return self.final_norm(stream) → return stream
    The norm stands behind every block, on the stream. Take it out of the loop: it comes once, at the end.
with_residual: return self.final_norm(stream) → return stream + self.final_norm(stream)
    The stream is added to its own norm. Nothing is added at the end: the result is final_norm(x).
plain_list: nn.ModuleList( → list(
    The blocks lie in a plain Python list, where torch doesn't find their weights. Use nn.ModuleList.
wrong_size: nn.LayerNorm(d_model) → nn.LayerNorm(2 * d_model)
    final_norm has another size. It normalizes vectors of the stream: nn.LayerNorm(d_model).
one_block: ref.PreLN(d_model, a, f) for a, f in sublayers → [ref.PreLN(d_model, *sublayers[0])] * len(sublayers)
    Every entry of self.blocks is the same block. Make a block of its own for each pair.
not_chained: block(stream) → block(x)
    Every block gets the first x, so only the last one counts. Feed each block with what the one before gave: x =
    block(x).
residual_around: self.final_norm(stream) → self.final_norm(x + stream)
    The stack's input is added once more before the final norm. The blocks have their residuals already: normalize
    what the last one gives.
without_weights: self.final_norm(stream) → nn.functional.layer_norm(stream, x.shape[-1:])
    The last norm has no weights: final_norm is made, but not called. Return self.final_norm(x).
last_skipped: in self.blocks: → in self.blocks[:-1]:
    The last block never runs. Loop over all of self.blocks.
post_ln_blocks: ref.PreLN → ref.PostLN
    The steps inside are Post-LN. Use your PreLNBlock: each norm stands before its sublayer.
backwards: in self.blocks: → in reversed(self.blocks):
    The blocks run from the last to the first. Run them in the order of the list.
sublayers_exchanged: (d_model, a, f) → (d_model, f, a)
    Attention and feed-forward layer are exchanged in each block. A pair is (attention, ffn), and so are the
    arguments of PreLNBlock.
first_pair: (d_model, a, f) → (d_model, *sublayers[0])
    Every block gets the sublayers of the first pair. Each has a pair of its own.
last_pair: (d_model, a, f) → (d_model, *sublayers[-1])
    Every block gets the sublayers of the last pair. Each has a pair of its own.
before_each: block(stream) → block(self.final_norm(stream)) ; return self.final_norm(stream) → return stream
    final_norm stands before each block, and the last one's result is not normalized. Use it once, after the loop.
before_each_and_last: block(stream) → block(self.final_norm(stream))
    final_norm is used before each block too. The blocks have norms of their own: use it once, after the loop.
residual_per_block: stream = block(stream) → stream = stream + block(stream)
    The stream is added to what each block gives. The blocks have their residuals inside: x = block(x).
returns_in_loop: return self.final_norm(stream) →
; stream = block(stream) → stream = block(stream); return self.final_norm(stream)
    Only the first block runs: return stands inside the loop. Move it behind the loop.
first_skipped: in self.blocks: → in self.blocks[1:]:
    The first block never runs. Loop over all of self.blocks.
blocks_unused: self.final_norm(stream) → self.final_norm(x)
    The blocks never run: only x is normalized. Pass x through each block first.
""",
)

EXERCISE = Exercise(
    id="placement.final_norm",
    title="The norm at the end",
    points=2,
    difficulty=2,
    minutes=8,
    reference=ref.PreLNStack,
    alternatives=[BySequential, ByAppending],
    cases=[
        Case(
            "by hand",
            "one block makes 2 and 5 of 1 and 3, as above; the final norm makes them −1 and 1",
            _stack_by_hand,
        ),
        Case(
            "three blocks",
            "three blocks of different sublayers, all norms with weights and biases of their own",
            lambda g: _stack(g, 5, PAIRS).call(g.randn(2, 3, 5, scale=2.0)),
            weight=2,
        ),
        Case(
            "one word",
            "two blocks, one sentence of one token, in float64",
            lambda g: _stack(g, 6, PAIRS[:2]).call(g.randn(1, 1, 6, scale=2.0)).double(),
        ),
        Case(
            "no blocks",
            "an empty list of pairs: the final norm alone",
            lambda g: _stack(g, 4, []).call(g.randn(2, 3, 4, scale=3.0)),
            weight=0.5,
        ),
        Case(
            "gradient",
            "the gradients of x and of all norms' weights, through two blocks and the final norm",
            lambda g: _stack(g, 4, PAIRS[:2]).call(g.randn(2, 3, 4), grad=[0], params=True, cotangent=g.randn(2, 3, 4)),
        ),
    ],
    mutants=MISTAKES,
    unasked="""
only the reference has this argument: the text asks for nn.LayerNorm
    PreLNStack(norm)
""",
)
