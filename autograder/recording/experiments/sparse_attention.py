"""Records ``sparse_attention.json``: time and memory of a sliding window, dense and sparse.

``python -m autograder.recording.experiments.sparse_attention [--device cuda]``; about a minute on one CPU core. Four
ways compute the same thing, causal attention over the last w keys. They are compared with whole blocks of w keys (the
query's own block and the one before), full causal attention, and attention without any mask: plain, or with the
built-in kernel, which does the same arithmetic but moves fewer bytes. A mask alone saves nothing: dense ways score T²
pairs. FlexAttention, whose compiled kernel skips blocks, runs only on CUDA and is left out elsewhere. An interrupted
run continues where it stopped.
"""

import contextlib
import dataclasses
import functools
import math
import os
from collections.abc import Callable, Iterator, Sequence

import torch
from anatomy.experiments.norm_bandwidth import best_time
from torch import Tensor
from torch.nn import functional as F

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.norm_bandwidth import keep_memory
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.timing import check_same, compiled_flex, traffic
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.attention import scaled_dot_product_attention
from autograder.reference.sparse import local_causal_mask, local_causal_pairs
from autograder.reference.sparse_gather import block_gather_attention, local_attention

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]
ABOUT = About(seconds=100, alone=True)


@dataclasses.dataclass(frozen=True)
class Setting:
    """Sizes; lengths are multiples of the window. Dense ways stop at ``longest_dense``, since they need T² memory."""

    heads: int = 4
    head_dim: int = 64
    window: int = 128
    lengths: tuple[int, ...] = (256, 512, 1024, 2048, 4096)
    longest_dense: int = 4096
    dtype: str = "float32"
    rounds: int = 3
    repeats: int = 3


LAPTOP = Setting()
LARGE = Setting(
    heads=16,
    head_dim=128,
    window=1024,
    lengths=(2048, 4096, 8192, 16384, 32768, 65536),
    longest_dense=8192,
    dtype="bfloat16",
    rounds=5,
    repeats=10,
)
FLEX_BLOCK = 128  # queries and keys per block of FlexAttention's kernel


