"""A Pre-LN block of attention and feed-forward layer."""

from collections.abc import Callable

import torch
from torch import nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Fn, Program, Source
from autograder.reference import placement as ref
from autograder.reference import residual

from .shared import NAMES


class ByFunctions(nn.Module):
    """Correct: the wiring as a function, twice."""

    def __init__(self, d_model, attention, ffn):
        super().__init__()
        self.attention_norm, self.ffn_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.steps = ((attention, self.attention_norm), (ffn, self.ffn_norm))

    def forward(self, x):
        for sublayer, norm in self.steps:
            x = residual.pre_ln(x, sublayer, norm)
        return x


class InPlaceOfNames(nn.Module):
    """Correct: branches kept, added up at the end."""

    def __init__(self, d_model, attention, ffn):
        super().__init__()
        self.f, self.g = attention, ffn
        for name in NAMES:
            self.add_module(name, nn.LayerNorm(d_model))

    def forward(self, x):
        first = self.f(self.attention_norm(x))
        return first + x + self.g(self.ffn_norm(first + x))


def _block(g: Source, d: int) -> Callable[[str, str], Program]:
    state = {f"{n}.{k}": g.uniform(d, low=-2.0, high=2.0) for n in NAMES for k in ("weight", "bias")}
    return lambda a, f: Program().new("PreLNBlock", d, Fn(a), Fn(f), state=state)


def _by_hand(g: Source) -> Program:
    state = {f"{n}.{k}": torch.full((2,), float(k == "weight")) for n in NAMES for k in ("weight", "bias")}
    p = Program().new("PreLNBlock", 2, Fn("square"), Fn("relu"), state=state)
    return p.call(torch.tensor([[[1.0, 3.0]]]))


