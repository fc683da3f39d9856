"""Mistakes in one attention layer."""

import math

import torch
from torch import nn

from autograder.judge.spec import Mutant
from autograder.reference.assembly.attention import Attention
from autograder.reference.gqa import grouped_attention
from autograder.reference.rope import apply_rope, apply_rope_half

from .shared import variant


def split(x, D):
    return x.unflatten(-1, (-1, D)).transpose(1, 2)


class Steps(Attention):
    """The layer with each step a method, so that one of them can be exchanged."""

    def cut(self, y):
        return split(y, self.c["head_dim"])

    def joined(self, old, new):
        return torch.cat([old, new], dim=2)

    def merged(self, out):
        return out.transpose(1, 2).flatten(2)

    def turned(self, q, k, positions, past):
        return self.prepare(q, k, positions)

    def looked(self, mask):
        return mask

    def given(self, k, v, new):
        return k, v

    def forward(self, x, mask=None, positions=None, past=None):
        q, k, v = self.cut(self.q_proj(x)), self.cut(self.k_proj(x)), self.cut(self.v_proj(x))
        q, k = self.turned(q, k, positions, past)
        new = k, v
        if past is not None:
            k, v = self.joined(past[0], k), self.joined(past[1], v)
        out = self.attend(q, k, v, self.looked(mask))
        return self.o_proj(self.merged(out)), self.given(k, v, new)


def wrong(**methods):
    return variant(Steps, **methods)


def built(change):
    """The layer built from another configuration, with what it computes unchanged."""

    def start(self, c):
        Attention.__init__(self, {**c, **change(c)})

    return wrong(__init__=start)


def turning(f):
    """prepare that turns by ``f(x, positions, base)``."""

    def prepare(self, q, k, positions):
        if self.c["position"] != "rope":
            return q, k
        return f(q, positions, self.c["base"]), f(k, positions, self.c["base"])

    return wrong(prepare=prepare)


def _in_one_go(self, y):
    """reshape (B, T, H·D) to (B, H, T, D) without a transpose."""
    return y.reshape(len(y), -1, y.shape[1], self.c["head_dim"])


def _values_turned(self, x, mask=None, positions=None, past=None):
    own = self.v_proj
    rope = self.c["position"] == "rope"
    turn = lambda v: apply_rope_half(v, positions, self.c["base"]).transpose(1, 2).flatten(2) if rope else None
    self.v_proj = lambda y: own(y) if not rope else turn(split(own(y), self.c["head_dim"]))
    try:
        return Steps.forward(self, x, mask, positions, past)
    finally:
        self.v_proj = own


def _turned_after_join(self, x, mask=None, positions=None, past=None):
    """Keys are stored as they are, and all of them turned by places counted from 0, at every call."""
    q, k, v = (split(p(x), self.c["head_dim"]) for p in (self.q_proj, self.k_proj, self.v_proj))
    if past is not None:
        k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
    turned = k
    if self.c["position"] == "rope":
        q, _ = self.prepare(q, q, positions)
        _, turned = self.prepare(k, k, torch.arange(k.shape[2]))
    return self.o_proj(self.attend(q, turned, v, mask).transpose(1, 2).flatten(2)), (k, v)


def _unscaled(self, q, k, v, mask):
    return grouped_attention(q * math.sqrt(q.shape[-1]), k, v, mask)


def _scaled_by_model(self, q, k, v, mask):
    return grouped_attention(q * math.sqrt(q.shape[-1] * self.c["n_heads"] / self.c["d_model"]), k, v, mask)


def _tiled(self, q, k, v, mask):
    n = q.shape[1] // k.shape[1]
    return grouped_attention(q, k.repeat(1, n, 1, 1), v.repeat(1, n, 1, 1), mask)


def _biased_like(name, source):
    """A layer whose projection ``name`` has a bias where ``c[source]`` says so."""

    def start(self, c):
        Attention.__init__(self, c)
        old = getattr(self, name)
        setattr(self, name, nn.Linear(old.in_features, old.out_features, bias=c[source]))

    return wrong(__init__=start)


def _no_output(self, c):
    Attention.__init__(self, c)
    if c["n_heads"] * c["head_dim"] == c["d_model"]:
        self.o_proj = nn.Identity()


