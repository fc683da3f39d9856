"""One attention layer: projections, key-value heads, rotary positions, a mask and a past."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Fn, Program, Ref, Source
from autograder.reference.assembly.attention import Attention

from .shared import SLIM, SLIM_LLAMA, Config, bounds, causal, gpt, llama, made


class HeadByHead(nn.Module):
    """Correct: one query head after the other, and rotary positions by complex numbers."""

    def __init__(self, c):
        super().__init__()
        self.H, self.G, self.D = c["n_heads"], c["n_kv_heads"], c["head_dim"]
        self.base = c["base"] if c["position"] == "rope" else None
        for name, n in (("q_proj", self.H), ("k_proj", self.G), ("v_proj", self.G)):
            self.add_module(name, nn.Linear(c["d_model"], n * self.D, bias=c["attention_bias"]))
        self.o_proj = nn.Linear(self.H * self.D, c["d_model"], bias=c["out_bias"])

    def turn(self, x, positions):
        theta = self.base ** (-torch.arange(0, self.D, 2) / self.D)
        angle = positions[..., None] * theta
        angle = angle[:, None] if positions.dim() == 2 else angle
        pairs = torch.complex(*x.chunk(2, dim=-1)) * torch.polar(torch.ones_like(angle), angle)
        return torch.cat([pairs.real, pairs.imag], dim=-1)

    def prepare(self, q, k, positions):
        if self.base is None:
            return q, k
        return self.turn(q, positions), self.turn(k, positions)

    def attend(self, q, k, v, mask):
        out = []
        for h in range(self.H):
            group = h * self.G // self.H
            scores = q[:, h] @ k[:, group].mT * self.D**-0.5
            if mask is not None:
                seen = mask.expand(len(q), self.H, -1, -1)[:, h]
                scores = torch.where(seen, scores, -math.inf)
            out.append(scores.softmax(-1) @ v[:, group])
        return torch.stack(out, dim=1)

    def forward(self, x, mask=None, positions=None, past=None):
        B, T, _ = x.shape
        split = lambda y, n: y.reshape(B, T, n, self.D).permute(0, 2, 1, 3)
        q, k = self.prepare(split(self.q_proj(x), self.H), split(self.k_proj(x), self.G), positions)
        v = split(self.v_proj(x), self.G)
        if past:
            k, v = torch.cat((past[0], k), dim=-2), torch.cat((past[1], v), dim=-2)
        out = self.attend(q, k, v, mask)
        return self.o_proj(torch.cat(out.unbind(1), dim=-1)), (k, v)


class WithTorch(Attention):
    """Correct: torch's own attention."""

    def attend(self, q, k, v, mask):
        return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def _layer(g: Source, c: Config) -> Program:
    return made(g, "Attention", Attention, c)


def _by_hand(g: Source) -> Program:
    """Queries and keys of zeros: each token gets the average of what it sees."""
    c = llama(d_model=2, n_heads=1, n_kv_heads=1, head_dim=2, position="none")
    zero, one = torch.zeros(2, 2), torch.eye(2)
    state = {"q_proj.weight": zero, "k_proj.weight": zero, "v_proj.weight": one, "o_proj.weight": 10 * one}
    x = torch.tensor([[[1.0, 2.0], [3.0, 6.0]]])
    return Program().new("Attention", c, state=state).call(x, torch.ones(2, 2).tril().bool())


def _plain(g: Source) -> Program:
    c = llama(position="none", n_kv_heads=4)
    return _layer(g, c).call(g.randn(2, 5, 12))


def _llama(g: Source) -> Program:
    return _layer(g, llama()).call(g.randn(2, 5, 12), causal(0, 5), torch.arange(5))


def _padded(g: Source) -> Program:
    """A mask and positions of each text's own."""
    mask = causal(0, 5) & g.mask(2, 1, 1, 5)
    places = torch.stack([torch.randperm(40, generator=g.generator)[:5] for _ in range(2)])
    return _layer(g, llama(base=100.0)).call(g.randn(2, 5, 12), mask=mask, positions=places)


def _gpt(g: Source) -> Program:
    return _layer(g, gpt()).call(g.randn(2, 4, 12), causal(0, 4), positions=torch.arange(4))


def _qwen(g: Source) -> Program:
    c = llama(attention_bias=True)
    return _layer(g, c).call(g.randn(2, 4, 12), causal(0, 4), torch.arange(4))


