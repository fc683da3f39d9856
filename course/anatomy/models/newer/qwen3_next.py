"""Qwen3-Next: three layers with a gated delta rule, then one of attention with a gate on its result, and so on.

The attention layer normalizes queries and keys by head and rotates a quarter of each head. All layers have experts, and
norms of 1 + weight.

Sources: Qwen Team 2025 (Qwen3-Next-80B-A3B, its published configuration and code); gated attention, Qiu et al. 2025,
arXiv:2505.06708; gated delta rule, Yang et al. 2024, arXiv:2412.06464.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import names
from ..config import Config
from ..names import State
from ..released import Theirs, UnknownFamily, decoder_like
from .experts import cut_experts, weighted_sum
from .family import Newer, Own
from .hybrid import FULL, HYBRID_PARTS, STATE, StateLayer, hybrid, state_configuration

PARTS = {
    **HYBRID_PARTS,
    "rms_norm": "norm.rms_norm",
    "apply_rope_half": "rope.apply_rope_half",
    "gated_output": "gate.output",
    "GatedFeedForward": "ffn.gated",
    "route": "experts.route",
}
_STATE = {
    "in_proj_qkvz": "qkvz_proj",
    "in_proj_ba": "ba_proj",
    "conv1d": "conv",
    "norm": "out_norm",
    "out_proj": "o_proj",
}
RULES = [
    *((rf"{names.LAYER}\.linear_attn\.{a}\.(.*)", rf"blocks.\1.attention.{b}.\2") for a, b in _STATE.items()),
    (rf"{names.LAYER}\.linear_attn\.A_log", r"blocks.\1.attention.decay_log"),
    (rf"{names.LAYER}\.linear_attn\.dt_bias", r"blocks.\1.attention.decay_bias"),
    (rf"{names.LAYER}\.mlp\.gate\.(.*)", r"blocks.\1.ffn.router.\2"),
    (rf"{names.LAYER}\.mlp\.shared_expert\.(.*)", r"blocks.\1.ffn.shared.\2"),
    (rf"{names.LAYER}\.mlp\.shared_expert_gate\.(.*)", r"blocks.\1.ffn.shared_gate.\2"),
    *names.DECODER,
    *names.PRE,
]


def _configuration(theirs: Theirs) -> Config:
    """Adds to unit 11's keys those of ``state_configuration``, expert_ff and shared_ff."""
    if theirs["mlp_only_layers"] or theirs["decoder_sparse_step"] != 1 or not theirs["norm_topk_prob"]:
        raise UnknownFamily("all layers have experts here, with weights that are divided by their sum")
    c = decoder_like(
        theirs,
        qk_norm="head",
        rotary_dim=int(theirs["head_dim"] * theirs["rope_parameters"]["partial_rotary_factor"]),
        n_experts=theirs["num_experts"],
        n_active=theirs["num_experts_per_tok"],
    )
    more: dict[str, Any] = {"expert_ff": theirs["moe_intermediate_size"]}
    more |= {"shared_ff": theirs["shared_expert_intermediate_size"]}
    return c | more | state_configuration(theirs, rate=1.0, eps=theirs["rms_norm_eps"])


class ZeroCentered(nn.Module):
    """The learner's RMSNorm with 1 + weight as its factor, so that weights begin at 0."""

    def __init__(self, d: int, eps: float, own: Own) -> None:
        super().__init__()
        self.eps, self.own, self.weight = eps, own, nn.Parameter(torch.zeros(d))

    def forward(self, x: Tensor) -> Tensor:
        return self.own.rms_norm(x, 1 + self.weight, self.eps)


class QwenState(StateLayer):
    """Two projections, whose rows lie by key heads: query, key, values and gates of one key head, then of the next."""

    def __init__(self, c: Config, own: Own) -> None:
        super().__init__(c, own)
        self.qkvz_proj = nn.Linear(c["d_model"], sum(self.sizes) + self.sizes[2], bias=False)
        self.ba_proj = nn.Linear(c["d_model"], 2 * c["state_heads"], bias=False)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        c, groups = self.c, self.c["state_groups"]
        values = self.sizes[2] // groups
        by_group = lambda y: y.unflatten(-1, (groups, -1))
        q, k, v, z = by_group(self.qkvz_proj(x)).split([c["state_key"]] * 2 + [values] * 2, dim=-1)
        b, a = by_group(self.ba_proj(x)).chunk(2, dim=-1)
        mixed = torch.cat([q.flatten(2), k.flatten(2), v.flatten(2)], dim=-1)
        return mixed, z.flatten(2).unflatten(-1, (c["state_heads"], -1)), b.flatten(2), a.flatten(2)


