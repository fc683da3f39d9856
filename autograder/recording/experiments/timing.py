"""Times and bytes of single operations."""

from collections.abc import Callable
from typing import Any

import torch
from anatomy.experiments.norm_bandwidth import best_time
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

JUNK = 256 * 2**20  # bytes; several times the second-level cache of any GPU


def cold_seconds(call: Callable[[], object], device: str, repeats: int) -> float:
    """Shortest time of ``call()`` in seconds, after two runs to warm up.

    On CUDA the caches are overwritten before each repeat: in a model, other layers have run in between, and a small
    key-value cache that stays on the chip would be read faster than memory allows. This also keeps the GPU busy while
    the CPU launches kernels, so that launching costs no time between two kernels.
    """
    if not device.startswith("cuda"):
        return best_time(call, device, repeats)
    call(), call()
    junk = torch.empty(JUNK, dtype=torch.int8, device=device)
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    for start, end in events:
        junk.zero_()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return min(start.elapsed_time(end) for start, end in events) / 1e3


class _Traffic(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if not any(r.alias_info is not None and not r.alias_info.is_write for r in function._schema.returns):
            # With ``out=``, the result is passed as a keyword argument, which is written, not read.
            written = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
            read = [t for t in tree_leaves(args) if isinstance(t, torch.Tensor)]
            self.bytes += sum(t.nbytes for t in written + read)
        return result


def traffic(call: Callable[[], object]) -> int:
    """Bytes that the operations of ``call()`` read and write, if every tensor is read from memory and written back.

    Each operation counts all of its inputs and outputs; a tensor changed in place counts as both. An operation that
    only returns a view counts nothing.
    """
    counting = _Traffic()
    with torch.no_grad(), counting:
        call()
    return counting.bytes


def check_same(name: str, got: Tensor, want: Tensor) -> None:
    """Raises RuntimeError if two ways to compute the same thing differ by more than 2 % of the largest entry.

    A kernel that is fast because it is wrong must not be timed. 2 % is a few rounding steps of bfloat16.
    """
    gap = (got.reshape(want.shape).float() - want.float()).abs().max().item()
    largest = want.float().abs().max().item()
    if not gap <= 0.02 * largest:
        raise RuntimeError(f"{name} gives another result than the reference: {gap:.2g} apart, values to {largest:.2g}")


def compiled_flex() -> Callable[..., Any]:
    """FlexAttention, compiled for one shape.

    After a few shapes of one function, the compiler silently gives up and runs the uncompiled function, which stores
    every score. Hence the reset for each shape.
    """
    from torch.nn.attention.flex_attention import flex_attention

    torch._dynamo.reset()
    return torch.compile(flex_attention, dynamic=False, fullgraph=True)