def _out_bias(g: Source) -> Program:
    c = llama(out_bias=True, n_heads=6, n_kv_heads=3, head_dim=4)
    return _layer(g, c).call(g.randn(1, 3, 12), causal(0, 3), torch.arange(3))


def _chunks(g: Source) -> Program:
    program = _layer(g, llama(n_heads=6, n_kv_heads=1, head_dim=4))
    for i, (a, b) in enumerate(bounds([2, 3, 1])):
        past: dict[str, Any] = {"past": Ref(i, 1)} if i else {}
        program.call(g.randn(2, b - a, 12), causal(a, b), torch.arange(a, b), **past)
    return program


def _learned_past(g: Source) -> Program:
    """No rotary positions, no mask, one token after two."""
    program = _layer(g, gpt()).call(g.randn(2, 2, 12), causal(0, 2))
    return program.call(g.randn(2, 1, 12), past=Ref(1, 1))


def _shifted(g: Source) -> Program:
    """The same text further to the right: only distances count, but the stored keys differ."""
    x = g.randn(1, 4, 12)
    places = torch.arange(4)
    return _layer(g, llama()).call(x, causal(0, 4), places).call(x, causal(0, 4), places + 7)


def _prepare(g: Source) -> Program:
    qk = g.randn(2, 4, 3, 6), g.randn(2, 2, 3, 6)
    return _layer(g, llama()).call(*qk, torch.tensor([4, 5, 9]), method="prepare")


def _attend(g: Source) -> Program:
    q, k, v = g.randn(2, 4, 2, 6), g.randn(2, 2, 5, 6), g.randn(2, 2, 5, 6)
    return _layer(g, llama()).call(q, k, v, causal(3, 5), method="attend").call(q, k, v, None, method="attend")


def _exchanged(method: str) -> Callable[[Source], Program]:
    """A family's own ``prepare`` or ``attend``, in a class derived from the learner's."""

    def build(g: Source) -> Program:
        program = _layer(g, llama()).derived(**{method: Fn(f"toy_{method}")})
        return program.call(g.randn(2, 3, 12), causal(0, 3), torch.arange(3))

    return build


def _gradients(g: Source) -> Program:
    program = _layer(g, llama(**SLIM_LLAMA, attention_bias=True))
    return program.call(g.randn(2, 3, 6), causal(0, 3), torch.arange(3), grad=[0], params=True)


def _past_gradients(g: Source) -> Program:
    old = g.randn(2, 2, 2, 3), g.randn(2, 2, 2, 3)
    program = _layer(g, gpt(**SLIM))
    return program.call(g.randn(2, 3, 6), causal(2, 5), torch.arange(2, 5), past=old, grad=[0], params=True)


