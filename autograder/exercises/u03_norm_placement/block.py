"""A Pre-LN block of attention and feed-forward layer."""

from collections.abc import Callable

import torch
from torch import nn

from autograder.judge.spec import Case, Exercise, Fn, Mutant, Program, Source
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


def wrong(forward=None, norms=NAMES):
    """PreLN with another forward, or with other norms."""

    class Wrong(nn.Module):
        def __init__(self, d_model, attention, ffn):
            super().__init__()
            self.attention, self.ffn = attention, ffn
            for name in norms:
                self.add_module(name, nn.LayerNorm(d_model))

    Wrong.forward = forward
    return Wrong


def _shared(self, x):
    x = x + self.attention(self.norm(x))
    return x + self.ffn(self.norm(x))


def _one_norm_used(self, x):
    x = x + self.attention(self.attention_norm(x))
    return x + self.ffn(self.attention_norm(x))


def _exchanged(self, x):
    x = x + self.attention(self.ffn_norm(x))
    return x + self.ffn(self.attention_norm(x))


def _second_without_residual(self, x):
    x = x + self.attention(self.attention_norm(x))
    return self.ffn(self.ffn_norm(x))


def _second_without_norm(self, x):
    x = x + self.attention(self.attention_norm(x))
    return x + self.ffn(x)


def _on_normed(self, x):
    h = self.attention_norm(x)
    h = self.ffn_norm(h + self.attention(h))
    return h + self.ffn(h)


def _ffn_first(self, x):
    x = x + self.ffn(self.ffn_norm(x))
    return x + self.attention(self.attention_norm(x))


def _residual_of_block(self, x):
    h = x + self.attention(self.attention_norm(x))
    return x + self.ffn(self.ffn_norm(h))


def _first_without_residual(self, x):
    x = self.attention(self.attention_norm(x))
    return x + self.ffn(self.ffn_norm(x))


def _no_residuals(self, x):
    return self.ffn(self.ffn_norm(self.attention(self.attention_norm(x))))


def _first_without_norm(self, x):
    x = x + self.attention(x)
    return x + self.ffn(self.ffn_norm(x))


def _norms_after(self, x):
    x = x + self.attention_norm(self.attention(x))
    return x + self.ffn_norm(self.ffn(x))


def _in_place(self, x):
    x += self.attention(self.attention_norm(x))
    x += self.ffn(self.ffn_norm(x))
    return x


def _weightless(self, x):
    d = x.shape[-1:]
    x = x + self.attention(nn.functional.layer_norm(x, d))
    return x + self.ffn(nn.functional.layer_norm(x, d))


def _block(g: Source, d: int) -> Callable[[str, str], Program]:
    state = {f"{n}.{k}": g.uniform(d, low=-2.0, high=2.0) for n in NAMES for k in ("weight", "bias")}
    return lambda a, f: Program().new("PreLNBlock", d, Fn(a), Fn(f), state=state)


def _by_hand(g: Source) -> Program:
    state = {f"{n}.{k}": torch.full((2,), float(k == "weight")) for n in NAMES for k in ("weight", "bias")}
    p = Program().new("PreLNBlock", 2, Fn("square"), Fn("relu"), state=state)
    return p.call(torch.tensor([[[1.0, 3.0]]]))


def _ffn_reads_first_norm(self, x):
    h = self.attention_norm(x)
    return x + self.attention(h) + self.ffn(self.ffn_norm(h))


def _ffn_reads_branch(self, x):
    branch = self.attention(self.attention_norm(x))
    return x + branch + self.ffn(self.ffn_norm(branch))


def _attention_twice(self, x):
    x = x + self.attention(self.attention_norm(x))
    return x + self.attention(self.ffn_norm(x))


def _second_post(self, x):
    x = x + self.attention(self.attention_norm(x))
    return self.ffn_norm(x + self.ffn(x))


def _first_post(self, x):
    x = self.attention_norm(x + self.attention(x))
    return x + self.ffn(self.ffn_norm(x))


def _x_twice(self, x):
    h = x + self.attention(self.attention_norm(x))
    return x + h + self.ffn(self.ffn_norm(h))


def _normed_at_end(self, x):
    x = x + self.attention(self.attention_norm(x))
    return self.ffn_norm(x + self.ffn(self.ffn_norm(x)))


def _branches_normed(self, x):
    x = x + self.attention_norm(self.attention(self.attention_norm(x)))
    return x + self.ffn_norm(self.ffn(self.ffn_norm(x)))


def _second_from_normed(self, x):
    x = x + self.attention(self.attention_norm(x))
    h = self.ffn_norm(x)
    return h + self.ffn(h)


class OneModule(ref.PreLN):
    """Two names for one norm."""

    def __init__(self, d_model, attention, ffn):
        super().__init__(d_model, attention, ffn)
        self.ffn_norm = self.attention_norm