def _square_heads(self, c):
    """Heads as wide as d_model / H."""
    Attention.__init__(self, {**c, "head_dim": c["d_model"] // c["n_heads"]})


def _repeated_before_kept(repeat):
    """Every head of keys and values is there once per query head before it joins the past."""

    def forward(self, x, mask=None, positions=None, past=None):
        q, k, v = self.cut(self.q_proj(x)), self.cut(self.k_proj(x)), self.cut(self.v_proj(x))
        q, k = self.prepare(q, k, positions)
        k, v = (repeat(y, q.shape[1] // y.shape[1]) for y in (k, v))
        if past is not None:
            k, v = self.joined(past[0], k), self.joined(past[1], v)
        return self.o_proj(self.merged(self.attend(q, k, v, mask))), (k, v)

    return wrong(forward=forward)


def _no_past_gradient(self, old, new):
    return torch.cat([old.detach(), new.detach()], dim=2)


def _prepared_inside(self, q, k, positions, past):
    """Right numbers, from forward's own lines: a family's prepare is never asked."""
    return Attention.prepare(self, q, k, positions)


class AttendsInside(Steps):
    """Right numbers, from forward's own line: a family's attend is never asked."""

    def forward(self, x, mask=None, positions=None, past=None):
        q, k, v = self.cut(self.q_proj(x)), self.cut(self.k_proj(x)), self.cut(self.v_proj(x))
        q, k = self.prepare(q, k, positions)
        if past is not None:
            k, v = self.joined(past[0], k), self.joined(past[1], v)
        return self.o_proj(self.merged(grouped_attention(q, k, v, mask))), (k, v)


MISTAKES = [
    Mutant(
        "not_turned",
        wrong(turned=lambda self, q, k, positions, past: (q, k)),
        "prepare is right, but forward never calls it: queries and keys stay as they are. Call self.prepare.",
    ),
    Mutant(
        "prepared_inside",
        wrong(turned=_prepared_inside),
        "forward prepares queries and keys with lines of its own. It calls self.prepare, so that a class derived from "
        "yours can bring its own.",
    ),
    Mutant(
        "attends_inside",
        AttendsInside,
        "forward computes attention with lines of its own. It calls self.attend, so that a class derived from yours "
        "can bring its own.",
    ),
    Mutant(
        "nothing_turns",
        wrong(prepare=lambda self, q, k, positions: (q, k)),
        'prepare leaves queries and keys alone. Where c["position"] is "rope" it turns both.',
    ),
    Mutant(
        "always_turned",
        wrong(
            prepare=lambda self, q, k, positions: tuple(
                apply_rope_half(y, torch.zeros(1) if positions is None else positions, self.c["base"]) for y in (q, k)
            )
        ),
        'prepare turns whatever the configuration says. It does so only where c["position"] is "rope".',
    ),
    Mutant(
        "queries_only",
        wrong(
            prepare=lambda self, q, k, positions: (
                (apply_rope_half(q, positions, self.c["base"]), k) if self.c["position"] == "rope" else (q, k)
            )
        ),
        "prepare turns the queries only. A score knows the distance when both are turned.",
    ),
    Mutant(
        "keys_only",
        wrong(
            prepare=lambda self, q, k, positions: (
                (q, apply_rope_half(k, positions, self.c["base"])) if self.c["position"] == "rope" else (q, k)
            )
        ),
        "prepare turns the keys only. A score knows the distance when both are turned.",
    ),
    Mutant(
        "neighbors",
        turning(apply_rope),
        "prepare turns pairs of neighbors. LLaMA's weights here are for halves: apply_rope_half.",
    ),
    Mutant(
        "default_base",
        turning(lambda x, positions, base: apply_rope_half(x, positions)),
        'prepare always takes the base 10,000. Hand c["base"] on.',
    ),
    Mutant(
        "counted",
        turning(lambda x, positions, base: apply_rope_half(x, torch.arange(x.shape[2]), base)),
        "prepare counts places 0, 1, 2, … and ignores positions, which go on counting behind a past.",
    ),
    Mutant(
        "backwards",
        turning(lambda x, positions, base: apply_rope_half(x, -positions, base)),
        "prepare turns the wrong way round. The angle is position times frequency, with a plus.",
    ),
    Mutant(
        "values_turned",
        wrong(forward=_values_turned),
        "Values are turned as well. Positions belong into the scores: queries and keys alone.",
    ),
    Mutant(
        "stored_unturned",
        wrong(forward=_turned_after_join),
        "Keys are stored as they were before the turn. Turn the new ones first, then join the past: a stored key "
        "is "
        "never touched again.",
    ),
    Mutant(
        "past_turned_again",
        wrong(
            joined=lambda self, old, new: torch.cat([old, new], dim=2),
            attend=lambda self, q, k, v, mask: grouped_attention(
                q,
                k
                if self.c["position"] != "rope" or k.shape[2] == q.shape[2]
                else apply_rope_half(k, torch.arange(k.shape[2]), self.c["base"]),
                v,
                mask,
            ),
        ),
        "With a past all keys are turned once more. prepare sees the new ones only, before they join the old.",
    ),
    Mutant(
        "past_behind",
        wrong(joined=lambda self, old, new: torch.cat([new, old], dim=2)),
        "The past stands behind the new tokens. It comes first: torch.cat([past[0], k], dim=2).",
    ),
    Mutant(
        "past_ignored",
        wrong(joined=lambda self, old, new: new),
        "The past is not used: the new tokens see themselves alone.",
    ),
    Mutant(
        "new_pair_only",
        wrong(given=lambda self, k, v, new: new),
        "Only the new keys and values come back. The pair holds all of them, the past's too: it is the next "
        "call's past.",
    ),
    Mutant(
        "pair_exchanged",
        wrong(given=lambda self, k, v, new: (v, k)),
        "The pair is (values, keys). Keys come first.",
    ),
    Mutant(
        "pair_repeated",
        wrong(
            given=lambda self, k, v, new: tuple(y.repeat_interleave(self.c["n_heads"] // y.shape[1], 1) for y in (k, v))
        ),
        "Keys and values are stored once for each query head. Store the G heads that there are: that is what "
        "saves memory.",
    ),
    Mutant(
        "repeated_before_kept",
        _repeated_before_kept(lambda y, n: y.repeat_interleave(n, 1)),
        "Keys and values are repeated for the query heads before they are kept, so the pair is larger than it need "
        "be. What is kept are the heads that k_proj and v_proj make; sharing them is attend's work.",
    ),
    Mutant(
        "tiled_before_kept",
        _repeated_before_kept(lambda y, n: y.repeat(1, n, 1, 1)),
        "Keys and values are repeated as a, b, a, b before they are kept. Keep the heads that k_proj and v_proj make: "
        "attend lets neighboring query heads share one.",
    ),
    Mutant(
        "mask_lost",
        wrong(looked=lambda self, mask: None),
        "The mask does not reach attend.",
    ),
    Mutant(
        "mask_inverted",
        wrong(looked=lambda self, mask: None if mask is None else ~mask),
        "The mask is upside down. True means may look: hand it on as it is.",
    ),
    Mutant(
        "heads_reshaped",
        wrong(cut=_in_one_go),
        "reshape(B, H, T, D) mixes tokens and heads. Cut the last axis first, unflatten(-1, (-1, D)), then "
        "transpose(1, 2).",
    ),
    Mutant(
        "tokens_first",
        wrong(merged=lambda self, out: out.reshape(len(out), out.shape[2], -1)),
        "The heads are merged without swapping axes back, so tokens and heads mix: transpose(1, 2), then flatten(2).",
    ),
    Mutant(
        "dims_first",
        wrong(cut=lambda self, y: y.unflatten(-1, (self.c["head_dim"], -1)).transpose(-1, -2).transpose(1, 2)),
        "The rows are cut as (D, H): head h gets every H-th number. A head's numbers stand side by side: "
        "unflatten(-1, (-1, D)).",
    ),
    Mutant(
        "no_output",
        wrong(__init__=_no_output),
        "The weights do not load: o_proj is missing where the heads make up d_model. It is always there, and "
        "mixes them.",
    ),
    Mutant(
        "square_heads",
        wrong(__init__=_square_heads),
        'Heads are d_model / n_heads wide. Their width is c["head_dim"], which may be another.',
    ),
    Mutant(
        "all_heads",
        built(lambda c: {"n_kv_heads": c["n_heads"]}),
        'k_proj and v_proj have one head per query head. There are c["n_kv_heads"] of them.',
    ),
    Mutant(
        "no_bias",
        built(lambda c: {"attention_bias": False, "out_bias": False}),
        'No projection ever has a bias. c["attention_bias"] and c["out_bias"] say whether there is one.',
    ),
    Mutant(
        "one_bias_for_all",
        _biased_like("o_proj", "attention_bias"),
        'o_proj has a bias where c["attention_bias"] is true. It has an entry of its own: c["out_bias"].',
    ),
    Mutant(
        "unscaled",
        wrong(attend=_unscaled),
        "The scores are not divided by √D. Call your grouped_attention, which does.",
    ),
    Mutant(
        "scaled_by_model",
        wrong(attend=_scaled_by_model),
        "The scores are divided by the square root of d_model / n_heads. A head is head_dim wide: "
        "grouped_attention "
        "divides by the root of that.",
    ),
    Mutant(
        "tiled",
        wrong(attend=_tiled),
        "The key-value heads come as a, b, a, b. Neighboring query heads share one: call your grouped_attention.",
    ),
    Mutant(
        "past_detached",
        wrong(joined=_no_past_gradient),
        "The numbers are right, but with a past no gradient reaches the new keys and values: they were cut off "
        "(detach, "
        ".data).",
    ),
    Mutant(
        "nothing_learns",
        wrong(merged=lambda self, out: out.detach().transpose(1, 2).flatten(2)),
        "The numbers are right, but no gradient passes attention: its result was cut off (detach, .data, no_grad).",
    ),
    Mutant(
        "values_detached",
        wrong(attend=lambda self, q, k, v, mask: grouped_attention(q, k, v.detach(), mask)),
        "The numbers are right, but no gradient reaches the values, so v_proj never learns: they were cut off "
        "(detach, "
        ".data).",
    ),
    Mutant(
        "with_residual",
        wrong(
            forward=lambda self, x, mask=None, positions=None, past=None: (lambda out: (x + out[0], out[1]))(
                Attention.forward(self, x, mask, positions, past)
            )
        ),
        "x is added at the end. The residual belongs to the block around this layer.",
    ),
]
