"""Records ``roofline.json``: the bottlenecks of prefill and decoding, and decode speed by KV heads.

``python -m autograder.recording.experiments.roofline [--device cuda]``; about two minutes on one CPU core. Measures
three things. The machine: bytes per second of a large copy (read + write) and of a sum (read), FLOP per second of a
large matrix product. A LLaMA layer in prefill and in decoding, against its arithmetic intensity. Decoding one token
per user with a full cache, for MHA, GQA, MQA and MLA over contexts: the attention alone, which has to read the cache
at least once, and the whole layer. An interrupted run continues where it stopped.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from autograder.recording.experiments import About, Data, Row
from autograder.recording.experiments.norm_bandwidth import keep_memory
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.timing import check_same, cold_seconds, compiled_flex
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.attention import attention_weights
from autograder.reference.ffn import GatedFeedForward
from autograder.reference.gqa import RotaryAttention, grouped_attention
from autograder.reference.intensity import decoder_layer_cost
from autograder.reference.masks import causal_mask
from autograder.reference.mla import LatentAttention
from autograder.reference.norms import RMSNorm
from autograder.reference.placement import PreLN

ABOUT = About(seconds=200, alone=True)


@dataclasses.dataclass(frozen=True)
class Setting:
    """Sizes. latent and rotary: MLA's cached numbers per token. users: sequences decoded at once."""

    d_model: int = 512
    heads: int = 8
    groups: int = 2
    head_dim: int = 64
    d_ff: int = 1376
    latent: int = 256
    rotary: int = 32
    users: int = 4
    contexts: tuple[int, ...] = (256, 1024, 4096, 16384)
    prompts: tuple[int, ...] = (16, 64, 256, 1024)
    batches: tuple[int, ...] = (1, 4, 16)
    roofline_context: int = 512
    copied: int = 64 * 2**20  # entries; far more than any CPU's cache holds
    square: int = 1024
    dtype: str = "float32"
    rounds: int = 5
    repeats: int = 5


LAPTOP = Setting()
LARGE = Setting(
    d_model=4096,
    heads=32,
    groups=8,
    head_dim=128,
    d_ff=11008,
    latent=512,
    rotary=64,
    users=16,
    contexts=(1024, 4096, 16384, 65536),
    prompts=(16, 64, 256, 1024, 4096),
    batches=(1, 4, 16, 64, 256),
    roofline_context=2048,
    copied=2**30,
    square=8192,
    dtype="bfloat16",
    repeats=15,
)


TARGET = 0.8  # of the copy's bytes per second, which reading a long cache should reach on a GPU


class FullCache:
    """A cache whose last place is overwritten each time, so that the same step can be timed many times."""

    def __init__(self, keys: Tensor, values: Tensor):
        self.keys, self.values = keys, values

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """The new token takes the last place; returns everything."""
        T = keys.shape[2]
        self.keys[:, :, -T:], self.values[:, :, -T:] = keys, values
        return self.keys, self.values


class DecodingLatentAttention(LatentAttention):
    """MLA on the latents, as decoding runs it."""

    forward = LatentAttention.forward_absorbed


def kinds(s: Setting) -> dict[str, tuple[int, int]]:
    """Name → (key-value heads, numbers cached per token)."""
    groups = {"MHA": s.heads, "GQA": s.groups, "MQA": 1}
    return {**{n: (G, 2 * G * s.head_dim) for n, G in groups.items()}, "MLA": (1, s.latent + s.rotary)}


def timed(call: Callable[[], object], s: Setting, device: str) -> list[float]:
    """Seconds of ``call``: the best of several repeats, once per round."""
    with torch.no_grad():
        return [float(f"{cold_seconds(call, device, s.repeats):.4g}") for _ in range(s.rounds)]


