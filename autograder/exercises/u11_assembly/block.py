"""A block from a configuration: attention and feed-forward layer in each of four wirings."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from autograder.judge.spec import Case, Exercise, Fn, Mutant, Program, Ref, Source
from autograder.reference.assembly.attention import Attention
from autograder.reference.assembly.block import Block
from autograder.reference.assembly.pieces import make_ffn, make_norm

from .shared import SLIM_LLAMA, Config, bounds, causal, gpt, llama, made, variant, weights


class WrittenOut(nn.Module):
    """Correct: a branch for each placement, no wiring as a function."""

    def __init__(self, c, attention=Attention, ffn=make_ffn):
        super().__init__()
        self.placement = c["placement"]
        self.attention, self.ffn = attention(c), ffn(c)
        for part in ("attention", "ffn"):
            for end in ("_in", "_out") if self.placement == "both" else ("",):
                self.add_module(f"{part}_norm{end}", make_norm(c))

    def step(self, x, sublayer, part):
        norm = lambda end="": getattr(self, f"{part}_norm{end}")
        if self.placement == "pre":
            return sublayer(norm()(x)) + x
        if self.placement == "post":
            return norm()(sublayer(x) + x)
        if self.placement == "inside":
            return norm()(sublayer(x)) + x
        return norm("_out")(sublayer(norm("_in")(x))) + x

    def forward(self, x, mask=None, positions=None, past=None):
        stored = {}

        def first(y):
            y, stored["pair"] = self.attention(y, mask=mask, positions=positions, past=past)
            return y

        x = self.step(x, first, "attention")
        return self.step(x, self.ffn, "ffn"), stored["pair"]


class InLine(nn.Module):
    """Correct: attention first, the wiring around what it gave."""

    def __init__(self, c, attention=Attention, ffn=make_ffn):
        super().__init__()
        self.attention, self.ffn, self.kind = attention(c), ffn(c), c["placement"]
        names = ["attention_norm", "ffn_norm"]
        if self.kind == "both":
            names = [f"{n}_{end}" for n in names for end in ("in", "out")]
        for n in names:
            setattr(self, n, make_norm(c))

    def forward(self, x, mask=None, positions=None, past=None):
        before = {"pre": "attention_norm", "both": "attention_norm_in"}.get(self.kind)
        y, pair = self.attention(x if before is None else getattr(self, before)(x), mask, positions, past)
        if self.kind == "post":
            x = self.attention_norm(x + y)
            return self.ffn_norm(x + self.ffn(x)), pair
        if self.kind == "pre":
            x = x + y
            return x + self.ffn(self.ffn_norm(x)), pair
        if self.kind == "inside":
            x = x + self.attention_norm(y)
            return x + self.ffn_norm(self.ffn(x)), pair
        x = x + self.attention_norm_out(y)
        return x + self.ffn_norm_out(self.ffn(self.ffn_norm_in(x))), pair


def wrong(
    arguments=lambda mask, positions, past: (mask, positions, past),
    stream=lambda block, x, attention: block.wiring(x, attention, *block.norms("attention")),
    second=lambda block, x, before: block.wiring(x, block.ffn, *block.norms("ffn")),
    back=lambda x, pair: (x, pair),
):
    """A block with one of its steps exchanged."""

    def forward(self, x, mask=None, positions=None, past=None):
        stored = []

        def attention(y):
            out, pair = self.attention(y, *arguments(mask, positions, past))
            stored.append(pair)
            return out

        after = stream(self, x, attention)
        return back(second(self, after, x), stored[0])

    return variant(Block, forward=forward)


def built(placement, also=None):
    """The block of another placement: ``placement(the one asked for)``."""

    def start(self, c, attention=Attention, ffn=make_ffn):
        Block.__init__(self, {**c, "placement": placement(c["placement"])}, attention, ffn)
        if also is not None:
            also(self, c)

    return variant(Block, __init__=start)


def _own_attention(self, c, attention=Attention, ffn=make_ffn):
    Block.__init__(self, c, Attention, ffn)


def _own_ffn(self, c, attention=Attention, ffn=make_ffn):
    Block.__init__(self, c, attention, make_ffn)


def _layer_norms(self, c, attention=Attention, ffn=make_ffn):
    Block.__init__(self, {**c, "norm": "layer"}, attention, ffn)


def _default_eps(self, c, attention=Attention, ffn=make_ffn):
    Block.__init__(self, {**c, "eps": 1e-5}, attention, ffn)


def _exchanged_ends(self, sublayer):
    return Block.norms(self, sublayer)[::-1]


def _other_norms(self, sublayer):
    return Block.norms(self, "ffn" if sublayer == "attention" else "attention")


def _one_for_both(self, sublayer):
    return Block.norms(self, "attention")


def _parallel(block, after, before):
    return after + block.wiring(before, block.ffn, *block.norms("ffn")) - before


def _cut(self, x, mask=None, positions=None, past=None):
    x, pair = Block.forward(self, x, mask, positions, past)
    return x.detach(), pair


def _new(g: Source, c: Config, **kwargs: object) -> Program:
    return made(g, "Block", Block, c, **kwargs)


def _one(c: Config) -> Callable[[Source], Program]:
    return lambda g: _new(g, c).call(g.randn(2, 4, 12, scale=2.0) + 1, causal(0, 4), torch.arange(4))


def _toys(g: Source) -> Program:
    """Sublayers from outside, without weights: the block brings only its norms."""
    c = llama(norm="layer", eps=0.1)
    state = {
        f"{n}_norm.{k}": g.uniform(12, low=0.5, high=1.5) for n in ("attention", "ffn") for k in ("weight", "bias")
    }
    new = Program().new("Block", c, Fn("toy_attention"), Fn("toy_ffn"), state=state)
    mask, places = causal(0, 3), g.integers(0, 9, 2, 3)
    new.call(g.randn(2, 3, 12), mask, places)
    return new.call(g.randn(2, 2, 12), causal(3, 5), positions=places[:, :2] + 3, past=Ref(1, 1))


def _one_toy(g: Source, **which: Any) -> Program:
    c = llama(n_heads=3, n_kv_heads=3, head_dim=4)
    names = {f"{n}_norm.weight": g.uniform(12, low=0.5, high=1.5) for n in ("attention", "ffn")}
    kept = Attention(c) if "ffn" in which else make_ffn(c)
    part = "attention" if "ffn" in which else "ffn"
    state = names | {f"{part}.{n}": g.randn(*t.shape, scale=0.4) for n, t in kept.state_dict().items()}
    return Program().new("Block", c, state=state, **which).call(g.randn(2, 3, 12), causal(0, 3), torch.arange(3))


def _chunks(g: Source) -> Program:
    program = _new(g, llama(placement="both"))
    for i, (a, b) in enumerate(bounds([2, 3, 1])):
        past: dict[str, Any] = {"past": Ref(i, 1)} if i else {}
        program.call(g.randn(2, b - a, 12), causal(a, b), torch.arange(a, b), **past)
    return program


def _bare(g: Source) -> Program:
    """No mask and no positions: a block of an encoder."""
    return _new(g, gpt(placement="post", eps=0.2)).call(g.randn(2, 5, 12))


def _gradients(*placements: str, position: str = "rope") -> Callable[[Source], Program]:
    def build(g):
        program = Program()
        for placement in placements:
            c = llama(**SLIM_LLAMA | {"position": position}, placement=placement, eps=0.1)
            program.new("Block", c, state=weights(g, Block(c)))
            program.call(g.randn(2, 3, 6), causal(0, 3), torch.arange(3), grad=[0], params=True)
        return program

    return build


EXERCISE = Exercise(
    id="assembly.block",
    title="A block in any wiring",
    points=2,
    difficulty=3,
    minutes=8,
    signature="Block(c, attention=Attention, ffn=make_ffn)",
    reference=Block,
    alternatives=[WrittenOut, InLine],
    cases=[
        Case("pre", "LLaMA's block: RMSNorm before each sublayer, causal, RoPE", _one(llama(eps=0.1)), weight=2),
        Case("gpt", "GPT-2's block: LayerNorm, biases, no gate", _one(gpt(eps=0.2))),
        Case("post", "GPT-1's block: the norm on the sum", _one(gpt(placement="post", eps=0.3))),
        Case("inside", "OLMo 2's block: the norm on what each sublayer says", _one(llama(placement="inside", eps=0.1))),
        Case("both", "Gemma 2's block: four norms, two around each sublayer", _one(llama(placement="both", eps=0.2))),
        Case("encoder", "no mask, no positions, no past", _bare),
        Case("chunks", "2, 3 and 1 tokens, each with the pair from before", _chunks, weight=2),
        Case(
            "toys",
            "sublayers made by the two functions that are handed in; a past, and positions of each text's own",
            _toys,
        ),
        Case(
            "toy attention",
            "attention from outside, the feed-forward layer by default",
            lambda g: _one_toy(g, attention=Fn("toy_attention")),
        ),
        Case(
            "toy ffn",
            "attention by default, the feed-forward layer from outside",
            lambda g: _one_toy(g, ffn=Fn("toy_ffn")),
        ),
        Case("gradients", "gradients reach x and all weights, norms included", _gradients("pre")),
        Case(
            "other wirings learn",
            "the same in float64, without RoPE: with four norms, with the norm on the sum, and with it inside",
            lambda g: _gradients("both", "post", "inside", position="none")(g).double(),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "always_pre",
            built(lambda p: p if p == "both" else "pre"),
            'Every block with one norm per sublayer is Pre-LN. WIRINGS[c["placement"]] is the function to take.',
        ),
        Mutant(
            "always_post",
            built(lambda p: p if p == "both" else "post"),
            'Every block with one norm per sublayer is Post-LN. WIRINGS[c["placement"]] is the function to take.',
        ),
        Mutant(
            "inside_as_pre",
            built(lambda p: "pre" if p == "inside" else p),
            '"inside" is wired as Pre-LN. There the sublayer reads the bare stream, and its output is normalized.',
        ),
        Mutant(
            "post_as_inside",
            built(lambda p: "inside" if p == "post" else p),
            '"post" is wired as "inside". Post-LN normalizes the sum, x included.',
        ),
        Mutant(
            "two_norms_only",
            built(lambda p: "pre" if p == "both" else p),
            'The weights do not load where the placement is "both": there are four norms, attention_norm_in and _out, '
            "ffn_norm_in and _out.",
        ),
        Mutant(
            "four_norms_always",
            built(lambda p: "both"),
            "The weights do not load where each sublayer has one norm: it is called attention_norm, or ffn_norm.",
        ),
        Mutant(
            "ends_exchanged",
            variant(Block, norms=_exchanged_ends),
            'With "both", norm_in and norm_out are exchanged. sandwich takes the one before the sublayer first.',
        ),
        Mutant(
            "norms_exchanged",
            variant(Block, norms=_other_norms),
            "attention has ffn's norm and the other way round. attention_norm goes with attention.",
        ),
        Mutant(
            "one_norm_twice",
            variant(Block, norms=_one_for_both),
            "The feed-forward layer uses attention's norm. It has its own: ffn_norm.",
        ),
        Mutant(
            "layer_norms",
            variant(Block, __init__=_layer_norms),
            "The norms are always LayerNorm, as in unit 03's block. make_norm(c) makes the right ones.",
        ),
        Mutant(
            "default_eps",
            variant(Block, __init__=_default_eps),
            "The norms' ε is not the configuration's. make_norm(c) sees to that: hand it c as it is.",
        ),
        Mutant(
            "own_attention",
            variant(Block, __init__=_own_attention),
            "The block always makes Attention(c). Call the argument: attention(c), so that families can bring their "
            "own.",
        ),
        Mutant(
            "own_ffn",
            variant(Block, __init__=_own_ffn),
            "The block always makes make_ffn(c). Call the argument: ffn(c), so that families can bring their own.",
        ),
        Mutant(
            "mask_lost",
            wrong(lambda mask, positions, past: (None, positions, past)),
            "The mask does not reach attention. Hand it on: self.attention(y, mask, positions, past).",
        ),
        Mutant(
            "positions_lost",
            wrong(
                lambda mask, positions, past: (
                    mask,
                    None if positions is None else torch.arange(positions.shape[-1]),
                    past,
                )
            ),
            "The positions do not reach attention: they are counted anew. Hand them on: self.attention(y, mask, "
            "positions, "
            "past).",
        ),
        Mutant(
            "past_lost",
            wrong(
                lambda mask, positions, past: (
                    mask if past is None or mask is None else mask[..., past[0].shape[2] :],
                    positions,
                    None,
                )
            ),
            "The past does not reach attention. Hand it on: self.attention(y, mask, positions, past).",
        ),
        Mutant(
            "no_pair",
            wrong(back=lambda x, pair: x),
            "Only the stream comes back. Return the pair of keys and values as well: x, (keys, values).",
        ),
        Mutant(
            "pair_first",
            wrong(back=lambda x, pair: (pair, x)),
            "The pair comes first. Return the stream, then the pair.",
        ),
        Mutant(
            "flat_pair",
            wrong(back=lambda x, pair: (x, *pair)),
            "Three things come back. It is the stream and one pair: x, (keys, values).",
        ),
        Mutant(
            "attention_lost",
            wrong(second=lambda block, x, before: block.wiring(before, block.ffn, *block.norms("ffn"))),
            "What attention adds is lost: the second step starts from the block's input. Start it from the first "
            "step's "
            "result.",
        ),
        Mutant(
            "ffn_lost",
            wrong(second=lambda block, x, before: x),
            "The feed-forward step is missing. It is the same wiring once more, with ffn and its norms.",
        ),
        Mutant(
            "parallel",
            wrong(second=_parallel),
            "Both sublayers read the block's input, as in GPT-J. Here the second one reads what the first has left.",
        ),
        Mutant(
            "attention_twice",
            wrong(
                stream=lambda block, x, attention: block.wiring(
                    block.wiring(x, attention, *block.norms("attention")), attention, *block.norms("attention")
                )
            ),
            "Attention runs twice. Call it once, and keep its pair aside.",
        ),
        Mutant(
            "extra_residual",
            wrong(second=lambda block, x, before: before + block.wiring(x, block.ffn, *block.norms("ffn"))),
            "The block's input is added once more at the end. Each wiring adds its own residual, no other is needed.",
        ),
        Mutant(
            "cut_off",
            variant(Block, forward=_cut),
            "The numbers are right, but the result is cut off from its weights (detach, .data, no_grad), so nothing "
            "learns.",
        ),
    ],
)
