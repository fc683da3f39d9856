"""Drawings of times and bytes: norms, prefill and decoding, dense and sparse attention."""

from typing import Any

from matplotlib.figure import Figure

from autograder.recording.experiments import Data
from autograder.recording.figures.parts import band, legend, panels, ticks


def norm_bandwidth(data: Data) -> tuple[Figure, str]:
    """Time per entry over the number of entries; at the largest size, time and bytes relative to a copy."""
    dtype = data["rows"][-1]["dtype"]
    rows = [r for r in data["rows"] if r["dtype"] == dtype]
    figure, (ax, side) = panels(
        f"Norms beside a copy and a matrix product, {dtype}",
        f"rows of {rows[0]['d']}",
        "at the largest size",
        width=5,
        height=3.6,
    )
    x = [r["tokens"] * r["d"] for r in rows]
    for i, name in enumerate(rows[0]["ns_per_entry"]):
        # The style has only seven colors, but there are eight lines.
        style: dict[str, Any] = {"color": "black", "ls": "-", "marker": "s"} if i == 7 else {"marker": "o"}
        ax.plot(x, [r["ns_per_entry"][name] for r in rows], ms=3, label=name, **style)
    ax.set(xscale="log", yscale="log", xlabel="entries", ylabel="ns per entry")
    ticks(ax.yaxis)
    last = rows[-1]
    names = sorted(last["bytes_per_entry"], key=lambda n: last["ns_per_entry"][n])
    for shift, key, label in ((-0.2, "bytes_per_entry", "bytes"), (0.2, "ns_per_entry", "time")):
        side.barh(
            [i - shift for i in range(len(names))],
            [last[key][n] / last[key]["copy"] for n in names],
            0.38,
            label=label,
            color={"bytes": "#56B4E9", "time": "#0072B2"}[label],
            hatch={"bytes": "//"}.get(label),
        )
    side.set_yticks(range(len(names)), names)
    side.set_xlabel("a copy = 1")
    side.legend(fontsize=9, loc="lower right")
    legend(figure, [ax])
    told = ", ".join(f"{n} {v:.2f}" for n, v in sorted(rows[-1]["ns_per_entry"].items(), key=lambda i: i[1]))
    moved = ", ".join(f"{n} {last['bytes_per_entry'][n] / last['bytes_per_entry']['copy']:.1f}" for n in names)
    return figure, (
        f"Nanoseconds per entry over the size. At {x[-1]:,} entries: {told}. Bytes that the operations "
        f"move, copy = 1: {moved}."
    )


def decode(data: Data) -> tuple[Figure, str]:
    """Time of one decoding step over key-value heads, read in place or copied first."""
    lengths = sorted({r["S"] for r in data["rows"]})
    figure, axes = panels("One decoding step by key-value heads", *(f"{S:,} tokens" for S in lengths), width=2.9)
    told = []
    for ax, S in zip(axes, lengths, strict=True):
        rows = [r for r in data["rows"] if r["S"] == S]
        for key, label in (("grouped", "read in place"), ("copied", "copied to all heads first")):
            ax.plot([r["G"] for r in rows], [r[key] for r in rows], marker="o", ms=3, label=label)
        ax.set(xscale="log", yscale="log", xlabel="key-value heads")
        ticks(ax.xaxis, [r["G"] for r in rows])
        ticks(ax.yaxis)
        told.append(
            f"at {S:,} tokens {rows[0]['grouped']:.2f} to {rows[-1]['grouped']:.2f} ms in place, "
            f"{max(r['copied'] for r in rows):.1f} ms at most when copied"
        )
    axes[0].set_ylabel("ms per step and layer")
    legend(figure, axes)
    return figure, f"Time of one decoding step from fewest to most key-value heads: {'; '.join(told)}."