MISTAKES = [
    *changes(
        Attention,
        """
not_turned: q, k = self.prepare(q, k, positions) →
    prepare is right, but forward never calls it: queries and keys stay as they are. Call self.prepare.
prepared_inside: self.prepare(q, k, positions) → Attention.prepare(self, q, k, positions)
    forward prepares queries and keys with lines of its own. It calls self.prepare, so that a class derived from
    yours can bring its own.
attends_inside: self.attend(q, k, v, mask) → grouped_attention(q, k, v, mask)
    forward computes attention with lines of its own. It calls self.attend, so that a class derived from yours can
    bring its own.
nothing_turns: apply_rope_half(q, positions, self.c["base"]), apply_rope_half(k, positions, self.c["base"]) → q, k
    prepare leaves queries and keys alone. Where c["position"] is "rope" it turns both.
always_turned: if self.c["position"] != "rope": → if positions is None:
    prepare turns whatever the configuration says. It does so only where c["position"] is "rope".
queries_only: apply_rope_half(k, positions, self.c["base"]) → k
    prepare turns the queries only. A score knows the distance when both are turned.
keys_only: apply_rope_half(q, positions, self.c["base"]) → q
    prepare turns the keys only. A score knows the distance when both are turned.
""",
    ),
    *changes(
        HeadByHead,
        """
neighbors: torch.complex(*x.chunk(2, dim=-1)) → torch.complex(x[..., 0::2], x[..., 1::2])
; torch.cat([pairs.real, pairs.imag], dim=-1) → torch.stack([pairs.real, pairs.imag], dim=-1).flatten(-2)
    prepare turns pairs of neighbors. LLaMA's weights here are for halves: apply_rope_half.
""",
    ),
    *changes(
        Attention,
        """
default_base: (q, positions, self.c["base"]) → (q, positions) ; (k, positions, self.c["base"]) → (k, positions)
    prepare always takes the base 10,000. Hand c["base"] on.
counted: assert positions is not None, "RoPE needs positions" → positions = torch.arange(q.shape[2])
    prepare counts 0, 1, 2, … itself and ignores positions, which go on counting behind a past.
backwards: assert positions is not None, "RoPE needs positions" → positions = -positions
    prepare turns the wrong way round. The angle is position times frequency, with a plus.
values_turned: v = heads(self.v_proj(x), G) → v = heads(self.v_proj(x), G); v, _ = self.prepare(v, v, positions)
    Values are turned as well. Positions belong into the scores: queries and keys alone.
stored_unturned: q, k = self.prepare(q, k, positions) → q, _ = self.prepare(q, k, positions)
; self.attend(q, k, v, mask) → self.attend(q, self.prepare(k, k, torch.arange(k.shape[2]))[1], v, mask)
    Keys are stored as they were before the turn. Turn the new ones first, then join the past: a stored key is never
    touched again.
past_turned_again: grouped_attention(q, k, v → grouped_attention(q, k if k.shape[2] == q.shape[2] else again, v
; return grouped → again = self.prepare(k, k, torch.arange(k.shape[2]))[1]; return grouped
    With a past all keys are turned once more. prepare sees the new ones only, before they join the old.
past_behind: [past[0], k] → [k, past[0]] ; [past[1], v] → [v, past[1]]
    The past stands behind the new tokens. It comes first: torch.cat([past[0], k], dim=2).
past_ignored: torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2) → k, v
    The past is not used: the new tokens see themselves alone.
new_pair_only: (k, v) → (k[:, :, -x.shape[1]:], v[:, :, -x.shape[1]:])
    Only the new keys and values come back. The pair holds all of them, the past's too: it is the next call's past.
pair_exchanged: (k, v) → (v, k)
    The pair is (values, keys). Keys come first.
pair_repeated: (k, v) → tuple(y.repeat_interleave(self.c["n_heads"] // G, 1) for y in (k, v))
    Keys and values are stored once for each query head. Store the G heads that there are: that is what saves
    memory.
repeated_before_kept: self.k_proj(x), G) → self.k_proj(x), G).repeat_interleave(self.c["n_heads"] // G, 1)
; self.v_proj(x), G) → self.v_proj(x), G).repeat_interleave(self.c["n_heads"] // G, 1)
    Keys and values are repeated for the query heads before they are kept, so the pair is larger than it need be.
    What is kept are the heads that k_proj and v_proj make; sharing them is attend's work.
tiled_before_kept: self.k_proj(x), G) → self.k_proj(x), G).repeat(1, self.c["n_heads"] // G, 1, 1)
; self.v_proj(x), G) → self.v_proj(x), G).repeat(1, self.c["n_heads"] // G, 1, 1)
    Keys and values are repeated as a, b, a, b before they are kept. Keep the heads that k_proj and v_proj make:
    attend lets neighboring query heads share one.
mask_lost: self.attend(q, k, v, mask) → self.attend(q, k, v, None)
    The mask does not reach attend.
mask_inverted: self.attend(q, k, v, mask) → self.attend(q, k, v, None if mask is None else ~mask)
    The mask is upside down. True means may look: hand it on as it is.
heads_reshaped: G = self → heads = lambda y, n: y.reshape(len(y), n, y.shape[1], -1); G = self
    reshape(B, H, T, D) mixes tokens and heads. Cut the last axis first, unflatten(-1, (-1, D)), then transpose(1,
    2).
tokens_first: merge_heads(self.attend(q, k, v, mask)) → self.attend(q, k, v, mask).reshape(len(x), x.shape[1], -1)
    The heads are merged without swapping axes back, so tokens and heads mix: transpose(1, 2), then flatten(2).
dims_first: G = self → heads = lambda y, n: y.unflatten(-1, (-1, n)).permute(0, 3, 1, 2); G = self
    The rows are cut as (D, H): head h gets every H-th number. A head's numbers stand side by side: unflatten(-1,
    (-1, D)).
no_output: self.o_proj = → self.o_proj = nn.Identity() if H * D == d else
    The weights do not load: o_proj is missing where the heads make up d_model. It is always there, and mixes them.
square_heads: c["head_dim"] → c["d_model"] // c["n_heads"]
    Heads are d_model / n_heads wide. Their width is c["head_dim"], which may be another.
all_heads: c["n_kv_heads"], c["head_dim"] → c["n_heads"], c["head_dim"]
    k_proj and v_proj have one head per query head. There are c["n_kv_heads"] of them.
no_bias: self.c = c → self.c = c = {**c, "attention_bias": False, "out_bias": False}
    No projection ever has a bias. c["attention_bias"] and c["out_bias"] say whether there is one.
one_bias_for_all: bias=c["out_bias"] → bias=c["attention_bias"]
    o_proj has a bias where c["attention_bias"] is true. It has an entry of its own: c["out_bias"].
unscaled: grouped_attention(q, → grouped_attention(q * q.shape[-1] ** 0.5,
    The scores are not divided by √D. Call your grouped_attention, which does.
scaled_by_model: grouped_attention(q, → grouped_attention(q * (q.shape[-1] * H / self.c["d_model"]) ** 0.5,
; return grouped → H = self.c["n_heads"]; return grouped
    The scores are divided by the square root of d_model / n_heads. A head is head_dim wide: grouped_attention
    divides by the root of that.
tiled: grouped_attention(q, k, v → grouped_attention(q, k.repeat(1, n, 1, 1), v.repeat(1, n, 1, 1)
; return grouped → n = q.shape[1] // k.shape[1]; return grouped
    The key-value heads come as a, b, a, b. Neighboring query heads share one: call your grouped_attention.
past_detached: [past[0], k] → [past[0], k.detach()] ; [past[1], v] → [past[1], v.detach()]
    The numbers are right, but with a past no gradient reaches the new keys and values: they were cut off (detach,
    .data).
nothing_learns: self.attend(q, k, v, mask) → self.attend(q, k, v, mask).detach()
    The numbers are right, but no gradient passes attention: its result was cut off (detach, .data, no_grad).
values_detached: grouped_attention(q, k, v, mask) → grouped_attention(q, k, v.detach(), mask)
    The numbers are right, but no gradient reaches the values, so v_proj never learns: they were cut off (detach,
    .data).
with_residual: return self.o_proj → return x + self.o_proj
    x is added at the end. The residual belongs to the block around this layer.
""",
    ),
]

