"""DeepSeek-V3.2: DeepSeek-V3, whose attention reads only the keys that a small indexer has chosen.

Source: DeepSeek-AI 2025, arXiv:2512.02556.
"""

from typing import Any

import torch
from torch import Tensor, nn

from .. import names
from ..config import Config
from ..released import Theirs, UnknownFamily
from .deepseek_v3 import EXPERT_PARTS, RULES, latent_configuration, with_experts
from .experts import cut_experts
from .family import Newer, Own
from .rows import row_by_row

PARTS = {
    "Decoder": "assembly.decoder",
    "RMSNorm": "assembly.pieces",
    "apply_rope": "rope.apply_rope",
    "apply_rope_half": "rope.apply_rope_half",
    "grouped_attention": "cache.grouped",
    "index_scores": "index.scores",
    "best_visible": "index.choose",
    **EXPERT_PARTS,
}
_NAMES = {"wq_b": "index_q", "wk": "index_k", "k_norm": "index_norm", "weights_proj": "index_weights"}

Past = tuple[Tensor, Tensor, Tensor]  # latents (B, S, kv_rank), rotated keys (B, S, rope), index keys (B, S, D)


def _configuration(theirs: Theirs) -> Config:
    """Adds to DeepSeek-V3's keys: index_heads, index_dim (size of a head), index_keys (how many are chosen)."""
    dense, layers = theirs["first_k_dense_replace"], theirs["num_hidden_layers"]
    if theirs["mlp_layer_types"] != ["dense"] * min(dense, layers) + ["sparse"] * max(layers - dense, 0):
        raise UnknownFamily("the first layers are dense, and all others have experts")
    more: dict[str, Any] = {"index_heads": theirs["index_n_heads"], "index_dim": theirs["index_head_dim"]}
    return latent_configuration(theirs) | more | {"index_keys": theirs["index_topk"]}


class ChosenLatents(nn.Module):
    """Latent attention over chosen keys. Every key is scored here and the others are hidden; a kernel gathers instead.

    Weights are those of unit 14's latent attention, and four for the indexer: its queries come from the queries'
    latent, its keys and the weights of its heads from the token.
    """

    def __init__(self, c: Config, own: Own) -> None:
        super().__init__()
        self.c, self.own, d, H = c, own, c["d_model"], c["n_heads"]
        linear = lambda a, b: nn.Linear(a, b, bias=False)
        self.q_down, self.q_norm = linear(d, c["q_rank"]), own.RMSNorm(c["q_rank"], 1e-6)
        self.q_up = linear(c["q_rank"], H * (c["head_dim"] + c["rope_dim"]))
        self.kv_down, self.kv_norm = linear(d, c["kv_rank"] + c["rope_dim"]), own.RMSNorm(c["kv_rank"], 1e-6)
        self.kv_up = linear(c["kv_rank"], H * (c["head_dim"] + c["v_dim"]))
        self.o_proj = linear(H * c["v_dim"], d)
        self.index_q, self.index_k = linear(c["q_rank"], c["index_heads"] * c["index_dim"]), linear(d, c["index_dim"])
        self.index_norm, self.index_weights = nn.LayerNorm(c["index_dim"], 1e-6), linear(d, c["index_heads"])

    def forward(self, x: Tensor, past: Past | None = None) -> tuple[Tensor, Past]:
        """x (B, T, d_model), the last T of S tokens → (B, T, d_model), and what is stored of all S tokens. Causal."""
        c, plain, rope = self.c, self.c["head_dim"], self.c["rope_dim"]
        positions = torch.arange(x.shape[1], device=x.device) + (0 if past is None else past[0].shape[1])
        heads = lambda y, n: y.unflatten(-1, (n, -1)).transpose(1, 2)
        turn = lambda y: self.own.apply_rope(y, positions, c["base"])
        latent_q = self.q_norm(self.q_down(x))
        latent, key = self.kv_down(x).split([c["kv_rank"], rope], dim=-1)
        index_k = self.indexed(self.index_norm(self.index_k(x))[:, None], positions)
        new = self.kv_norm(latent), turn(key[:, None])[:, 0], index_k[:, 0]
        latent, key, index_key = new if past is None else (torch.cat(pair, 1) for pair in zip(past, new, strict=True))
        index_q = self.indexed(heads(self.index_q(latent_q), c["index_heads"]), positions).transpose(1, 2)
        # Released code also divides by √heads and √dim. All scores alike, so the choice is the same.
        scores = self.own.index_scores(index_q, index_key, self.index_weights(x))  # (B, T, S)
        chosen = self.own.best_visible(scores, c["index_keys"])
        q, q_turned = heads(self.q_up(latent_q), c["n_heads"]).split([plain, rope], dim=-1)
        k, v = heads(self.kv_up(latent), c["n_heads"]).split([plain, c["v_dim"]], dim=-1)
        shared = key[:, None].expand(-1, c["n_heads"], -1, -1)
        q, k = torch.cat([q, turn(q_turned)], dim=-1), torch.cat([k, shared], dim=-1)
        out = self.own.grouped_attention(q, k, v, chosen[:, None])
        return self.o_proj(out.transpose(1, 2).flatten(2)), (latent, key, index_key)

    def indexed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Rotates the first ``rope_dim`` numbers of the indexer's heads, x (B, J, T, D).

        Its pairs are (i, i + rope_dim/2), whereas attention itself rotates neighbors.
        """
        first, rest = x[..., : self.c["rope_dim"]], x[..., self.c["rope_dim"] :]
        return torch.cat([self.own.apply_rope_half(first, positions, self.c["base"]), rest], dim=-1)


def _build(c: Config, own: Own) -> nn.Module:
    layer = row_by_row(ChosenLatents)
    return with_experts(own.Decoder(c, lambda c: layer(c, own)), c, own)


FAMILY = Newer(
    title="DeepSeek-V3.2",
    configuration=_configuration,
    rules=[
        *(
            (rf"{names.LAYER}\.self_attn\.indexer\.{a}\.(.*)", rf"blocks.\1.attention.{b}.\2")
            for a, b in _NAMES.items()
        ),
        *RULES,
    ],
    cut=cut_experts,
    parts=PARTS,
    build=_build,
)
