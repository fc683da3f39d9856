"""Records ``assets/experiments/sparse_attention.json``: time and memory of a sliding window, dense and sparse.

``python -m autograder.recording.experiments.sparse_attention [--device cuda]``; about a minute on one CPU core. Four
ways compute the same thing, causal attention over the last w keys. Beside them stand full causal attention and whole
blocks of w keys (the own one and the one before). A mask saves nothing by itself: dense ways score T² pairs.
FlexAttention, whose compiled kernel skips blocks, runs on CUDA only and is left out elsewhere. An interrupted run
goes on where it stopped.
"""

import contextlib
import dataclasses
import math
import os

import torch
from anatomy.experiments.norm_bandwidth import best_time
from torch.nn import functional as F

from autograder.recording.experiments.norm_bandwidth import keep_memory
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.attention import scaled_dot_product_attention
from autograder.reference.sparse import local_causal_mask, local_causal_pairs
from autograder.reference.sparse_gather import block_gather_attention, local_attention


@dataclasses.dataclass(frozen=True)
class Setting:
    """Sizes; lengths are multiples of the window. Dense ways stop at ``longest_dense``: they need T² memory."""

    heads: int = 4
    head_dim: int = 64
    window: int = 128
    lengths: tuple = (256, 512, 1024, 2048, 4096)
    longest_dense: int = 4096
    dtype: str = "float32"
    rounds: int = 3
    repeats: int = 3


LAPTOP = Setting()
LARGE = Setting(heads=16, head_dim=128, window=1024, lengths=(2048, 4096, 8192, 16384, 32768, 65536),
                longest_dense=16384, dtype="bfloat16", rounds=5, repeats=10)


def ways(T, s, device):
    """name → (function of q, k and v, how many pairs it has to score)."""
    w, n = s.window, T // s.window
    pairs = local_causal_pairs(T, w)
    blocks = torch.ones(n, n, dtype=torch.bool, device=device).tril().triu(-1)
    found = {"SDPA, full causal": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                                   T * (T + 1) // 2)}
    if T <= s.longest_dense:
        mask = local_causal_mask(T, w, device)
        found["dense, masked"] = (lambda q, k, v: scaled_dot_product_attention(q, k, v, mask), T * T)
        found["SDPA, masked"] = (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask), T * T)
    found["window, gathered"] = (lambda q, k, v: local_attention(q, k, v, w), 2 * w * T)
    # Unmasked inside the blocks, as BigBird's are; the first block scores an empty one with it.
    found["blocks, gathered"] = (lambda q, k, v: block_gather_attention(q, k, v, blocks, w), 2 * w * T)
    if device.startswith("cuda"):
        found["FlexAttention"] = (flex_window(T, w, device), pairs)
    return found


def flex_window(T, w, device):
    """The window as FlexAttention's block mask, compiled."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    inside = lambda b, h, i, j: (i >= j) & (i - j < w)
    mask = create_block_mask(inside, None, None, T, T, device=device)
    compiled = torch.compile(flex_attention)
    return lambda q, k, v: compiled(q, k, v, block_mask=mask)


@contextlib.contextmanager
def without_stderr():
    """Shuts the process's stderr for a moment: the profiler's C++ side prints two lines for each use."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def peak_bytes(call, device):
    """Largest memory that ``call()`` holds at any time beyond what was there before, the result included."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before
    only_cpu = [torch.profiler.ProfilerActivity.CPU]
    with without_stderr(), torch.profiler.profile(activities=only_cpu, profile_memory=True) as profile:
        call()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


def measure(name, T, s, device):
    """One row: seconds (best of several repeats, once per round), bytes and pairs of one way at one length."""
    function, computed = ways(T, s, device)[name]
    generator = torch.Generator().manual_seed(T)
    dtype = getattr(torch, s.dtype)
    q, k, v = torch.randn(3, 1, s.heads, T, s.head_dim, generator=generator).to(device, dtype)
    call = lambda: function(q, k, v)
    with torch.no_grad():
        memory = peak_bytes(call, device)
        seconds = [float(f"{best_time(call, device, s.repeats):.4g}") for _ in range(s.rounds)]
    return {"way": name, "T": T, "seconds": seconds, "bytes": memory, "pairs": computed,
            "allowed": local_causal_pairs(T, s.window)}


def growth(rows, key):
    """Exponent p of value ∝ pairs^p between the two longest lengths of one way."""
    a, b = sorted(rows, key=lambda r: r["T"])[-2:]
    return math.log(key(b) / key(a)) / math.log(b["pairs"] / a["pairs"])


def report(rows):
    """Printed lines: time per scored pair over length, as a ratio to that at the longest; 1 = time ∝ pairs."""
    for name in dict.fromkeys(r["way"] for r in rows):
        mine = sorted((r for r in rows if r["way"] == name), key=lambda r: r["T"])
        per_pair = [min(r["seconds"]) / r["pairs"] for r in mine]
        ratios = "  ".join(f"T={r['T']}: {p / per_pair[-1]:.2f}" for r, p in zip(mine, per_pair, strict=True))
        power = f"; time ∝ pairs^{growth(mine, lambda r: min(r['seconds'])):.2f}" if len(mine) > 1 else ""
        yield (f"{name:18} {per_pair[-1] * 1e12:7.1f} ps per pair at the longest; time per pair against that: {ratios}"
               f"{power}")


def main(argv=None, setting=None):
    """Command line; ``setting`` is for tests."""
    keep_memory()
    options = arguments(__doc__.splitlines()[0]).parse_args(argv)
    prepare(options.device)
    cuda = options.device.startswith("cuda")
    s = setting or (LARGE if cuda else LAPTOP)
    if not cuda:
        print("FlexAttention is left out: its kernel that skips blocks runs on CUDA only.")
    facts = {k: list(v) if isinstance(v, tuple) else v for k, v in dataclasses.asdict(s).items()}
    todo = [(name, T) for T in s.lengths for name in ways(T, s, options.device)]
    kept = Rows("sparse_attention", options, facts, len(todo))
    rows = [kept.row(f"{name}, T = {T}", lambda: measure(name, T, s, options.device)) for name, T in todo]
    print("\n".join(report(rows)))
    save("sparse_attention", {"setting": facts, "rows": rows, "flex": cuda}, options, [0])
    kept.finish()


if __name__ == "__main__":
    main()
