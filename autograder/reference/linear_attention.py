"""Attention whose past is one matrix: linear attention with decay, and the gated delta rule.

The state S (D, Dv) is a memory of pairs k → v that is read by q @ S. Its size doesn't depend on the text's length.

Sources: linear attention, Katharopoulos et al. 2020, arXiv:2006.16236; decay, Sun et al. 2023, arXiv:2307.08621, and
Mamba-2, Dao and Gu 2024, arXiv:2405.21060; delta rule, Schlag et al. 2021, arXiv:2102.11174, and Yang et al. 2024,
arXiv:2406.06484; gated delta rule, Yang et al. 2024, arXiv:2412.06464.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def _start(k: Tensor, v: Tensor, state: Tensor | None) -> Tensor:
    shape = (*k.shape[:-2], k.shape[-1], v.shape[-1])
    return torch.zeros(shape, dtype=v.dtype, device=v.device) if state is None else state


def linear_recurrent(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Token after token: S ← decay · S + k vᵀ, then out = q S.

    Args: q, k (..., T, D), v (..., T, Dv), decay (..., T) in (0, 1], state None (zeros) or (..., D, Dv); one dtype.
    Returns: out (..., T, Dv), and the state after the last token (..., D, Dv).
    """
    state, out = _start(k, v, state), []
    for t in range(q.shape[-2]):
        state = decay[..., t, None, None] * state + k[..., t, :, None] * v[..., t, None, :]
        out.append((q[..., t, None, :] @ state)[..., 0, :])
    return torch.stack(out, -2), state


def decay_between(decay: Tensor) -> Tensor:
    """decay (..., T) → (..., T, T): the product of the decays after s up to t, 0 where s > t."""
    passed = decay.log().cumsum(-1)
    T = decay.shape[-1]
    later = torch.ones(T, T, dtype=torch.bool, device=decay.device).triu(1)
    # Filled before exp: above the diagonal the differences are positive, and large ones overflow.
    return (passed[..., :, None] - passed[..., None, :]).masked_fill(later, -math.inf).exp()


def linear_parallel(q: Tensor, k: Tensor, v: Tensor, decay: Tensor) -> Tensor:
    """The same for all tokens at once: q kᵀ, times what decay left of each pair, times v. Arguments as above.

    Returns: (..., T, Dv).
    """
    return (q @ k.transpose(-2, -1) * decay_between(decay)) @ v


def linear_in_chunks(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor, chunk: int, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Masked products inside chunks, one state from chunk to chunk. Equal to linear_recurrent; chunk >= 1."""
    state, out = _start(k, v, state), []
    for start in range(0, q.shape[-2], chunk):
        part = slice(start, start + chunk)
        a, b, c, d = q[..., part, :], k[..., part, :], v[..., part, :], decay[..., part]
        passed = d.log().cumsum(-1)  # since the border, the own decay included
        left = (passed[..., -1:] - passed).exp()  # what the chunk's end still has of each token
        out.append(linear_parallel(a, b, c, d) + passed.exp()[..., None] * (a @ state))
        state = passed[..., -1, None, None].exp() * state + (b * left[..., None]).transpose(-2, -1) @ c
    return torch.cat(out, -2), state


def delta_rule(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor, rate: Tensor, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The gated delta rule: S ← decay · S; S ← S + rate · k (v − Sᵀk)ᵀ; out = q S. Keys are scaled to length 1.

    Args: as linear_recurrent, and rate (..., T) in [0, 1]. Decay 1 everywhere is the delta rule without a gate.
    Returns: out (..., T, Dv), and the state after the last token (..., D, Dv).
    """
    k = F.normalize(k, dim=-1)
    state, out = _start(k, v, state), []
    for t in range(q.shape[-2]):
        state = decay[..., t, None, None] * state
        stored = (k[..., t, None, :] @ state)[..., 0, :]
        change = rate[..., t, None] * (v[..., t, :] - stored)
        state = state + k[..., t, :, None] * change[..., None, :]
        out.append((q[..., t, None, :] @ state)[..., 0, :])
    return torch.stack(out, -2), state


def state_bytes(n_heads: int, d_key: int, d_value: int, itemsize: int = 4) -> int:
    """Bytes of the states of one layer, however long the text is."""
    return n_heads * d_key * d_value * itemsize


def hybrid_bytes(n_layers: int, every: int, tokens: int, per_token: int, state: int) -> int:
    """Bytes of a stack in which the last of each ``every`` layers is full attention and the others keep a state.

    Args: per_token: bytes that a token adds in one full layer; state: bytes of one other layer.
    """
    full = n_layers // every
    return full * tokens * per_token + (n_layers - full) * state