EXERCISE = Exercise(
    id="assembly.attention",
    title="One attention layer",
    points=2,
    difficulty=3,
    minutes=12,
    reference=Attention,
    alternatives=[HeadByHead, WithTorch],
    cases=[
        Case(
            "by hand", "queries and keys of zeros: (1, 2), then the average (2, 4) of both tokens, times 10", _by_hand
        ),
        Case("plain", "one key-value head per query head, no positions, no mask: 2 texts of 5 tokens", _plain),
        Case("llama", "4 query heads on 2, six numbers each though 12 / 4 is 3, RoPE, causal", _llama, weight=2),
        Case("padded", "a mask (B, 1, T, S) and positions (B, T) of each text's own, RoPE's base is 100", _padded),
        Case("gpt", "biases everywhere, learned positions: positions are given and nothing turns", _gpt),
        Case("qwen", "biases on queries, keys and values, none on the output", _qwen),
        Case("out bias", "a bias on the output alone, 6 query heads on 3", _out_bias),
        Case("chunks", "2, 3 and 1 tokens, each with the pair from before; 6 query heads on one", _chunks, weight=2),
        Case("bare past", "a past without RoPE, and no mask for the last token", _learned_past),
        Case("shifted", "a text at positions 0 to 3, then at 7 to 10: the same result, other keys to store", _shifted),
        Case("prepare", "prepare called by itself: queries and keys turned by 4, 5 and 9", _prepare),
        Case("attend", "attend called by itself, with a mask and without", _attend),
        Case(
            "own prepare",
            "a class derived from yours has a prepare of its own, as some families do: forward calls that one",
            _exchanged("prepare"),
        ),
        Case(
            "own attend",
            "a class derived from yours has an attend of its own, as some families do: forward calls that one",
            _exchanged("attend"),
        ),
        Case("gradients", "gradients reach x, four weights and three biases", _gradients),
        Case(
            "past gradients",
            "with a past and without RoPE, gradients reach the new tokens",
            _past_gradients,
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    unasked="""
the layers of a new module are float32, and the text changes no dtype
    precision
""",
    equivalent="""
every second number below D is below D - 1 as well, for D is even
    9cc292caf6 alternative HeadByHead, window: self.D - 1 in torch.arange(0, self.D, 2)
a new module's layers are float32, and so is what they are given
    e50f883c51 alternative WithTorch, precision: attend: computes in float32
    e779590c53 alternative WithTorch, result: return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=…: …
""",
)
