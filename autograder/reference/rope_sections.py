"""RoPE with three positions a token, time, height and width: each plane turns by one of them.

Source: Qwen2-VL, Wang et al. 2024, arXiv:2409.12191, section 2.1. Pairs are halves, i and i + D/2, as in its code.
"""

import torch
from torch import Tensor

from autograder.reference.rope import angle_dtype, rope_frequencies, rotate_halves


def turn_by_sections(x: Tensor, positions: Tensor, sections: tuple[int, int, int], base: float = 10000.0) -> Tensor:
    """Rotates the first ``sections[0]`` planes by the first position of a token, and so on.

    Args: x (B, H, T, D); positions (3, B, T), time, height and width; sections, planes for each of them. Frequencies
    run on across sections, as in a head without them. Returns: x's shape and dtype; angles are float32, for float64
    inputs float64. Raises: ValueError when the sections do not sum to D/2.
    """
    D = x.shape[-1]
    if sum(sections) != D // 2:
        raise ValueError(f"sections {tuple(sections)} have {sum(sections)} planes, a head of {D} has {D // 2}")
    axis = torch.arange(3, device=x.device).repeat_interleave(torch.tensor(sections, device=x.device))  # (D/2,)
    frequencies = rope_frequencies(D, base, dtype=angle_dtype(x), device=x.device)
    angles = positions[axis].movedim(0, -1).unsqueeze(1) * frequencies  # (B, 1, T, D/2)
    return rotate_halves(x, angles.cos(), angles.sin())