def _attention(own: Own) -> type[nn.Module]:
    class GatedLayer(own.Attention):
        """The learner's attention layer with a gate for each number of its result."""

        def __init__(self, c: Config) -> None:
            super().__init__(c)
            self.gate_proj = nn.Linear(c["d_model"], c["n_heads"] * c["head_dim"], bias=False)
            self.q_norm, self.k_norm = (ZeroCentered(c["head_dim"], c["eps"], own) for _ in range(2))

        def prepare(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
            return self.turn(self.q_norm(q), positions), self.turn(self.k_norm(k), positions)

        def turn(self, x: Tensor, positions: Tensor) -> Tensor:
            r = self.c["rotary_dim"]
            return torch.cat([own.apply_rope_half(x[..., :r], positions, self.c["base"]), x[..., r:]], dim=-1)

        def forward(
            self, x: Tensor, mask: Tensor, positions: Tensor, past: tuple[Tensor, Tensor] | None = None
        ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
            heads = lambda y: y.unflatten(-1, (-1, self.c["head_dim"])).transpose(1, 2)
            q, k = self.prepare(heads(self.q_proj(x)), heads(self.k_proj(x)), positions)
            v = heads(self.v_proj(x))
            if past is not None:
                k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
            # The gate reads what the queries read, and comes before the output projection.
            gated = own.gated_output(self.attend(q, k, v, mask), x, self.gate_proj.weight)
            return self.o_proj(gated), (k, v)

    return GatedLayer


class SharedExperts(nn.Module):
    """The chosen experts of a token by weights that sum to 1, and a shared one, times a sigmoid of the token."""

    def __init__(self, c: Config, own: Own) -> None:
        super().__init__()
        self.own, self.n_active, d = own, c["n_active"], c["d_model"]
        self.router, self.shared_gate = (nn.Linear(d, n, bias=False) for n in (c["n_experts"], 1))
        self.experts = nn.ModuleList(own.GatedFeedForward(d, c["expert_ff"], F.silu) for _ in range(c["n_experts"]))
        self.shared = own.GatedFeedForward(d, c["shared_ff"], F.silu)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, d_model) → the same shape."""
        tokens = x.flatten(0, 1)
        weights, chosen = self.own.route(self.router(tokens), self.n_active)
        weights = weights / weights.sum(-1, keepdim=True)
        chosen_ones = weighted_sum(tokens, weights, chosen, self.experts).view_as(x)
        return chosen_ones + self.shared_gate(x).sigmoid() * self.shared(x)


def _build(c: Config, own: Own) -> nn.Module:
    layers, blocks = {FULL: _attention(own), STATE: lambda c: QwenState(c, own)}, []
    for kind in c["kinds"]:
        block = own.Block(c, layers[kind], lambda c: SharedExperts(c, own))
        block.attention_norm, block.ffn_norm = (ZeroCentered(c["d_model"], c["eps"], own) for _ in range(2))
        blocks.append(block)
    model = hybrid(c, own, blocks)
    model.final_norm = ZeroCentered(c["d_model"], c["eps"], own)
    return model


def _cut(state: State) -> State:
    """Splits the experts, and q_proj, in which each head's queries and gates lie together.

    Drops the block that released files have for drafting tokens (``mtp``), which is no part of the decoder.
    """
    parted: State = {}
    for name, tensor in cut_experts({n: t for n, t in state.items() if not n.startswith("mtp.")}).items():
        stem, is_query, _ = name.rpartition("q_proj.weight")
        norm = state.get(f"{stem}q_norm.weight")
        if not is_query or norm is None:
            parted[name] = tensor
            continue
        by_head = tensor.unflatten(0, (-1, 2, len(norm)))  # (H, 2, D, d_model)
        parted[name], parted[f"{stem}gate_proj.weight"] = by_head[:, 0].flatten(0, 1), by_head[:, 1].flatten(0, 1)
    return parted


FAMILY = Newer(
    title="Qwen3-Next",
    configuration=_configuration,
    rules=RULES,
    cut=_cut,
    parts=PARTS,
    build=_build,
)
