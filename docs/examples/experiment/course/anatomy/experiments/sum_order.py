"""Does the order matter in which numbers are added up? Rounding errors of long sums, by the way to add."""

from collections.abc import Callable

import torch
from torch import Tensor

ROWS = 64  # sums per measurement


def forwards(x: Tensor) -> Tensor:
    """(rows, n) → (rows,): one number after the other, as a loop adds."""
    total = torch.zeros_like(x[:, 0])
    for column in x.unbind(1):
        total = total + column
    return total


def pairwise(x: Tensor) -> Tensor:
    """(rows, n) → (rows,): neighbors first, then their sums, and so on. n is a power of two."""
    while x.shape[1] > 1:
        x = x[:, 0::2] + x[:, 1::2]
    return x[:, 0]


def error(add: Callable[[Tensor], Tensor], n: int, seed: int = 0, device: str = "cpu") -> float:
    """Relative error of ``add`` on sums of n float32 numbers between 0 and 1, root mean square over 64 sums.

    The numbers are drawn on the CPU whatever the device; the true sums are those in float64.
    """
    x = torch.rand(ROWS, n, generator=torch.Generator().manual_seed(seed)).to(device)
    true = x.double().sum(1)
    return ((add(x).double() - true) / true).square().mean().sqrt().item()
