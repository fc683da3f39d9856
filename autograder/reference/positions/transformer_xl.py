"""Four-term relative attention. Sources: Transformer-XL, arXiv:1901.02860; XLNet, arXiv:1906.08237.

score(i, j) = q_i·k_j + q_i·r_{i-j} + u·k_j + v·r_{i-j}: content-content, content-position, and global
biases u on content and v on position instead of the query's own position.
"""

import math

import torch
from torch import Tensor, nn

from autograder.reference.attention import attention_weights, merge_heads, split_heads
from autograder.reference.positions.relative import relative_positions
from autograder.reference.positions.sinusoidal import sinusoid_half


def relative_shift(x: Tensor) -> Tensor:
    """Shift row i left so that column j holds its own distance, using only padding and reshaping.

    Args: x (..., T, T+S-1), column c of every row for distance i - j = S-1-c counted from the last
    query, i.e. distances S-1 down to -(T-1).
    Returns: (..., T, S) with out[i, j] = x[i, j - i + T - 1].
    Raises: ValueError when there are fewer than T columns.
    """
    *lead, T, R = x.shape
    S = R - T + 1
    if S < 1:
        raise ValueError(f"need T+S-1 columns for T={T} rows, got {R}")
    padded = torch.cat([x.new_zeros(*lead, T, 1), x], dim=-1)  # (..., T, R+1)
    # Read with rows one shorter than stored, so each row starts one element further left.
    return padded.reshape(*lead, R + 1, T)[..., 1:, :].reshape(*lead, T, R)[..., :S]


def relative_shift_by_gather(x: Tensor) -> Tensor:
    """The same with an explicit index: slower, but obvious."""
    *lead, T, R = x.shape
    S = R - T + 1
    index = relative_positions(T, S, 0, x.device) + T - 1
    return x.gather(-1, index.expand(*lead, T, S))


def transformer_xl_scores(q: Tensor, k: Tensor, r: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """((q + u)·k + shift((q + v)·r))/√D.

    Args: q (B, H, T, D); k (B, H, S, D), S - T of them memory; r (H, T+S-1, D), projected encodings of
    distances S-1 … -(T-1); u and v (H, D).
    Returns: (B, H, T, S). Raises: ValueError when r has a different length.
    """
    T, S = q.shape[-2], k.shape[-2]
    if r.shape[-2] != T + S - 1:
        raise ValueError(f"r needs T+S-1 = {T + S - 1} distances, got {r.shape[-2]}")
    content = (q + u[:, None]) @ k.transpose(-2, -1)  # (B, H, T, S)
    position = relative_shift((q + v[:, None]) @ r.transpose(-2, -1))  # (B, H, T, S)
    return (content + position) / math.sqrt(q.shape[-1])


class TransformerXLAttention(nn.Module):
    """Multi-head relative attention over a memory and the current segment.

    Parameters: q_proj, k_proj, v_proj, o_proj, r_proj (d_model, d_model) without biases; u, v (H, D).
    """

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model ({d_model}) must be divisible by n_heads ({n_heads})")
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, d_model, bias=False)
        self.v_proj = nn.Linear(d_model, d_model, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)
        self.r_proj = nn.Linear(d_model, d_model, bias=False)
        self.u = nn.Parameter(torch.zeros(n_heads, d_model // n_heads))
        self.v = nn.Parameter(torch.zeros(n_heads, d_model // n_heads))

    def forward(self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Args: x (B, T, d_model); memory (B, M, d_model), earlier hidden states, S = M + T; mask
        boolean, True = may attend, broadcastable to (B, H, T, S).
        Returns: (B, T, d_model). No gradient flows into the memory.
        """
        context = x if memory is None else torch.cat([memory.detach(), x], dim=1)
        T, S = x.shape[1], context.shape[1]
        # In float64, so that the encodings are rounded once, to the dtype of x.
        distances = torch.arange(S - 1, -T, -1, device=x.device, dtype=torch.float64)  # S-1 … -(T-1)
        encoded = sinusoid_half(distances, x.shape[-1]).to(x.dtype)  # (T+S-1, d_model)
        r = split_heads(self.r_proj(encoded)[None], self.n_heads)[0]  # (H, T+S-1, D)
        q = split_heads(self.q_proj(x), self.n_heads)
        k = split_heads(self.k_proj(context), self.n_heads)
        values = split_heads(self.v_proj(context), self.n_heads)
        weights = attention_weights(transformer_xl_scores(q, k, r, self.u, self.v), mask)
        return self.o_proj(merge_heads(weights @ values))