def machine(s: Setting, device: str, dtype: torch.dtype) -> dict[str, float]:
    """Bytes per second of a copy and of a sum, FLOP per second of a matrix product; best of all rounds."""
    x = torch.randn(s.copied, device=device, dtype=dtype)
    out = torch.empty_like(x)
    copy, read = min(timed(lambda: out.copy_(x), s, device)), min(timed(x.sum, s, device))
    a, b = (torch.randn(s.square, s.square, device=device, dtype=dtype) for _ in range(2))
    product = min(timed(lambda: a @ b, s, device))
    size = s.copied * dtype.itemsize
    return {"copy": 2 * size / copy, "read": size / read, "flops": 2 * s.square**3 / product}


def layer(kind: str, s: Setting) -> PreLN:
    """A LLaMA layer with the attention of that kind."""
    if kind == "MLA":
        attention: nn.Module = DecodingLatentAttention(
            s.d_model, s.heads, 3 * s.latent, s.latent, s.head_dim, s.rotary, s.head_dim
        )
    else:
        attention = RotaryAttention(s.d_model, s.heads, kinds(s)[kind][0])
    return PreLN(s.d_model, attention, GatedFeedForward(s.d_model, s.d_ff), RMSNorm)


def roofline_row(phase: str, B: int, T: int, S: int, s: Setting, device: str, dtype: torch.dtype) -> Row:
    """One GQA layer on T new tokens per user, with S keys each."""
    block = layer("GQA", s).to(device, dtype)
    x = torch.randn(B, T, s.d_model, device=device, dtype=dtype)
    positions = torch.arange(S - T, S, device=device)
    mask = causal_mask(T, device=device) if T > 1 else None
    keys, values = torch.randn(2, B, s.groups, S, s.head_dim, device=device, dtype=dtype)
    seconds = timed(lambda: block(x, mask=mask, position_ids=positions, cache=FullCache(keys, values)), s, device)
    cost = decoder_layer_cost(B, T, S, s.d_model, s.heads, s.groups, s.head_dim, s.d_ff, dtype.itemsize)
    return {"phase": phase, "B": B, "T": T, "S": S, "flops": cost.flops, "bytes": cost.bytes, "seconds": seconds}


def attention_calls(
    kind: str, S: int, s: Setting, device: str, dtype: torch.dtype
) -> tuple[dict[str, Callable[[], Tensor]], int]:
    """(name → a call that decodes one token per user with the attention alone, the cache's size in bytes)."""
    G, numbers = kinds(s)[kind]
    n, scale = s.heads // G, None
    if kind == "MLA":
        cache = torch.randn(s.users, 1, S, numbers, device=device, dtype=dtype)
        q = torch.randn(s.users, 1, s.heads, numbers, device=device, dtype=dtype) / numbers**0.5
        k, v, scale = cache, cache[..., : s.latent], 1.0
        calls = {"reference": lambda: attention_weights(q @ k.transpose(-2, -1)) @ v}
    else:
        k, v = torch.randn(2, s.users, G, S, s.head_dim, device=device, dtype=dtype)
        q = torch.randn(s.users, s.heads, 1, s.head_dim, device=device, dtype=dtype)
        calls = {"reference": lambda: grouped_attention(q, k, v)}
    # All query heads of a group read the same keys, so they can be passed as several queries of one head: no mask.
    folded = q.reshape(s.users, G, n, -1)
    calls["SDPA"] = lambda: F.scaled_dot_product_attention(folded, k, v, scale=scale)
    if device.startswith("cuda"):
        flex = compiled_flex()
        calls["FlexAttention"] = lambda: flex(folded, k, v, scale=scale)
        if kind == "MLA":
            # Tiles of 576 numbers per key may exceed the chip's shared memory at the usual tile size.
            tiles, small = compiled_flex(), {"BLOCK_N": 16, "num_stages": 1}
            calls["FlexAttention, small tiles"] = lambda: tiles(folded, k, v, scale=scale, kernel_options=small)
    return calls, s.users * S * numbers * dtype.itemsize


