"""Attention masks of decoders, encoders, prefix language models, UniLM and GLM.

Polarity: boolean, True = this query may attend to this key. Queries are rows, keys are columns, both
counted from 0. A mask (T, S) serves a whole batch; a mask that depends on the sequence is (B, 1, T, S)
or (B, 1, 1, S), so that it broadcasts over heads. With T < S the queries are the *last* T positions,
as in decoding with a cache.

Sources: causal Vaswani et al. 2017, arXiv:1706.03762; prefix Raffel et al. 2019, arXiv:1910.10683;
UniLM Dong et al. 2019, arXiv:1905.03197; GLM Du et al. 2021, arXiv:2103.10360.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor


def causal_mask(T: int, S: int | None = None, device: torch.device | str | None = None) -> Tensor:
    """Query i, at absolute position i + S - T, sees the keys up to and including its own position.

    Returns: (T, S) boolean; S defaults to T.
    Raises: ValueError when T < 1, or when S < T: the first queries would see nothing.
    """
    S = T if S is None else S
    if T < 1 or S < T:
        raise ValueError(f"a causal mask needs 1 <= T <= S, got T={T} and S={S}")
    queries = torch.arange(S - T, S, device=device)
    return torch.arange(S, device=device) <= queries[:, None]


def causal_mask_at(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    """Causal mask for arbitrary absolute positions, such as those that a cache returns.

    Args: query_positions (..., T), key_positions (..., S), integers.
    Returns: (..., T, S) boolean, True where the key is not later than the query.
    """
    return key_positions[..., None, :] <= query_positions[..., :, None]


def right_padded(lengths: Tensor, T: int) -> Tensor:
    """Which positions hold real tokens when padding comes last.

    Args: lengths (B,) integer. Returns: (B, T) boolean. Raises: ValueError for a length outside 0..T.
    """
    _check_lengths(lengths, T)
    return torch.arange(T, device=lengths.device) < lengths[:, None]


def left_padded(lengths: Tensor, T: int) -> Tensor:
    """Which positions hold real tokens when padding comes first. Arguments and errors as right_padded."""
    _check_lengths(lengths, T)
    return torch.arange(T, device=lengths.device) >= T - lengths[:, None]


def _check_lengths(lengths: Tensor, T: int) -> None:
    if lengths.dim() != 1:
        raise ValueError(f"lengths must have shape (B,), got {tuple(lengths.shape)}")
    if bool(((lengths < 0) | (lengths > T)).any()):
        raise ValueError(f"every length must lie in 0..{T}, got {lengths.tolist()}")


def _check_real(real: Tensor) -> None:
    if real.dim() != 2 or real.dtype != torch.bool:
        raise ValueError(f"real must be boolean of shape (B, S), got {real.dtype} {tuple(real.shape)}")


def key_padding_mask(real: Tensor) -> Tensor:
    """Hide padded keys from every query. Args: real (B, S) boolean. Returns: (B, 1, 1, S)."""
    _check_real(real)
    return real[:, None, None, :]


def causal_padding_mask(real: Tensor, T: int | None = None) -> Tensor:
    """Causal and padding mask together.

    Args: real (B, S) boolean, padding on either side; T, the number of last positions that are queries
    (default S).
    Returns: (B, 1, T, S). With left padding the padded queries have no key at all; their output does not
    matter, but it must not be NaN.
    Raises: ValueError like causal_mask, or when real is not boolean (B, S).
    """
    S = real.shape[-1]
    return key_padding_mask(real) & causal_mask(S if T is None else T, S, real.device)


def position_ids(real: Tensor) -> Tensor:
    """Positions that count only real tokens, so that left padding does not shift them.

    Args: real (B, T) boolean. Returns: (B, T) int64; padding before the first token gets 0, padding
    after the last keeps the last position.
    """
    _check_real(real)
    return (real.long().cumsum(-1) - 1).clamp(min=0)


def prefix_lm_mask(T: int, prefix: int | Tensor, device: torch.device | str | None = None) -> Tensor:
    """Causal, except that every query also sees the whole prefix.

    Args: prefix, the number of prefix positions, one integer or (B,) integers, each in 0..T.
    0 gives the causal mask, T the full one.
    Returns: (T, T), or (B, 1, T, T) for a tensor of prefixes.
    Raises: ValueError for a prefix outside 0..T.
    """
    if isinstance(prefix, Tensor):
        _check_lengths(prefix, T)
        in_prefix = torch.arange(T, device=prefix.device) < prefix[:, None, None, None]  # (B, 1, 1, T)
        return causal_mask(T, device=prefix.device) | in_prefix
    if not 0 <= prefix <= T:
        raise ValueError(f"prefix must lie in 0..{T}, got {prefix}")
    return causal_mask(T, device=device) | (torch.arange(T, device=device) < prefix)


UNILM_OBJECTIVES = ("bidirectional", "left-to-right", "right-to-left", "sequence-to-sequence")


def unilm_mask(objective: str, source: int, target: int, device: torch.device | str | None = None) -> Tensor:
    """The four masks with which UniLM trains a single network.

    Args: objective, one of UNILM_OBJECTIVES; source and target, the lengths of the two segments. Only
    "sequence-to-sequence" distinguishes them: source tokens see the source, target tokens see the source
    and the target up to themselves.
    Returns: (T, T) with T = source + target.
    Raises: ValueError for an unknown objective or a negative length.
    """
    if source < 0 or target < 0:
        raise ValueError(f"lengths must not be negative, got source={source} and target={target}")
    T = source + target
    if objective == "bidirectional":
        return torch.ones(T, T, dtype=torch.bool, device=device)
    if objective == "left-to-right":
        return causal_mask(T, device=device)
    if objective == "right-to-left":
        return causal_mask(T, device=device).T.contiguous()
    if objective == "sequence-to-sequence":
        return prefix_lm_mask(T, source, device)
    raise ValueError(f"objective must be one of {UNILM_OBJECTIVES}, got {objective!r}")


def glm_mask(part_a: int, part_b: int, device: torch.device | str | None = None) -> Tensor:
    """GLM: part A (the corrupted text) sees itself in full; part B (the blanks) sees A and its own past.

    Part A never sees part B, so its states can be computed once. Returns: (part_a + part_b, same).
    """
    return unilm_mask("sequence-to-sequence", part_a, part_b, device)


def to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """0 where attention is allowed and -inf where it is not, for code that adds masks to scores.

    -inf instead of -1e9: float16 cannot hold -1e9, and a row of -1e9 becomes uniform instead of empty.
    """
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -math.inf)


def dependence(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """How strongly each output position depends on each input position, measured by gradients.

    Args: f maps (T, d) to (T, d_out); x (T, d) floating.
    Returns: (T, T), entry [i, j] the largest |∂f(x)_i / ∂x_j| over features. Zero above the diagonal
    for a causal model; anything else there is a leak of the future.
    Raises: ValueError when f changes the length.
    """
    jacobian = torch.autograd.functional.jacobian(f, x)  # (T, d_out, T, d)
    if jacobian.shape[0] != x.shape[0]:
        raise ValueError(f"f must keep the length {x.shape[0]}, it returned {jacobian.shape[0]} positions")
    return jacobian.abs().amax(dim=(1, 3))
