"""LoRA: train a low-rank difference to a frozen weight, then add it in.

W + (α/r)·B·A with A (r, d_in) random and B (d_out, r) zero, so that training starts at the given model.
After merging, inference costs the same as before.

Source: Hu et al. 2021, arXiv:2106.09685.
"""

import math
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class LoRALinear(nn.Module):
    """A frozen linear layer plus a trainable difference: parameters A (r, d_in) and B (d_out, r).

    Raises: ValueError when r is outside 1..min(d_in, d_out).
    """

    def __init__(self, base: nn.Linear, r: int, alpha: float):
        super().__init__()
        if not 1 <= r <= min(base.in_features, base.out_features):
            raise ValueError(f"r must lie in 1..{min(base.in_features, base.out_features)}, got {r}")
        self.base = base.requires_grad_(False)
        self.scale = alpha / r
        self.A = nn.Parameter(base.weight.new_empty(r, base.in_features))
        self.B = nn.Parameter(base.weight.new_zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """x (..., d_in) -> (..., d_out). The product B·A (d_out, d_in) is never formed."""
        return self.base(x) + self.scale * F.linear(F.linear(x, self.A), self.B)

    def difference(self) -> Tensor:
        """(α/r)·B·A, (d_out, d_in), of rank at most r."""
        return self.scale * (self.B @ self.A)

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """A plain linear layer with the difference added to its weight; the base is unchanged."""
        base = self.base
        place = {"device": base.weight.device, "dtype": base.weight.dtype}
        plain = nn.Linear(base.in_features, base.out_features, base.bias is not None, **place)
        plain.load_state_dict(base.state_dict())
        plain.weight += self.difference()
        return plain


def add_lora(model: nn.Module, names: Iterable[str], r: int, alpha: float) -> list[str]:
    """Freeze a model and put LoRA on every linear layer whose last name part is in ``names``.

    Example: add_lora(model, {"q_proj", "v_proj"}, 8, 16). Returns: the full names changed.
    Raises: ValueError when no layer matches.
    """
    model.requires_grad_(False)
    names = set(names)
    found = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and name.split(".")[-1] in names
    }
    if not found:
        raise ValueError(f"no linear layer is named one of {sorted(names)}")
    for name, linear in found.items():
        _replace(model, name, LoRALinear(linear, r, alpha))
    return list(found)


def merge_lora(model: nn.Module) -> None:
    """Replace every LoRALinear with its merged layer, in place."""
    for name, module in list(model.named_modules()):
        if isinstance(module, LoRALinear):
            _replace(model, name, module.merged())


def _replace(model: nn.Module, name: str, new: nn.Module) -> None:
    parent, _, child = name.rpartition(".")
    setattr(model.get_submodule(parent), child, new)


def lora_parameters(d_in: int, d_out: int, r: int) -> int:
    """r·(d_in + d_out), against d_in·d_out for the whole matrix."""
    return r * (d_in + d_out)