EXERCISE = Exercise(
    id="placement.block",
    title="A whole block",
    points=2,
    difficulty=2,
    minutes=10,
    signature="PreLNBlock(d_model, attention, ffn)",
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
            "2 sentences of 3 words, norms with weights and biases of their own",
            lambda g: _block(g, 5)("sin", "tanh").call(g.randn(2, 3, 5, scale=2.0)),
            weight=2,
        ),
        Case(
            "other sublayers",
            "sublayers exchanged, one sentence of one word, in float64",
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
    mutants=[
        Mutant(
            "parallel",
            ref.ParallelBlockTwoNorms,
            "The feed-forward branch reads the old x. It comes second: it must see what attention has added.",
        ),
        Mutant(
            "post",
            ref.PostLN,
            "This is Post-LN: the norms sit on the stream. Normalize what enters each sublayer, and add to the bare x.",
        ),
        Mutant(
            "shared",
            wrong(_shared, ("norm",)),
            "The weights do not fit. The block needs two norms, named attention_norm and ffn_norm, and nothing else "
            "with weights.",
        ),
        Mutant(
            "one_norm_used",
            wrong(_one_norm_used),
            "attention_norm is used twice. The feed-forward branch has a norm with weights of its own, ffn_norm.",
        ),
        Mutant(
            "exchanged",
            wrong(_exchanged),
            "The two norms are exchanged. attention_norm comes before attention, ffn_norm before ffn.",
        ),
        Mutant(
            "second_without_residual",
            wrong(_second_without_residual),
            "The second residual is missing. Each sublayer's output is added to the stream that it read from.",
        ),
        Mutant(
            "second_without_norm",
            wrong(_second_without_norm),
            "The feed-forward branch reads the raw stream. Normalize it with ffn_norm first.",
        ),
        Mutant(
            "on_normed",
            wrong(_on_normed),
            "The branches are added to the normalized stream. Check your pre_ln (exercise 1): the residual path "
            "carries x itself.",
        ),
        Mutant(
            "residual_of_block",
            wrong(_residual_of_block),
            "The second sum starts from the block's input, so attention's output is lost to the stream. Add to the "
            "stream after the first step.",
        ),
        Mutant(
            "first_step_lost",
            wrong(lambda self, x: x + self.ffn(self.ffn_norm(x))),
            "Attention leaves no trace. Keep what the first step returns, x = pre_ln(…), and let the second one "
            "start from it.",
        ),
        Mutant(
            "first_without_residual",
            wrong(_first_without_residual),
            "The first residual is missing. Attention's output is added to the x that came in.",
        ),
        Mutant(
            "no_residuals",
            wrong(_no_residuals),
            "Both residuals are missing. Each sublayer's output is added to the stream that it read from.",
        ),
        Mutant(
            "first_without_norm",
            wrong(_first_without_norm),
            "Attention reads the raw stream. Normalize it with attention_norm first.",
        ),
        Mutant(
            "norms_after",
            wrong(_norms_after),
            "The norms stand behind the sublayers. In a Pre-LN block each normalizes what its sublayer reads.",
        ),
        Mutant(
            "in_place",
            wrong(_in_place),
            "x += … writes into the tensor of whoever calls the block. Make a new one: x = x + ….",
        ),
        Mutant(
            "weightless",
            wrong(_weightless),
            "The norms' weights and biases are never used. Call self.attention_norm and self.ffn_norm themselves.",
        ),
        Mutant("ffn_first", wrong(_ffn_first), "The feed-forward step comes first. Attention is the first of the two."),
        Mutant(
            "one_module",
            OneModule,
            "attention_norm and ffn_norm are one module under two names, with the same weights. Make two: "
            "nn.LayerNorm(d_model) once for each.",
        ),
        Mutant(
            "ffn_reads_first_norm",
            wrong(_ffn_reads_first_norm),
            "The feed-forward branch reads attention_norm's output. It comes second: let it read ffn_norm of the "
            "stream "
            "that attention has added to.",
        ),
        Mutant(
            "ffn_reads_branch",
            wrong(_ffn_reads_branch),
            "The feed-forward branch reads attention's output alone. It reads the whole stream: x plus that output.",
        ),
        Mutant(
            "attention_twice",
            wrong(_attention_twice),
            "Attention runs twice, and ffn never. The second step is that of the feed-forward layer.",
        ),
        Mutant(
            "second_post",
            wrong(_second_post),
            "The second step is Post-LN: its norm sits on the sum. Normalize what ffn reads, and add to the bare "
            "stream.",
        ),
        Mutant(
            "first_post",
            wrong(_first_post),
            "The first step is Post-LN: its norm sits on the sum. Normalize what attention reads, and add to the bare "
            "x.",
        ),
        Mutant(
            "x_twice",
            wrong(_x_twice),
            "The block's input is added once more in the second step. The stream has it already: add ffn's output "
            "alone.",
        ),
        Mutant(
            "normed_at_end",
            wrong(_normed_at_end),
            "The block's result is normalized. In Pre-LN nothing normalizes the stream: leave the last norm out.",
        ),
        Mutant(
            "branches_normed",
            wrong(_branches_normed),
            "Each norm is used before its sublayer and behind it. In a Pre-LN block it stands before the sublayer "
            "only.",
        ),
        Mutant(
            "second_from_normed",
            wrong(_second_from_normed),
            "The feed-forward branch is added to the normalized stream. The residual path carries the stream itself.",
        ),
    ],
)
