"""A block from a configuration: attention and feed-forward layer in each of four wirings."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Fn, Program, Ref, Source
from autograder.reference.assembly.attention import Attention
from autograder.reference.assembly.block import Block
from autograder.reference.assembly.pieces import make_ffn, make_norm

from .shared import SLIM_LLAMA, Config, bounds, causal, gpt, llama, made, weights


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


MISTAKES = changes(
    Block,
    """
always_pre: WIRINGS[c["placement"]] → sandwich if c["placement"] == "both" else pre_ln
    Every block with one norm per sublayer is Pre-LN. WIRINGS[c["placement"]] is the function to take.
always_post: WIRINGS[c["placement"]] → sandwich if c["placement"] == "both" else post_ln
    Every block with one norm per sublayer is Post-LN. WIRINGS[c["placement"]] is the function to take.
inside_as_pre: WIRINGS[c["placement"]] → {**WIRINGS, "inside": pre_ln}[c["placement"]]
    "inside" is wired as Pre-LN. There the sublayer reads the bare stream, and its output is normalized.
post_as_inside: WIRINGS[c["placement"]] → {**WIRINGS, "post": norm_inside}[c["placement"]]
    "post" is wired as "inside". Post-LN normalizes the sum, x included.
two_norms_only: ("norm_in", "norm_out") if c["placement"] == "both" else ("norm",) → ("norm",)
    The weights do not load where the placement is "both": there are four norms, attention_norm_in and _out,
    ffn_norm_in and _out.
four_norms_always: ("norm_in", "norm_out") if c["placement"] == "both" else ("norm",) → ("norm_in", "norm_out")
    The weights do not load where each sublayer has one norm: it is called attention_norm, or ffn_norm.
ends_exchanged: self.ends] → self.ends[::-1]]
    With "both", norm_in and norm_out are exchanged. sandwich takes the one before the sublayer first.
norms_exchanged: attention, *self.norms("attention") → attention, *self.norms("ffn")
; self.ffn, *self.norms("ffn") → self.ffn, *self.norms("attention")
    attention has ffn's norm and the other way round. attention_norm goes with attention.
one_norm_twice: *self.norms("ffn") → *self.norms("attention")
    The feed-forward layer uses attention's norm. It has its own: ffn_norm.
layer_norms: make_norm(c) → make_norm({**c, "norm": "layer"})
    The norms are always LayerNorm, as in unit 03's block. make_norm(c) makes the right ones.
default_eps: make_norm(c) → make_norm({**c, "eps": 1e-5})
    The norms' ε is not the configuration's. make_norm(c) sees to that: hand it c as it is.
own_attention: = attention(c), → = Attention(c),
    The block always makes Attention(c). Call the argument: attention(c), so that families can bring their own.
own_ffn: , ffn(c) → , make_ffn(c)
    The block always makes make_ffn(c). Call the argument: ffn(c), so that families can bring their own.
mask_lost: self.attention(y, mask, positions, past) → self.attention(y, None, positions, past)
    The mask does not reach attention. Hand it on: self.attention(y, mask, positions, past).
positions_lost: (y, mask, positions, → (y, mask, None if positions is None else positions.new_tensor(range(y.shape[1])),
    The positions do not reach attention: they are counted anew. Hand them on: self.attention(y, mask, positions,
    past).
past_lost: (y, mask, positions, past) → (y, mask if past is None else mask[..., past[0].shape[2]:], positions, None)
    The past does not reach attention. Hand it on: self.attention(y, mask, positions, past).
no_pair: , stored[0] →
    Only the stream comes back. Return the pair of keys and values as well: x, (keys, values).
pair_first: return self → return stored[0], self ; , stored[0] →
    The pair comes first. Return the stream, then the pair.
flat_pair: , stored[0] → , *stored[0]
    Three things come back. It is the stream and one pair: x, (keys, values).
attention_lost: x = self.wiring → self.wiring
    What attention adds is lost: the second step starts from the block's input. Start it from the first step's
    result.
ffn_lost: self.wiring(x, self.ffn, *self.norms("ffn")) → x
    The feed-forward step is missing. It is the same wiring once more, with ffn and its norms.
parallel: x = self.wiring(x → before, x = x, self.wiring(x
; self.wiring(x, self.ffn, *self.norms("ffn")) → x + self.wiring(before, self.ffn, *self.norms("ffn")) - before
    Both sublayers read the block's input, as in GPT-J. Here the second one reads what the first has left.
attention_twice: return self → x = self.wiring(x, attention, *self.norms("attention")); return self
    Attention runs twice. Call it once, and keep its pair aside.
extra_residual: x = self.wiring(x → before, x = x, self.wiring(x ; return self → return before + self
    The block's input is added once more at the end. Each wiring adds its own residual, no other is needed.
cut_off: , stored[0] → .detach(), stored[0]
    The numbers are right, but the result is cut off from its weights (detach, .data, no_grad), so nothing learns.
""",
)

EXERCISE = Exercise(
    id="assembly.block",
    title="A block in any wiring",
    points=2,
    difficulty=3,
    minutes=8,
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
    mutants=MISTAKES,
    equivalent="""
attention runs once, so its pair is the first and the last
    f931502b7e solution, constant: 0 → -1 in kept[0]
a new module's layers are float32, and so is what they are given
    2117155874 alternative WrittenOut, result: return sublayer(norm()(x)) + x: result to_float32
    b3e95ddcfc alternative InLine, result: return (x + self.ffn(self.ffn_norm(x)), pair): result to_float32
""",
)
