"""Multi-head latent attention of a chunk of tokens with a past, computed on the latents (DeepSeek-V3's layer).

Sources: DeepSeek-V2, arXiv:2405.04434, section 2.1; DeepSeek-V3, arXiv:2412.19437, section 2.1.1.
"""

import math

import torch
from torch import Tensor, nn

Past = tuple[Tensor, Tensor]  # latents (B, S, kv_rank), rotated keys (B, S, rope)


def rotate_pairs(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """x (..., T, D): each pair of neighbors, (0, 1), (2, 3), …, is turned by its position times its frequency."""
    half = x.shape[-1] // 2
    angle = positions[:, None] * base ** (-torch.arange(half, device=x.device) / half)
    cos, sin, a, b = angle.cos().to(x.dtype), angle.sin().to(x.dtype), x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


class LatentAttention(nn.Module):
    """One layer. Queries come from a latent of q_rank numbers, keys and values from one of kv_rank, and one rotated key
    of rope numbers is shared by all heads.

    Projections, none with a bias: q_down d_model → q_rank, q_up q_rank → H·(nope + rope), kv_down d_model → kv_rank +
    rope, kv_up kv_rank → H·(nope + v_dim), o_proj H·v_dim → d_model; an RMSNorm on each of the two latents.
    """

    def __init__(self, d_model: int, H: int, q_rank: int, kv_rank: int, nope: int, rope: int, v_dim: int) -> None:
        super().__init__()
        self.H, self.kv_rank, self.nope, self.rope, self.v_dim = H, kv_rank, nope, rope, v_dim
        self.q_down, self.q_norm = nn.Linear(d_model, q_rank, bias=False), nn.RMSNorm(q_rank, eps=1e-6)
        self.q_up = nn.Linear(q_rank, H * (nope + rope), bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank + rope, bias=False)
        self.kv_norm = nn.RMSNorm(kv_rank, eps=1e-6)
        self.kv_up = nn.Linear(kv_rank, H * (nope + v_dim), bias=False)
        self.o_proj = nn.Linear(H * v_dim, d_model, bias=False)

    def forward(self, x: Tensor, past: Past | None = None) -> tuple[Tensor, Past]:
        """x (B, T, d_model), the last T of S tokens → (B, T, d_model), and what is stored of all S tokens. Causal."""
        start, T = 0 if past is None else past[0].shape[1], x.shape[1]
        at = start + torch.arange(T, device=x.device)
        q = self.q_up(self.q_norm(self.q_down(x))).unflatten(-1, (self.H, -1)).transpose(1, 2)
        q, q_rope = q.split([self.nope, self.rope], -1)
        c, k_rope = self.kv_down(x).split([self.kv_rank, self.rope], -1)
        c, k_rope = self.kv_norm(c), rotate_pairs(k_rope, at)
        if past is not None:
            c, k_rope = torch.cat([past[0], c], 1), torch.cat([past[1], k_rope], 1)
        w_uk, w_uv = self.kv_up.weight.unflatten(0, (self.H, -1)).split([self.nope, self.v_dim], 1)
        scores = (q @ w_uk) @ c[:, None].mT + rotate_pairs(q_rope, at) @ k_rope[:, None].mT  # (B, H, T, S)
        mask = torch.ones(T, start + T, dtype=torch.bool, device=x.device).tril(start)
        scores = (scores / math.sqrt(self.nope + self.rope)).masked_fill(~mask, -math.inf)
        heads = (scores.softmax(-1) @ c[:, None]) @ w_uv.mT  # (B, H, T, v_dim)
        return self.o_proj(heads.transpose(1, 2).flatten(2)), (c, k_rope)