MISTAKES = changes(
    ref.PreLN,
    """
parallel: x = x + → h = x + ; return x + → return h +
    The feed-forward branch reads the old x. It comes second: it must see what attention has added.
post: x + self.attention(self.attention_norm(x), **kwargs) → self.attention_norm(x + self.attention(x))
; x + self.ffn(self.ffn_norm(x)) → self.ffn_norm(x + self.ffn(x))
    This is Post-LN: the norms sit on the stream. Normalize what enters each sublayer, and add to the bare x.
shared: self.attention_norm, self.ffn_norm = norm(d_model), norm(d_model) → self.norm = norm(d_model)
; self.attention_norm(x) → self.norm(x) ; self.ffn_norm(x) → self.norm(x)
    The weights do not fit. The block needs two norms, named attention_norm and ffn_norm, and nothing else with
    weights.
one_norm_used: self.ffn_norm(x) → self.attention_norm(x)
    attention_norm is used twice. The feed-forward branch has a norm with weights of its own, ffn_norm.
exchanged: self.attention(self.attention_norm(x) → self.attention(self.ffn_norm(x)
; self.ffn(self.ffn_norm(x)) → self.ffn(self.attention_norm(x))
    The two norms are exchanged. attention_norm comes before attention, ffn_norm before ffn.
second_without_residual: return x + → return
    The second residual is missing. Each sublayer's output is added to the stream that it read from.
second_without_norm: self.ffn(self.ffn_norm(x)) → self.ffn(x)
    The feed-forward branch reads the raw stream. Normalize it with ffn_norm first.
on_normed: x = x + self.attention(self.attention_norm(x) → x = self.attention_norm(x); x = x + self.attention(x
; return x + self.ffn(self.ffn_norm(x)) → x = self.ffn_norm(x); return x + self.ffn(x)
    The branches are added to the normalized stream. Check your pre_ln (exercise 1): the residual path carries x
    itself.
residual_of_block: x = x + → h = x + ; self.ffn_norm(x) → self.ffn_norm(h)
    The second sum starts from the block's input, so attention's output is lost to the stream. Add to the stream
    after the first step.
first_step_lost: x = x + → x +
    Attention leaves no trace. Keep what the first step returns, x = pre_ln(…), and let the second one start from
    it.
first_without_residual: x = x + → x =
    The first residual is missing. Attention's output is added to the x that came in.
no_residuals: x = x + → x = ; return x + → return
    Both residuals are missing. Each sublayer's output is added to the stream that it read from.
first_without_norm: self.attention(self.attention_norm(x) → self.attention(x
    Attention reads the raw stream. Normalize it with attention_norm first.
norms_after: self.attention(self.attention_norm(x), **kwargs) → self.attention_norm(self.attention(x))
; self.ffn(self.ffn_norm(x)) → self.ffn_norm(self.ffn(x))
    The norms stand behind the sublayers. In a Pre-LN block each normalizes what its sublayer reads.
in_place: x = x + → x += ; return x + self.ffn(self.ffn_norm(x)) → x += self.ffn(self.ffn_norm(x)); return x
    x += … writes into the tensor of whoever calls the block. Make a new one: x = x + ….
weightless: self.attention_norm(x) → nn.functional.layer_norm(x, x.shape[-1:])
; self.ffn_norm(x) → nn.functional.layer_norm(x, x.shape[-1:])
    The norms' weights and biases are never used. Call self.attention_norm and self.ffn_norm themselves.
ffn_first: self.attention(self.attention_norm(x), **kwargs) → self.ffn(self.ffn_norm(x))
; return x + self.ffn(self.ffn_norm(x)) → return x + self.attention(self.attention_norm(x))
    The feed-forward step comes first. Attention is the first of the two.
one_module: self.attention_norm, self.ffn_norm = → self.attention_norm = self.ffn_norm =
; norm(d_model), norm(d_model) → norm(d_model)
    attention_norm and ffn_norm are one module under two names, with the same weights. Make two:
    nn.LayerNorm(d_model) once for each.
ffn_reads_first_norm: self.ffn_norm(x) → self.ffn_norm(h)
; x = x + self.attention(self.attention_norm(x) → h = self.attention_norm(x); x = x + self.attention(h
    The feed-forward branch reads attention_norm's output. It comes second: let it read ffn_norm of the stream that
    attention has added to.
ffn_reads_branch: x = x + → branch =
; return x + self.ffn(self.ffn_norm(x)) → return x + branch + self.ffn(self.ffn_norm(branch))
    The feed-forward branch reads attention's output alone. It reads the whole stream: x plus that output.
attention_twice: self.ffn(self.ffn_norm(x)) → self.attention(self.ffn_norm(x))
    Attention runs twice, and ffn never. The second step is that of the feed-forward layer.
second_post: x + self.ffn(self.ffn_norm(x)) → self.ffn_norm(x + self.ffn(x))
    The second step is Post-LN: its norm sits on the sum. Normalize what ffn reads, and add to the bare stream.
first_post: x + self.attention(self.attention_norm(x), **kwargs) → self.attention_norm(x + self.attention(x))
    The first step is Post-LN: its norm sits on the sum. Normalize what attention reads, and add to the bare x.
x_twice: x = x + → h = x + ; return x + self.ffn(self.ffn_norm(x)) → return x + h + self.ffn(self.ffn_norm(h))
    The block's input is added once more in the second step. The stream has it already: add ffn's output alone.
normed_at_end: x + self.ffn(self.ffn_norm(x)) → self.ffn_norm(x + self.ffn(self.ffn_norm(x)))
    The block's result is normalized. In Pre-LN nothing normalizes the stream: leave the last norm out.
branches_normed: self.ffn(self.ffn_norm(x)) → self.ffn_norm(self.ffn(self.ffn_norm(x)))
; self.attention(self.attention_norm(x), **kwargs) → self.attention_norm(self.attention(self.attention_norm(x)))
    Each norm is used before its sublayer and behind it. In a Pre-LN block it stands before the sublayer only.
second_from_normed: return x + self.ffn(self.ffn_norm(x)) → x = self.ffn_norm(x); return x + self.ffn(x)
    The feed-forward branch is added to the normalized stream. The residual path carries the stream itself.
""",
)

EXERCISE = Exercise(
    id="placement.block",
    title="A whole block",
    points=2,
    difficulty=2,
    minutes=10,
    reference=ref.PreLN,
    alternatives=[ByFunctions, InPlaceOfNames],
    cases=[
        Case(
            "by hand",
            "square, then ReLU: 1 and 3 become 2 and 4, whose norm is −1 and 1, so 2 and 5 come out",
            _by_hand,
        ),
        Case(
            "random",
            "2 sentences of 3 tokens, norms with weights and biases of their own",
            lambda g: _block(g, 5)("sin", "tanh").call(g.randn(2, 3, 5, scale=2.0)),
            weight=2,
        ),
        Case(
            "other sublayers",
            "sublayers exchanged, one sentence of one token, in float64",
            lambda g: _block(g, 6)("square", "sin").call(g.randn(1, 1, 6, scale=2.0)).double(),
        ),
        Case(
            "gradient",
            "the gradients of x and of both norms' weights, through both branches and both residuals",
            lambda g: _block(g, 4)("sin", "square").call(
                g.randn(2, 3, 4), grad=[0], params=True, cotangent=g.randn(2, 3, 4)
            ),
        ),
    ],
    mutants=MISTAKES,
    unasked="""
only the reference has this argument: the text asks for nn.LayerNorm
    PreLNBlock(norm)
""",
)
