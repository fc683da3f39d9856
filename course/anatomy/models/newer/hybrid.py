"""Decoders in which some layers store keys and values, and the others a state of fixed size.

Sources: gated delta rule, Yang et al. 2024, arXiv:2412.06464, with its short convolutions and its gate on the result;
the parameters of the decay are those of Mamba-2, Dao and Gu 2024, arXiv:2405.21060.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..config import Config
from ..released import Theirs, UnknownFamily
from .family import Own

HYBRID_PARTS = {
    "Decoder": "assembly.decoder",
    "Attention": "assembly.attention",
    "Block": "assembly.block",
    "RMSNorm": "assembly.pieces",
    "decoder_mask": "assembly.masks",
    "position_ids": "assembly.masks",
    "repeat_kv": "cache.grouped",
    "delta_rule": "state.delta",
}
FULL, STATE = "full", "state"
EPS = 1e-6  # added to the squared length of a query and of a key
_KINDS = {"full_attention": FULL, "linear_attention": STATE}

Past = tuple[Tensor, Tensor]


def state_configuration(theirs: Theirs, rate: float, eps: float) -> Config:
    """What a hybrid adds to unit 11's keys.

    kinds: of each layer, ``full`` or ``state``; state_heads and state_groups: numbers of value and of key heads, of
    which several value heads share one; state_key, state_value: their sizes; kernel: tokens that a convolution reads;
    state_rate: the largest rate of a write; state_eps: ε of the norm on the result.
    """
    if theirs.get("hidden_act", "silu") != "silu":
        raise UnknownFamily("the convolutions and gates here have SiLU")
    return {
        "kinds": [_KINDS[kind] for kind in theirs["layer_types"]],
        "state_heads": theirs["linear_num_value_heads"],
        "state_groups": theirs["linear_num_key_heads"],
        "state_key": theirs["linear_key_head_dim"],
        "state_value": theirs["linear_value_head_dim"],
        "kernel": theirs["linear_conv_kernel_dim"],
        "state_rate": rate,
        "state_eps": eps,
    }


class StateLayer(nn.Module):
    """Short convolution, gated delta rule, norm, gate, output projection. A subclass has the projections."""

    def __init__(self, c: Config, own: Own) -> None:
        super().__init__()
        self.c, self.own = c, own
        heads, values = c["state_heads"], c["state_heads"] * c["state_value"]
        self.sizes = [c["state_groups"] * c["state_key"]] * 2 + [values]  # of queries, keys, values
        channels = sum(self.sizes)
        self.conv = nn.Conv1d(channels, channels, c["kernel"], groups=channels, bias=False)
        self.decay_log, self.decay_bias = (nn.Parameter(torch.zeros(heads)) for _ in range(2))
        self.out_norm = own.RMSNorm(c["state_value"], c["state_eps"])
        self.o_proj = nn.Linear(values, c["d_model"], bias=False)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """x (B, T, d_model) → queries, keys and values side by side (B, T, C), gate (B, T, H, Dv), logits of the rate
        and of the decay (B, T, H)."""
        raise NotImplementedError

    def forward(
        self, x: Tensor, mask: Tensor, positions: Tensor | None = None, past: Past | None = None
    ) -> tuple[Tensor, Past]:
        """Args: x (B, T, d_model); mask (B, T) boolean, False = padding; past as returned by the previous call.

        Returns: (B, T, d_model), and the convolution's last inputs (B, kernel − 1, C) with the state (B, H, D, Dv).
        """
        c, T = self.c, x.shape[1]
        mixed, gate, rate, decay = self.project(x)
        mixed = mixed * mask[..., None]  # the convolution reads zeros before a text begins
        before = mixed.new_zeros(len(x), c["kernel"] - 1, mixed.shape[-1]) if past is None else past[0]
        inputs = torch.cat([before, mixed], dim=1)
        q, k, v = F.silu(self.conv(inputs.mT).mT).split(self.sizes, dim=-1)
        q, k = (self.spread(part.unflatten(-1, (c["state_groups"], -1)).transpose(1, 2)) for part in (q, k))
        q = q / (q.pow(2).sum(-1, keepdim=True) + EPS).sqrt() / math.sqrt(q.shape[-1])
        v = v.unflatten(-1, (c["state_heads"], -1)).transpose(1, 2)  # (B, H, T, Dv)
        kept = torch.exp(-self.decay_log.exp() * F.softplus(decay + self.decay_bias))
        # A padded token forgets nothing and writes nothing. Its key, all zeros, has no direction, so it gets one.
        kept = kept.where(mask[..., None], 1).mT  # (B, H, T)
        rate = (c["state_rate"] * rate.sigmoid()).where(mask[..., None], 0).mT
        k = k.where(mask[:, None, :, None], 1)
        # Here the length of a key has the ε too, so a divided key is a little shorter than 1: r. The learner's rule
        # makes it 1. Both write the same if the rule gets r² times the rate and 1/r times the value.
        squared = k.pow(2).sum(-1, keepdim=True)
        rr = squared / (squared + EPS)
        rate, v = rate * rr[..., 0], v / rr.sqrt()
        out, state = self.own.delta_rule(q, k, v, kept, rate, None if past is None else past[1])
        out = self.out_norm(out.transpose(1, 2)) * F.silu(gate)  # (B, T, H, Dv)
        return self.o_proj(out.flatten(2)), (inputs[:, T:], state)

    def spread(self, x: Tensor) -> Tensor:
        """(B, G, T, D) → (B, H, T, D): neighboring value heads share a key head."""
        return self.own.repeat_kv(x, self.c["state_heads"] // self.c["state_groups"])


def hybrid(c: Config, own: Own, blocks: Sequence[nn.Module]) -> Any:
    """The learner's decoder with these blocks, one for each of ``c["kinds"]``, in place of its own."""

    class Hybrid(own.Decoder):
        def __init__(self) -> None:
            super().__init__(c | {"n_layers": 0})
            self.c, self.blocks = c, nn.ModuleList(blocks)

        def forward(
            self, ids: Tensor, real: Tensor | None = None, past: Sequence[Past] | None = None
        ) -> tuple[Tensor, list[Past]]:
            """As the learner's. A layer with a state gets ``real`` of the new tokens in place of a mask."""
            # A state does not know how many tokens it has read. Keys do.
            seen = past[c["kinds"].index(FULL)][0].shape[2] if past else 0
            if real is None:
                real = ids.new_ones(len(ids), seen + ids.shape[1], dtype=torch.bool)
            positions = own.position_ids(real)[:, seen:]
            masks = {FULL: own.decoder_mask(real, ids.shape[1]), STATE: real[:, seen:]}
            x, stored = self.embeddings(ids, positions), list[Past]()
            for layer, kind in enumerate(c["kinds"]):
                x, pair = self.blocks[layer](x, masks[kind], positions, past[layer] if past else None)
                stored.append(pair)
            return self.logits(self.final_norm(x)), stored

    return Hybrid()
