"""A Pre-LN stack with the norm at its end."""

from collections.abc import Sequence

import torch
from torch import nn

from autograder.judge.spec import Case, Exercise, Fn, Mutant, Program, Source
from autograder.reference import placement as ref
from autograder.reference.residual import post_ln

from .shared import NAMES


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


def wrong_stack(forward=None, norm=nn.LayerNorm, keep=nn.ModuleList):
    """PreLNStack with another forward, another norm (of the size given) or none, or blocks kept in another way."""

    class Wrong(nn.Module):
        def __init__(self, d_model, sublayers):
            super().__init__()
            self.blocks = keep([ref.PreLN(d_model, a, f) for a, f in sublayers])
            if norm is not None:
                self.final_norm = norm(d_model)

    Wrong.forward = forward or ref.PreLNStack.forward
    return Wrong


def _through(blocks, x):
    for block in blocks:
        x = block(x)
    return x


def _after_each(self, x):
    for block in self.blocks:
        x = self.final_norm(block(x))
    return x


def _with_residual(self, x):
    x = _through(self.blocks, x)
    return x + self.final_norm(x)


def _not_chained(self, x):
    out = x
    for block in self.blocks:
        out = block(x)
    return self.final_norm(out)


def _residual_around(self, x):
    return self.final_norm(x + _through(self.blocks, x))


def _without_weights(self, x):
    return nn.functional.layer_norm(_through(self.blocks, x), x.shape[-1:])


def _last_skipped(self, x):
    return self.final_norm(_through(self.blocks[:-1], x))


def _as_functions(rule):
    """A stack that does not use its blocks' forward: one step of each block is ``rule(x, sublayer, norm)``."""

    def forward(self, x):
        for block in self.blocks:
            x = rule(x, block.attention, block.attention_norm)
            x = rule(x, block.ffn, block.ffn_norm)
        return self.final_norm(x)

    return forward


class OneBlock(nn.Module):
    """The same block, as often as there are pairs."""

    def __init__(self, d_model, sublayers):
        super().__init__()
        self.blocks = nn.ModuleList([ref.PreLN(d_model, *sublayers[0])] * len(sublayers))
        self.final_norm = nn.LayerNorm(d_model)

    forward = ref.PreLNStack.forward


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


def _before_each(self, x):
    for block in self.blocks:
        x = block(self.final_norm(x))
    return x


def _before_each_and_last(self, x):
    return self.final_norm(_before_each(self, x))


def _residual_per_block(self, x):
    for block in self.blocks:
        x = x + block(x)
    return self.final_norm(x)


def _returns_in_loop(self, x):
    for block in self.blocks:
        x = block(x)
        return self.final_norm(x)


def _first_skipped(self, x):
    return self.final_norm(_through(self.blocks[1:], x))


class WrongPairs(nn.Module):
    """The blocks get other sublayers: ``choose(sublayers)`` gives the pairs."""

    choose = staticmethod(lambda sublayers: [(f, a) for a, f in sublayers])

    def __init__(self, d_model, sublayers):
        super().__init__()
        self.blocks = nn.ModuleList([ref.PreLN(d_model, *pair) for pair in self.choose(sublayers)])
        self.final_norm = nn.LayerNorm(d_model)

    forward = ref.PreLNStack.forward


class FirstPair(WrongPairs):
    choose = staticmethod(lambda sublayers: [sublayers[0] for _ in sublayers])


class LastPair(WrongPairs):
    choose = staticmethod(lambda sublayers: [sublayers[-1] for _ in sublayers])


