"""Multi-head latent attention: all heads' keys and values come from one small cached vector per token.

Per token only c (kv_rank numbers) and one rotated key k_rope (rope_dim numbers, shared by all heads) are
cached. Keys and values of head h are W_UK,h c and W_UV,h c. Since (q·W_UK c) = (W_UKᵀ q)·c, both matrices
can be absorbed into the query and into the output, and decoding never expands the latents. RoPE between
q and W_UK would prevent that, hence the separate rotary part.

Sources: DeepSeek-V2, arXiv:2405.04434, section 2.1; DeepSeek-V3, arXiv:2412.19437.
"""

import math

import torch
from torch import Tensor, nn

from autograder.reference.attention import attention_weights, merge_heads
from autograder.reference.gqa import KeyValueCache, heads
from autograder.reference.norms import RMSNorm
from autograder.reference.rope import rope_frequencies
from autograder.reference.rope_scaling import apply_scaled_rope


def on_shared(x: Tensor, shared: Tensor) -> Tensor:
    """x @ shared with one matrix for all heads, which is read in place.

    Broadcasting would give the same numbers, but torch's matmul would copy the matrix once per head.
    Instead, the heads' rows are stacked in one tall matrix.

    Args: x (B, H, T, D), shared (B, 1, D, S). Returns: (B, H, T, S).
    """
    return (x.flatten(1, 2) @ shared[:, 0]).unflatten(1, x.shape[1:3])


class LatentAttention(nn.Module):
    """MLA with a low-rank query as well.

    Projections, none with a bias: q_down d_model -> q_rank, q_up q_rank -> H·(nope_dim + rope_dim);
    kv_down d_model -> kv_rank + rope_dim, kv_up kv_rank -> H·(nope_dim + v_dim); o_proj H·v_dim ->
    d_model. q_norm and kv_norm are RMSNorms on the two latents. RoPE is interleaved, as in the released
    weights.

    Args: base of RoPE's frequencies; frequencies (rope_dim/2,) replace those of base, for YaRN; logit_factor,
    YaRN's squared temperature, multiplies 1/√(nope_dim + rope_dim).
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        q_rank: int,
        kv_rank: int,
        nope_dim: int,
        rope_dim: int,
        v_dim: int,
        base: float = 10000.0,
        frequencies: Tensor | None = None,
        logit_factor: float = 1.0,
    ):
        super().__init__()
        self.n_heads, self.kv_rank = n_heads, kv_rank
        self.nope_dim, self.rope_dim, self.v_dim = nope_dim, rope_dim, v_dim
        self.scale = logit_factor / math.sqrt(nope_dim + rope_dim)
        if frequencies is None:
            frequencies = rope_frequencies(rope_dim, base, dtype=torch.float64)
        self.frequencies = frequencies  # a plain attribute: module.half() must not round it
        self.q_down = nn.Linear(d_model, q_rank, bias=False)
        self.q_norm = RMSNorm(q_rank)
        self.q_up = nn.Linear(q_rank, n_heads * (nope_dim + rope_dim), bias=False)
        self.kv_down = nn.Linear(d_model, kv_rank + rope_dim, bias=False)
        self.kv_norm = RMSNorm(kv_rank)
        self.kv_up = nn.Linear(kv_rank, n_heads * (nope_dim + v_dim), bias=False)
        self.o_proj = nn.Linear(n_heads * v_dim, d_model, bias=False)

    def latents(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """The cached tensors: c (B, 1, T, kv_rank), and the rotated key (B, 1, T, rope_dim) of all heads."""
        c, k_rope = self.kv_down(x).split([self.kv_rank, self.rope_dim], dim=-1)
        k_rope = apply_scaled_rope(k_rope[:, None], position_ids, self.frequencies)
        return self.kv_norm(c)[:, None], k_rope

    def queries(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """q_nope (B, H, T, nope_dim), and q_rope (B, H, T, rope_dim), rotated."""
        q = heads(self.q_up(self.q_norm(self.q_down(x))), self.n_heads)
        q_nope, q_rope = q.split([self.nope_dim, self.rope_dim], dim=-1)
        return q_nope, apply_scaled_rope(q_rope, position_ids, self.frequencies)

    def up_matrices(self) -> tuple[Tensor, Tensor]:
        """W_UK (H, nope_dim, kv_rank) and W_UV (H, v_dim, kv_rank), the two parts of kv_up."""
        return self.kv_up.weight.unflatten(0, (self.n_heads, -1)).split([self.nope_dim, self.v_dim], dim=1)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Expanded form: every head's keys and values are written out. Cheaper for prefill.

        Args: x (B, T, d_model); mask boolean, True = may attend, over all S keys; position_ids (T,) or
        (B, T), absolute; cache, a ContiguousCache(B, 1, capacity, kv_rank, rope_dim).
        Returns: (B, T, d_model). Raises: ValueError without position_ids.
        """
        q_nope, q_rope, c, k_rope = self._inputs(x, position_ids, cache)
        k_nope, v = heads(self.kv_up(c[:, 0]), self.n_heads).split([self.nope_dim, self.v_dim], dim=-1)
        scores = q_nope @ k_nope.transpose(-2, -1) + on_shared(q_rope, k_rope.transpose(-2, -1))  # (B, H, T, S)
        return self.o_proj(merge_heads(attention_weights(scores * self.scale, mask) @ v))

    def forward_absorbed(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """The same function computed on the latents: multi-query attention with one wide head.

        Per cached token it reads kv_rank + rope_dim numbers, for any number of heads, and copies none of
        them. Arguments, result and errors as in forward.
        """
        q_nope, q_rope, c, k_rope = self._inputs(x, position_ids, cache)
        w_uk, w_uv = self.up_matrices()
        # einsum treats the heads as the batch; a plain @ would copy both matrices once per sequence.
        q_latent = torch.einsum("bhtd,hdr->bhtr", q_nope, w_uk)
        scores = on_shared(q_latent, c.transpose(-2, -1)) + on_shared(q_rope, k_rope.transpose(-2, -1))
        mixed = on_shared(attention_weights(scores * self.scale, mask), c)  # (B, H, T, kv_rank)
        return self.o_proj(merge_heads(torch.einsum("bhtr,hvr->bhtv", mixed, w_uv)))

    def _inputs(
        self, x: Tensor, position_ids: Tensor | None, cache: KeyValueCache | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        if position_ids is None:
            raise ValueError("latent attention needs position_ids")
        q_nope, q_rope = self.queries(x, position_ids)
        c, k_rope = self.latents(x, position_ids)
        if cache is not None:
            c, k_rope = cache.append(c, k_rope)
        return q_nope, q_rope, c, k_rope


def mla_bytes_per_token(n_layers: int, kv_rank: int, rope_dim: int, itemsize: int = 2) -> int:
    """N·(kv_rank + rope_dim)·itemsize. DeepSeek-V3 (61 layers, 512 + 64): 70,272 in half precision."""
    return n_layers * (kv_rank + rope_dim) * itemsize


def equivalent_groups(kv_rank: int, rope_dim: int, head_dim: int) -> float:
    """How many key-value heads of size head_dim GQA could afford for the same cache.

    DeepSeek-V2 (512 + 64, head dim 128): 2.25.
    """
    return (kv_rank + rope_dim) / (2 * head_dim)
