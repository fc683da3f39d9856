"""A pretended CUDA device: tensors stay on the CPU, but report ``cuda`` and can't be mixed with CPU tensors.

For code whose CUDA branch no CPU run reaches. Values are the CPU's. It detects operations on tensors of two devices,
CPU generators that draw for the GPU, and ``.numpy()`` without ``.cpu()``, but not unsupported kernels, and it tells
nothing about times. As on a real card, a 0-d CPU tensor or an index may be mixed with GPU tensors.
"""

import contextlib
import time
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._pytree import tree_leaves, tree_map

CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")
_Generator = torch.Generator
NAME = "a pretended card"
# Functions that move tensors, or only look at them.
FREE = {
    "copy_",
    "__get__",
    "__set__",
    "__getitem__",
    "type_as",
    "isinstance",
    "is_tensor",
    "size",
    "dim",
    "__repr__",
    "_has_compatible_shallow_copy_type",
}


class OnCuda(torch.Tensor):
    """A CPU tensor that represents one on the GPU; the mode below does the work."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __deepcopy__(self, memo):
        copy = self.detach().clone()
        return torch.nn.Parameter(copy, self.requires_grad) if getattr(self, "_is_param", False) else copy


class CudaGenerator(torch.Generator):
    """``torch.Generator("cuda")``."""

    device = CUDA


def device_of(t):
    return CUDA if isinstance(t, OnCuda) else CPU


def _wrap(x):
    if isinstance(x, torch.Tensor) and not isinstance(x, OnCuda):
        return x.as_subclass(OnCuda)
    return x


def _unwrap(x):
    return x.as_subclass(torch.Tensor) if isinstance(x, OnCuda) else x


def _is_cuda(x):
    return isinstance(x, torch.device) and x.type == "cuda" or isinstance(x, str) and x.split(":")[0] == "cuda"


class OneCard(TorchFunctionMode):
    """Tracks which tensor is on which device."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name, where = getattr(func, "__name__", ""), resolve_name(func) or ""
        if name == "__get__" and getattr(func, "__self__", None) in (torch.Tensor.device, torch.Tensor.is_cuda):
            there = device_of(args[0])
            return there if func.__self__ is torch.Tensor.device else there is CUDA
        if name in ("numpy", "__array__", "tolist") and isinstance(args[0], OnCuda):
            if name != "tolist":
                raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first.")
            return func(_unwrap(args[0]))
        if name in ("to", "cpu", "cuda") and where.startswith("torch.Tensor"):
            return self._move(func, name, *args, **kwargs)
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        asked = kwargs.get("device")
        if tensors and asked is None:
            # A CPU number may be mixed with a GPU tensor, but not stacked, gathered or multiplied as a matrix with it.
            strict = name in ("stack", "cat", "gather", "scatter", "scatter_", "matmul", "__matmul__", "embedding")
            places = {device_of(t) for t in tensors if t.dim() or isinstance(t, OnCuda) or strict}
            if len(places) > 1 and name not in FREE:
                raise RuntimeError(f"Expected all tensors to be on the same device, but {where or name} got {places}")
            if name in ("__getitem__", "__get__", "__set__", "copy_", "index_put_", "__setitem__"):
                places = {device_of(args[0])}
            there = CUDA if CUDA in places else CPU
        else:
            there = CUDA if _is_cuda(asked) else CPU
        for g in (*args, *kwargs.values()):
            if isinstance(g, _Generator) and isinstance(g, CudaGenerator) != (there is CUDA):
                raise RuntimeError(f"Expected a '{there.type}' device type for generator but found '{g.device.type}'")
        if _is_cuda(asked):  # "meta" stays as it is: nothing is allocated there
            kwargs = {**kwargs, "device": CPU}
        out = func(*args, **kwargs)
        return tree_map(_wrap, out) if there is CUDA else out

    @staticmethod
    def _move(func, name, x, *args, **kwargs):
        everything = (*args, *kwargs.values())
        to = CUDA if name == "cuda" or any(_is_cuda(a) or isinstance(a, OnCuda) for a in everything) else CPU
        if name == "to" and not any(
            isinstance(a, torch.device | str | torch.Tensor | int) and not isinstance(a, bool) for a in everything
        ):
            to = device_of(x)  # a dtype only
        swap = lambda a: CPU if _is_cuda(a) else _unwrap(a)
        args, kwargs = tuple(map(swap, args)), {k: swap(v) for k, v in kwargs.items()}
        out = x if name in ("cuda", "cpu") else func(_unwrap(x), *args, **kwargs)
        if to is device_of(x):
            return x if name != "to" or out.data_ptr() == x.data_ptr() and out.dtype == x.dtype else _like(out, to)
        return _like(out.clone(), to)


def _like(out, device):
    return _wrap(out) if device is CUDA else _unwrap(out)


class Event:
    """``torch.cuda.Event`` with the CPU's clock. Reading the time before a synchronization is an error, as required."""

    done = False

    def __init__(self, enable_timing=False):
        self.time = None

    def record(self, stream=None):
        self.time, Event.done = time.perf_counter(), False

    def synchronize(self):
        Event.done = True

    def elapsed_time(self, other):
        if not Event.done:
            raise RuntimeError("CUDA error: device not ready: events are asked for their time before a synchronization")
        return 1e3 * (other.time - self.time)


def _synchronize(device=None):
    Event.done = True


class _Meta(type(_Generator)):
    def __instancecheck__(cls, x):
        return isinstance(x, _Generator)


class AnyGenerator(_Generator, metaclass=_Meta):
    """Replaces ``torch.Generator``: makes a generator for the requested device."""

    def __new__(cls, device="cpu"):
        return CudaGenerator() if _is_cuda(device) else _Generator()


@contextlib.contextmanager
def pretend_cuda():
    """Inside this context, ``device="cuda"`` works, slowly and on the CPU."""
    fakes = {
        "is_available": lambda: True,
        "synchronize": _synchronize,
        "Event": Event,
        "_lazy_init": lambda: None,
        "get_device_name": lambda device=None: NAME,
        "memory_allocated": lambda device=None: 0,
        "max_memory_allocated": lambda device=None: 4096,
        "reset_peak_memory_stats": lambda device=None: None,
        "empty_cache": lambda: None,
        "current_device": lambda: 0,
    }
    overwrite = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        with contextlib.ExitStack() as stack:
            for name, fake in fakes.items():
                stack.enter_context(mock.patch.object(torch.cuda, name, fake))
            stack.enter_context(mock.patch.object(torch, "compile", lambda f, **options: f))
            stack.enter_context(mock.patch.object(torch, "Generator", AnyGenerator))
            stack.enter_context(OneCard())
            yield
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(overwrite)
