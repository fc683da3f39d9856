"""Records ``norm_bandwidth.json``: time and bytes of norms over sizes, compared with a copy and a matrix product.

``python -m autograder.recording.experiments.norm_bandwidth [--device cuda]``. The two norms are the plain formulas,
one torch operation after the other, as a learner writes them; torch's own LayerNorm is a single kernel.
"""

import ctypes
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from functools import partial

import torch
from anatomy.experiments.norm_bandwidth import measure
from torch import Tensor
from torch.nn import functional as F

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.timing import traffic
from autograder.recording.experiments.writing import arguments, prepare, save

ABOUT = About(seconds=40, alone=True)


@dataclasses.dataclass(frozen=True)
class Setting:
    """sizes: (tokens, d_model). rounds: since other programs share the memory, the best of several rounds is closest to
    the machine's limit."""

    sizes: tuple[tuple[int, int], ...] = ((64, 1024), (256, 1024), (1024, 1024), (2048, 1024), (4096, 1024))
    dtypes: tuple[str, ...] = ("float32",)
    rounds: int = 8


SIZES = {
    "small": Setting(),
    "large": Setting(
        ((256, 4096), (1024, 4096), (4096, 4096), (16384, 4096), (65536, 4096)), ("float32", "bfloat16"), 4
    ),
}


def plain_layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """LayerNorm, operation by operation."""
    centered = x - x.mean(-1, keepdim=True)
    return centered / torch.sqrt(centered.pow(2).mean(-1, keepdim=True) + eps) * weight + bias


def plain_rms_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-6) -> Tensor:
    """RMSNorm, operation by operation; the bias is not used."""
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


NORMS = {
    "LayerNorm by steps": plain_layer_norm,
    "RMSNorm by steps": plain_rms_norm,
    "torch's RMSNorm": lambda x, weight, bias: F.rms_norm(x, (x.shape[-1],), weight, 1e-6),
}


def keep_memory() -> None:
    """Tells glibc to keep freed memory: otherwise each large result causes page faults, which would be measured too."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        for parameter, value in ((-3, 1 << 30), (-1, 1 << 30)):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
            libc.mallopt(parameter, value)


def bytes_per_entry(d: int, dtype: torch.dtype, device: str) -> dict[str, float]:
    """Name → bytes that the operations of each norm move per entry of x, counted on 64 rows.

    Counted on the device: torch's RMSNorm is one operation on some devices and several on others.
    """
    x = torch.ones(64, d, dtype=dtype, device=device)
    weight, bias = torch.ones_like(x[0]), torch.zeros_like(x[0])
    calls = {name: partial(norm, x, weight, bias) for name, norm in NORMS.items()}
    calls["fused LayerNorm"] = partial(F.layer_norm, x, (d,), weight, bias)
    counted = {name: round(traffic(call) / x.numel(), 2) for name, call in calls.items()}
    return {"copy": 2.0 * dtype.itemsize, **counted}


def row(tokens: int, d: int, dtype: torch.dtype, rounds: int, device: str) -> Row:
    """Nanoseconds and bytes per entry at one size."""
    found = [measure(NORMS, tokens, d, dtype, device) for _ in range(rounds)]
    times = {name: round(min(r[name] for r in found), 4) for name in found[0]}
    return {
        "tokens": tokens,
        "d": d,
        "dtype": str(dtype).removeprefix("torch."),
        "ns_per_entry": times,
        "bytes_per_entry": bytes_per_entry(d, dtype, device),
    }


def report(rows: Sequence[Row]) -> Iterator[str]:
    """Lines to print: at the largest size of each dtype, time and bytes compared with the copy."""
    for r in {r["dtype"]: r for r in rows}.values():
        copy = r["ns_per_entry"]["copy"]
        for name, size in r["bytes_per_entry"].items():
            time = r["ns_per_entry"][name]
            share = size / time / (2 * getattr(torch, r["dtype"]).itemsize / copy)
            yield (
                f"{r['dtype']:9} {name:20} {size:6.1f} bytes and {time:.4f} ns per entry: {time / copy:5.1f} "
                f"copies, {share:4.0%} of the copy's bytes per second"
            )


def facts(data: Data) -> Facts:
    """Numbers for the unit's text from the recorded times: shares of the time at 1,024 tokens in float32."""
    row = next(r for r in data["rows"] if r["tokens"] == 1024 and r["dtype"] == "float32")
    at, steps = row["ns_per_entry"], (("LayerNorm by steps", 7, 12), ("RMSNorm by steps", 4, 7))
    per_operation, per_pass = at["matrix product"] / (2 * row["d"]), at["copy"] / 2
    by_operations = [operations * per_operation / at[name] for name, operations, _ in steps]
    by_passes = [passes * per_pass / at[name] for name, _, passes in steps]
    return {
        "by_operations": {"least": min(by_operations), "most": max(by_operations)},
        "by_passes": {"least": min(by_passes), "most": max(by_passes)},
        "fused_to_rms": at["fused LayerNorm"] / at["RMSNorm by steps"],
        "fused_to_copy": at["fused LayerNorm"] / at["copy"],
    }


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    keep_memory()
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    todo = [(tokens, d, getattr(torch, dtype)) for dtype in s.dtypes for tokens, d in s.sizes]
    kept = Rows("norm_bandwidth", options, dataclasses.asdict(s), len(todo))
    rows = [
        kept.row(f"({tokens}, {d}) {dtype}", lambda: row(tokens, d, dtype, s.rounds, options.device))
        for tokens, d, dtype in todo
    ]
    print("\n".join(report(rows)))
    save("norm_bandwidth", {"rows": rows}, options, [0])
    kept.finish()


if __name__ == "__main__":
    main()
