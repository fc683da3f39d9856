"""Hugging Face models in float64 throughout.

Their code casts to float32 inside norms, rotary tables and softmax, whatever the model's dtype, which
would cap the agreement at about 1e-6. ``float64()`` runs unmodified code and redirects these casts.
"""

from contextlib import contextmanager

import torch
from torch.overrides import TorchFunctionMode


class _NoFloat32(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.Tensor.float:
            func = torch.Tensor.double
        raise_ = lambda value: torch.float64 if value is torch.float32 else value
        return func(*(raise_(a) for a in args), **{k: raise_(v) for k, v in (kwargs or {}).items()})


@contextmanager
def float64():
    """Build and run a model inside: default dtype float64, and casts to float32 become float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _NoFloat32(), torch.no_grad():
            yield
    finally:
        torch.set_default_dtype(before)


def randomize(model, seed=0):
    """Give every parameter random values, in place: fresh models have norms of 1 and biases of 0."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            # Vectors around 1 (norm gains and biases alike), matrices small enough to keep softmax soft.
            parameter.copy_(0.3 * noise + 1 if parameter.dim() == 1 else 0.3 * noise)
    return model.eval()