def attention_row(kind: str, S: int, s: Setting, device: str, dtype: torch.dtype) -> Row:
    """Seconds of each way to attend; a way that this device's kernels do not support is left out with a message."""
    calls, size = attention_calls(kind, S, s, device, dtype)
    seconds = {}
    for name, call in calls.items():
        try:
            with torch.no_grad():
                check_same(name, call(), calls["reference"]())
            seconds[name] = timed(call, s, device)
        except Exception as error:
            if name == "reference":
                raise
            print(f"{kind}, context {S}: {name} left out: {str(error).splitlines()[0][:100]}", flush=True)
    return {"kind": kind, "context": S, "bytes": size, "seconds": seconds}


def layer_row(kind: str, S: int, s: Setting, device: str, dtype: torch.dtype) -> Row:
    """Seconds of one whole layer on one new token per user."""
    G, _ = kinds(s)[kind]
    widths = (s.latent, s.rotary) if kind == "MLA" else (s.head_dim, s.head_dim)
    cache = FullCache(*(torch.randn(s.users, G, S, w, device=device, dtype=dtype) for w in widths))
    block = layer(kind, s).to(device, dtype)
    x = torch.randn(s.users, 1, s.d_model, device=device, dtype=dtype)
    positions = torch.tensor([S - 1], device=device)
    return {
        "kind": kind,
        "context": S,
        "seconds": timed(lambda: block(x, position_ids=positions, cache=cache), s, device),
    }


def report(data: Data, s: Setting) -> Iterator[str]:
    """Lines to print: each measurement compared with its limit."""
    found = data["machine"]
    yield (
        f"copy {found['copy'] / 1e9:.1f} GB/s, read {found['read'] / 1e9:.1f} GB/s, {found['flops'] / 1e9:.0f} GFLOP/s"
    )
    for r in data["roofline"]:
        limit = max(r["flops"] / found["flops"], r["bytes"] / found["copy"])
        yield (
            f"{r['phase']:8} B={r['B']:<3} T={r['T']:<5} {r['flops'] / r['bytes']:7.1f} FLOP/byte  "
            f"{limit / min(r['seconds']):4.0%} of the roofline"
        )
    for r, whole in zip(data["attention"], data["layer"], strict=True):
        way, best = min(((n, min(t)) for n, t in r["seconds"].items()), key=lambda item: item[1])
        target = f" (target on a GPU {TARGET:.0%})" if r["context"] == max(s.contexts) else ""
        yield (
            f"{r['kind']} context {r['context']:>6}: {r['bytes'] / best / 1e9:6.1f} GB/s with {way}, "
            f"{r['bytes'] / best / found['copy']:4.0%} of the copy{target}; "
            f"{s.users / min(whole['seconds']):8.0f} tokens/s and layer"
        )


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    keep_memory()
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    torch.manual_seed(0)
    device = options.device
    s = setting or {"small": LAPTOP, "large": LARGE}[options.setting]
    dtype, facts = getattr(torch, s.dtype), json_ready(s)
    phases = [("prefill", 1, T, T) for T in s.prompts] + [("decode", B, 1, s.roofline_context) for B in s.batches]
    pairs = [(kind, S) for kind in kinds(s) for S in s.contexts]
    rows = Rows("roofline", options, facts, 1 + len(phases) + 2 * len(pairs))
    data = {
        "setting": facts,
        "numbers_per_token": {kind: numbers for kind, (_, numbers) in kinds(s).items()},
        "machine": rows.row("machine", lambda: machine(s, device, dtype)),
        "roofline": [rows.row(f"{p[0]} B={p[1]} T={p[2]}", lambda: roofline_row(*p, s, device, dtype)) for p in phases],
        "attention": [rows.row(f"attention {k} {S}", lambda: attention_row(k, S, s, device, dtype)) for k, S in pairs],
        "layer": [rows.row(f"layer {k} {S}", lambda: layer_row(k, S, s, device, dtype)) for k, S in pairs],
    }
    print("\n".join(report(data, s)))
    save("roofline", data, options, [0])
    rows.finish()


def json_ready(setting: Setting) -> dict[str, Any]:
    """A dataclass as a dict with lists instead of tuples, as JSON returns it."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in dataclasses.asdict(setting).items()}


if __name__ == "__main__":
    main()
