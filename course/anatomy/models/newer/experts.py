"""What all layers with experts share, once a router has chosen."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from ..names import State, unstack_experts


def weighted_sum(x: Tensor, weights: Tensor, chosen: Tensor, experts: Iterable[nn.Module]) -> Tensor:
    """Each token's chosen experts, added up by their weights; an expert runs on its own tokens only.

    Args: x (N, d_model), weights (N, k) of the same dtype, chosen (N, k) int64; experts map (n, d_model) to the same
    shape.

    Returns: (N, d_model).
    """
    out = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        token, place = torch.where(chosen == number)
        if len(token):
            out = out.index_add(0, token, expert(x[token]) * weights[token, place, None])
    return out


def cut_experts(state: State) -> State:
    """Splits experts that are stacked in memory, gate and up fused, into the names of the files, one expert each.

    ``experts.gate_up_proj`` (E, 2·d_ff, d_model) has the gate first; ``experts.down_proj`` is (E, d_model, d_ff).
    """

    def part(last: str, matrix: Tensor) -> State:
        if last == "down_proj":
            return {"down_proj.weight": matrix}
        return dict(zip(("gate_proj.weight", "up_proj.weight"), matrix.chunk(2, dim=0), strict=True))

    return unstack_experts(state, part)