EXERCISE = Exercise(
    id="placement.final_norm",
    title="The norm at the end",
    points=2,
    difficulty=2,
    minutes=8,
    signature="PreLNStack(d_model, sublayers)",
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
            "two blocks, one sentence of one word, in float64",
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
    mutants=[
        Mutant(
            "forgotten",
            wrong_stack(lambda self, x: _through(self.blocks, x)),
            "final_norm is made and never used. Normalize what the last block gives.",
        ),
        Mutant(
            "no_norm",
            wrong_stack(lambda self, x: _through(self.blocks, x), norm=None),
            "No norm with weights is called final_norm. Make an nn.LayerNorm(d_model) of that name and use it after "
            "the last block.",
        ),
        Mutant(
            "at_the_start",
            wrong_stack(lambda self, x: _through(self.blocks, self.final_norm(x))),
            "The norm stands before the first block. That block normalizes its own input; nobody normalizes what "
            "the last one gives.",
        ),
        Mutant(
            "at_both_ends",
            wrong_stack(lambda self, x: self.final_norm(_through(self.blocks, self.final_norm(x)))),
            "The norm is used before the first block as well. The stream goes in as it is.",
        ),
        Mutant(
            "after_each",
            wrong_stack(_after_each),
            "The norm stands behind every block, on the stream. Take it out of the loop: it comes once, at the end.",
        ),
        Mutant(
            "with_residual",
            wrong_stack(_with_residual),
            "The stream is added to its own norm. Nothing is added at the end: the result is final_norm(x).",
        ),
        Mutant(
            "plain_list",
            wrong_stack(keep=list),
            "The blocks lie in a plain Python list, where torch doesn't find their weights. Use nn.ModuleList.",
        ),
        Mutant(
            "wrong_size",
            wrong_stack(norm=lambda d: nn.LayerNorm(2 * d)),
            "final_norm has another size. It normalizes vectors of the stream: nn.LayerNorm(d_model).",
        ),
        Mutant("one_block", OneBlock, "All places hold the same block. Make a block of its own for each pair."),
        Mutant(
            "not_chained",
            wrong_stack(_not_chained),
            "Every block gets the first x, so only the last one counts. Feed each block with what the one before "
            "gave: x = block(x).",
        ),
        Mutant(
            "residual_around",
            wrong_stack(_residual_around),
            "The stack's input is added once more before the final norm. The blocks have their residuals already: "
            "normalize what the last one gives.",
        ),
        Mutant(
            "without_weights",
            wrong_stack(_without_weights),
            "The last norm has no weights: final_norm is made, but not called. Return self.final_norm(x).",
        ),
        Mutant(
            "last_skipped",
            wrong_stack(_last_skipped),
            "The last block never runs. Loop over all of self.blocks.",
        ),
        Mutant(
            "post_ln_blocks",
            wrong_stack(_as_functions(post_ln)),
            "The steps inside are Post-LN. Use your PreLNBlock: each norm stands before its sublayer.",
        ),
        Mutant(
            "backwards",
            wrong_stack(lambda self, x: self.final_norm(_through(reversed(self.blocks), x))),
            "The blocks run from the last to the first. Run them in the order of the list.",
        ),
        Mutant(
            "sublayers_exchanged",
            WrongPairs,
            "Attention and feed-forward layer are exchanged in each block. A pair is (attention, ffn), and so are the "
            "arguments of PreLNBlock.",
        ),
        Mutant(
            "first_pair", FirstPair, "Every block gets the sublayers of the first pair. Each has a pair of its own."
        ),
        Mutant("last_pair", LastPair, "Every block gets the sublayers of the last pair. Each has a pair of its own."),
        Mutant(
            "before_each",
            wrong_stack(_before_each),
            "final_norm stands before each block, and the last one's result is not normalized. Use it once, after the "
            "loop.",
        ),
        Mutant(
            "before_each_and_last",
            wrong_stack(_before_each_and_last),
            "final_norm is used before each block too. The blocks have norms of their own: use it once, after the "
            "loop.",
        ),
        Mutant(
            "residual_per_block",
            wrong_stack(_residual_per_block),
            "The stream is added to what each block gives. The blocks have their residuals inside: x = block(x).",
        ),
        Mutant(
            "returns_in_loop",
            wrong_stack(_returns_in_loop),
            "Only the first block runs: return stands inside the loop. Move it behind the loop.",
        ),
        Mutant(
            "first_skipped", wrong_stack(_first_skipped), "The first block never runs. Loop over all of self.blocks."
        ),
        Mutant(
            "blocks_unused",
            wrong_stack(lambda self, x: self.final_norm(x)),
            "The blocks never run: only x is normalized. Pass x through each block first.",
        ),
    ],
)