def roofline(data: Data) -> tuple[Figure, str]:
    """Roofline of a layer; bandwidth of decoding compared with a copy; tokens per second."""
    found, users = data["machine"], data["setting"]["users"]
    figure, axes = panels(
        "Prefill and decoding",
        "one layer and its roofline",
        "attention reads the cache",
        "decoding speed of one layer",
        width=3.9,
    )
    # FLOP per byte: far below the ridge, the ridge, far above it
    x = [0.25, found["flops"] / found["copy"], 4096.0]
    axes[0].plot(x, [min(found["flops"], i * found["copy"]) / 1e9 for i in x], color="#777777", label="roofline")
    for phase, marker in (("prefill", "o"), ("decode", "s")):
        rows = [r for r in data["roofline"] if r["phase"] == phase]
        axes[0].plot(
            [r["flops"] / r["bytes"] for r in rows],
            [r["flops"] / min(r["seconds"]) / 1e9 for r in rows],
            marker,
            ls="none",
            label=phase,
        )
    axes[0].set(xscale="log", yscale="log", xlabel="FLOP per byte", ylabel="GFLOP/s")
    axes[0].legend(fontsize=9)
    told = []
    for kind in ("MHA", "GQA", "MQA", "MLA"):
        rows = [r for r in data["attention"] if r["kind"] == kind]
        contexts = [r["context"] for r in rows]
        fast = [min(r["seconds"].values(), key=min) for r in rows]
        shares = [[r["bytes"] / t / found["copy"] for t in best] for r, best in zip(rows, fast, strict=True)]
        band(axes[1], contexts, list(zip(*shares, strict=True)), kind, marker="o", ms=3)
        whole = [[users / t for t in r["seconds"]] for r in data["layer"] if r["kind"] == kind]
        band(axes[2], contexts, list(zip(*whole, strict=True)), kind, marker="o", ms=3)
        told.append(
            f"{kind} reads {max(shares[-1]):.0%} of the copy's bytes per second and a layer decodes "
            f"{max(whole[-1]):.0f} tokens/s"
        )
    axes[1].axhline(1, color="#777777", lw=1)
    if data["made"]["device"] != "cpu":
        axes[1].axhline(0.8, color="#777777", lw=1, ls=":", label="80 % of the copy")
    axes[1].set(xscale="log", xlabel="context (tokens)", ylabel="cache bytes/s, copy = 1", ylim=(0, None))
    axes[2].set(xscale="log", yscale="log", xlabel="context (tokens)", ylabel=f"tokens/s, {users} users")
    axes[1].legend(fontsize=9)
    ticks(axes[2].yaxis, [n * 10**k for k in range(7) for n in (1, 2, 5)])
    for ax in axes[1:]:
        ticks(ax.xaxis, contexts)
    return figure, (
        f"Copy {found['copy'] / 1e9:.1f} GB/s, matrix product {found['flops'] / 1e9:.0f} GFLOP/s. With "
        f"{users} users at context {contexts[-1]:,}: {'; '.join(told)}."
    )


def sparse_attention(data: Data) -> tuple[Figure, str]:
    """Time and memory over length, and time per scored pair."""
    s = data["setting"]
    figure, axes = panels(
        f"Attention, and a window of {s['window']} keys, dense and sparse",
        "time",
        "memory",
        "time per scored pair",
        width=3.7,
    )
    told = []
    for i, way in enumerate(dict.fromkeys(r["way"] for r in data["rows"])):
        rows = [r for r in data["rows"] if r["way"] == way]
        x = [r["T"] for r in rows]
        times = zip(*([1e3 * t for t in r["seconds"]] for r in rows), strict=True)
        # The style has only seven colors, but on a GPU there are eight lines.
        style: dict[str, Any] = {"marker": "o", "ms": 3, **({"color": "black", "ls": "-"} if i == 7 else {})}
        band(axes[0], x, list(times), way, **style)
        axes[1].plot(x, [r["bytes"] / 1e6 for r in rows], label=way, **style)
        axes[2].plot(x, [min(r["seconds"]) / r["pairs"] * 1e9 for r in rows], label=way, **style)
        told.append(f"{way} {1e3 * min(rows[-1]['seconds']):.0f} ms and {rows[-1]['bytes'] / 1e6:.0f} MB")
    for ax, label in zip(axes, ("ms", "MB", "ns"), strict=True):
        ax.set(xscale="log", yscale="log", xlabel="length (tokens)", ylabel=label)
        ticks(ax.xaxis, s["lengths"])
    axes[2].set(yscale="linear", ylim=(0, None))
    legend(figure, axes)
    flex = "" if data["flex"] else " FlexAttention was left out."
    return figure, (
        f"Time and memory of attention, and of a window of {s['window']} keys, against length. At the "
        f"longest length of each: {'; '.join(told)}.{flex}"
    )
