"""DeepSeek-V3: latent attention, first layers dense, then experts in groups with a bias that chooses, and a shared one.

Source: DeepSeek-AI 2024, arXiv:2412.19437, sections 2.1.1 and 2.1.2.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import names
from ..config import Config
from ..released import Theirs, UnknownFamily, base_of, latent_like
from .experts import cut_experts, weighted_sum
from .family import Newer, Own
from .rows import row_by_row

EXPERT_PARTS = {"GatedFeedForward": "ffn.gated", "route_biased": "experts.route"}
PARTS = {"Decoder": "assembly.decoder", "LatentAttention": "latent.shipped", **EXPERT_PARTS}
RULES = [
    *names.LATENT,
    (rf"{names.LAYER}\.mlp\.gate\.e_score_correction_bias", r"blocks.\1.ffn.bias"),
    (rf"{names.LAYER}\.mlp\.gate\.(.*)", r"blocks.\1.ffn.router.\2"),
    (rf"{names.LAYER}\.mlp\.shared_experts\.(.*)", r"blocks.\1.ffn.shared.\2"),
    *names.DECODER,
    *names.PRE,
]


def latent_configuration(theirs: Theirs) -> Config:
    """Adds to unit 11's keys: n_dense layers without experts, n_groups of experts of which n_open may work for a token,
    expert_ff and shared_ff (widths), expert_scale (what the weights sum to)."""
    if not theirs.get("q_lora_rank") or theirs.get("attention_bias") or not theirs["norm_topk_prob"]:
        raise UnknownFamily("the part here has a latent for queries, no biases, and weights that are divided by a sum")
    c = latent_like(theirs, n_experts=theirs["n_routed_experts"], n_active=theirs["num_experts_per_tok"])
    more: dict[str, Any] = {"n_dense": theirs["first_k_dense_replace"], "expert_ff": theirs["moe_intermediate_size"]}
    more |= {"n_groups": theirs["n_group"], "n_open": theirs["topk_group"]}
    more |= {"shared_ff": theirs["moe_intermediate_size"] * theirs["n_shared_experts"]}
    return c | more | {"expert_scale": theirs["routed_scaling_factor"]}


def _configuration(theirs: Theirs) -> Config:
    if base_of(theirs) != 10_000 or not theirs.get("rope_interleave", True):
        raise UnknownFamily("latent.shipped rotates neighbors, with base 10,000")
    return latent_configuration(theirs)


def in_open_groups(scores: Tensor, n_groups: int, n_open: int) -> Tensor:
    """scores (N, E) → (N, E) bool: True for the experts of each token's ``n_open`` best groups.

    Groups are runs of E / n_groups experts, and a group is as good as the sum of its two best.
    """
    two_best = scores.unflatten(-1, (n_groups, -1)).topk(2, dim=-1).values.sum(-1)  # (N, n_groups)
    is_open = torch.zeros_like(two_best, dtype=torch.bool).scatter(-1, two_best.topk(n_open, dim=-1).indices, True)
    return is_open.repeat_interleave(scores.shape[-1] // n_groups, dim=-1)


class GroupedExperts(nn.Module):
    """The chosen experts of a token, and one shared expert that works for all. The bias is moved by hand: a buffer."""

    bias: Tensor

    def __init__(self, c: Config, own: Own) -> None:
        super().__init__()
        self.c, self.own, d = c, own, c["d_model"]
        self.router = nn.Linear(d, c["n_experts"], bias=False)
        self.register_buffer("bias", torch.zeros(c["n_experts"]))
        self.experts = nn.ModuleList(own.GatedFeedForward(d, c["expert_ff"], F.silu) for _ in range(c["n_experts"]))
        self.shared = own.GatedFeedForward(d, c["shared_ff"], F.silu)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, T, d_model) → the same shape."""
        c, tokens = self.c, x.flatten(0, 1)
        logits = self.router(tokens)
        allowed = in_open_groups(logits.sigmoid() + self.bias, c["n_groups"], c["n_open"])
        # The bias takes part in the choice only, so −∞ closes an expert and changes no weight.
        bias = torch.where(allowed, self.bias, -math.inf)
        weights, chosen = self.own.route_biased(logits, bias, c["n_active"], c["expert_scale"])
        return weighted_sum(tokens, weights, chosen, self.experts).view_as(x) + self.shared(x)


def with_experts(model: Any, c: Config, own: Own) -> nn.Module:
    """The model, whose layers from number ``n_dense`` on get experts in place of their feed-forward layer."""
    for block in model.blocks[c["n_dense"] :]:
        block.ffn = GroupedExperts(c, own)
    return model


def _build(c: Config, own: Own) -> nn.Module:
    layer = row_by_row(own.LatentAttention)
    sizes = [c[key] for key in ("d_model", "n_heads", "q_rank", "kv_rank", "head_dim", "rope_dim", "v_dim")]
    return with_experts(own.Decoder(c, lambda c: layer(*sizes)), c, own)


FAMILY = Newer(
    title="DeepSeek-V3",
    configuration=_configuration,
    rules=RULES,
    cut=cut_experts,
    parts=PARTS,
    build=_build,
)
