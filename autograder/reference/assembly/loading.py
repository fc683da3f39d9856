"""Converts a published checkpoint to our weights: counts, names, and matrices with a different layout.

Sources: GPT-2's Conv1D and fused c_attn, Radford et al. 2019; RoPE, arXiv:2104.09864.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

State = dict[str, Tensor]

CONV1D = ("c_attn", "c_proj", "c_fc")
PARTS = ("q_proj", "k_proj", "v_proj")


def count(build: Callable[[Any], nn.Module], c: Any) -> int:
    """Number of trainable parameters of ``build(c)``, each counted once, without allocating them."""
    with torch.device("meta"):
        model = build(c)
    return sum(p.numel() for p in model.parameters())


def rename(state: Mapping[str, Tensor], rules: Sequence[tuple[str, str | None]]) -> State:
    """Renames each tensor by the first rule whose pattern matches the whole name; None leaves the tensor out.

    Args: state: name → tensor of any shape and dtype, passed on unchanged. rules: pairs of a regular expression and the
    new name, in which a backslash and a number refer to a group of the match.

    Raises: ValueError that lists the names that no rule matches, or if two tensors would get the same name.
    """
    renamed: State = {}
    unmatched = []
    for name, tensor in state.items():
        found = next(((m, new) for pattern, new in rules if (m := re.fullmatch(pattern, name))), None)
        if found is None:
            unmatched.append(name)
            continue
        match, template = found
        if template is None:
            continue
        new = match.expand(template)
        if new in renamed:
            raise ValueError(f"{name} would be a second {new}")
        renamed[new] = tensor
    if unmatched:
        raise ValueError(f"no rule for {', '.join(unmatched)}")
    return renamed


def unfuse(state: Mapping[str, Tensor]) -> State:
    """GPT-2's tensors as ``nn.Linear`` stores them: queries, keys and values separate, Conv1D's matrices transposed.

    Args: state: name → tensor; Conv1D's weights are (d_in, d_out), c_attn's (d, 3·d) with a bias (3·d,).

    Raises: ValueError if c_attn is not divisible by three.
    """
    out: State = {}
    for name, tensor in state.items():
        layer = name.split(".")[-2]
        if layer in CONV1D and name.endswith("weight"):
            tensor = tensor.T
        if layer != "c_attn":
            out[name] = tensor
            continue
        if len(tensor) % 3:
            raise ValueError(f"{name} has {len(tensor)} columns, which are no three equal parts")
        for part, piece in zip(PARTS, tensor.chunk(3), strict=True):
            out[name.replace("c_attn", part)] = piece
    return out


def to_half_rows(weight: Tensor, n_heads: int) -> Tensor:
    """Rows of q_proj or k_proj for pairs (i, i + D/2), from those for pairs (2i, 2i + 1).

    Args: weight (H·D, …): a matrix or its bias, of any dtype. Raises: ValueError if H heads of even D do not fit.
    """
    _check(weight, n_heads)
    return weight.unflatten(0, (n_heads, -1, 2)).transpose(1, 2).flatten(0, 2)


def to_interleaved_rows(weight: Tensor, n_heads: int) -> Tensor:
    """The inverse: rows for pairs (2i, 2i + 1), from those for pairs (i, i + D/2)."""
    _check(weight, n_heads)
    return weight.unflatten(0, (n_heads, 2, -1)).transpose(1, 2).flatten(0, 2)


def _check(weight: Tensor, n_heads: int) -> None:
    if len(weight) % (2 * n_heads):
        raise ValueError(f"{len(weight)} rows are no {n_heads} heads of pairs")