def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention as a formula: each operation writes its result to memory."""
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v


def ways(T: int, s: Setting, device: str) -> dict[str, tuple[Attention, int]]:
    """Name → (function of q, k and v, number of pairs that it has to score). Masks are made at the first call."""
    w, n = s.window, T // s.window
    blocks = torch.ones(n, n, dtype=torch.bool, device=device).tril().triu(-1)
    found = {
        "SDPA, full causal": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), T * (T + 1) // 2)
    }
    if T <= s.longest_dense:
        mask = functools.cache(lambda: local_causal_mask(T, w, device))
        found["dense, no mask"] = (plain, T * T)
        found["SDPA, no mask"] = (F.scaled_dot_product_attention, T * T)
        found["dense, masked"] = (lambda q, k, v: scaled_dot_product_attention(q, k, v, mask()), T * T)
        found["SDPA, masked"] = (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask()), T * T)
    found["window, gathered"] = (lambda q, k, v: local_attention(q, k, v, w), 2 * w * T)
    # Without a mask inside the blocks, like BigBird; the first block scores an additional empty one.
    found["blocks, gathered"] = (lambda q, k, v: block_gather_attention(q, k, v, blocks, w), 2 * w * T)
    if device.startswith("cuda"):
        flex = functools.cache(lambda: flex_window(T, w, device))
        touched = int(window_blocks(T, w)[0].sum()) * FLEX_BLOCK**2
        found["FlexAttention"] = (lambda q, k, v: flex()(q, k, v), touched)
    return found


def window_blocks(T: int, w: int, device: str = "cpu") -> tuple[Tensor, Tensor]:
    """FlexAttention's blocks that hold any pair of the window, and those that hold only such: two (n, n) boolean."""
    block = torch.arange(-(-T // FLEX_BLOCK), device=device)
    apart = FLEX_BLOCK * (block[:, None] - block)  # query minus key of the blocks' first entries
    nearest, farthest = apart - (FLEX_BLOCK - 1), apart + (FLEX_BLOCK - 1)
    return (farthest >= 0) & (nearest < w), (nearest >= 0) & (farthest < w)


def flex_window(T: int, w: int, device: str) -> Attention:
    """The window in compiled FlexAttention. The blocks are computed: torch would check all T² pairs."""
    from torch.nn.attention.flex_attention import BlockMask

    touched, whole = window_blocks(T, w, device)
    lists: list[Tensor] = []
    for blocks in (touched & ~whole, whole):
        order = blocks.int().argsort(dim=-1, descending=True, stable=True)
        lists += [blocks.sum(-1).int()[None, None], order.int()[None, None]]
    inside = lambda b, h, i, j: (i >= j) & (i - j < w)
    few, which, all_of, which_all = lists
    mask = BlockMask.from_kv_blocks(
        few, which, all_of, which_all, BLOCK_SIZE=FLEX_BLOCK, mask_mod=inside, seq_lengths=(T, T)
    )
    compiled = compiled_flex()
    return lambda q, k, v: compiled(q, k, v, block_mask=mask)


@contextlib.contextmanager
def without_stderr() -> Iterator[None]:
    """Silences the process's stderr in the body: the profiler's C++ code prints two lines for each use."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def peak_bytes(call: Callable[[], object], device: str) -> int:
    """Peak memory that ``call()`` allocates beyond the amount before, including its result."""
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


def measure(name: str, T: int, s: Setting, device: str) -> Row | None:
    """One row: seconds (best of several repeats, once per round), bytes and pairs of one way at one length.

    None, with a message, if the device's memory is too small.
    """
    try:
        return measured(name, T, s, device)
    except torch.OutOfMemoryError:
        print(f"{name} at {T} tokens is left out: it needs more memory than {device} has.", flush=True)
        torch.cuda.empty_cache()
        return None


def measured(name: str, T: int, s: Setting, device: str) -> Row:
    """The row of ``measure``. Raises torch.OutOfMemoryError."""
    function, computed = ways(T, s, device)[name]
    generator = torch.Generator().manual_seed(T)
    dtype = getattr(torch, s.dtype)
    q, k, v = torch.randn(3, 1, s.heads, T, s.head_dim, generator=generator).to(device, dtype)
    call = lambda: function(q, k, v)
    with torch.no_grad():
        result = call()  # makes the mask, compiles
        if name == "FlexAttention":
            check_same(name, result, local_attention(q, k, v, s.window))
        del result
        memory = peak_bytes(call, device)
        seconds = [float(f"{best_time(call, device, s.repeats):.4g}") for _ in range(s.rounds)]
    # A compiled kernel's operations are invisible; it at least reads q, k and v and writes the result.
    moved = 4 * q.nbytes if name == "FlexAttention" else traffic(call)
    return {
        "way": name,
        "T": T,
        "seconds": seconds,
        "bytes": memory,
        "moved": moved,
        "pairs": computed,
        "allowed": local_causal_pairs(T, s.window),
    }


def facts(data: Data) -> Facts:
    """Numbers for texts, at the longest length of the dense ways: seconds, bytes and pairs, as ratios."""
    T = data["setting"]["longest_dense"]
    at = {r["way"]: r for r in data["rows"] if r["T"] == T}
    plain, kernel, causal, masked = (
        at[n] for n in ("dense, no mask", "SDPA, no mask", "SDPA, full causal", "dense, masked")
    )
    ms = lambda row: 1e3 * min(row["seconds"])
    return {
        "plain": {"ms": ms(plain), "held_mb": plain["bytes"] / 1e6, "moved_mb": plain["moved"] / 1e6},
        "kernel": {"ms": ms(kernel), "held_mb": kernel["bytes"] / 1e6, "moved_mb": kernel["moved"] / 1e6},
        "causal": {"ms": ms(causal), "pairs": causal["pairs"] / kernel["pairs"], "faster": ms(kernel) / ms(causal)},
        "same_pairs": {
            "faster": ms(plain) / ms(kernel),
            "less_held": plain["bytes"] / kernel["bytes"],
            "less_moved": plain["moved"] / kernel["moved"],
        },
        "masked": {"ms": ms(masked), "slower": ms(masked) / ms(plain)},
    }


def growth(rows: Sequence[Row], key: Callable[[Row], float]) -> float:
    """Exponent p of value ∝ pairs^p between the two longest lengths of one way."""
    a, b = sorted(rows, key=lambda r: r["T"])[-2:]
    return math.log(key(b) / key(a)) / math.log(b["pairs"] / a["pairs"])


def report(rows: Sequence[Row]) -> Iterator[str]:
    """Lines to print: time per scored pair over length, relative to the longest length; 1 means time ∝ pairs.

    The limit of a sparse way is dense SDPA's time per pair: it scores fewer pairs, but none faster.
    """
    fastest = {r["T"]: min(r["seconds"]) / r["pairs"] for r in rows if r["way"] == "SDPA, full causal"}
    for name in dict.fromkeys(r["way"] for r in rows):
        mine = sorted((r for r in rows if r["way"] == name), key=lambda r: r["T"])
        per_pair = [min(r["seconds"]) / r["pairs"] for r in mine]
        ratios = "  ".join(f"T={r['T']}: {p / per_pair[-1]:.2f}" for r, p in zip(mine, per_pair, strict=True))
        grows = len({r["pairs"] for r in mine[-2:]}) > 1
        power = f"; time ∝ pairs^{growth(mine, lambda r: min(r['seconds'])):.2f}" if grows else ""
        against = per_pair[-1] / fastest[mine[-1]["T"]]
        yield (
            f"{name:18} {per_pair[-1] * 1e12:7.1f} ps per pair at the longest, {against:.2f} times dense SDPA's; "
            f"time per pair against that: {ratios}{power}"
        )


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    keep_memory()
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    cuda = options.device.startswith("cuda")
    s = setting or {"small": LAPTOP, "large": LARGE}[options.setting]
    if not cuda:
        print("FlexAttention is left out: its kernel that skips blocks runs on CUDA only.")
    facts = {k: list(v) if isinstance(v, tuple) else v for k, v in dataclasses.asdict(s).items()}
    todo = [(name, T) for T in s.lengths for name in ways(T, s, options.device)]
    kept = Rows("sparse_attention", options, facts, len(todo))
    found = [kept.row(f"{name}, T = {T}", lambda: measure(name, T, s, options.device)) for name, T in todo]
    rows = [row for row in found if row]
    print("\n".join(report(rows)))
    save("sparse_attention", {"setting": facts, "rows": rows, "flex": cuda}, options, [0])
    kept.finish()


if __name__ == "__main__":
    main()
